// What a refusal looks like to a program: the errno of each, on a real mount, as root, whom the
// policy refuses like anyone.

import Containers
import Glibc
import LinuxKit
import Mounting
import Policy
import Synchronization
import TestSupport
import Testing

/// One system call below a view and what it must say.
private struct Refusal: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let want: CInt
  /// Runs the call below the view at a path; its result.
  let call: @Sendable (String) -> CInt

  init(_ what: String, _ want: CInt, _ call: @escaping @Sendable (String) -> CInt) {
    testDescription = what
    self.want = want
    self.call = call
  }
}

private func opens(_ path: String, _ flags: CInt) -> CInt {
  let descriptor = open(path, flags, 0o600)
  if descriptor >= 0 { close(descriptor) }
  return descriptor
}

private let refusals: [Refusal] = [
  Refusal("a new entry in the root", EACCES) { opens("\($0)/new", O_CREAT | O_WRONLY) },
  Refusal("a new directory in the root", EACCES) { mkdir("\($0)/new", 0o700) },
  Refusal("removing Documents", EPERM) { rmdir("\($0)/Documents") },
  Refusal("renaming Documents", EPERM) { rename("\($0)/Documents", "\($0)/Documents2") },
  Refusal("replacing tmp", EPERM) { rename("\($0)/Documents/d", "\($0)/tmp") },
  Refusal("removing the link for GNUstep", EPERM) {
    unlink("\($0)/Library/ApplicationSupport")
  },
  Refusal("a device node", EPERM) { mknod("\($0)/tmp/null", S_IFCHR | 0o666, 0x103) },
  Refusal("a new file in the bundle", EROFS) {
    opens("\($0)/Notes.app/new", O_CREAT | O_WRONLY)
  },
  Refusal("writing a file of the bundle", EROFS) { opens("\($0)/Notes.app/Notes", O_WRONLY) },
  Refusal("truncating a file of the bundle", EROFS) { truncate("\($0)/Notes.app/Notes", 0) },
  Refusal("chmod in the bundle", EROFS) { chmod("\($0)/Notes.app/Notes", 0o777) },
  Refusal("removing a file of the bundle", EROFS) { unlink("\($0)/Notes.app/Notes") },
  Refusal("linking a file of the bundle out", EXDEV) {
    link("\($0)/Notes.app/Notes", "\($0)/tmp/Notes")
  },
  Refusal("moving a file into the bundle", EXDEV) {
    rename("\($0)/tmp/f", "\($0)/Notes.app/f")
  },
  Refusal("removing the bundle", EBUSY) { rmdir("\($0)/Notes.app") },
  Refusal("a name of 256 bytes", ENAMETOOLONG) {
    opens("\($0)/tmp/" + String(repeating: "n", count: 256), O_CREAT | O_WRONLY)
  },
  Refusal("a flag of rename that is not known", EINVAL) { view in
    guard let tmp = try? Descriptor.open("\(view)/tmp", O_RDONLY | O_DIRECTORY) else { return 0 }
    do throws(Errno) {
      try Names.rename("f", in: tmp.rawValue, to: "g", in: tmp.rawValue, flags: 1 << 2)
      return 0
    } catch {
      errno = error.code
      return -1
    }
  },
]

