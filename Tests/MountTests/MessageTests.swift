// How many messages an operation may cost: what a view is slow at is what it must ask the daemon.

import Glibc
import LinuxKit
import Mounting
import TestSupport
import Testing

/// Where an operation works: an open directory of a view, a file that is open there for reading and
/// writing, and names of which each attempt has its own.
private struct Bench: Sendable {
  let directory: CInt
  let file: CInt
  let attempt: Int

  /// A name of this attempt's.
  func own(_ name: String) -> String { "\(name) \(attempt)" }

  func status(_ name: String) -> CInt {
    var attributes = stat()
    return fstatat(directory, name, &attributes, AT_SYMLINK_NOFOLLOW)
  }

  func open(_ name: String, _ flags: CInt) -> CInt { openat(directory, name, flags, 0o600) }

  /// Lists the directory; how many bytes its entries took.
  func list() -> Int {
    let listing = Descriptor(owning: openat(directory, ".", O_RDONLY | O_DIRECTORY))
    return withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
      var total = 0
      while let memory = buffer.baseAddress,
        let count = try? FileIO.listOn(listing.rawValue, into: memory, byteCount: buffer.count),
        count > 0
      { total += count }
      return total
    }
  }
}

/// One operation, and the most messages that it may cost.
private struct Cost: Sendable {
  let what: String
  let most: Int
  /// Whether it is done twice, and the second time counts.
  let isRepeated: Bool
  let run: @Sendable (Bench) -> Bool

  init(
    _ what: String, _ most: Int, isRepeated: Bool = false,
    _ run: @escaping @Sendable (Bench) -> Bool
  ) {
    self.what = what
    self.most = most
    self.isRepeated = isRepeated || most == 0
    self.run = run
  }
}

/// Whether the kernel opens directories by itself on the file system of the tests' directory.
private let opensDirectoriesItself: Bool = {
  guard let directory = try? Descriptor.open("/tmp", O_RDONLY | O_DIRECTORY) else { return false }
  return Attributes.keepsPlaces(directory.rawValue)
}()

private let costs: [Cost] = [
  Cost("read of an open file", 0) { bench in
    var bytes = [UInt8](repeating: 0, count: 4096)
    return pread(bench.file, &bytes, 4096, 0) == 4096
  },
  Cost("write to an open file", 0) { bench in
    pwrite(bench.file, [UInt8](repeating: 1, count: 4096), 4096, 0) == 4096
  },
  Cost("touching a mapping", 0) { bench in
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, bench.file, 0)
    guard let memory, memory != MAP_FAILED else { return false }
    memory.storeBytes(of: 7, as: UInt8.self)
    return munmap(memory, 4096) == 0
  },
  Cost("stat of a known file", 0) { $0.status("known") == 0 },
  Cost("looking for what was not there before either", 0) { $0.status("absent") == -1 },
  // OPENDIR and RELEASEDIR, or nothing.
  Cost("listing a directory again", opensDirectoriesItself ? 0 : 2, isRepeated: true) {
    $0.list() > 0
  },
  // UNLINK and FORGET; then READDIRPLUS with the entries, READDIRPLUS with the end, GETATTR of the
  // directory, and what an open directory costs.
  Cost("listing a directory that has changed", opensDirectoriesItself ? 5 : 7) { bench in
    unlinkat(bench.directory, bench.own("listed"), 0) == 0 && bench.list() > 0
  },
  // OPEN, and RELEASE behind it.
  Cost("opening and closing a known file", 2) { bench in
    let descriptor = bench.open("known", O_RDONLY)
    return descriptor >= 0 && close(descriptor) == 0
  },
  // LOOKUP, CREATE, GETXATTR of security.capability and RELEASE; one GETXATTR more for the ACL.
  Cost("creating, writing and closing a file", 5) { bench in
    let descriptor = bench.open(bench.own("new"), O_CREAT | O_EXCL | O_WRONLY)
    return descriptor >= 0 && write(descriptor, "x", 1) == 1 && close(descriptor) == 0
  },
  Cost("chmod", 1) { bench in
    fchmodat(bench.directory, "known", 0o640 + mode_t(bench.attempt), 0) == 0
  },
  // The target's name is looked up before.
  Cost("rename", 2) { bench in
    renameat(bench.directory, bench.own("moving"), bench.directory, bench.own("moved")) == 0
  },
  // UNLINK, and FORGET behind it.
  Cost("unlink", 2) { bench in unlinkat(bench.directory, bench.own("doomed"), 0) == 0 },
]

private func failure(_ call: () throws(Errno) -> Void) -> Errno? {
  do throws(Errno) {
    try call()
    return nil
  } catch {
    return error
  }
}

