// The node table under load: many processes at few names, more files than descriptors, and nothing
// left behind. The same runs longer by hand: `scripts/soak`.

import Containers
import Foundation
import Glibc
import LinuxKit
import Synchronization
import TestSupport
import Testing

/// How long each storm lasts.
private let stormMilliseconds =
  ProcessInfo.processInfo.environment["SANDBOXFS_SOAK_SECONDS"].flatMap(Int.init).map { $0 * 1000 }
  ?? 2000
private let isSoak = stormMilliseconds > 2000

/// Everything below a directory that two views of it must agree on.
private func tree(_ directory: String) throws -> [Substring] {
  let script = """
    cd "$0"
    find . -printf '%P %y %s %n %m %l %T@\\n'
    find . -type f -exec cksum {} +
    """
  let outcome = try run("sh", ["-ec", script, directory])
  guard outcome.status == 0 else { throw ProgramFailure(description: outcome.errorText) }
  return outcome.text.split(separator: "\n").sorted()
}

/// Makes the kernel forget what it can, again and again, while `body` runs.
private func whileForgetting<Result>(_ body: () throws -> Result) throws -> Result {
  let script = "while :; do echo 2 > /proc/sys/vm/drop_caches; sleep 0.1; done 2> /dev/null"
  let forgetting = try ChildProcess.spawn(
    ChildProcess.Start(
      path: Array("/bin/sh".utf8), arguments: ["sh", "-c", script].map { Array($0.utf8) }),
    descriptors: [])
  defer {
    try? forgetting.kill()
    _ = try? forgetting.wait()
  }
  return try body()
}

@Suite(.serialized) struct EnduranceTests {
  struct Storm: Sendable, CustomTestStringConvertible {
    let ground: Ground
    let descriptorLimit: Int?

    var testDescription: String {
      ground.rawValue + (descriptorLimit.map { ", with \($0) descriptors" } ?? "")
    }
  }