@Suite(.serialized) struct RefusalTests {
  @Test func refusesWithTheErrnoOfTheTable() throws {
    try withMountingScene { scene in
      try scene.mount()
      let view = scene.target
      #expect(mkdir("\(view)/Documents/d", 0o700) == 0)
      #expect(opens("\(view)/tmp/f", O_CREAT | O_WRONLY) >= 0)
      for refusal in refusals {
        let result = refusal.call(view)
        let code = errno
        #expect(result == -1, "\(refusal.testDescription) was allowed")
        #expect(
          code == refusal.want,
          "\(refusal.testDescription): \(Errno(code).message), not \(Errno(refusal.want).message)")
      }
      #expect(rename("\(view)/tmp/f", "\(view)/Documents/f") == 0, "saving by rename is allowed")
      try scene.unmount()
    }
  }

  /// `/lib64/ld-linux-x86-64.so.2 FILE` maps a file as code without executing it.
  @Test func runsTheBundleAndNothingThatCanBeWritten() throws {
    try withMountingScene { scene in
      try scene.mount()
      let view = scene.target
      #expect(try run("\(view)/Notes.app/Notes", [String]()).status == 0)
      #expect(try run("sh", ["-c", "cp /bin/true '\(view)/Documents/true'"]).status == 0)
      #expect(try run("sh", ["-c", "'\(view)/Documents/true'"]).status == 126)
      let loader = try run(
        "sh", ["-c", "/lib64/ld-linux-x86-64.so.2 '\(view)/Documents/true'"])
      #expect(loader.status != 0)
      #expect(loader.errorText.contains("failed to map"), "\(loader.errorText)")
      let file = open("\(view)/Documents/true", O_RDONLY)
      #expect(file >= 0)
      #expect(mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
      #expect(errno == EPERM)
      close(file)
      try scene.unmount()
    }
  }

  @Test func keepsFilesOfAppendZonesWhole() throws {
    try withMountingScene { scene in
      let text = "/ read\n/Documents read write\n/Documents/log append\n/tmp read write\n"
      #expect(mkdir("\(scene.container)/data/Documents/log", 0o700) == 0)
      try scene.mount(rules: text)
      let log = "\(scene.target)/Documents/log/l"
      let file = open(log, O_CREAT | O_RDWR, 0o600)
      #expect(file >= 0)
      #expect(write(file, "one\n", 4) == 4)
      expectFails(EPERM, "a write over the beginning") { CInt(pwrite(file, "X", 1, 0)) }
      expectFails(EPERM, "truncating") { truncate(log, 1) }
      expectFails(EPERM, "truncating the open file") { ftruncate(file, 1) }
      expectFails(EPERM, "opening with O_TRUNC") { opens(log, O_WRONLY | O_TRUNC) }
      expectFails(EPERM, "removing") { unlink(log) }
      expectFails(EPERM, "renaming away") { rename(log, "\(scene.target)/tmp/l") }
      #expect(opens("\(scene.target)/tmp/n", O_CREAT | O_WRONLY) >= 0)
      expectFails(EPERM, "renaming over") { rename("\(scene.target)/tmp/n", log) }
      expectFails(EPERM, "punching a hole") { fallocate(file, 3, 0, 4) }
      #expect(mmap(nil, 4, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED)
      #expect(pwrite(file, "two\n", 4, 4) == 4)
      var bytes = [UInt8](repeating: 0, count: 16)
      #expect(pread(file, &bytes, 16, 0) == 8)
      #expect(bytes[..<8].elementsEqual("one\ntwo\n".utf8))
      close(file)
      try scene.unmount()
    }
  }

  @Test func writesEachRefusalIntoTheLogOnce() throws {
    try withMountingScene { scene in
      try scene.mount()
      let view = scene.target
      expectFails(EPERM, "removing Documents") { rmdir("\(view)/Documents") }
      expectFails(EACCES, "creating") { opens("\(view)/a \"b\"\u{e9}\n", O_CREAT | O_WRONLY) }
      expectFails(EPERM, "renaming") { rename("\(view)/tmp", "\(view)/Documents/x") }
      for _ in 0..<200 { _ = opens("\(view)/again", O_CREAT | O_WRONLY) }
      expectFails(ENOENT, "looking up what is not there is no refusal") {
        opens("\(view)/tmp/none", O_RDONLY)
      }
      try scene.unmount()
      let records = try scene.log()
      let first = try #require(records.first)
      #expect(first["operation"] == "remove")
      #expect(first["path"] == "/Documents")
      #expect(first["result"] == "EPERM")
      #expect(first["rule"] == "built-in:structural")
      #expect(first["pid"] == String(getpid()))
      #expect(first["uid"] == "0")
      #expect(records[1]["path"] == "/a \"b\"\u{c3}\u{a9}\n", "bytes survive as Latin-1")
      #expect(records[2]["path"] == "/tmp")
      #expect(records[2]["path2"] == "/Documents/x")
      let repeats = records[3...].map { Int($0["count"] ?? "1") ?? 0 }
      #expect(records[3...].allSatisfy { $0["path"] == "/again" })
      #expect(repeats.reduce(0, +) == 200)
    }
  }

  /// An xattr's value is content like any other.
  ///
  /// What the kernel asks for itself, before it writes or executes, is never refused.
  @Test func keepsExtendedAttributesFromThoseWhoMayNotRead() throws {
    try withMountingScene { scene in
      let file = "\(scene.container)/data/Documents/drop/f"
      #expect(mkdir("\(scene.container)/data/Documents/drop", 0o700) == 0)
      #expect(opens(file, O_CREAT | O_WRONLY) >= 0)
      let made = try run("setfattr", ["-n", "user.secret", "-v", "value", file])
      #expect(made.status == 0, "\(made.errorText)")
      try scene.mount(rules: "/ read\n/Documents read write\n/Documents/drop -read\n")
      let view = "\(scene.target)/Documents/drop/f"
      let asked = try run("getfattr", ["--only-values", "-n", "user.secret", view])
      #expect(asked.errorText.contains("Permission denied"), "\(asked.text)")
      #expect(asked.text == "")
      let capability = try run("getfattr", ["-n", "security.capability", view])
      #expect(capability.errorText.contains("No such attribute"), "\(capability.errorText)")
      let descriptor = open_(view, O_WRONLY)
      #expect(write(descriptor, "x", 1) == 1, "writing needs no reading")
      close(descriptor)
      try scene.unmount()
      let records = try scene.log().filter { $0["path"] == "/Documents/drop/f" }
      #expect(records.map { $0["operation"] } == ["read"])
    }
  }

  @Test func hidesWhatIsHidden() throws {
    try withMountingScene { scene in
      let text = "/ read\n/Documents read write\n/Documents/*.key hidden\n/tmp read write\n"
      let documents = "\(scene.container)/data/Documents"
      for name in ["a.key", "b.txt", "c.key", "d.txt"] {
        #expect(opens("\(documents)/\(name)", O_CREAT | O_WRONLY) >= 0)
      }
      try scene.mount(rules: text)
      let view = "\(scene.target)/Documents"
      let listing = try run("ls", ["-a", view])
      #expect(listing.text == ".\n..\nb.txt\nd.txt\n")
      expectFails(ENOENT, "opening") { opens("\(view)/a.key", O_RDONLY) }
      expectFails(ENOENT, "removing") { unlink("\(view)/a.key") }
      expectFails(EACCES, "creating") { opens("\(view)/e.key", O_CREAT | O_WRONLY) }
      expectFails(EACCES, "renaming onto") { rename("\(view)/b.txt", "\(view)/a.key") }
      expectFails(EACCES, "linking onto") { link("\(view)/b.txt", "\(view)/f.key") }
      #expect(access("\(documents)/a.key", F_OK) == 0, "it is still there")
      try scene.unmount()
    }
  }

  @Test func followsAnotherPolicyFromTheMomentItIsSet() throws {
    try withMountingScene { scene in
      let open = "/ read\n/Documents read write\n/tmp read write\n"
      try scene.mount(rules: open)
      let view = "\(scene.target)/Documents"
      #expect(opens("\(view)/a.key", O_CREAT | O_WRONLY) >= 0)
      #expect(access("\(view)/none.key", F_OK) == -1)
      let kept = open_("\(view)/kept", O_CREAT | O_RDWR)
      #expect(try run("ls", [view]).text == "a.key\nkept\n")

      let closed = open + "/Documents -write\n/Documents/*.key hidden\n"
      let report = try #require(try scene.setRules(closed))
      #expect(report.kept.map(\.operation) == ["write"])
      #expect(report.kept.map(\.path) == [Array("/Documents/kept".utf8)])
      #expect(report.notes == [])
      expectFails(EACCES, "creating") { opens("\(view)/b", O_CREAT | O_WRONLY) }
      expectFails(EACCES, "opening for writing") { opens("\(view)/kept", O_WRONLY) }
      expectFails(ENOENT, "what was known and is hidden now") { opens("\(view)/a.key", O_RDONLY) }
      #expect(try run("ls", [view]).text == "kept\n")
      #expect(write(kept, "still", 5) == 5, "what is open keeps its access")

      #expect(throws: MountError.self) { try scene.setRules("/ raed\n/x wirte\n") }
      expectFails(EACCES, "after a policy with errors") { opens("\(view)/b", O_CREAT | O_WRONLY) }

      #expect(try scene.setRules(open)?.kept == [])
      #expect(try run("ls", [view]).text == "a.key\nkept\n")
      #expect(opens("\(view)/none.key", O_CREAT | O_WRONLY) >= 0, "what was not found can be made")
      close(kept)
      try scene.unmount()
    }
  }

  /// Requests that run while the policy changes are judged by the one or the other, and no daemon
  /// dies of it.
  @Test func changesItsPolicyUnderLoad() throws {
    try withMountingScene { scene in
      let open = "/ read\n/Documents read write\n/tmp read write\n"
      let closed = open + "/Documents -write\n/**/*.key hidden\n"
      try scene.mount(rules: open)
      let view = "\(scene.target)/Documents"
      let isOver = Atomic(false)
      let worker: @Sendable () throws -> Void = {
        var turn = 0
        while !isOver.load(ordering: .relaxed) {
          turn += 1
          let path = "\(view)/\(turn % 50).key"
          let file = open_(path, O_CREAT | O_RDWR)
          if file < 0 {
            try #require(errno == EACCES || errno == ENOENT, "errno \(errno)")
          } else {
            close(file)
          }
          _ = rename(path, "\(view)/\(turn % 7)")
          _ = unlink("\(view)/\(turn % 7)")
        }
      }
      let changer: @Sendable () throws -> Void = {
        defer { isOver.store(true, ordering: .relaxed) }
        for turn in 0..<100 { _ = try scene.setRules(turn % 2 == 0 ? closed : open) }
      }
      try concurrently([worker, worker, worker, changer])
      #expect(opens("\(view)/last", O_CREAT | O_WRONLY) >= 0)
      try scene.unmount()
    }
  }

  private func expectFails(_ want: CInt, _ what: String, _ call: () -> CInt) {
    let result = call()
    let code = errno
    #expect(result == -1, "\(what) was allowed")
    #expect(code == want, "\(what): \(Errno(code).message), not \(Errno(want).message)")
  }
}

