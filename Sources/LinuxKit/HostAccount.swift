// The users of the host, as its name service knows them.
internal import CLinux
internal import Glibc

/// A user of the host.
public struct HostAccount: Equatable, Sendable {
  /// The name.
  public var name: [UInt8]
  /// The uid.
  public var uid: UInt32
  /// The primary group.
  public var gid: UInt32
  /// The home directory.
  public var home: [UInt8]

  /// The user of that name; nil if there is none.
  public static func named(_ name: [UInt8]) throws(Errno) -> HostAccount? {
    try name.withCPath { name throws(Errno) in
      try looked { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }
  }

  /// The user of that uid; nil if there is none.
  public static func of(uid: UInt32) throws(Errno) -> HostAccount? {
    try looked { entry, buffer, size, found in getpwuid_r(uid, entry, buffer, size, found) }
  }

  /// Whether a group has that gid.
  public static func hasGroup(_ gid: UInt32) throws(Errno) -> Bool {
    var entry = Glibc.group()
    return try growing { buffer, size in
      var found: UnsafeMutablePointer<Glibc.group>?
      let code = getgrgid_r(gid, &entry, buffer, size, &found)
      return (code, found != nil)
    }
  }

  private static func looked(
    _ call: (
      UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> CInt
  ) throws(Errno) -> HostAccount? {
    var entry = passwd()
    return try growing { buffer, size in
      var found: UnsafeMutablePointer<passwd>?
      let code = call(&entry, buffer, size, &found)
      guard let found else { return (code, nil) }
      let home = found.pointee.pw_dir.map { [UInt8](cString: $0) } ?? []
      let name = found.pointee.pw_name.map { [UInt8](cString: $0) } ?? []
      let account = HostAccount(
        name: name, uid: found.pointee.pw_uid, gid: found.pointee.pw_gid, home: home)
      return (code, account)
    }
  }

  /// Calls with ever larger buffers.
  ///
  /// What says "no such entry" by a number is taken for none.
  private static func growing<Result>(
    _ call: (UnsafeMutablePointer<CChar>, Int) -> (CInt, Result)
  ) throws(Errno) -> Result {
    var size = 4096
    while true {
      var buffer = [CChar](repeating: 0, count: size)
      let (code, result) = call(&buffer, size)
      switch code {
      case 0, ENOENT, ESRCH: return result
      case EINTR: continue
      case ERANGE where size < 1 << 20: size *= 2
      default: throw Errno(code)
      }
    }
  }
}

/// What the environment says for a name, as bytes; nil if it says nothing.
public func environmentValue(_ name: String) -> [UInt8]? {
  let prefix = Array(name.utf8) + [UInt8(ascii: "=")]
  return callersEnvironment().first { $0.starts(with: prefix) }.map {
    Array($0.dropFirst(prefix.count))
  }
}

/// The host's name.
public func hostName() -> String {
  var buffer = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
  guard gethostname(&buffer, buffer.count) == 0 else { return "localhost" }
  return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Has the kernel write to the disks whatever it still holds back.
public func synchronizeEverything() { sync() }
