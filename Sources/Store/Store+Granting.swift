// What a container was lent, and what it may reach.
public import Containers
public import Paths

extension Store {
  /// Changes what a container was lent, and what it may reach; it takes effect at its next run.
  ///
  /// Throws `notFound` if there is no such container.
  public func changeGrants(
    of identifier: BundleIdentifier,
    _ change: (inout [Grant], inout Set<Allowance>) throws(StoreError) -> Void
  ) throws(StoreError) {
    try changing { () throws(StoreError) in
      let container = try container(identifier)
      var record = container.record
      try change(&record.grants, &record.allowances)
      record.grants.sort { $0.path.lexicographicallyPrecedes($1.path) }
      if record != container.record { try Container.write(record, into: container.directory) }
    }
  }

  /// Throws if the settings do not let apps reach something by name.
  public func checkAllowances(_ wanted: Set<Allowance>) throws(StoreError) {
    guard let name = wanted.subtracting(try Settings(location).allowances).min() else { return }
    throw StoreError(.failed, "'\(name)' is allowed to no app here: see 'allow' in sandboxfs.conf")
  }

  /// Places whose contents no app may see, whoever lends them: what is known of all apps, and what
  /// decides about them.
  public var privatePlaces: [[UInt8]] {
    [path] + [try? StoreLocation.usualStore()].compactMap(\.self) + location.settings
      + [StoreLocation.hostSettings]
  }
}
