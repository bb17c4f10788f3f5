// The node table on a real directory: identities, names, lifetimes, and what a rebuild makes of it.
import Glibc
import LinuxKit
import Policy
import Testing

@testable import View

/// A table over a directory that is removed at its end.
private final class TableOnDisk {
  let path: String
  let table: NodeTable
  let handles: HandleTable
  let directory: Descriptor
  let scratch: ThreadScratch

  init(descriptorLimit: Int = 32, rules: String = "/ read write\n") throws {
    var template = Array("/tmp/sandboxfs-nodes-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.last }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    directory = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    scratch = try ThreadScratch.current()
    let arena = try Arena()
    let text = Array(rules.utf8)
    let policy = try PolicyEngine(
      layers: [ProfileSource(rank: .shipped, name: Array("test".utf8), text: text)],
      bundleName: [])
    table = try NodeTable(
      arena, policy, root: try directory.duplicate().release(), bundle: nil, bundleName: [],
      orphans: try directory.duplicate().release(), descriptorLimit: descriptorLimit)
    handles = HandleTable(arena)
  }

  deinit { _ = system("rm -rf -- \(path)") }

  func touch(_ name: String) throws {
    _ = try directory.open(name, O_CREAT | O_RDWR, mode: 0o600)
  }

  /// Looks a name up in the root.
  func enter(_ name: String) throws -> NodeIndex {
    try name.withCString { name in
      let status = try InodeStatus.of(name, in: directory.rawValue)
      return try table.enter(
        NodeTable.root, Name(name), status, ruling(Name(name), in: NodeTable.root))
    }
  }

  func ruling(_ name: Name, in directory: NodeIndex) -> Ruling {
    table.ruling(of: directory, scratch).below(name)
  }

  /// Makes directories below each other and looks each up; their nodes, the uppermost first.
  func enterChain(_ depth: Int) throws -> [NodeIndex] {
    var nodes: [NodeIndex] = []
    var place = try directory.duplicate()
    for _ in 0..<depth {
      try #require(mkdirat(place.rawValue, "d", 0o700) == 0)
      let status = try InodeStatus.of("d", in: place.rawValue)
      let node = try "d".withCString {
        try table.enter(nodes.last ?? NodeTable.root, Name($0), status, table.rulingWithoutPath)
      }
      nodes.append(node)
      place = try place.open("d", O_RDONLY | O_DIRECTORY)
    }
    return nodes
  }

  func rename(_ name: String, to newName: String) throws {
    try name.withCString { name in
      try newName.withCString { newName in
        let status = try InodeStatus.of(name, in: directory.rawValue)
        table.beginMove()
        defer { table.endMove() }
        try Names.rename(
          name, in: directory.rawValue, to: newName, in: directory.rawValue, flags: 0)
        table.moved(
          Name(name), NodeTable.root, to: Name(newName), NodeTable.root, status,
          ruling(Name(newName), in: NodeTable.root))
      }
    }
  }

  func remove(_ name: String) throws {
    try name.withCString { name in
      let doomed = try Descriptor.openPath(name, in: directory.rawValue)
      let status = try InodeStatus.of(doomed.rawValue)
      table.beginMove()
      defer { table.endMove() }
      try Names.unlink(name, in: directory.rawValue)
      table.removed(
        Name(name), NodeTable.root, status, isLast: status.linkCount <= 1, descriptor: doomed)
    }
  }
}

@Suite struct NodeTableTests {
  @Test func twoNamesOfOneFileAreOneNode() throws {
    let disk = try TableOnDisk()
    try disk.touch("a")
    #expect(link("\(disk.path)/a", "\(disk.path)/b") == 0)
    let first = try disk.enter("a")
    #expect(try disk.enter("b") == first)
    try disk.remove("a")
    let status = try disk.table.status(of: first, disk.scratch)
    #expect(status.linkCount == 1, "the node is reached though its first name is gone")
    #expect(try disk.enter("b") == first)
  }

  @Test func aNumberThatIsUsedAgainIsAnotherNode() throws {
    let disk = try TableOnDisk()
    for _ in 0..<50 {
      try disk.touch("a")
      let old = try disk.enter("a")
      let id = disk.table.id(of: old)
      try disk.remove("a")
      try disk.touch("a")
      let new = try disk.enter("a")
      #expect(disk.table.id(of: new) != id)
      #expect(try disk.table.status(of: old, disk.scratch).linkCount == 0)
      disk.table.forget(id, 1)
      #expect(throws: Errno.stale) { try disk.table.index(of: id) }
      try disk.remove("a")
      disk.table.forget(disk.table.id(of: new), 1)
    }
    #expect(disk.table.count == 3, "only the permanent nodes are left")
  }

