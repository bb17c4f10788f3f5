// The host's key by which a record is known to be this host's own.
//
// It is not in any store: who can write a store, but not the settings, can't make a seal.
internal import Crypto
internal import Glibc
internal import LinuxKit
internal import Paths

/// The key of whoever installs, beside the settings.
struct StoreKey {
  /// The directory that holds it, and a bit more.
  let directory: [UInt8]

  static let name = "store.key"

  /// The key for what is at these places.
  init(of location: StoreLocation) {
    directory = location.settings.first ?? StoreLocation.hostSettings
  }

  /// The file.
  var path: [UInt8] { directory + Array("/\(Self.name)".utf8) }

  /// The key; nil if there is none yet.
  ///
  /// Throws if it is one that others could know, or broken.
  func read() throws(StoreError) -> [UInt8]? {
    let file = try allowing([.noEntry, .notDirectory], path.printable) { () throws(Errno) in
      Descriptor(
        owning: try path.withCPath { path throws(Errno) in
          try Descriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).release()
        })
    }
    guard let file else { return nil }
    let status = try saying(path.printable) { () throws(Errno) in try file.status() }
    guard status.kind == .regular, status.permissions & 0o077 == 0,
      status.ownerUID == effectiveUID()
    else {
      throw StoreError(
        .failed,
        "\(path.printable) is not yours alone: chown it to uid \(effectiveUID()) and chmod 600 it, "
          + "or remove it and install all apps again")
    }
    let bytes = try saying(path.printable) { () throws(Errno) in
      try file.readToEnd(atMost: 4096)
    }
    guard bytes.count == Authentication.byteCount else {
      throw StoreError(
        .failed,
        "\(path.printable) is no key, which has \(Authentication.byteCount) bytes: remove it and "
          + "install all apps again")
    }
    return bytes
  }

  /// The key, which is made if there is none.
  func readOrCreate() throws(StoreError) -> [UInt8] {
    if let key = try read() { return key }
    try createDirectory()
    let key: [UInt8]
    do throws(CryptoError) {
      key = try Authentication.newKey()
    } catch {
      throw StoreError(.failed, "\(path.printable): no random bytes are to be had")
    }
    // Of two that are first at once one wins, and both use its key.
    try allowing([.exists], path.printable) { () throws(Errno) in
      let place = try Walker.open(path: directory)
      try place.addFile(Self.name.utf8, contents: key, mode: 0o600)
    }
    guard let made = try read() else { throw StoreError(path.printable, .noEntry) }
    return made
  }

  private func createDirectory() throws(StoreError) {
    var made: [UInt8] = []
    for name in directory.split(separator: UInt8(ascii: "/")) {
      made += [UInt8(ascii: "/")] + name
      // What is below /etc everybody may look into; what is a user's is theirs.
      let mode: UInt32 = isPrivileged() ? 0o755 : 0o700
      _ = try allowing([.exists], directory.printable) { () throws(Errno) in
        try makeDirectory(made, mode: mode)
      }
    }
  }
}
