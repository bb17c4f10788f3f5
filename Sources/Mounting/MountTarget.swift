// Where a view is to be mounted: a directory that was looked at once, before anything was done.
internal import Containers
internal import LinuxKit
internal import Paths

/// A mount point that may be used, by its canonical path.
struct MountTarget {
  let path: [UInt8]
  /// The number of the mount that was there before; nil if there was none.
  private let covered: UInt64?

  /// What people read.
  var name: String { path.printable }

  /// Looks at a path; a dead view on it is taken away first, if `replacingDead`.
  ///
  /// Refuses what is no directory, and what lies in the store of the container in `container`.
  init(
    _ path: [UInt8], for container: borrowing Descriptor, replacingDead: Bool
  ) throws(MountError) {
    let name = path.printable
    do throws(Errno) {
      self.path = try canonicalPathOfMountPoint(path)
    } catch {
      throw MountError(.failed, "mount point \(name)", error)
    }
    if replacingDead { try removeDeadView(at: self.path) }
    covered = try readMountTable().topmost(at: self.path)?.id
    if !replacingDead, try deadView(at: self.path) != nil { return }
    let isInStore: Bool
    do throws(Errno) {
      // A container's directory is in `containers`, and that is in the store.
      let store = try container.place(named: Array("../..".utf8))
      isInStore = try Descriptor.place(self.path).isInside(store)
    } catch {
      throw MountError(.failed, "mount point \(name)", error)
    }
    if isInStore {
      throw MountError(
        .usage, "mount point \(name) lies in the store itself; choose a directory outside of it")
    }
  }
}

extension MountTarget {
  /// Takes away a view that was mounted here since this was looked at, whoever serves it.
  func takeDown(_ configuration: ViewConfiguration) {
    guard let entry = try? readMountTable().topmost(at: path), entry.isWholeView,
      entry.id != covered
    else { return }
    if isPrivileged() {
      try? LinuxKit.unmount(path, .detach)
      forgetMounts(at: [path, bundlePath(path, configuration.bundleName)])
    } else {
      try? unmountByFusermount(path, lazily: true)
    }
  }
}

/// Takes a view whose daemon has died from a mount point; leaves everything else as it is.
///
/// As an ordinary user only the caller's own, by fusermount3.
func removeDeadView(at path: [UInt8]) throws(MountError) {
  while let parts = try deadView(at: path) {
    if isPrivileged() {
      do throws(Errno) {
        try LinuxKit.unmount(path, .detach)
      } catch {
        throw MountError(.failed, "cannot take the dead view from \(path.printable)", error)
      }
      forgetMounts(at: parts)
    } else {
      try unmountByFusermount(path, lazily: true)
    }
  }
}

/// The view whose daemon has died and that is at a mount point, with what is mounted in it; nil if
/// none is.
private func deadView(at path: [UInt8]) throws(MountError) -> [[UInt8]]? {
  let table = try readMountTable()
  guard let entry = table.topmost(at: path), entry.isView,
    isDead(path, withinMilliseconds: silenceMilliseconds) == true
  else { return nil }
  return [path] + table.children(of: entry).map(\.mountPoint)
}

extension MountEntry {
  /// Whether it is a view of ours, or the bundle of one.
  var isView: Bool { type == Array("fuse.sandboxfs".utf8) }

  /// Whether it is the root of a view.
  var isWholeView: Bool { isView && root == [UInt8(ascii: "/")] }
}

func readMountTable() throws(MountError) -> MountTable {
  do throws(Errno) {
    return try MountTable.read()
  } catch {
    throw MountError(.system, "cannot read the mount table", error)
  }
}
