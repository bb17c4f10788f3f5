// Whether what an app has put into Library/Preferences as `NAME.plist` is a property list: what is
// none is named in the log, and nothing else becomes of it.
//
// A request only notes the node's number. Another thread looks, later and once for all that came
// meanwhile: what is there is the app's, may be anything, and is read to a limit.
import FuseKit
import LinuxKit
import Policy
import PropertyLists

/// The files that are to be looked at, in the order in which they came.
final class PropertyListWatch: @unchecked Sendable {
  /// More than so many at once are not told apart.
  private static let capacity = 64

  /// A file by its node's number, and who had it open.
  struct Entry {
    let node: UInt64
    let process: Int32
  }

  private let lock: PlainLock
  private let bell = Doorbell()
  private let entries: UnsafeMutablePointer<Entry>
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var passedOver: Entry?

  init() {
    lock = PlainLock(at: .allocate(byteCount: PlainLock.byteCount, alignment: 16))
    entries = .allocate(capacity: Self.capacity)
  }

  /// Notes a file; one that waits already stays where it is.
  func note(_ entry: Entry) {
    lock.lock()
    defer { lock.unlock() }
    for index in 0..<count where entries[index].node == entry.node { return }
    if count == Self.capacity {
      passedOver = entry
      return
    }
    entries[count] = entry
    count += 1
    if count == 1 { bell.ring() }
  }

  /// Waits for files; those that there are, and one of those for which there was no room.
  func take() -> (entries: [Entry], passedOver: Entry?) {
    bell.wait()
    // A program that writes a file often is likely to do so again at once.
    Pause.microseconds(50_000)
    lock.lock()
    defer { lock.unlock() }
    let taken = (0..<count).map { entries[$0] }
    defer { (count, passedOver) = (0, nil) }
    return (taken, passedOver)
  }
}

extension ViewFileSystem {
  /// The most bytes of a file that are looked at.
  private static let propertyListLimit = 1 << 20

  /// Looks at the property lists that are written, for as long as the process lives.
  public func watchPropertyLists() -> Never {
    while true {
      let (entries, passedOver) = propertyLists.take()
      for entry in entries { look(at: entry) }
      if let passedOver { logPropertyList(.unreadPropertyList, passedOver, uid: ownerUID) }
    }
  }

  /// Notes a file that has got another name, if it is to be looked at.
  func notePropertyList(_ status: borrowing InodeStatus, by request: Request) {
    let index = nodes.known(status)
    guard index != 0, let node = nodes.propertyList(index) else { return }
    propertyLists.note(PropertyListWatch.Entry(node: node, process: request.pid))
  }

  private func look(at entry: PropertyListWatch.Entry) {
    guard let found = try? read(entry), let rule = found.rule else { return }
    logPropertyList(rule, entry, uid: found.uid)
  }

  /// What is to be said of a file; nothing if it is a property list, or is being changed again.
  private func read(
    _ entry: PropertyListWatch.Entry
  ) throws(Errno) -> (rule: RuleID?, uid: UInt32) {
    let index = try nodes.index(of: entry.node)
    let path = try nodes.pin(index, ThreadScratch.current())
    defer { nodes.unpin(index) }
    let before = try InodeStatus.of(path)
    let uid = before.shown.uid
    guard before.size <= Self.propertyListLimit else { return (.unreadPropertyList, uid) }
    let file = try Descriptor.reopen(path, 0)
    let bytes = try file.readToEnd(atMost: Self.propertyListLimit)
    let isList = isPropertyList(bytes)
    let after = try InodeStatus.of(path)
    // Who changes it now closes it again.
    let isStill =
      before.shown.modificationTime == after.shown.modificationTime
      && before.size == after.size && nodes.openCounts(after).writers == 0
    return (isList || !isStill ? nil : .propertyList, uid)
  }

  /// Whether bytes are a list in any form; a text alone is none, which any word would be.
  private func isPropertyList(_ bytes: [UInt8]) -> Bool {
    guard let list = try? PropertyList.read(bytes) else { return false }
    return list.string == nil || PropertyList.isBinary(bytes) || PropertyList.isXML(bytes)
  }

  private func logPropertyList(_ rule: RuleID, _ entry: PropertyListWatch.Entry, uid: UInt32) {
    guard let index = try? nodes.index(of: entry.node),
      let scratch = try? ThreadScratch.current(), nodes.propertyList(index) != nil
    else { return }
    let ruling = nodes.ruling(of: index, scratch)
    if ruling.attributes.audit == .silent { return }
    log(
      0, rule, ruling, operation: .write, Subject(index), nil, process: entry.process, uid: uid,
      scratch)
  }
}

extension NodeTable {
  /// The number of a node that is a file below Library/Preferences with a name that ends in
  /// `.plist`; nil for every other.
  func propertyList(_ index: NodeIndex) -> UInt64? {
    lock.lock()
    defer { lock.unlock() }
    guard slab.contains(index), record(index).pointee.type == 0o100000,
      record(index).pointee.parent != 0, has(index, ".plist", asEnd: true)
    else { return nil }
    var (above, below) = (record(index).pointee.parent, NodeIndex(0))
    while record(above).pointee.parent != NodeTable.root {
      below = above
      above = record(above).pointee.parent
      if above == 0 || above == NodeTable.root { return nil }
    }
    guard below != 0, has(above, "Library"), has(below, "Preferences") else { return nil }
    return id(of: index)
  }

  /// Whether a node's name is a text, or ends in it.
  private func has(_ index: NodeIndex, _ text: StaticString, asEnd: Bool = false) -> Bool {
    var name: [256 of CChar] = .init(repeating: 0)
    return withUnsafeMutableBytes(of: &name) { bytes in
      let start = bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
      let count = names.copy(record(index).pointee.name, to: start)
      guard asEnd ? count >= text.utf8CodeUnitCount : count == text.utf8CodeUnitCount else {
        return false
      }
      let end = bytes[(count - text.utf8CodeUnitCount)..<count]
      return text.withUTF8Buffer { end.elementsEqual($0) }
    }
  }
}
