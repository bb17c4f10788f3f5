// The profiles that come with sandboxfs, embedded so that no installation can lack them.

/// The shipped profiles.
public enum ShippedProfiles {
  /// The device's rules, exactly.
  public static let ios = ProfileSource(
    rank: .shipped, name: Array("ios.profile".utf8),
    text: Array(
      #"""
      # ios.profile: the device's rules, exactly
      /                      read
      /Documents             read write backup
      /Library               read write backup
      /Library/Caches        -backup purge=pressure,restore
      /Library/Preferences   only=*.plist,*.plist??????,.lck,.GNUstep*
      /tmp                   read write -backup purge=exit,pressure
      /*.app                 read exec sealed -write -backup

      """#.utf8))

  /// What a container gets if nothing else is said.
  ///
  /// `-exec -sealed`: a directory `/.x.app` matches `/*.app` too, and must not become a place that
  /// is both writable and executable.
  public static let standard = ProfileSource(
    rank: .shipped, name: Array("default.profile".utf8),
    text: Array(
      #"""
      # default.profile: what a container gets if nothing else is said
      @include ios
      /.*                    read write backup -exec -sealed  # programs that insist on dot files
      /Library/Preferences   only=*                # programs that keep XDG configuration there

      """#.utf8))

  /// All of them.
  public static let all = [ios, standard]

  /// The profile that is called `ios` or `default`, with or without `.profile` behind it.
  public static func named(_ name: [UInt8]) -> ProfileSource? {
    all.first { $0.answers(to: name) }
  }
}

extension ProfileSource {
  private static let suffix = Array(".profile".utf8)

  /// Whether it is what `@include NAME` means.
  func answers(to wanted: [UInt8]) -> Bool {
    name == wanted || name == wanted + Self.suffix
  }
}