/// Without extended attributes: LOOKUP, CREATE and RELEASE, and no GETXATTR.
private let costsWithoutAttributes = [
  Cost("creating, writing and closing a file without xattrs", 3) { bench in
    let descriptor = bench.open(bench.own("new"), O_CREAT | O_EXCL | O_WRONLY)
    return descriptor >= 0 && write(descriptor, "x", 1) == 1 && close(descriptor) == 0
  },
  Cost("asking for xattrs where there are none", 0) { bench in
    let known = Descriptor(owning: bench.open("known", O_PATH))
    let file = known.rawValue
    return [
      failure { () throws(Errno) in
        _ = try ExtendedAttributes.get(file, "user.a", into: nil, byteCount: 0)
      },
      failure { () throws(Errno) in
        try ExtendedAttributes.set(
          file, "user.a", UnsafeRawBufferPointer(start: nil, count: 0), flags: 0)
      },
      failure { () throws(Errno) in
        _ = try ExtendedAttributes.list(file, into: nil, byteCount: 0)
      },
      failure { () throws(Errno) in try ExtendedAttributes.remove(file, "user.a") },
    ].allSatisfy { $0 == .notSupported }
  },
]

@Suite(.serialized) struct MessageTests {
  private static let attempts = 5

  @Test func operationsCostNoMoreMessagesThanTheyMay() throws { try check(costs) { _ in } }

  @Test func withoutExtendedAttributesNobodyAsksForThem() throws {
    try check(costsWithoutAttributes) { $0.noExtendedAttributes = true }
  }

  @Test func whoWatchesOverAViewCostsNoMessages() throws {
    let watched = try spent(on: costs, isExact: true) { _ in }
    let alone = try spent(on: costs, isExact: true) { $0.unsupervised = true }
    for (cost, counts) in zip(costs, zip(watched, alone)) {
      #expect(counts.0 == counts.1, "\(cost.what)")
    }
  }

  @Test func whatWasReadOfASealedFileIsReadAgainWithoutAMessage() throws {
    try withTamperScene(
      changes: [],
      prepare: { try $0.write([UInt8](repeating: 65, count: 500_000), to: "data") }
    ) { scene in
      try scene.mount()
      let file = try Descriptor.open("\(scene.view)/Notes.app/data", O_RDONLY)
      #expect(try file.readToEnd(atMost: 1 << 20).count == 500_000)
      let again = try Descriptor.open("\(scene.view)/Notes.app/data", O_RDONLY)
      let opened = try settledCount(scene.container)
      #expect(try again.readToEnd(atMost: 1 << 20).count == 500_000)
      let memory = mmap(nil, 500_000, PROT_READ, MAP_SHARED, again.rawValue, 0)
      let mapped = try #require(memory == MAP_FAILED ? nil : memory)
      defer { munmap(mapped, 500_000) }
      #expect(UnsafeRawBufferPointer(start: mapped, count: 500_000).allSatisfy { $0 == 65 })
      #expect(try settledCount(scene.container) == opened)
    }
  }

  private func check(_ costs: [Cost], _ change: (inout MountSettings) -> Void) throws {
    for (cost, least) in zip(costs, try spent(on: costs, change)) {
      #expect(least <= cost.most, "\(cost.what) costs \(least) messages")
    }
  }

  /// How many messages each operation costs in a view that is mounted so; where it need not be
  /// exact, it is enough that it is no more than it may be.
  private func spent(
    on costs: [Cost], isExact: Bool = false, _ change: (inout MountSettings) -> Void
  ) throws -> [Int] {
    var counts: [Int] = []
    try withMountingScene { scene in
      try scene.mount(change)
      let directory = try Descriptor.open("\(scene.target)/Documents", O_RDONLY | O_DIRECTORY)
      let file = try makeFile("open", in: directory)
      _ = try makeFile("known", in: directory)
      for attempt in 0..<Self.attempts {
        for name in ["moving", "doomed", "listed"] {
          _ = try makeFile("\(name) \(attempt)", in: directory)
        }
      }
      counts = try costs.map { cost in
        // What makes the kernel forget only adds to it: the least of a few is what it costs.
        var least = Int.max
        for attempt in 0..<Self.attempts where isExact || least > cost.most {
          let bench = Bench(
            directory: directory.rawValue, file: file.rawValue, attempt: attempt)
          least = min(least, try spent(on: cost, bench, scene))
        }
        return least
      }
    }
    return counts
  }

  private func makeFile(_ name: String, in directory: borrowing Descriptor) throws -> Descriptor {
    let file = try directory.open(name, O_CREAT | O_RDWR, mode: 0o600)
    #expect(write(file.rawValue, [UInt8](repeating: 0, count: 8192), 8192) == 8192)
    return file
  }

  private func spent(on cost: Cost, _ bench: Bench, _ scene: MountingScene) throws -> Int {
    // What may be asked once is asked before: attributes, ACLs, names that are not there.
    for name in ["known", "absent"] { _ = bench.status(name) }
    for name in ["new", "moving", "doomed", "listed"] { _ = bench.status(bench.own(name)) }
    if cost.isRepeated { _ = cost.run(bench) }
    let before = try settledCount(scene.container)
    #expect(cost.run(bench), "\(cost.what): errno \(errno)")
    return try settledCount(scene.container) - before
  }

  /// The number of messages, when none comes any more: RELEASE and FORGET come behind.
  private func settledCount(_ path: String) throws -> Int {
    let container = try Descriptor.open(path, O_RDONLY | O_DIRECTORY)
    var last = -1
    for _ in 0..<100 {
      let count = try #require(try DaemonStatus.ask(container)).requestCount
      if count == last { return count }
      last = count
      usleep(20_000)
    }
    return last
  }
}
