// How many messages an operation may cost: what a view is slow at is what it must ask the daemon.

import Glibc
import LinuxKit
import Mounting
import Testing

/// One operation on a directory of a view, and the most messages that it may cost.
private struct Cost: Sendable {
  let what: String
  let most: Int
  /// Runs below an open directory; `file` is open for reading and writing there.
  let run: @Sendable (_ directory: CInt, _ file: CInt) -> Bool

  init(
    _ what: String, _ most: Int, _ run: @escaping @Sendable (CInt, CInt) -> Bool
  ) {
    self.what = what
    self.most = most
    self.run = run
  }
}

private func status(_ directory: CInt, _ name: String) -> CInt {
  var attributes = stat()
  return fstatat(directory, name, &attributes, AT_SYMLINK_NOFOLLOW)
}

private func opened(_ directory: CInt, _ name: String, _ flags: CInt) -> CInt {
  openat(directory, name, flags, 0o600)
}

private let costs: [Cost] = [
  Cost("read of an open file", 0) { _, file in
    var bytes = [UInt8](repeating: 0, count: 4096)
    return pread(file, &bytes, 4096, 0) == 4096
  },
  Cost("write to an open file", 0) { _, file in
    pwrite(file, [UInt8](repeating: 1, count: 4096), 4096, 0) == 4096
  },
  Cost("touching a mapping", 0) { _, file in
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard let memory, memory != MAP_FAILED else { return false }
    memory.storeBytes(of: 7, as: UInt8.self)
    return munmap(memory, 4096) == 0
  },
  Cost("stat of a known file", 0) { directory, _ in status(directory, "known") == 0 },
  Cost("looking for what was not there before either", 0) { directory, _ in
    status(directory, "absent") == -1
  },
  // OPEN, and RELEASE behind it.
  Cost("opening and closing a known file", 2) { directory, _ in
    let descriptor = opened(directory, "known", O_RDONLY)
    return descriptor >= 0 && close(descriptor) == 0
  },
  // LOOKUP, CREATE, GETXATTR of security.capability and RELEASE; one GETXATTR more for the ACL.
  Cost("creating, writing and closing a file", 5) { directory, _ in
    let descriptor = opened(directory, "new", O_CREAT | O_EXCL | O_WRONLY)
    return descriptor >= 0 && write(descriptor, "x", 1) == 1 && close(descriptor) == 0
  },
  Cost("chmod", 1) { directory, _ in fchmodat(directory, "known", 0o640, 0) == 0 },
  // The target's name is looked up before.
  Cost("rename", 2) { directory, _ in renameat(directory, "moving", directory, "moved") == 0 },
  // UNLINK, and FORGET behind it.
  Cost("unlink", 2) { directory, _ in unlinkat(directory, "doomed", 0) == 0 },
]

@Suite(.serialized) struct MessageTests {
  @Test func operationsCostNoMoreMessagesThanTheyMay() throws {
    try withMountingScene { scene in
      try scene.mount()
      let path = "\(scene.target)/Documents"
      let directory = open(path, O_RDONLY | O_DIRECTORY)
      #expect(directory >= 0)
      for name in ["known", "moving", "doomed"] {
        let descriptor = opened(directory, name, O_CREAT | O_RDWR)
        #expect(write(descriptor, [UInt8](repeating: 0, count: 8192), 8192) == 8192)
        close(descriptor)
      }
      let file = opened(directory, "open", O_CREAT | O_RDWR)
      #expect(write(file, [UInt8](repeating: 0, count: 8192), 8192) == 8192)
      for cost in costs {
        warm(cost, directory, file)
        let before = try settledCount(scene)
        #expect(cost.run(directory, file), "\(cost.what): errno \(errno)")
        let spent = try settledCount(scene) - before
        #expect(spent <= cost.most, "\(cost.what) costs \(spent) messages")
      }
      close(file)
      close(directory)
      try scene.unmount()
    }
  }

  /// What may be asked once is asked before: attributes, ACLs, names that are not there.
  private func warm(_ cost: Cost, _ directory: CInt, _ file: CInt) {
    for name in ["known", "absent", "new", "moving", "doomed"] { _ = status(directory, name) }
    if cost.most == 0 { _ = cost.run(directory, file) }
  }

  /// The number of messages, when none comes any more: RELEASE and FORGET come behind.
  private func settledCount(_ scene: MountingScene) throws -> Int {
    let container = try scene.directory()
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
