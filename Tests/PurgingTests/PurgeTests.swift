// What may go goes, in the order of its last use, and nothing else, whatever an app does meanwhile.

import Glibc
import LinuxKit
import Policy
import Purging
import Synchronization
import TestSupport
import Testing

/// The data of a container, and the rules of the shipped profile.
private struct Scene: ~Copyable {
  let path: String
  let data: Walker
  let policy: PolicyEngine

  func candidates() throws -> [PurgeCandidate] {
    try PurgeSurvey(policy, on: .pressure, opensUp: true).candidates(in: data).files
  }

  func sh(_ script: String) throws {
    let outcome = try run("bash", ["-ec", "cd '\(path)'; \(script)"])
    try #require(outcome.status == 0, "\(outcome.errorText)")
  }

  func tree() throws -> [String] {
    try run("bash", ["-c", "cd '\(path)'; find . -mindepth 2 | LC_ALL=C sort"]).text
      .split(separator: "\n").map { String($0.dropFirst(2)) }
  }
}

private let ordinaryRules = """
  /                      read
  /Documents             read write backup
  /Library               read write backup
  /Library/Caches        -backup purge=pressure,restore
  /Library/Caches/kept   -purge
  /tmp                   read write -backup purge=exit,pressure

  """

private func withScene(_ body: (borrowing Scene) throws -> Void) throws {
  try withTemporaryDirectory { path in
    let made = try run(
      "bash", ["-ec", "cd '\(path)'; mkdir -p outside data/{Documents,Library/Caches/kept,tmp}"])
    try #require(made.status == 0)
    let policy = try PolicyEngine(
      layers: [
        ProfileSource(
          rank: .shipped, name: Array("default.profile".utf8), text: Array(ordinaryRules.utf8))
      ],
      bundleName: Array("Notes.app".utf8))
    try body(
      Scene(
        path: path + "/data", data: try Walker.open(path: Array((path + "/data").utf8)),
        policy: policy))
  }
}

private func text(_ path: [[UInt8]]) -> String {
  path.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
}

@Suite struct PurgeTests {
  @Test("the least recently used comes first, and only what the rules let go")
  func order() throws {
    try withScene { scene in
      try scene.sh(
        """
        touch -d @300 Library/Caches/c; touch -d @100 tmp/a; touch -d @200 Library/Caches/b
        touch -d @50 Documents/d Library/e Library/Caches/kept/f
        # Read later than it was written.
        touch -m -d @10 Library/Caches/r; touch -a -d @400 Library/Caches/r
        ln -s ../Documents/d tmp/link; mkfifo tmp/pipe; touch Library/Caches/CACHEDIR.TAG
        """)
      let found = try scene.candidates().map { text($0.path) }
      #expect(found == ["tmp/a", "Library/Caches/b", "Library/Caches/c", "Library/Caches/r"])
    }
  }