  @Test func forgottenNodesLeaveNoDescriptor() throws {
    let disk = try TableOnDisk()
    var ids: [UInt64] = []
    for number in 0..<200 {
      try disk.touch("f\(number)")
      let index = try disk.enter("f\(number)")
      _ = try disk.table.pin(index, disk.scratch)
      disk.table.unpin(index)
      ids.append(disk.table.id(of: index))
    }
    #expect(disk.table.descriptorCount <= 32)
    for id in ids { disk.table.forget(id, 1) }
    #expect(disk.table.descriptorCount == 0)
    #expect(disk.table.count == 3)
  }

  /// Whoever takes over closes what no node has: what waited to be closed would be closed twice,
  /// the second time as another file.
  @Test(arguments: [false, true])
  func whatEndsBeforeAnybodyServesDoesNotWaitToBeClosed(endsWithIt: Bool) throws {
    let disk = try TableOnDisk()
    try disk.touch("a")
    let index = try disk.enter("a")
    let id = disk.table.id(of: index)
    try disk.remove("a")
    let descriptor = disk.table.record(index).pointee.descriptor
    #expect(disk.table.record(index).pointee.state.contains(.light))
    // The process that served has died over a FORGET, before it or in it.
    if endsWithIt { disk.table.record(index).pointee.lookups = 0 }
    _ = try disk.table.recover(disk.handles)
    disk.table.forget(id, 1)
    #expect(disk.table.count == 3)
    #expect(disk.table.late.count == 0)
    #expect(fcntl(descriptor, F_GETFD) == -1)
  }

  @Test func aNodeThatIsForgottenWhilePinnedEndsWithThePin() throws {
    let disk = try TableOnDisk()
    try disk.touch("a")
    let index = try disk.enter("a")
    _ = try disk.table.pin(index, disk.scratch)
    disk.table.forget(disk.table.id(of: index), 1)
    #expect(disk.table.count == 4)
    disk.table.unpin(index)
    #expect(disk.table.count == 3)
  }

  @Test func forgetsMoreThanThereWereAreHarmless() throws {
    let disk = try TableOnDisk()
    try disk.touch("a")
    let id = disk.table.id(of: try disk.enter("a"))
    disk.table.forget(id, UInt64.max)
    disk.table.forget(id, 1)
    disk.table.forget(UInt64.max, 1)
    disk.table.forget(1, 5)
    #expect(disk.table.count == 3)
  }

  @Test func whatIsDerivedIsWhatARebuildComputes() throws {
    let disk = try TableOnDisk()
    var random = SplitMix(state: 3)
    var held: [UInt64] = []
    var open: [UInt64] = []
    for step in 0..<3_000 {
      let name = "n\(random.next() % 20)"
      switch random.next() % 7 {
      case 0...1: try disk.touch(name)
      case 2...3:
        if let index = try? disk.enter(name) { held.append(disk.table.id(of: index)) }
      case 4: try? disk.rename(name, to: "n\(random.next() % 20)-\(step)")
      case 5: try? disk.remove(name)
      default:
        if !held.isEmpty {
          let id = held.remove(at: Int(random.next() % UInt64(held.count)))
          disk.table.forget(id, 1)
        }
      }
      try toggle(&open, &held, disk, &random)
      if step % 250 == 0 { compare(disk, step) }
    }
  }

  /// Opens one of the held nodes or closes one of the open handles, now and then.
  private func toggle(
    _ open: inout [UInt64], _ held: inout [UInt64], _ disk: TableOnDisk, _ random: inout SplitMix
  ) throws {
    guard random.next() % 8 == 0 else { return }
    if open.count < 10, let id = held.randomElement(using: &random) {
      let index = try disk.table.index(of: id)
      _ = try disk.table.opened(index, .writable)
      open.append(
        try disk.handles.open(index, try disk.directory.duplicate(), .writable, process: 1))
    } else if let handle = open.popLast() {
      let closed = try disk.handles.close(handle)
      disk.table.closed(closed.node, closed.state)
    }
  }

  private func compare(_ disk: TableOnDisk, _ step: Int) {
    let kept = disk.table.derived()
    let counts = (disk.table.descriptorCount, disk.table.anchoredCount)
    disk.table.rebuild(disk.handles)
    #expect(disk.table.derived() == kept, "in step \(step)")
    #expect(disk.table.descriptorCount == counts.0, "in step \(step)")
    #expect(disk.table.anchoredCount == counts.1, "in step \(step)")
  }

