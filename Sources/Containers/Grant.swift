// What a person has lent to a container: a file or a directory outside, and which one it was.

/// An outside file or directory that a person has lent to a container.
///
/// It is bound at the same absolute path inside.
public struct Grant: Equatable, Sendable {
  /// What the app may do there, as far as whom it runs as may.
  public enum Access: String, Sendable, CaseIterable {
    /// Read.
    case read
    /// Read and write.
    case write
  }

  /// What was lent.
  public enum Kind: String, Sendable, CaseIterable {
    /// A directory with all that lies below.
    case directory
    /// One file.
    case file
  }

  /// Which file it is, whatever it is called now.
  public struct Identity: Equatable, Sendable {
    /// The inode's number.
    public var inode: UInt64
    /// The time of birth, which nobody can set; 0 where the file system does not keep it.
    public var bornNanoseconds: Int64
    /// The device's number.
    public var device: UInt64

    /// An identity with every field given.
    public init(inode: UInt64, bornNanoseconds: Int64, device: UInt64) {
      self.inode = inode
      self.bornNanoseconds = bornNanoseconds
      self.device = device
    }

    /// Whether two are one file.
    ///
    /// A device can have another number when the machine was started again, so it counts only
    /// where there is no time of birth.
    public func isSame(as other: Identity) -> Bool {
      guard inode == other.inode, bornNanoseconds == other.bornNanoseconds else { return false }
      return bornNanoseconds != 0 || device == other.device
    }
  }

  /// The path, without symbolic links.
  public var path: [UInt8]
  /// What was lent.
  public var kind: Kind
  /// What the app may do there.
  public var access: Access
  /// Which file it was.
  public var identity: Identity
  /// The directory that it was in.
  public var parent: Identity
  /// Whose it was.
  public var ownerUID: UInt32
  /// Who has lent it.
  public var grantorUID: UInt32

  /// A grant with every field given.
  public init(
    path: [UInt8], kind: Kind, access: Access, identity: Identity, parent: Identity,
    ownerUID: UInt32, grantorUID: UInt32
  ) {
    self.path = path
    self.kind = kind
    self.access = access
    self.identity = identity
    self.parent = parent
    self.ownerUID = ownerUID
    self.grantorUID = grantorUID
  }
}

extension Grant {
  /// Whether a file at its path is what was lent.
  ///
  /// Programs save by putting a new file in the place of the old one. So for a file it is enough
  /// that it is in the same directory, belongs to the same owner, and has no other name: whoever
  /// could put something else there can't make it such a one.
  public func isMet(
    by found: Identity, in parent: Identity, ownerUID: UInt32, linkCount: UInt32
  ) -> Bool {
    if identity.isSame(as: found) { return true }
    return kind == .file && self.parent.isSame(as: parent) && self.ownerUID == ownerUID
      && linkCount == 1
  }
}

/// Whether an absolute path is another one, or lies below it.
public func isPath(_ path: [UInt8], inside other: [UInt8]) -> Bool {
  let slash = UInt8(ascii: "/")
  if other == [slash] { return true }
  return path.starts(with: other) && (path.count == other.count || path[other.count] == slash)
}
