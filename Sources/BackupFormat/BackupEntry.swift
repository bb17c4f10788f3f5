// One entry of a backup: a row of `Files`.

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
  public var isSettled = true

  /// An extended attribute.
  public struct Attribute: Equatable, Sendable {
    /// The name, without `user.`.
    public var name: [UInt8]
    /// The value.
    public var value: [UInt8]

    /// An attribute with its value.
    public init(name: [UInt8], value: [UInt8]) {
      self.name = name
      self.value = value
    }
  }

  /// Whether nothing says that the file was changed between the two.
  public func isSameFile(as other: BackupEntry) -> Bool {
    kind == other.kind && byteCount == other.byteCount && inode == other.inode && isSettled
      && other.isSettled && modifiedNanoseconds == other.modifiedNanoseconds
      && changedNanoseconds == other.changedNanoseconds
  }

  /// An entry with the fields that a manifest must have.
  public init(domain: String, path: [UInt8], kind: Kind) {
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
}

/// Two digits for each byte, in lower case.
public func hexadecimal(_ bytes: some Sequence<UInt8>) -> [UInt8] {
  let digits = Array("0123456789abcdef".utf8)
  return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }
}

extension BackupEntry {
  /// Why its path is none that a restore makes; nil if it is one.
  ///
  /// A backup is bytes that anyone may have written.
  public func refusal(bundleName: [UInt8]) -> String? {
    if path.isEmpty { return kind == .directory ? nil : "the root is a directory" }
    let slash = UInt8(ascii: "/")
    let names = path.split(separator: slash, omittingEmptySubsequences: false)
    for name in names {
      if name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) {
        return "its path is not below the container"
      }
      if name.contains(0) { return "its name holds a NUL" }
      if name.count > 255 { return "its name is longer than 255 bytes" }
    }
    if names.count > Self.maximumDepth { return "it lies too deep" }
    if let first = names.first, !bundleName.isEmpty, first.elementsEqual(bundleName) {
      return "the bundle is installed, not restored"
    }
    return nil
  }

  /// How deep an entry may lie: each step costs whoever walks there, and is in the path of all that
  /// is below.
  public static let maximumDepth = 1024
}
