// Files that the kernel reads and writes by itself: what the daemon holds for them, and when.

import Containers
import Glibc
import LinuxKit
import TestSupport
import Testing

/// How many files of the container the daemon has open so that it could read or write them.
private func openData(_ view: TestView) throws -> Int {
  let process = "/proc/\(view.daemon.pid)"
  let script = """
    cd "$0/fdinfo"
    for number in *; do
      case $(readlink "$0/fd/$number") in "$1"/data/*) ;; *) continue ;; esac
      flags=$(sed -n 's/^flags:[[:space:]]*//p' "$number")
      # O_PATH
      [ $((flags & 010000000)) -ne 0 ] || echo "$number"
    done
    """
  return try run("bash", ["-c", script, process, view.container]).text
    .split(separator: "\n").count
}

private func passes(_ view: TestView) -> Bool {
  flatObject(view.status())?["io"] == Array("passthrough".utf8)
}

/// Asks until the kernel has told of the last close.
private func settles(_ view: TestView, at count: Int) throws -> Bool {
  for _ in 0..<200 {
    if try openData(view) == count { return true }
    usleep(10_000)
  }
  return false
}

@Suite(.serialized) struct PassthroughTests {
  @Test("a file that is only read is opened by the daemon when it is needed, and not before")
  func reading() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let path = view.path + "/Documents/f"
      let content = [UInt8](repeating: 65, count: 10_000)
      try Descriptor.open(path, O_CREAT | O_WRONLY, mode: 0o600).writeAll(content)
      var files: [Int32] = (0..<8).map { _ in open(path, O_RDONLY) }
      defer { for file in files { close(file) } }
      try #require(files.allSatisfy { $0 >= 0 })
      let isPassing = passes(view)
      #expect(try settles(view, at: isPassing ? 0 : 8))
      func expectOpen(_ count: Int, _ what: String) throws {
        #expect(try settles(view, at: isPassing ? count : 8), "\(what)")
      }
      #expect(fsync(files[0]) == 0)
      try expectOpen(1, "fsync")
      #expect(lseek(files[1], 0, SEEK_HOLE) == 10_000)
      try expectOpen(2, "lseek")
      #expect(lseek(files[1], 5, SEEK_DATA) == 5)
      try expectOpen(2, "lseek again")
      let copy = open(path + ".copy", O_CREAT | O_RDWR, 0o600)
      #expect(copy_file_range(files[2], nil, copy, nil, 10_000, 0) == 10_000)
      close(copy)
      try expectOpen(3, "copy_file_range")
      #expect(rename(path, path + ".new") == 0)
      #expect(fdatasync(files[3]) == 0)
      try expectOpen(4, "fdatasync behind a rename")
      #expect(unlink(path + ".new") == 0)
      #expect(fsync(files[4]) == 0)
      try expectOpen(5, "fsync behind an unlink")
      for file in files {
        var bytes = [UInt8](repeating: 0, count: 10_000)
        var status = stat()
        #expect(pread(file, &bytes, bytes.count, 0) == bytes.count && bytes == content)
        #expect(fstat(file, &status) == 0 && status.st_nlink == 0 && status.st_size == 10_000)
      }
      for file in files { close(file) }
      files = []
      #expect(try settles(view, at: 0))
      try view.unmount()
    }
  }

  @Test("nobody has a file open for writing behind its last close")
  func closing() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let path = view.path + "/Documents/f"
      for flags in [O_CREAT | O_RDWR, O_WRONLY, O_RDWR | O_TRUNC] {
        let file = open(path, flags, 0o600)
        #expect(write(file, "x", 1) == 1 && chmod(path, 0o700) == 0 && close(file) == 0)
        #expect(try settles(view, at: 0))
        // A lease for reading is given where nobody can write.
        let stored = try Descriptor.open(view.container + "/data/Documents/f", O_RDONLY)
        var isLeased = false
        for _ in 0..<200 where !isLeased {
          isLeased = fcntl(stored.rawValue, F_SETLEASE, F_RDLCK) == 0
          if !isLeased { usleep(10_000) }
        }
        #expect(isLeased, "opened with \(flags)")
      }
      try view.unmount()
    }
  }

  @Test("a file that is known from its last opening is opened as the rules want it now")
  func reopening() throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory,
        TestView.Settings(profile: "/ read write exec backup\n/Documents/log append\n"))
      let (free, log) = (view.path + "/Documents/f", view.path + "/Documents/log")
      try #require(mkdir(log, 0o700) == 0)
      try Descriptor.open(free, O_CREAT | O_WRONLY, mode: 0o600).writeAll(Array("0123456789".utf8))
      for _ in 0..<3 {
        let file = try Descriptor.open(free, O_RDWR)
        #expect(pwrite(file.rawValue, "x", 1, 0) == 1)
        #expect(try file.readToEnd(atMost: 100) == Array("x123456789".utf8))
      }
      try #require(rename(free, log + "/f") == 0)
      do {
        let file = try Descriptor.open(log + "/f", O_RDWR)
        #expect(pwrite(file.rawValue, "y", 1, 0) == -1, "what is there was changed")
        #expect(mmap(nil, 10, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawValue, 0) == MAP_FAILED)
        #expect(pwrite(file.rawValue, "z", 1, 10) == 1)
        #expect(try file.readToEnd(atMost: 100) == Array("x123456789z".utf8))
      }
      try view.unmount()
    }
  }
}
