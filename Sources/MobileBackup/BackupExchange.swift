// The step by which a new backup takes the place of the old one.
internal import Glibc
internal import LinuxKit
internal import Paths

extension BackupWriter {
  /// Exchanges the backup with what was made beside it.
  ///
  /// A file system that can't exchange two directories in one step does it in two; who comes next
  /// finds out if only the first was done.
  static func exchange(_ name: [UInt8], in destination: borrowing Walker) throws(Errno) {
    let staging = name + Array(stagingSuffix.utf8)
    do throws(Errno) {
      try destination.rename(staging, to: destination, as: name, .exchanging)
    } catch {
      guard error == .invalid else { throw error }
      let former = name + Array(formerSuffix.utf8)
      try destination.rename(name, to: destination, as: former, .exclusive)
      try destination.rename(staging, to: destination, as: name, .exclusive)
      try destination.removeTree(former)
    }
  }

  /// Finishes an exchange of which only a part was done.
  static func finishExchange(
    of name: [UInt8], in destination: borrowing Walker, _ shown: String
  ) throws(BackupError) {
    let former = name + Array(formerSuffix.utf8)
    guard (try? destination.status(of: former)) != nil else { return }
    try saying("\(shown): finishing what was interrupted") { () throws(Errno) in
      if (try? destination.status(of: name)) == nil {
        try destination.rename(former, to: destination, as: name, .exclusive)
      } else {
        try destination.removeTree(former)
      }
    }
  }
}
