// What is left out of backups, as iOS marks it.
internal import CAppContainer
internal import Glibc

/// What the kernel said about a file.
public struct AppContainerError: Error, Equatable, Sendable {
  /// The number, as in errno(3).
  public let errno: Int32
}

extension AppContainer {
  /// iOS's name for it.
  ///
  /// A view takes it as it is; other file systems want a class before it.
  private static let name = "com.apple.metadata:com_apple_backup_excludeItem"
  private static let names = [name, "user." + name]

  /// A binary property list of the string com.apple.backupd, which is the value that iOS sets.
  static let mark: [UInt8] =
    Array("bplist00_".utf8) + [0x10, 0x11] + Array("com.apple.backupd".utf8) + [0x08]
    + [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    + [0, 0, 0, 0, 0, 0, 0, 0x1C]

  /// Whether a file or directory is marked to be left out of backups.
  public static func isExcludedFromBackup(_ path: String) throws(AppContainerError) -> Bool {
    for name in names {
      if getxattr(path, name, nil, 0) >= 0 { return true }
      if ![ENODATA, EOPNOTSUPP].contains(errno) { throw AppContainerError(errno: errno) }
    }
    return false
  }

  /// Marks a file or directory, with all that is in it, to be left out of backups; or takes the
  /// mark away.
  public static func setExcludedFromBackup(
    _ isExcluded: Bool, _ path: String
  ) throws(AppContainerError) {
    if isExcluded { return try exclude(path) }
    for name in names where removexattr(path, name) != 0 {
      if ![ENODATA, EOPNOTSUPP].contains(errno) { throw AppContainerError(errno: errno) }
    }
  }

  private static func exclude(_ path: String) throws(AppContainerError) {
    var failure: Int32 = 0
    for name in names {
      if setxattr(path, name, mark, mark.count, 0) == 0 { return }
      failure = errno
      if failure != EOPNOTSUPP { break }
    }
    throw AppContainerError(errno: failure)
  }
}