  @Test func deepTreesAreGoneDownWithFewDescriptors() throws {
    let disk = try TableOnDisk()
    let depth = 3 * ThreadScratch.numberCount
    let nodes = try disk.enterChain(depth)
    let bottom = try #require(nodes.last)
    // A different way each time: all of it, from a stale top, and what the last turn has left.
    for index in [bottom, nodes[depth / 2], bottom, nodes[1], bottom] {
      let descriptor = try disk.table.pin(index, disk.scratch)
      #expect(try InodeStatus.of(descriptor).inode == disk.table.inode(of: index))
      disk.table.unpin(index)
      #expect(disk.table.descriptorCount <= 32)
    }
    for _ in 0..<3 {
      disk.table.raiseZoneEpoch()
      _ = disk.table.ruling(of: nodes[depth / 3], disk.scratch)
      _ = disk.table.ruling(of: bottom, disk.scratch)
      #expect(
        nodes.allSatisfy { disk.table.record($0).pointee.zoneEpoch == disk.table.zoneEpoch })
    }
    for index in nodes { disk.table.forget(disk.table.id(of: index), 1) }
    #expect(disk.table.count == 3)
  }

  /// What lies below a directory that moved is judged anew when it is used, and only that.
  @Test func aMoveBetweenZonesWalksNothing() throws {
    let disk = try TableOnDisk(rules: "/ read write\n/new audit\n")
    let (table, scratch) = (disk.table, disk.scratch)
    try #require(mkdirat(disk.directory.rawValue, "old", 0o700) == 0)
    let moving = try disk.enter("old")
    let place = try disk.directory.open("old", O_RDONLY | O_DIRECTORY)
    let files = try (0..<1000).map { number in
      _ = try place.open("f\(number)", O_CREAT | O_RDWR, mode: 0o600)
      return try "f\(number)".withCString { name in
        let status = try InodeStatus.of(name, in: place.rawValue)
        return try table.enter(
          moving, Name(name), status, disk.ruling(Name(name), in: moving))
      }
    }
    for file in files {
      #expect(table.ruling(of: file, scratch).attributes.audit == .denials)
    }
    func judged() -> Int {
      files.count { table.record($0).pointee.zoneEpoch == table.zoneEpoch }
    }
    #expect(judged() == files.count)
    try disk.rename("old", to: "new")
    #expect(judged() == 0)
    #expect(table.ruling(of: files[500], scratch).attributes.audit == .everything)
    #expect(judged() == 1)
    for file in files {
      #expect(table.ruling(of: file, scratch).attributes.audit == .everything)
    }
    try disk.rename("new", to: "old")
    #expect(table.ruling(of: files[0], scratch).attributes.audit == .denials)
    #expect(judged() == 1)
  }

  /// A stale zone is a number of another policy: it is no zone of this one, or the wrong one.
  @Test func whatLosesItsNameIsJudgedByTheRulesOfNow() throws {
    let disk = try TableOnDisk(rules: (1...40).map { "/d\($0) audit\n" }.joined() + "/file audit\n")
    let table = disk.table
    try disk.touch("file")
    let file = try disk.enter("file")
    let engine = try PolicyEngine(
      layers: [
        ProfileSource(rank: .shipped, name: Array("test".utf8), text: Array("/ read\n".utf8))
      ], bundleName: [])
    _ = table.replacePolicy(engine, nil)
    table.lock.lock()
    table.detach(file)
    table.lock.unlock()
    #expect(table.ruling(of: file, disk.scratch).attributes.audit == .denials)
  }

  @Test func theWayDownKeepsItsUpperEnd() throws {
    var way = WayDown(try ThreadScratch.current())
    #expect(way.next() == nil)
    let length = NodeIndex(ThreadScratch.numberCount)
    for node in 1...length + 10 { way.add(node) }
    for node in (11...length + 10).reversed() { #expect(way.next() == node) }
    #expect(way.next() == nil)
    way.add(5)
    way.clear()
    #expect(way.next() == nil)
  }

  @Test func aRecordIsAsSmallAsPromised() {
    let name = MemoryLayout<NameCells.Cell>.stride
    let bucket = MemoryLayout<NodeIndex>.stride
    #expect(MemoryLayout<NodeRecord>.stride + name + bucket <= 150)
  }
}
