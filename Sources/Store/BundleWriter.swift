// What every way into the store has in common: modes, names, and how failures are told.
internal import LinuxKit
internal import Paths

/// Writes the entries of a bundle as the store keeps them, and counts what they need.
struct BundleWriter {
  /// How many entries a bundle may have: links can make a small one endless.
  static let maximumEntryCount = 1_000_000
  /// How deep directories may lie in each other.
  static let maximumDepth = 100
  /// The mode of every directory.
  static let directoryMode: UInt32 = 0o755

  private(set) var entryCount = 0
  private(set) var warnings: [String] = []

  /// The mode of a file: that of a program if anyone may execute it.
  static func fileMode(_ permissions: UInt32) -> UInt32 { permissions & 0o111 == 0 ? 0o644 : 0o755 }

  mutating func warn(_ text: String) { warnings.append(text) }

  mutating func createDirectory(
    _ name: [UInt8], in target: borrowing Walker, shownAs path: [UInt8]
  ) throws(StoreError) -> Walker {
    try count(path)
    return try Self.writing(path) { () throws(Errno) in
      try target.createDirectory(name, mode: Self.directoryMode)
    }
  }

  mutating func createFile(
    _ name: [UInt8], permissions: UInt32, in target: borrowing Walker, shownAs path: [UInt8]
  ) throws(StoreError) -> Descriptor {
    try count(path)
    if permissions & 0o6000 != 0 {
      warn("\(path.printable): its set-id bits are not taken over")
    }
    return try Self.writing(path) { () throws(Errno) in
      try target.createFile(name, mode: Self.fileMode(permissions))
    }
  }

  mutating func createLink(
    _ name: [UInt8], to destination: [UInt8], in target: borrowing Walker, shownAs path: [UInt8]
  ) throws(StoreError) {
    try count(path)
    try Self.writing(path) { () throws(Errno) in try target.createLink(name, to: destination) }
  }

  private mutating func count(_ path: [UInt8]) throws(StoreError) {
    entryCount += 1
    guard entryCount <= Self.maximumEntryCount else {
      throw StoreError(
        .failed, "\(path.printable): the bundle has more than \(Self.maximumEntryCount) entries")
    }
  }

  /// Runs what writes into the store, and says in a way that helps why it did not.
  static func writing<Result: ~Copyable>(
    _ path: [UInt8], _ body: () throws(Errno) -> Result
  ) throws(StoreError) -> Result {
    do throws(Errno) {
      return try body()
    } catch {
      if error == .noSpace || error == .quotaExceeded {
        throw StoreError(
          .failed, "\(path.printable): not enough space in the store: free some, install again")
      }
      if error == .exists { throw StoreError(.failed, "\(path.printable) is there twice") }
      throw StoreError(path.printable, error)
    }
  }
}
