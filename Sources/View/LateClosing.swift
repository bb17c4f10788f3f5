// The last descriptors of small files that were removed: closed many at a time, a moment later.
//
// With its last descriptor a removed file gives its space back, which takes the store longer than
// all else about a removal. Done for each file while the next is being removed, the two are in each
// other's way, and to remove the directory waits for it: `rm -r` took half as long again.
import LinuxKit

/// Descriptors that nobody uses any more, of files that gave up little space.
///
/// Guarded by the lock of the table of nodes. Whoever takes over from a process that dies with some
/// closes them, with all that belongs to nobody.
struct LateClosing {
  /// How many are closed at once.
  static let capacity = 32
  /// How many blocks of 512 bytes a file may have for this: what is given back late is little,
  /// should the store be full.
  static let largestBlockCount: Int64 = 512
  /// For how long one is kept at most; much longer than a removal takes.
  static let microseconds: UInt32 = 2000

  private(set) var descriptors: [32 of CInt] = .init(repeating: -1)
  private(set) var count = 0

  var isFull: Bool { count == LateClosing.capacity }

  /// Takes a descriptor; false if there is no room.
  mutating func add(_ descriptor: CInt) -> Bool {
    guard !isFull else { return false }
    descriptors[count] = descriptor
    count += 1
    return true
  }

  /// Hands all of them to who closes them without the lock.
  mutating func take() -> LateClosing {
    defer { count = 0 }
    return self
  }

  func closeAll() {
    for index in 0..<count { _ = Descriptor(owning: descriptors[index]) }
  }
}

extension NodeTable {
  /// Keeps the descriptor of a node that ends until it is closed with others; false if it is to be
  /// closed now.
  func closeLater(_ node: UnsafeMutablePointer<NodeRecord>) -> Bool {
    guard node.pointee.state.contains(.light), late.add(node.pointee.descriptor)
    else { return false }
    if late.count == 1 { lateBell.ring() }
    return true
  }

  /// Closes what is kept; whether there was any.
  @discardableResult
  func closeLate() -> Bool {
    lock.lock()
    let closing = late.take()
    lock.unlock()
    closing.closeAll()
    return closing.count > 0
  }

  /// Closes what is kept long enough, for as long as the process lives.
  func closeInTime() -> Never {
    while true {
      lateBell.wait()
      Pause.microseconds(LateClosing.microseconds)
      closeLate()
    }
  }
}

extension ViewFileSystem {
  /// Gives back in time what removed files held, for as long as the process lives.
  public func closeRemoved() -> Never { nodes.closeInTime() }
}
