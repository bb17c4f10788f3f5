// The profiles of a host, for who wants to look at rules without a container.
public import Policy

extension StoreLocation {
  /// Everything that a profile may include by name: the settings', and those that are shipped.
  public func profileLibrary() throws(StoreError) -> [ProfileSource] {
    try Profiles(settings: settings).library()
  }

  /// The profile of a name, from the settings or as it was shipped.
  ///
  /// Throws `notFound` if there is none.
  public func profile(named name: String) throws(StoreError) -> ProfileSource {
    try Profiles(settings: settings).shipped(named: name)
  }
}
