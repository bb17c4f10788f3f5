// One entry of a backup: a row of `Files`.
internal import Crypto
internal import LinuxKit
internal import Paths

/// A file, a directory or a symbolic link in a backup.
public struct BackupEntry: Equatable, Sendable {
  /// What an entry is; the raw value is the column `flags`.
  public enum Kind: Int64, Sendable {
    /// A regular file, whose content is a blob beside the manifest.
    case file = 1
    /// A directory.
    case directory = 2
    /// A symbolic link.
    case symbolicLink = 4
  }

  /// Whose it is, such as `AppDomain-com.example.Notes`.
  public var domain: String
  /// The path below the container's root as bytes, without a leading slash; empty for the root.
  public var path: [UInt8]
  /// What it is.
  public var kind: Kind
  /// The nine permission bits.
  public var permissions: UInt32
  /// The size of a file in bytes.
  public var byteCount: Int64
  /// The last change of the contents, in nanoseconds since 1970.
  public var modifiedNanoseconds: Int64
  /// The last change of contents or attributes, in nanoseconds since 1970.
  public var changedNanoseconds: Int64
  /// The birth, in nanoseconds since 1970.
  public var bornNanoseconds: Int64
  /// The inode's number when it was saved.
  public var inode: UInt64
  /// What a symbolic link points to.
  public var target: [UInt8]?
  /// The SHA-1 of a file's content.
  public var digest: [UInt8]?
  /// The extended attributes without `user.`, in order of their names.
  public var attributes: [Attribute]

  /// Whether times, size and number tell if the file is still what was saved: not if it was changed
  /// while or just before it was.
  var isSettled = true

  /// An extended attribute.
  public struct Attribute: Equatable, Sendable {
    /// The name, without `user.`.
    public var name: [UInt8]
    /// The value.
    public var value: [UInt8]
  }

  /// An entry as statx(2) describes it, without what is read from the file itself.
  init(domain: String, path: [UInt8], kind: Kind, _ status: FileStatus) {
    self.init(domain: domain, path: path, kind: kind)
    adopt(status)
  }

  /// Takes over what statx(2) says.
  mutating func adopt(_ status: FileStatus) {
    permissions = status.permissions & 0o777
    byteCount = kind == .file ? status.byteCount : 0
    modifiedNanoseconds = status.modified.nanoseconds
    changedNanoseconds = status.changed.nanoseconds
    bornNanoseconds = status.bornNanoseconds
    inode = status.identity.inode
  }

  /// Whether nothing says that the file was changed between the two.
  func isSameFile(as other: BackupEntry) -> Bool {
    kind == other.kind && byteCount == other.byteCount && inode == other.inode && isSettled
      && other.isSettled && modifiedNanoseconds == other.modifiedNanoseconds
      && changedNanoseconds == other.changedNanoseconds
  }

  /// An entry with the fields that a manifest must have.
  init(domain: String, path: [UInt8], kind: Kind) {
    self.domain = domain
    self.path = path
    self.kind = kind
    permissions = kind == .file ? 0o600 : 0o700
    (byteCount, modifiedNanoseconds, changedNanoseconds) = (0, 0, 0)
    (bornNanoseconds, inode, attributes) = (0, 0, [])
  }

  /// The domain of an app.
  public static func domain(of identifier: String) -> String { "AppDomain-\(identifier)" }

  /// The path as the manifest spells it: always UTF-8.
  ///
  /// A component that is not UTF-8 has `%XX` for each byte that is not printable ASCII, and for
  /// `%`; the real bytes are kept beside it, so that nothing is lost.
  public var relativePath: [UInt8] {
    if String(validating: path, as: UTF8.self) != nil { return path }
    let slash = UInt8(ascii: "/")
    let components = path.split(separator: slash, omittingEmptySubsequences: false)
    return Array(components.map { Self.spelled(Array($0)) }.joined(separator: [slash]))
  }

  private static func spelled(_ component: [UInt8]) -> [UInt8] {
    if String(validating: component, as: UTF8.self) != nil { return component }
    return component.flatMap { byte -> [UInt8] in
      let isPlain = (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "%")
      return isPlain ? [byte] : Array("%".utf8) + hexadecimal([byte])
    }
  }

  /// The name of its row and of its blob: the SHA-1 of domain, `-` and path, as 40 digits.
  public var fileID: [UInt8] {
    get throws(BackupError) { try Self.fileID(domain: domain, relativePath: relativePath) }
  }

  /// The SHA-1 of domain, `-` and path, as 40 digits.
  static func fileID(domain: String, relativePath: [UInt8]) throws(BackupError) -> [UInt8] {
    do throws(CryptoError) {
      return hexadecimal(try SHA1.digest(of: Array("\(domain)-".utf8) + relativePath))
    } catch {
      throw BackupError("OpenSSL has no SHA-1 here")
    }
  }
}

/// Two digits for each byte, in lower case.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> [UInt8] {
  let digits = Array("0123456789abcdef".utf8)
  return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }
}
