// Limits: what is exactly allowed fits, one more does not, and the books are what a count says,
// whatever is done and whoever dies.

import Containers
import Glibc
import LinuxKit
import TestSupport
import Testing

/// The errno of a call; 0 if it succeeds.
private func result(_ call: @autoclosure () -> Int) -> CInt { call() < 0 ? errno : 0 }
private func result(_ call: @autoclosure () -> CInt) -> CInt { call() < 0 ? errno : 0 }

/// Opens a file, does something and closes it; its errno.
private func with(_ path: String, _ flags: CInt = O_RDWR, _ body: (CInt) -> CInt) -> CInt {
  let file = open(path, flags, 0o600)
  if file < 0 { return errno }
  defer { close(file) }
  return body(file)
}

private func write(_ file: CInt, _ count: Int, at offset: Int = 0) -> CInt {
  let bytes = [UInt8](repeating: 7, count: count)
  let written = pwrite(file, bytes, count, off_t(offset))
  return written < 0 ? errno : written == count ? 0 : -1
}

/// Sets an extended attribute of so many bytes; the errno.
private func setValue(_ path: String, _ name: String, _ count: Int) -> CInt {
  with(path, O_RDONLY) { file in
    do throws(Errno) {
      let borrowed = dup(file)
      try Descriptor(owning: borrowed).setExtendedAttribute(
        name.utf8, to: [UInt8](repeating: 1, count: count))
      return 0
    } catch {
      return error.code
    }
  }
}

private let page = 4096

/// A change, what it needs to be there, and what it costs.
private struct Change: Sendable, CustomTestStringConvertible {
  let name: String
  let bytes: Int
  let entries: Int
  let prepare: @Sendable (String) -> CInt
  let act: @Sendable (String) -> CInt

  init(
    _ name: String, _ bytes: Int, entries: Int = 0,
    prepare: @escaping @Sendable (String) -> CInt = {
      with($0 + "/f", O_RDWR | O_CREAT) { _ in 0 }
    },
    act: @escaping @Sendable (String) -> CInt
  ) {
    self.name = name
    self.bytes = bytes
    self.entries = entries
    self.prepare = prepare
    self.act = act
  }

  var testDescription: String { name }

  static let all: [Change] = [
    Change("write one byte", page) { with($0 + "/f") { write($0, 1) } },
    Change("write a page and one byte", 2 * page) { with($0 + "/f") { write($0, page + 1) } },
    Change("write far beyond the end", 25 * page) {
      with($0 + "/f") { write($0, 1, at: 24 * page) }
    },
    Change("append", page, prepare: { with($0 + "/f", O_RDWR | O_CREAT) { write($0, page) } }) {
      with($0 + "/f", O_WRONLY | O_APPEND) { write($0, 1) }
    },
    Change("write through a file that was only just made", page, entries: 1) {
      with($0 + "/new", O_RDWR | O_CREAT | O_EXCL) { write($0, 10) }
    },
    Change("truncate up by name", 10 * page) { result(truncate($0 + "/f", 10 * 4096 - 7)) },
    Change("truncate up by descriptor", 3 * page) {
      with($0 + "/f") { result(ftruncate($0, 3 * 4096)) }
    },
    Change("fallocate", 5 * page) { with($0 + "/f") { result(fallocate($0, 0, 4096, 4 * 4096)) } },
    Change(
      "copy_file_range", 3 * page,
      prepare: { directory in
        with(directory + "/g", O_RDWR | O_CREAT) { write($0, 2 * page + 5) }
          | with(directory + "/f", O_RDWR | O_CREAT) { _ in 0 }
      },
      act: { directory in
        with(directory + "/g", O_RDONLY) { source in
          with(directory + "/f") {
            result(copy_file_range(source, nil, $0, nil, 1 << 20, 0))
          }
        }
      }),
    Change("create", 0, entries: 1) { with($0 + "/new", O_WRONLY | O_CREAT | O_EXCL) { _ in 0 } },
    Change("mkdir", page, entries: 1) { result(mkdir($0 + "/new", 0o700)) },
    Change("symlink", page, entries: 1) { result(symlink("nowhere", $0 + "/new")) },
    Change("mkfifo", 0, entries: 1) { result(mkfifo($0 + "/new", 0o600)) },
    Change("setxattr", 100) { setValue($0 + "/f", "user.a", 100) },
    Change(
      "setxattr with a larger value", 60,
      prepare: { directory in
        with(directory + "/f", O_RDWR | O_CREAT) { _ in 0 }
          | setValue(directory + "/f", "user.a", 5)
      }, act: { setValue($0 + "/f", "user.a", 65) }),
    Change("setxattr of a directory", 10) { setValue($0, "user.b", 10) },
  ]
}