  @Test(
    "many processes at few names get the answers of a local file system",
    arguments: [
      Storm(ground: .memory, descriptorLimit: nil),
      Storm(ground: .memory, descriptorLimit: 256),
      Storm(ground: .disk, descriptorLimit: nil),
    ]
      // Where layers lie on several file systems, the numbers of directories change when the kernel
      // forgets them: docs/limits.md.
      + Ground.stores.filter { $0 != .stacked }.map { Storm(ground: $0, descriptorLimit: nil) })
  func storm(_ storm: Storm) throws {
    let program = try compile("storm")
    try withGround(storm.ground) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(descriptorLimit: storm.descriptorLimit))
      let seed = UInt32.random(in: 0...UInt32.max)
      let outcome = try whileForgetting {
        try run(
          program, [view.path + "/Documents", "8", "\(stormMilliseconds)", "\(seed)"],
          timeoutSeconds: stormMilliseconds / 1000 + 120)
      }
      #expect(outcome.status == 0, "seed \(seed): \(outcome.text)\(outcome.errorText)")
      let seen = try tree(view.path + "/Documents")
      #expect(seen == (try tree(view.container + "/data/Documents")), "seed \(seed)")
      #expect(try view.unmount() == 0)
      #expect(try contents(view.container + "/orphans") == [])
    }
  }

  @Test(
    "set-id bits go whoever writes, while others create files",
    arguments: [Ground.disk, .memory] + Ground.stores)
  func setIDs(_ ground: Ground) throws {
    let program = try compile("setids")
    try withGround(ground) { directory in
      let view = try TestView(in: directory)
      let outcome = try run(program, [view.path + "/Documents"])
      #expect(outcome.status == 0, "\(outcome.text)\(outcome.errorText)")
      try view.unmount()
    }
  }

  @Test("20,000 files are found with 256 descriptors")
  func manyFiles() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory, TestView.Settings(descriptorLimit: 256))
      let script = """
        cd "$0"
        for d in $(seq 20); do
          mkdir "d$d"
          (cd "d$d" && seq -f 'f%g' 1000 | xargs touch)
        done
        """
      let made = try run("sh", ["-ec", script, view.container + "/data/Documents"])
      try #require(made.status == 0, "\(made.errorText)")
      let below = view.path + "/Documents"
      for _ in 0..<2 {
        let found = try run("sh", ["-ec", "find \"$0\" -type f -size 0 | wc -l", below])
        #expect(found.text == "20000\n", "\(found.errorText)")
      }
      #expect(view.openDescriptors() <= 256)
      let read = try run("sh", ["-ec", "find \"$0\" -type f -exec cat {} +", below])
      #expect(read.status == 0 && read.output.isEmpty, "\(read.errorText)")
      let removed = try run("rm", ["-r", below + "/d1", below + "/d20"])
      #expect(removed.status == 0, "\(removed.errorText)")
      try view.unmount()
    }
  }

  @Test("a directory of many files that moves between zones is judged by where it is")
  func movingBetweenZones() throws {
    let count = isSoak ? 100_000 : 3000
    let rules = "/ read write\n/Documents/quiet -audit\n/Documents/loud audit\n"
    try withGround(.memory) { directory in
      let view = try TestView(in: directory, TestView.Settings(profile: rules))
      let script = """
        cd "$0"; mkdir quiet loud quiet/d
        for d in 1 2 3 4 5; do
          mkdir quiet/d/$d
          (cd quiet/d/$d && seq -f 'f%g' $1 | xargs touch && seq -f 'last%g' 5 | xargs touch)
        done
        """
      let data = view.container + "/data/Documents"
      let made = try run("sh", ["-ec", script, data, "\(count / 5)"])
      try #require(made.status == 0, "\(made.errorText)")
      let below = view.path + "/Documents"
      // All of them are known to the daemon and the kernel.
      #expect(try run("sh", ["-c", "ls -lR \(below) | grep -c f"]).status == 0)
      func move(_ from: String, _ to: String) -> CInt {
        rename("\(below)/\(from)/d", "\(below)/\(to)/d")
      }
      let failures = try whileLookingUp(in: below, count / 5) {
        for _ in 0..<(isSoak ? 1000 : 50) {
          #expect(move("quiet", "loud") == 0)
          #expect(move("loud", "quiet") == 0)
        }
      }
      #expect(failures == [])
      #expect(try readLast(in: below + "/quiet") == 25)
      #expect(move("quiet", "loud") == 0)
      #expect(try readLast(in: below + "/loud") == 25)
      #expect(try view.unmount() == 0)
      // What was looked up meanwhile may have filled the first of them.
      let log = ["log.1", "log"].reduce(into: Data()) { all, name in
        all += FileManager.default.contents(atPath: view.container + "/" + name) ?? Data()
      }
      let records = log.split(separator: 10).compactMap { flatObject(Array($0)) }
      let last = records.filter { record in
        record["operation"] == Array("read".utf8)
          && record["path"]?.firstRange(of: Array("/last".utf8)) != nil
      }
      #expect(last.count == 25)
      for record in last {
        #expect(record["path"]?.starts(with: "/Documents/loud/d/".utf8) == true)
        #expect(record["rule"] == Array("test.profile:1".utf8))
      }
    }
  }

  /// As a user of its own, for whom the log has room however much was looked up by another.
  private func readLast(in directory: String) throws -> Int {
    let read = "for f in d/*/last*; do cat $f && echo $f; done"
    let script = "cd \"$0\" && exec setpriv --reuid 65534 --clear-groups sh -c \"$1\""
    return try run("sh", ["-c", script, directory, read]).text.split(separator: "\n").count
  }

  /// Opens files of both places on several threads while `body` runs; what else they got than a
  /// file or ENOENT.
  private func whileLookingUp(
    in directory: String, _ count: Int, _ body: () throws -> Void
  ) throws -> [CInt] {
    let isOver = Atomic(false)
    let failures = Mutex<[CInt]>([])
    let group = DispatchGroup()
    for _ in 0..<3 {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        while !isOver.load(ordering: .relaxed) {
          let place = Bool.random() ? "quiet" : "loud"
          let name = "\(Int.random(in: 1...5))/f\(Int.random(in: 1...count))"
          let file = open("\(directory)/\(place)/d/\(name)", O_RDONLY)
          if file >= 0 {
            close(file)
          } else if errno != ENOENT {
            failures.withLock { $0.append(errno) }
          }
        }
      }
    }
    defer {
      isOver.store(true, ordering: .relaxed)
      group.wait()
    }
    try body()
    return failures.withLock { $0 }
  }

  @Test("files that lose their names while they are open outlive the budget of descriptors")
  func orphans() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory, TestView.Settings(descriptorLimit: 256))
      let orphans = view.container + "/orphans"
      var files: [OpenFile] = []
      func below(_ number: Int) -> String { view.path + "/Documents/f\(number)" }
      // Half of them are removed, half replaced.
      for number in 0..<150 {
        let file = try OpenFile(below(number), O_CREAT | O_RDWR)
        try file.descriptor.writeAll(Array("content \(number)".utf8))
        files.append(file)
        if number % 2 == 0 {
          #expect(unlink(below(number)) == 0)
        } else {
          #expect(link(below(number), below(number) + ".link") == 0)
          #expect(unlink(below(number) + ".link") == 0)
          close(open(below(number) + ".new", O_CREAT | O_WRONLY, 0o600))
          #expect(rename(below(number) + ".new", below(number)) == 0)
        }
      }
      #expect(try !contents(orphans).isEmpty)
      for number in 0..<150 {
        #expect(files[number].holds("content \(number)", links: 0), "file \(number)")
      }
      files = []
      // The kernel tells of a last close when it is over.
      for _ in 0..<2000 where try !contents(orphans).isEmpty { usleep(5000) }
      #expect(try contents(orphans).isEmpty)
      #expect(try contents(view.path + "/Documents").count == 75)
      try view.unmount()
    }
  }

  @Test("orphans of a daemon that was killed are gone with the next")
  func killedWithOrphans() throws {
    try withGround(.memory) { directory in
      let container: String
      do {
        let view = try TestView(in: directory, TestView.Settings(descriptorLimit: 256))
        container = view.container
        var files: [OpenFile] = []
        for number in 0..<120 {
          let path = view.path + "/Documents/f\(number)"
          files.append(try OpenFile(path, O_CREAT | O_RDWR))
          #expect(unlink(path) == 0)
        }
        #expect(try !contents(container + "/orphans").isEmpty)
        // Both, so that neither has another one take the other's place.
        let worker = try process("worker", of: view)
        #expect(kill(worker, SIGSTOP) == 0)
        try view.daemon.kill()
        #expect(kill(worker, SIGKILL) == 0)
        #expect(eventually { kill(worker, 0) != 0 })
        files = []
      }
      let view = try TestView(in: directory)
      #expect(try contents(container + "/orphans").isEmpty)
      #expect(try contents(view.path + "/Documents").isEmpty)
      try view.unmount()
    }
  }

  @Test("an app that opens files without end is stopped, and nothing else is")
  func openWithoutEnd() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory, TestView.Settings(descriptorLimit: 256))
      let path = view.path + "/Documents"
      close(open(path + "/f", O_CREAT | O_WRONLY, 0o600))
      var files: [OpenFile] = []
      var refusal: Errno?
      while refusal == nil && files.count < 500 {
        do {
          files.append(try OpenFile(path + "/f", O_RDONLY))
        } catch let error as Errno {
          refusal = error
        }
      }
      #expect(refusal == .fileTableOverflow)
      #expect(files.count > 128)
      #expect(open(path + "/new", O_CREAT | O_WRONLY, 0o600) == -1)
      #expect(access(path + "/new", F_OK) == -1, "what could not be opened is left behind")
      #expect(mkdir(path + "/d", 0o755) == 0)
      #expect(rename(path + "/d", path + "/e") == 0)
      #expect(access(path + "/e", F_OK) == 0)
      files = []
      let created = open(path + "/new", O_CREAT | O_WRONLY, 0o600)
      #expect(created >= 0)
      close(created)
      try view.unmount()
    }
  }

  @Test("numbers of inodes are the same after a remount, and in listings")
  func inodeNumbers() throws {
    try withGround(.disk) { directory in
      var seen: [[Substring]] = []
      for round in 0..<2 {
        let view = try TestView(in: directory)
        let below = view.path + "/Documents"
        if round == 0 {
          let script = "mkdir d; touch f d/g; ln f d/h; ln -s f l; mkfifo p"
          #expect(try run("sh", ["-ec", "cd \"$0\"; \(script)", below]).status == 0)
        }
        // `ls -i` shows d_ino; find's %i asks for the status.
        let listed = try run("sh", ["-ec", "cd \"$0\"; ls -iR1; find . -printf '%i %P\\n'", below])
        seen.append(listed.text.split(separator: "\n").sorted())
        try view.unmount()
      }
      #expect(seen[0] == seen[1])
      #expect(seen[0].count > 10)
    }
  }
}

/// The names in a directory.
private func contents(_ directory: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
}

/// An open file that can be kept in an array.
private final class OpenFile {
  let descriptor: Descriptor

  init(_ path: String, _ flags: CInt) throws(Errno) {
    descriptor = try Descriptor.open(path, flags, mode: 0o600)
  }

  /// Whether the file holds this text and has so many names.
  func holds(_ text: String, links: UInt) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = pread(descriptor.rawValue, &buffer, buffer.count, 0)
    var status = stat()
    return count >= 0 && Array(buffer.prefix(count)) == Array(text.utf8)
      && fstat(descriptor.rawValue, &status) == 0 && status.st_nlink == links
  }
}
