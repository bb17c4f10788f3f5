// The record of a container: what `container.plist` says.

public import Paths

/// What is known about a container besides its data.
///
/// Store turns it into a property list and back. An app can never write it.
public struct ContainerRecord: Equatable, Sendable {
  /// What the seal says about the bundle, in `codesign`'s words.
  public enum SealState: String, Sendable, CaseIterable {
    /// Sealed, and signed by a trusted key.
    case valid
    /// Sealed, without a signature.
    case adHoc = "ad hoc"
    /// Sealed, and signed by a key that is not trusted.
    case untrusted
    /// Changed since it was sealed.
    case modified
    /// Not sealed.
    case unsigned
    /// There is no bundle: only data was kept.
    case dataOnly = "data only"
  }

  /// The container's key.
  public var identifier: BundleIdentifier
  /// The uid that owns the data.
  public var ownerUID: UInt32
  /// The gid that owns the data.
  public var ownerGID: UInt32
  /// The bundle's directory name, such as `Notes.app`; empty if there is no bundle.
  public var bundleName: [UInt8]
  /// The path of the main executable inside the bundle, such as `Notes` or `Contents/MacOS/Notes`.
  public var executable: [UInt8]
  /// The name that people see.
  public var displayName: String
  /// The version that people see.
  public var version: String
  /// What the seal says.
  public var sealState: SealState
  /// The SHA-256 of the table of the bundle's chunks; empty if there is none.
  public var tableDigest: [UInt8] = []
  /// The code by which this host knows that `sealedMessage` is its own; empty if there is none.
  public var authenticator: [UInt8] = []
  /// What the seal must be worth for the app to be installed anew, and to be launched.
  public var requirement: SealRequirement = .adHoc
  /// The files and directories that were lent to it, in the order of their paths.
  public var grants: [Grant] = []
  /// What else it may reach outside.
  public var allowances: Set<Allowance> = []
  /// How much it may hold in all.
  public var limits = ContainerLimits()
  /// The name of the shipped profile that holds, such as `default`.
  public var profileName: String
  /// The key of the permutation of inode numbers.
  public var inodeKey: [UInt64]
  /// When it was first installed, in seconds since 1970.
  public var installedSeconds: Int64
  /// When the bundle was last exchanged, in seconds since 1970.
  public var updatedSeconds: Int64

  /// A record with every field given.
  ///
  /// `inodeKey` has two words.
  public init(
    identifier: BundleIdentifier, ownerUID: UInt32, ownerGID: UInt32, bundleName: [UInt8],
    executable: [UInt8], displayName: String, version: String, sealState: SealState,
    profileName: String, inodeKey: [UInt64], installedSeconds: Int64, updatedSeconds: Int64
  ) {
    precondition(inodeKey.count == 2, "an inode key has two words")
    self.identifier = identifier
    self.ownerUID = ownerUID
    self.ownerGID = ownerGID
    self.bundleName = bundleName
    self.executable = executable
    self.displayName = displayName
    self.version = version
    self.sealState = sealState
    self.profileName = profileName
    self.inodeKey = inodeKey
    self.installedSeconds = installedSeconds
    self.updatedSeconds = updatedSeconds
  }
}

extension ContainerRecord {
  /// What of it holds on another host.
  ///
  /// Nothing of owner, key and seal, which are another's there, and nothing of what a person has
  /// lent or limited here.
  public var portable: ContainerRecord {
    var portable = ContainerRecord(
      identifier: identifier, ownerUID: 0, ownerGID: 0, bundleName: bundleName,
      executable: executable, displayName: displayName, version: version,
      sealState: bundleName.isEmpty ? .dataOnly : .unsigned, profileName: profileName,
      inodeKey: [0, 0], installedSeconds: installedSeconds, updatedSeconds: updatedSeconds)
    portable.requirement = requirement
    return portable
  }

  /// What the seal vouches for: which bundle this is, what runs, and what its chunks are.
  ///
  /// Owners and dates are not in it: a store that is taken to another place changes them.
  public var sealedMessage: [UInt8] {
    var writer = ByteWriter(bytes: Array("sandboxfs seal 1".utf8))
    writer.bytes(identifier.bytes)
    writer.bytes(bundleName)
    writer.bytes(executable)
    writer.bytes(Array(sealState.rawValue.utf8))
    writer.bytes(Array(requirement.rawValue.utf8))
    writer.bytes(tableDigest)
    return writer.bytes
  }
}