@Suite(.serialized) struct QuotaTests {
  @Test(
    "what is exactly allowed fits, one more does not, and the books are what a count says",
    arguments: [Ground.disk, .memory] + Ground.stores)
  func table(_ ground: Ground) throws {
    try withGround(ground) { directory in
      let view = try TestView(in: directory)
      let place = view.path + "/Documents/d"
      try view.limit(bytes: 1 << 40, entries: 1 << 40)
      let empty = try view.used()
      for change in Change.all {
        try view.limit(bytes: 1 << 40, entries: 1 << 40)
        #expect(mkdir(place, 0o700) == 0)
        #expect(change.prepare(place) == 0, "\(change.name)")
        let before = try view.used()
        if change.bytes > 0 {
          try view.limit(bytes: before.bytes + change.bytes - 1)
          #expect(change.act(place) == EDQUOT, "\(change.name), one byte less")
          #expect(removeNew(place))
          #expect(try view.used() == before, "\(change.name), refused")
        }
        if change.entries > 0 {
          try view.limit(entries: before.entries + change.entries - 1)
          #expect(change.act(place) == EDQUOT, "\(change.name), one entry less")
          #expect(try view.used() == before, "\(change.name), refused")
        }
        let after = Cost(
          bytes: before.bytes + change.bytes, entries: before.entries + change.entries)
        try view.limit(bytes: after.bytes, entries: after.entries)
        #expect(change.act(place) == 0, "\(change.name)")
        #expect(try view.used() == after, "\(change.name)")
        #expect(try run("rm", ["-r", place]).status == 0)
        #expect(try view.used() == empty, "\(change.name), removed")
      }
      #expect(try view.unmount() == 0)
    }
  }

