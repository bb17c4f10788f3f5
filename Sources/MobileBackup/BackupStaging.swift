// Where a backup is made: locked against others, and with what an interrupted run has left.
internal import Glibc
internal import LinuxKit
internal import Paths

extension BackupWriter {
  static func makeDestination(_ path: [UInt8]) throws(BackupError) -> Walker {
    do throws(Errno) {
      try makeDirectory(path, mode: 0o700)
    } catch {
      if error != .exists { throw BackupError("making \(path.printable)", error) }
    }
    return try saying(path.printable) { () throws(Errno) in try Walker.open(path: path) }
  }

  static func lockDestination(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Descriptor {
    let lockName = name + Array(".lock".utf8)
    let what = "locking \(shown)/\(lockName.printable)"
    let lock = try saying(what) { () throws(Errno) in
      try destination.openOrCreateFile(lockName, mode: 0o600)
    }
    let isFree = try saying(what) { () throws(Errno) in try lock.tryLock(.exclusive) }
    guard isFree else { throw BackupError("\(shown): a backup is being made here now") }
    return lock
  }

  static let systemRun = "SandboxfsSystemRun"

  /// Which run of the kernel this is.
  static func systemRunNow() throws(BackupError) -> [UInt8] {
    try saying("asking for the kernel's boot_id") { () throws(Errno) in
      try Descriptor.open("/proc/sys/kernel/random/boot_id", O_RDONLY).readToEnd(atMost: 64)
    }
  }

  /// What an interrupted run left; nil if there is nothing that one can go on with.
  static func interrupted(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Walker? {
    guard let found = try? destination.enter(name + Array(stagingSuffix.utf8)), isOurs(found)
    else { return nil }
    let path = "/proc/self/fd/\(found.descriptor.rawValue)/\(Manifest.name)"
    // After a crash of the system a file may be there without its content.
    guard let manifest = try? Manifest(path: path, .writing, shown: shown),
      let run = try? manifest.noted(systemRun), try run == systemRunNow()
    else { return nil }
    return found
  }

  /// Whether nobody else can have put anything into a directory: what SQLite opens in it, it opens
  /// by name.
  static func isOurs(_ directory: borrowing Walker) -> Bool {
    guard let owner = try? directory.status().ownerUID else { return false }
    return owner == effectiveUID() || owner == 0
  }

  static func makeStaging(
    _ name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) -> Walker {
    let staging = name + Array(stagingSuffix.utf8)
    return try saying("\(shown)/\(staging.printable)") { () throws(Errno) in
      try destination.removeTree(staging)
      return try destination.createDirectory(staging, mode: 0o700)
    }
  }
}
