// The superblock that we serve, as the mount table knows it: found without asking our own view,
// which could not answer itself.
import LinuxKit

/// The device number of the view's superblock.
struct MountedDevice: Sendable {
  let number: DeviceNumber

  /// The one of a number.
  init(number: DeviceNumber) { self.number = number }

  /// What is mounted at `target` now.
  ///
  /// Throws ENOENT if nothing of ours is.
  init(at target: [UInt8]) throws(Errno) {
    guard let entry = try MountTable.read().topmost(at: target),
      entry.type == Array("fuse.sandboxfs".utf8)
    else { throw .noEntry }
    number = entry.device
  }

  /// Takes the view down from `target` with what is mounted in it, if it is still ours that is
  /// there: by identity, since another may have been mounted over it.
  func detach(from target: [UInt8]) {
    guard let entry = try? MountTable.read().topmost(at: target), entry.device == number else {
      return
    }
    try? unmount(target, .detach)
  }
}
