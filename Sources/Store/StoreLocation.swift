// Where the store and the settings are, for whoever calls.
internal import LinuxKit

/// The places of the store, of the settings and of the host's register of uids.
public struct StoreLocation: Equatable, Sendable {
  /// The store.
  public var store: [UInt8]
  /// Where profiles and limits are, the first one found winning.
  public var settings: [[UInt8]]
  /// The file that gives out uids, whatever the store.
  public var uidRegister: [UInt8]
  /// The first uid that may be given out.
  public var firstUID: UInt32

  /// The one directory of settings that was chosen, in the place of the usual ones; nil if none
  /// was.
  var chosenSettings: [UInt8]? {
    guard settings.count == 1, let only = settings.first, only != Self.hostSettings else {
      return nil
    }
    return only
  }

  /// Places that are all given.
  public init(
    store: [UInt8], settings: [[UInt8]] = [Self.hostSettings],
    uidRegister: [UInt8] = Self.hostUIDRegister, firstUID: UInt32 = Self.defaultFirstUID
  ) {
    self.store = store
    self.settings = settings
    self.uidRegister = uidRegister
    self.firstUID = firstUID
  }

  /// The host's settings.
  public static let hostSettings = Array("/etc/sandboxfs".utf8)
  /// The host's register of uids.
  public static let hostUIDRegister = Array("/var/lib/sandboxfs/uids".utf8)
  /// The first uid beyond those that systemd gives to containers.
  public static let defaultFirstUID: UInt32 = 0x7000_0000

  /// The places for this process: the store that is given, else `$SANDBOXFS_STORE`, else root's or
  /// the user's; the settings in `$SANDBOXFS_SETTINGS` alone, else where those of root or of the
  /// user and the host are.
  ///
  /// An empty or relative path in the environment counts as none, as the XDG specification says.
  public static func standard(explicit: [UInt8]? = nil) throws(StoreError) -> StoreLocation {
    let uid = effectiveUID()
    if let explicit, explicit.isEmpty {
      throw StoreError(.usage, "the path of the store is empty")
    }
    let chosen = explicit ?? absolute("SANDBOXFS_STORE")
    let store = if let chosen { chosen } else { try usualStore(of: uid) }
    if let settings = absolute("SANDBOXFS_SETTINGS") {
      return StoreLocation(store: store, settings: [settings])
    }
    if uid == 0 { return StoreLocation(store: store) }
    let settings = try base("XDG_CONFIG_HOME", else: "/.config", of: uid)
    return StoreLocation(store: store, settings: [settings, hostSettings])
  }

  /// The store of this process's user where neither an option nor a variable says another.
  public static func usualStore() throws(StoreError) -> [UInt8] {
    try usualStore(of: effectiveUID())
  }

  private static func usualStore(of uid: UInt32) throws(StoreError) -> [UInt8] {
    if uid == 0 { return Array("/var/lib/sandboxfs".utf8) }
    return try base("XDG_DATA_HOME", else: "/.local/share", of: uid)
  }

  /// Our directory below one of the XDG specification's.
  private static func base(
    _ variable: String, else place: String, of uid: UInt32
  ) throws(StoreError) -> [UInt8] {
    let name = Array("/sandboxfs".utf8)
    if let base = absolute(variable) { return base + name }
    return try home(of: uid) + Array(place.utf8) + name
  }

  private static func absolute(_ name: String) -> [UInt8]? {
    environmentValue(name).flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
  }

  private static func home(of uid: UInt32) throws(StoreError) -> [UInt8] {
    if let home = absolute("HOME") { return home }
    let account = try saying("looking up uid \(uid)") { () throws(Errno) in
      try HostAccount.of(uid: uid)
    }
    guard let home = account?.home, home.first == UInt8(ascii: "/") else {
      throw StoreError(.failed, "uid \(uid) has no home: say where the store is with --store")
    }
    return home
  }
}