private func open_(_ path: String, _ flags: CInt) -> CInt { open(path, flags, 0o600) }

extension MountingScene {
  /// Sets other rules while the view is mounted.
  func setRules(_ rules: String) throws -> PolicyChangeReport? {
    let directory = try directory()
    return try PolicyChangeReport.set(configuration(rules: rules), of: directory)
  }

  private func configuration(rules: String) -> ViewConfiguration {
    var configuration = configuration
    configuration.layers = [
      ProfileSource(
        rank: .shipped, name: Array("test.profile".utf8), text: Array(rules.utf8))
    ]
    return configuration
  }

  /// The records of the container's log; it is whole once the daemon has ended.
  func log() throws -> [[String: String]] {
    for _ in 0..<1000 where try isServed() { usleep(10_000) }
    let text = try Descriptor.open(container + "/log", O_RDONLY).readToEnd(atMost: 1 << 22)
    return text.split(separator: 10).compactMap { line in
      flatObject(Array(line))?.mapValues { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Whether a daemon has the container's lock.
  private func isServed() throws -> Bool {
    let lock = try Descriptor.open(container + "/lock", O_RDWR)
    return (try? lock.lockWithoutWaiting()) == nil
  }

  /// Mounts with other rules than the scene's own.
  func mount(rules: String) throws {
    let directory = try directory()
    _ = try ViewMounts.mount(
      directory, configuration(rules: rules), at: Array(target.utf8), MountSettings())
  }
}
