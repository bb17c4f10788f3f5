// A bundle on the host, or one that is installed, as the commands about seals have it.
internal import Containers
internal import Crypto
internal import LinuxKit
internal import Paths

/// The directory of a bundle.
public struct BundleDirectory: ~Copyable, Sendable {
  let walker: Walker
  /// Its name, such as `Notes.app`.
  public let name: [UInt8]

  /// Opens the bundle at a path that a person gave.
  public static func open(_ path: [UInt8]) throws(StoreError) -> BundleDirectory {
    let canonical = try saying(path.printable) { () throws(Errno) in try canonicalPath(path) }
    let found = try saying(path.printable) { () throws(Errno) in
      try Descriptor.following(canonical)
    }
    let kind = try saying(path.printable) { () throws(Errno) in try found.status().kind }
    guard kind == .directory else {
      throw StoreError(
        .failed,
        "\(path.printable) is a \(kind.words), and a bundle is a directory: unpack it first")
    }
    let walker = try saying(path.printable) { () throws(Errno) in
      Walker(try found.reopened(Opening.directory))
    }
    let name = Array(canonical.split(separator: UInt8(ascii: "/")).last ?? [])
    return BundleDirectory(walker: walker, name: name)
  }

  /// The bundle of a container; throws if there is only data.
  public static func installed(in container: Container) throws(StoreError) -> BundleDirectory {
    let name = container.record.bundleName
    guard !name.isEmpty else {
      throw StoreError(.failed, "\(container.identifier) has no bundle, only data was kept")
    }
    let walker = try saying("the bundle of \(container.identifier)") { () throws(Errno) in
      try container.directory.enter(path: [Array(ContainerLayout.bundle.utf8), name])
    }
    return BundleDirectory(walker: walker, name: name)
  }

  /// Reads all of it, and says what its seal is worth.
  public borrowing func verdict(
    trust: Trust, isDeep: Bool, progress: SealProgress? = nil
  ) throws(StoreError) -> BundleVerdict {
    try BundleVerdict(
      of: walker, called: name, trust: trust, isDeep: isDeep, progress: progress)
  }

  /// Seals it, and signs the seal if there is an identity.
  ///
  /// Throws if it is no bundle.
  public borrowing func seal(
    identity: SigningIdentity? = nil, progress: SealProgress? = nil
  ) throws(StoreError) -> SealingReport {
    try BundleSealing.seal(walker, called: name, identity: identity, progress: progress)
  }
}

/// A new key for signing, with a certificate that it issued to itself.
public enum DeveloperKey {
  /// Writes both as PEM files that only the caller can read, and overwrites nothing.
  public static func create(
    key: [UInt8], certificate: [UInt8], name: String, days: Int
  ) throws(StoreError) {
    let keyPEM: [UInt8]
    let certificatePEM: [UInt8]
    do throws(SignatureError) {
      let made = try PrivateKey.generated()
      keyPEM = try made.pem()
      certificatePEM = try Certificate.selfSigned(by: made, name: name, days: days).pem()
    } catch {
      throw StoreError(.failed, error.reason)
    }
    let keyFile = try NewFile(key)
    let certificateFile = try NewFile(certificate)
    try keyFile.write(keyPEM)
    do throws(StoreError) {
      try certificateFile.write(certificatePEM)
    } catch {
      try? keyFile.directory.removeFile(keyFile.name)
      throw error
    }
  }
}

/// A file that is to be made at a path that a person gave.
private struct NewFile: ~Copyable {
  let directory: Walker
  let name: [UInt8]
  let path: [UInt8]

  init(_ path: [UInt8]) throws(StoreError) {
    let slash = UInt8(ascii: "/")
    let name = Array(path.suffix(from: path.lastIndex(of: slash).map { $0 + 1 } ?? 0))
    let parent = Array(path.dropLast(name.count))
    guard !name.isEmpty else { throw StoreError(.usage, "'\(path.printable)' is no file's name") }
    directory = try saying(path.printable) { () throws(Errno) in
      try Walker.open(path: parent.isEmpty ? Array(".".utf8) : parent)
    }
    self.name = name
    self.path = path
  }

  /// Makes the file for the caller alone; throws if there is one.
  borrowing func write(_ bytes: [UInt8]) throws(StoreError) {
    do throws(Errno) {
      let file = try directory.createFile(name, mode: 0o600)
      do throws(Errno) {
        try file.writeAll(bytes)
        try file.synchronize()
      } catch {
        try? directory.removeFile(name)
        throw error
      }
    } catch {
      guard error == .exists else { throw StoreError(path.printable, error) }
      throw StoreError(.failed, "\(path.printable) is there already, and is not overwritten")
    }
  }
}