  @Test("what is open or mapped stays, and goes when it is closed")
  func open() throws {
    try withScene { scene in
      try scene.sh("for f in read write map; do echo x > tmp/$f; done")
      let reading = Glibc.open(scene.path + "/tmp/read", O_RDONLY)
      let writing = Glibc.open(scene.path + "/tmp/write", O_WRONLY)
      let mapping = Glibc.open(scene.path + "/tmp/map", O_RDONLY)
      let memory = mmap(nil, 4096, PROT_READ, MAP_PRIVATE, mapping, 0)
      close(mapping)
      let files = try scene.candidates()
      #expect(files.map { $0.remove(from: scene.data) } == [.inUse, .inUse, .inUse])
      close(reading)
      close(writing)
      munmap(memory, 4096)
      #expect(
        files.map { $0.remove(from: scene.data) } == [.removed, .removed, .removed])
      #expect(files.allSatisfy { $0.remove(from: scene.data) == .changed })
    }
  }

  @Test("another file in its place, and a way that is a link by now, are left alone")
  func changed() throws {
    try withScene { scene in
      try scene.sh("mkdir tmp/d; echo x > tmp/d/a; echo x > tmp/b; echo x > ../outside/a")
      let files = try scene.candidates()
      try scene.sh("mv tmp/d tmp/e; ln -s ../../outside tmp/d; rm tmp/b; echo new > tmp/b")
      #expect(files.count == 2)
      #expect(files.allSatisfy { $0.remove(from: scene.data) == .changed })
      #expect(try run("ls", [scene.path + "/../outside"]).text == "a\n")
    }
  }

  @Test("all that goes on an occasion goes, but no link is followed and the skeleton stays")
  func emptying() throws {
    try withScene { scene in
      try scene.sh(
        """
        mkdir -p tmp/d/shut Library/Caches/x/y; echo x > tmp/d/shut/f; chmod 0 tmp/d/shut
        mkfifo tmp/p; ln -s ../Documents tmp/l; echo x > Documents/k; touch Library/Caches/kept/f
        touch Library/Caches/CACHEDIR.TAG Library/Caches/x/y/z
        """)
      try scene.data.removeWhatGoes(on: .exit, scene.policy)
      #expect(
        try scene.tree() == [
          "Documents/k", "Library/Caches", "Library/Caches/CACHEDIR.TAG", "Library/Caches/kept",
          "Library/Caches/kept/f", "Library/Caches/x", "Library/Caches/x/y",
          "Library/Caches/x/y/z",
        ])
      try scene.data.removeWhatGoes(on: [.restore, .pressure], scene.policy, sparing: .files)
      #expect(try scene.tree().contains("Library/Caches/x/y/z"), "files were spared")
      try scene.data.removeWhatGoes(on: [.restore, .pressure], scene.policy)
      #expect(
        try scene.tree() == [
          "Documents/k", "Library/Caches", "Library/Caches/CACHEDIR.TAG", "Library/Caches/kept",
          "Library/Caches/kept/f",
        ])
    }
  }

  /// More of them: `SANDBOXFS_PURGE_RACES`, for scripts/soak.
  private static let races =
    getenv("SANDBOXFS_PURGE_RACES").flatMap { Int(String(cString: $0)) } ?? 1_000

  @Test("an app that swaps directories for links at every moment loses nothing outside")
  func races() throws {
    try withScene { scene in
      let path = scene.path
      try scene.sh("echo precious > ../outside/f; mkdir tmp/d; ln -s ../../outside tmp/away")
      let isDone = Mutex(false)
      var thread = pthread_t()
      let swapper = Unmanaged.passRetained(
        Swapper {
          while !isDone.withLock({ $0 }) {
            // The directory and the link to the outside change places all the time.
            renameat2(AT_FDCWD, path + "/tmp/d", AT_FDCWD, path + "/tmp/away", 2)
          }
        })
      pthread_create(
        &thread, nil,
        { context in
          if let context { Unmanaged<Swapper>.fromOpaque(context).takeRetainedValue().body() }
          return nil
        }, swapper.toOpaque())
      defer {
        isDone.withLock { $0 = true }
        pthread_join(thread, nil)
      }
      for round in 0..<Self.races {
        // Whichever of the two is the directory now.
        for name in ["d", "away"] {
          let directory = Glibc.open("\(path)/tmp/\(name)", O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
          if directory < 0 { continue }
          close(openat(directory, "f", O_WRONLY | O_CREAT, 0o600))
          close(directory)
        }
        for file in (try? scene.candidates()) ?? [] {
          _ = file.remove(from: scene.data)
        }
        if round % 16 == 0 {
          _ = try? scene.data.removeWhatGoes(on: .exit, scene.policy)
          for name in ["d", "away"] { Glibc.remove("\(path)/tmp/\(name)") }
          mkdir("\(path)/tmp/d", 0o700)
          symlink("../../outside", "\(path)/tmp/away")
        }
        guard access("\(path)/../outside/f", F_OK) == 0 else {
          Issue.record("round \(round): a file outside is gone")
          return
        }
      }
    }
  }
}

private final class Swapper: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
