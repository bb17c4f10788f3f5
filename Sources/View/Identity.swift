// What makes an inode that inode: its device, its number, and when it was made.
import LinuxKit

/// The identity of a backing inode.
///
/// Numbers are used again, so the time of birth belongs to it; 0 where the store does not keep it.
struct Identity: Equatable {
  let device: UInt32
  let inode: UInt64
  let birthNanoseconds: UInt64

  init(device: UInt32, inode: UInt64, birthNanoseconds: UInt64) {
    self.device = device
    self.inode = inode
    self.birthNanoseconds = birthNanoseconds
  }

  @inline(__always)
  init(_ status: borrowing InodeStatus) {
    let device = status.device
    // The kernel's dev_t has 32 bits; glibc spreads them over 64.
    self.device = UInt32(truncatingIfNeeded: device) ^ UInt32(truncatingIfNeeded: device >> 32)
    inode = status.inode
    birthNanoseconds = status.birthNanoseconds
  }

  @inline(__always)
  var hash: UInt64 {
    var hash = inode &* 0x9E37_79B9_7F4A_7C15
    hash ^= UInt64(device) &* 0xC2B2_AE3D_27D4_EB4F
    return hash ^ (hash >> 29)
  }
}

extension NodeRecord {
  var identity: Identity {
    get { Identity(device: device, inode: inode, birthNanoseconds: birthNanoseconds) }
    set {
      device = newValue.device
      inode = newValue.inode
      birthNanoseconds = newValue.birthNanoseconds
    }
  }

  /// Whether a status is this inode's; a sealed node is any of its type, since what is read there
  /// is compared with the table.
  @inline(__always)
  func matches(_ status: borrowing InodeStatus) -> Bool {
    if state.contains(.sealed) { return status.mode & 0o170000 == type }
    let other = Identity(status)
    return inode == other.inode && device == other.device
      && birthNanoseconds == other.birthNanoseconds
  }

  static var empty: NodeRecord {
    NodeRecord(
      state: [], generation: 0, parent: 0, name: 0, device: 0, zone: 0, zoneEpoch: 0,
      descriptor: -1, inode: 0, birthNanoseconds: 0, lookups: 0, backing: 0, type: 0,
      entry: SealedBundle.none, account: 0, nextInBucket: 0,
      children: 0, opens: 0, writers: 0, mappers: 0, pins: 0, moreRecent: 0, lessRecent: 0)
  }
}
