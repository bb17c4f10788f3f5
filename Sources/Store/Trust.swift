// Whose signatures count: the certificates and keys in `trust.d`.
//
// A file there that can't be used is told and left out. That takes trust away and never gives it.
internal import Crypto
internal import LinuxKit
internal import Paths
internal import Seal

/// Certificates and keys whose signatures make a seal valid.
public struct Trust: Sendable {
  /// The directory's name, in the settings of the host and of a user.
  static let directoryName = "trust.d"
  private static let maximumFileByteCount = 1 << 20

  private(set) var certificates: [Certificate] = []
  private(set) var keys: [MinisignKey] = []
  /// What in the directories is not used, and why, a line each.
  public private(set) var warnings: [String] = []

  /// Trust in nobody.
  public init() {}

  /// What is in `trust.d` in each of these directories.
  public init(settings: [[UInt8]]) throws(StoreError) {
    for place in settings { try add(place + Array("/\(Self.directoryName)".utf8)) }
  }

  private mutating func add(_ path: [UInt8]) throws(StoreError) {
    let directory = try allowing([.noEntry, .notDirectory], path.printable) { () throws(Errno) in
      try Walker.open(path: path)
    }
    guard let directory else { return }
    let status = try saying(path.printable) { () throws(Errno) in try directory.status() }
    guard Self.isKept(status) else {
      return warnings.append("\(path.printable): others can write there, so nothing in it counts")
    }
    let entries = try saying(path.printable) { () throws(Errno) in try directory.entries() }
    for entry in entries.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) })
    where entry.name.first != UInt8(ascii: ".") {
      let shown = (path + [UInt8(ascii: "/")] + entry.name).printable
      if let mistake = try add(entry.name, in: directory, shown) {
        warnings.append("\(shown): \(mistake), so it does not count")
      }
    }
  }

  /// Takes one file; what is wrong with it.
  private mutating func add(
    _ name: [UInt8], in directory: borrowing Walker, _ shown: String
  ) throws(StoreError) -> String? {
    // An administrator may link to where certificates are kept.
    let found = try allowing([.noEntry], shown) { () throws(Errno) in
      try directory.openFollowing(name)
    }
    guard let found else { return "it leads nowhere" }
    let status = try saying(shown) { () throws(Errno) in try found.status() }
    guard status.kind == .regular else { return "it is no file" }
    guard Self.isKept(status) else { return "others can write it" }
    let bytes = try saying(shown) { () throws(Errno) in
      try found.reopened(Opening.reading).readToEnd(atMost: Self.maximumFileByteCount)
    }
    if name.ends(with: ".pub") {
      do throws(SealError) {
        keys.append(try MinisignKey(bytes))
        return nil
      } catch {
        return error.description
      }
    }
    guard name.ends(with: ".pem") || name.ends(with: ".crt") else {
      return "certificates are called NAME.pem or NAME.crt, and keys of minisign NAME.pub"
    }
    do throws(SignatureError) {
      let new = try Certificate.pem(bytes)
      certificates += new
      return new.isEmpty ? "there is no certificate in it" : nil
    } catch {
      return error.reason
    }
  }

  /// Whether only root and the caller can change something.
  private static func isKept(_ status: FileStatus) -> Bool {
    [0, effectiveUID()].contains(status.ownerUID) && status.permissions & 0o022 == 0
  }
}

extension [UInt8] {
  fileprivate func ends(with text: String) -> Bool {
    reversed().starts(with: text.utf8.reversed())
  }
}
