// The directories of a container, opened once: what a view stands on.
import Containers
import LinuxKit

/// The open directories behind a view.
struct Backing: ~Copyable {
  /// The root's backing.
  let data: Descriptor
  let orphans: Descriptor
  /// O_PATH descriptors for the node table, which keeps them for the daemon's life.
  let dataPath: CInt
  let bundlePath: CInt?
  let orphansPath: CInt
  /// Whether the store is on an overlay.
  let isOnOverlay: Bool
  /// Whether the store keeps POSIX ACLs.
  let hasACL: Bool
  /// Whether listings need no open directory: places in them mean the same to every descriptor.
  let keepsPlaces: Bool

  private init(
    data: consuming Descriptor, orphans: consuming Descriptor, dataPath: CInt, bundlePath: CInt?,
    orphansPath: CInt
  ) {
    hasACL = Backing.keepsACL(data)
    isOnOverlay = Attributes.isOnOverlay(data.rawValue)
    keepsPlaces =
      Attributes.keepsPlaces(data.rawValue) && bundlePath.map(Attributes.keepsPlaces) != false
    self.data = data
    self.orphans = orphans
    self.dataPath = dataPath
    self.bundlePath = bundlePath
    self.orphansPath = orphansPath
  }

  /// Opens them below the container's directory, which no app can write.
  ///
  /// What is in the orphans' directory is removed, unless `keepsOrphans`: it may still be in use.
  static func open(
    _ container: borrowing Descriptor, bundleName: [UInt8], keepsOrphans: Bool
  ) throws(Errno) -> Backing {
    let data = try container.open(ContainerLayout.data, Flags.directory)
    let orphans = try Backing.orphans(in: container)
    if !keepsOrphans { try sweep(orphans) }
    let bundlePath = try Backing.bundle(bundleName, in: container)
    let dataPath = try data.duplicate().release()
    let orphansPath = try orphans.duplicate().release()
    return Backing(
      data: data, orphans: orphans, dataPath: dataPath, bundlePath: bundlePath,
      orphansPath: orphansPath)
  }

  private static func bundle(
    _ bundleName: [UInt8], in container: borrowing Descriptor
  ) throws(Errno) -> CInt? {
    if bundleName.isEmpty { return nil }
    let parent = try container.open(ContainerLayout.bundle, Flags.directory)
    let name = bundleName.map { CChar(bitPattern: $0) } + [0]
    return try parent.open(name, Flags.directory).release()
  }

  private static func orphans(in container: borrowing Descriptor) throws(Errno) -> Descriptor {
    do throws(Errno) {
      try Names.makeDirectory(ContainerLayout.orphans, in: container.rawValue, mode: 0o700)
    } catch  where error == .exists {
      // Left by an earlier daemon, perhaps with what it could not finish.
    }
    return try container.open(ContainerLayout.orphans, Flags.directory)
  }

  /// Removes what a daemon left that was killed before the last release of an orphan.
  ///
  /// Only those whose inode's number is to go.
  static func sweep(
    _ orphans: borrowing Descriptor, where isDoomed: (UInt64) -> Bool = { _ in true }
  ) throws(Errno) {
    let scratch = try ThreadScratch.current()
    var offset: Int64 = 0
    while true {
      let count = try FileIO.list(
        orphans.rawValue, from: offset, into: scratch.data, byteCount: 65_536)
      if count == 0 { return }
      var position = 0
      while position < count {
        let record = DirectoryRecord(at: scratch.data + position)
        if !record.name.isDots && isDoomed(record.inode) {
          try Names.unlink(record.name.cString, in: orphans.rawValue)
        }
        offset = record.nextOffset
        position += record.byteCount
      }
    }
  }

  private static func keepsACL(_ data: borrowing Descriptor) -> Bool {
    do throws(Errno) {
      _ = try ExtendedAttributes.get(
        data.rawValue, "system.posix_acl_access", into: nil, byteCount: 0)
      return true
    } catch {
      // No ACL is set, but one could be; EOPNOTSUPP says that none can.
      return error == .noData
    }
  }
}