  @Test("what is freed can be used at once, names of one file count once, and open files count")
  func lifetimes() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let place = view.path + "/Documents"
      try view.limit(bytes: 10 * page)
      for _ in 0..<200 {
        #expect(with(place + "/f", O_RDWR | O_CREAT | O_EXCL) { write($0, 10 * page) } == 0)
        #expect(unlink(place + "/f") == 0)
      }
      for _ in 0..<200 {
        #expect(
          with(place + "/f", O_RDWR | O_CREAT | O_EXCL) {
            unlink(place + "/f") | write($0, 10 * page)
          } == 0)
      }
      #expect(with(place + "/f", O_RDWR | O_CREAT) { write($0, 10 * page) } == 0)
      #expect(link(place + "/f", place + "/g") == 0)
      #expect(try view.used() == Cost(bytes: 10 * page, entries: 1))
      #expect(unlink(place + "/f") == 0)
      #expect(try view.used() == Cost(bytes: 10 * page, entries: 1))
      // Replaced, while someone holds it by a descriptor that can do nothing.
      let held = open(place + "/g", O_PATH)
      #expect(with(place + "/h", O_WRONLY | O_CREAT) { _ in 0 } == 0)
      #expect(rename(place + "/h", place + "/g") == 0)
      #expect(with(place + "/g") { write($0, 1) } == EDQUOT, "what is held still counts")
      let again = open("/proc/self/fd/\(held)", O_RDWR)
      #expect(again >= 0 && write(again, 1, at: 10 * page) == EDQUOT)
      #expect(ftruncate(again, 1) == 0)
      #expect(with(place + "/g") { write($0, 9 * page) } == 0)
      close(again)
      close(held)
      #expect(with(place + "/g") { write($0, 10 * page) } == 0)
      // Less than is used: nothing grows, all else goes on.
      try view.limit(bytes: 5 * page, entries: 1)
      #expect(with(place + "/g") { write($0, page) } == 0)
      #expect(with(place + "/g") { write($0, page, at: 10 * page) } == EDQUOT)
      #expect(mkdir(place + "/d", 0o700) == EDQUOT || errno == EDQUOT)
      var status = statvfs()
      #expect(statvfs(place, &status) == 0)
      #expect(status.f_blocks == 5 && status.f_bavail == 0 && status.f_favail == 0)
      #expect(truncate(place + "/g", 2 * 4096) == 0)
      #expect(statvfs(place, &status) == 0 && status.f_bavail == 3 && status.f_files == 1)
      #expect(with(place + "/g") { write($0, page, at: 4 * page) } == 0)
      #expect(try view.used() == Cost(bytes: 5 * page, entries: 1))
      #expect(try view.unmount() == 0)
    }
  }

  private static let subtrees = """
    / read write
    /Documents quota=100K
    /Documents/small quota=20K,3
    """

  @Test("a file that moves to where another limit holds is paid for there")
  func moving() throws {
    try withGround(.disk) { directory in
      let view = try TestView(in: directory, TestView.Settings(profile: QuotaTests.subtrees))
      let (outer, inner) = ("test.profile:2", "test.profile:3")
      let place = view.path + "/Documents"
      #expect(mkdir(place + "/small", 0o700) == 0)
      #expect(mkdir(place + "/d", 0o700) == 0)
      #expect(with(place + "/f", O_RDWR | O_CREAT) { write($0, 4 * page) } == 0)
      #expect(with(place + "/g", O_RDWR | O_CREAT) { write($0, page) } == 0)
      #expect(with(view.path + "/tmp/t", O_RDWR | O_CREAT) { write($0, 40 * page) } == 0)
      #expect(try view.used(outer) == Cost(bytes: 6 * page, entries: 3))
      #expect(try view.used(inner) == Cost(bytes: page, entries: 1))
      #expect(result(rename(place + "/d", place + "/small/d")) == EXDEV)
      #expect(result(link(place + "/f", place + "/small/f")) == EXDEV)
      #expect(result(rename(view.path + "/tmp/t", place + "/t")) == EDQUOT)
      #expect(result(rename(place + "/f", place + "/small/f")) == 0)
      #expect(try view.used(outer) == Cost(bytes: 2 * page, entries: 2))
      #expect(try view.used(inner) == Cost(bytes: 5 * page, entries: 2))
      #expect(result(rename(place + "/g", place + "/small/g")) == EDQUOT)
      #expect(result(truncate(place + "/small/f", 4096)) == 0)
      #expect(result(rename(place + "/g", place + "/small/f")) == 0)
      #expect(try view.used(outer) == Cost(bytes: page, entries: 1))
      #expect(try view.used(inner) == Cost(bytes: 2 * page, entries: 2))
      #expect(with(place + "/small/new", O_WRONLY | O_CREAT) { _ in 0 } == 0)
      #expect(with(place + "/small/more", O_WRONLY | O_CREAT) { _ in 0 } == EDQUOT)
      #expect(result(rename(place + "/small/f", view.path + "/tmp/f")) == 0)
      var status = statvfs()
      #expect(statvfs(place + "/small", &status) == 0)
      #expect(status.f_blocks == 5 && status.f_bavail == 4)
      #expect(statvfs(place, &status) == 0 && status.f_blocks == 25 && status.f_bavail == 24)
      #expect(statvfs(view.path, &status) == 0 && status.f_blocks > 25)
      #expect(try view.used(outer) == Cost(bytes: page, entries: 1))
      #expect(try view.used(inner) == Cost(bytes: page, entries: 2))
      #expect(try view.unmount() == 0)
      let log = try Descriptor.open(view.container + "/log", O_RDONLY).readToEnd(atMost: 1 << 20)
      let records = log.split(separator: 10).compactMap { flatObject(Array($0)) }
      let refused = records.filter { $0["result"] == Array("EDQUOT".utf8) }
      #expect(refused.count == 3)
      #expect(refused.map { $0["rule"] } == [outer, inner, inner].map { Array($0.utf8) })
      #expect(refused.first?["path"] == Array("/tmp/t".utf8))
      #expect(refused.first?["operation"] == Array("rename".utf8))
    }
  }

  @Test("nothing that comes later can cost more: holes are paid for when they are made")
  func holes() throws {
    for ground in [Ground.disk, .memory] {
      try withGround(ground) { directory in
        let view = try TestView(in: directory)
        let path = view.path + "/Documents/f"
        try view.limit(bytes: 8 * page)
        let file = open(path, O_RDWR | O_CREAT, 0o600)
        #expect(result(ftruncate(file, 9 * 4096)) == EDQUOT)
        #expect(result(ftruncate(file, 8 * 4096)) == 0)
        let map = try #require(mmap(nil, 8 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0))
        #expect(map != MAP_FAILED)
        memset(map, 5, 8 * page)
        munmap(map, 8 * page)
        let keepSize: CInt = 1
        let punchHole: CInt = 2
        #expect(result(fallocate(file, keepSize, 0, 9 * 4096)) == EOPNOTSUPP)
        #expect(result(fallocate(file, keepSize, 0, 8 * 4096)) == 0)
        #expect(result(fallocate(file, keepSize | punchHole, 0, 20 * 4096)) == 0)
        #expect(write(file, page, at: 7 * page) == 0)
        close(file)
        #expect(try view.used() == Cost(bytes: 8 * page, entries: 1))
        #expect(with(path, O_RDWR | O_TRUNC) { write($0, 8 * page) } == 0)
        #expect(try view.used() == Cost(bytes: 8 * page, entries: 1))
        #expect(try view.unmount() == 0)
      }
    }
  }

  @Test("eight writers at once get what there is, and not a page more")
  func parallel() throws {
    try withGround(.disk) { directory in
      let view = try TestView(in: directory)
      let limit = 1000 * page
      try view.limit(bytes: limit)
      let script = """
        cd "$0"
        for n in 1 2 3 4 5 6 7 8; do
          (i=0; while dd if=/dev/zero of=f$n bs=4096 count=1 seek=$i conv=notrunc 2> /dev/null; do
            i=$((i + 1)); [ $((i % 50)) != 0 ] || { mkdir d$n.$i && rmdir d$n.$i; }
          done) &
        done
        wait
        stat -c %s f* | paste -sd+ | bc 2> /dev/null || true
        """
      let outcome = try run("sh", ["-c", script, view.path + "/Documents"])
      #expect(outcome.errorText == "" || outcome.errorText.contains("cannot create directory"))
      #expect(try view.used().bytes == limit)
      #expect(try view.unmount() == 0)
    }
  }

  /// How long: `SANDBOXFS_LIMIT_MILLISECONDS`, for scripts/soak.
  private static let milliseconds =
    getenv("SANDBOXFS_LIMIT_MILLISECONDS").map { String(cString: $0) } ?? "1500"

  @Test("the books are what a count says after many processes did what they could")
  func storm() throws { try storm(on: .memory) }

  @Test(
    "on btrfs, which copies what is written, the books are what a count says too",
    .enabled(
      if: Ground.stores.contains(.btrfs), "needs a kernel that has btrfs, and mkfs.btrfs"))
  func stormOnCopies() throws { try storm(on: .btrfs) }

  private func storm(on ground: Ground) throws {
    let program = try compile("storm")
    try withGround(ground) { directory in
      let view = try TestView(in: directory)
      try view.limit(bytes: 1 << 40)
      let seed = UInt32.random(in: 0...UInt32.max)
      let outcome = try run(program, [view.path + "/Documents", "8", Self.milliseconds, "\(seed)"])
      #expect(outcome.status == 0, "seed \(seed): \(outcome.text)\(outcome.errorText)")
      _ = try view.used()
      #expect(try view.unmount() == 0)
    }
  }

  @Test("the books are right whoever dies, to the byte", arguments: [nil, 300])
  func deaths(_ faultOneIn: Int?) throws {
    try withGround(.memory) { directory in
      var settings = TestView.Settings(
        profile: "/ read write\n/Documents quota=1G\n/tmp quota=1G,100000\n")
      settings.limits = ContainerLimits(byteCount: 1 << 40)
      settings.faultOneIn = faultOneIn
      let view = try TestView(in: directory, settings)
      let app = try spawn([try compile("survivor"), view.path + "/Documents", "1500", "2"])
      // What moves from one limit to the other, over what is there and over nothing.
      let mover = try spawn([
        "/bin/sh", "-ec",
        """
        cd "$0"
        while [ ! -e stop ]; do
          echo x > Documents/a; head -c 20000 /dev/zero > tmp/b
          mv -T tmp/b Documents/b; mv -T Documents/a tmp/a; mv -T Documents/b tmp/a
          truncate -s 30000 tmp/a; mkdir tmp/d; ln tmp/a tmp/d/a; mv -T tmp/d/a tmp/e
          rmdir tmp/d; rm tmp/a; truncate -s 40000 tmp/e; rm tmp/e
        done
        """, view.path,
      ])
      if faultOneIn == nil {
        for _ in 0..<80 {
          usleep(15_000)
          guard let worker = RunningProcess(pid: view.daemon.pid).children.first else { continue }
          kill(worker, SIGKILL)
        }
      }
      #expect(try app.wait() == 0)
      #expect(with(view.path + "/stop", O_WRONLY | O_CREAT) { _ in 0 } == 0)
      #expect(try mover.wait() == 0)
      #expect(unlink(view.path + "/stop") == 0)
      // Whoever is asked may die over it.
      let restarts = (0..<100).lazy.map { _ in view.restarts() }.first { $0 >= 0 }
      #expect((restarts ?? 0) > 0)
      for book in ["container", "test.profile:2", "test.profile:3"] {
        #expect(try view.used(book) == Cost(), "\(book)")
      }
      #expect(try view.unmount() == 0)
    }
  }

  private func spawn(_ words: [String]) throws -> ChildProcess {
    try ChildProcess.spawn(
      ChildProcess.Start(path: Array(words[0].utf8), arguments: words.map { Array($0.utf8) }),
      descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO])
  }

  @Test("the first limit counts what is there, what is open and what has no name")
  func first() throws {
    try withGround(.disk) { directory in
      let view = try TestView(in: directory)
      let place = view.path + "/Documents"
      let writing = open(place + "/f", O_RDWR | O_CREAT, 0o600)
      #expect(write(writing, 2 * page) == 0)
      let nameless = open(place + "/g", O_RDWR | O_CREAT, 0o600)
      #expect(write(nameless, 3 * page) == 0 && unlink(place + "/g") == 0)
      try view.limit(bytes: 10 * page)
      #expect(try view.used() == Cost(bytes: 5 * page, entries: 2))
      // It was opened without a limit, and keeps what it was opened with.
      #expect(write(writing, page, at: 20 * page) == 0)
      #expect(with(place + "/h", O_WRONLY | O_CREAT) { write($0, 6 * page) } == EDQUOT)
      close(writing)
      close(nameless)
      let expected = Cost(bytes: 21 * page, entries: 2)
      var attempts = 0
      while attempts < 2000, try view.book().used != expected {
        usleep(1000)
        attempts += 1
      }
      #expect(try view.used() == expected)
      try view.daemon.kill()
      try? LinuxKit.unmount(Array(view.path.utf8), .detach)
      try makeHole(view.container + "/data/Documents/behind")
      var settings = TestView.Settings()
      settings.limits = ContainerLimits(byteCount: 1 << 30)
      let again = try TestView(in: directory, settings)
      #expect(try again.used() == Cost(bytes: 22 * page, entries: 3))
      try makeHole(view.container + "/data/Documents/more")
      #expect(try again.book().counted == Cost(bytes: 23 * page, entries: 4))
      #expect(try again.book("container", "repair").used == Cost(bytes: 22 * page, entries: 3))
      #expect(try again.used() == Cost(bytes: 23 * page, entries: 4))
      #expect(try again.unmount() == 0)
    }
  }

  private func makeHole(_ path: String) throws {
    let made = try Descriptor.open(path, O_RDWR | O_CREAT, mode: 0o600)
    #expect(ftruncate(made.rawValue, 4000) == 0)
  }

  @Test("a mark that a saved file takes over from the one before is counted")
  func marks() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let place = view.path + "/Documents"
      try view.limit(bytes: 1 << 20)
      let mark = "com.apple.metadata:com_apple_backup_excludeItem"
      #expect(with(place + "/f", O_RDWR | O_CREAT) { write($0, 1) } == 0)
      #expect(setValue(place + "/f", mark, 61) == 0)
      let marked = Cost(bytes: page + 61, entries: 1)
      #expect(try view.used() == marked)
      #expect(with(place + "/new", O_RDWR | O_CREAT) { write($0, 1) } == 0)
      #expect(rename(place + "/new", place + "/f") == 0)
      #expect(try view.used() == marked)
      try view.limit(bytes: marked.bytes)
      #expect(setValue(place + "/f", mark, 62) == EDQUOT)
      #expect(unlink(place + "/f") == 0)
      #expect(try view.used() == Cost())
      #expect(try view.unmount() == 0)
    }
  }

  @Test("going beyond the soft limit is written into the log once each time")
  func soft() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let path = view.path + "/Documents/f"
      try view.limit(soft: 4 * page)
      for _ in 0..<2 {
        for count in 1...6 {
          #expect(with(path, O_WRONLY | O_CREAT) { write($0, count * page) } == 0)
        }
        #expect(unlink(path) == 0)
        // The last close may be served behind the removal.
        for _ in 0..<2000 where try view.used() != Cost() { usleep(1000) }
        #expect(try view.used() == Cost())
      }
      #expect(try view.unmount() == 0)
      let log = try Descriptor.open(view.container + "/log", O_RDONLY).readToEnd(atMost: 1 << 20)
      let records = log.split(separator: 10).compactMap { flatObject(Array($0)) }
      let lines = records.filter { $0["rule"] == Array("built-in:soft-limit".utf8) }
      let counts = lines.map {
        $0["count"].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
      }
      #expect(counts.reduce(0, +) == 2)
      #expect(lines.first?["result"] == Array("OK".utf8))
    }
  }

  /// What a change has made before it was refused.
  private func removeNew(_ place: String) -> Bool {
    unlink(place + "/new") == 0 || errno == ENOENT
  }
}
