// The process that serves a view dies again and again, and an app that checks every answer sees
// nothing but pauses. The same runs longer by hand: `scripts/soak`.

import Containers
import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

/// How often a process is killed in each test.
private let killCount =
  ProcessInfo.processInfo.environment["SANDBOXFS_SOAK_KILLS"].flatMap(Int.init) ?? 50

/// Kills whoever serves a view, again and again, until so many were killed.
private func kill(_ count: Int, serving view: TestView, signal: Int32, every microseconds: UInt32)
  -> Int
{
  var killed = 0
  var last: Int32 = 0
  // Not for ever: a view that nobody serves any more has no such process.
  for _ in 0..<(count * 200) where killed < count {
    usleep(microseconds)
    if (try? view.daemon.exitStatusIfEnded()) != .some(nil) { break }
    guard let worker = RunningProcess(pid: view.daemon.pid).children.first, worker != last else {
      continue
    }
    if Glibc.kill(worker, signal) == 0 { killed += 1 }
    last = worker
  }
  return killed
}

private let oldKernel = ["SANDBOXFS_FAULT_OLD_KERNEL": "1"]

@Suite(.serialized) struct SurvivalTests {
  struct Death: Sendable, CustomTestStringConvertible {
    var signal: Int32 = SIGKILL
    let everyMicroseconds: UInt32
    var ground = Ground.memory
    var descriptorLimit: Int?
    /// Whether the kernel is taken as one that can't send anything again.
    var isOld = false
    /// Whether all that the app does is paid for.
    var isLimited = false
    var meanwhile: [Meanwhile] = []

    var testDescription: String {
      "\(ground.rawValue), signal \(signal) every \(everyMicroseconds) µs"
        + (descriptorLimit.map { ", with \($0) descriptors" } ?? "")
        + (isOld ? ", as on an old kernel" : "") + (isLimited ? ", with limits" : "")
        + meanwhile.map { ", while \($0.rawValue)" }.joined()
    }

    /// A sanitizer looks at crashes itself, and can't in the middle of what it does.
    fileprivate var isPossible: Bool {
      (ground != .user || Ground.possible.contains(.user))
        && (signal == SIGKILL || !BuiltPrograms.daemonIsOfAnotherBuild)
    }

    fileprivate var settings: TestView.Settings {
      var settings = TestView.Settings(
        descriptorLimit: descriptorLimit, faults: isOld ? oldKernel : [:])
      if isLimited { settings.limit() }
      return settings
    }
  }

  @Test(
    "an app sees only pauses when who serves it is killed",
    arguments: [
      Death(everyMicroseconds: 20_000),
      Death(everyMicroseconds: 3_000, ground: .disk),
      Death(everyMicroseconds: 20_000, ground: .user),
      Death(everyMicroseconds: 10_000, isOld: true),
      Death(signal: SIGSEGV, everyMicroseconds: 20_000),
      Death(everyMicroseconds: 20_000, descriptorLimit: 128),
      Death(everyMicroseconds: 20_000, isLimited: true),
      Death(everyMicroseconds: 20_000, meanwhile: [.cachesAreDropped]),
      Death(everyMicroseconds: 10_000, meanwhile: [.appsAreKilled]),
      Death(
        everyMicroseconds: 20_000, ground: .user, isLimited: true,
        meanwhile: [.cachesAreDropped, .appsAreKilled]),
      Death(everyMicroseconds: 20_000, isOld: true, isLimited: true, meanwhile: [.appsAreKilled]),
    ].filter(\.isPossible))
  func killed(_ death: Death) throws {
    try withSurvivingView(on: death.ground, death.settings) { view in
      let app = try startSurvivor(
        in: view.path + "/Documents", on: death.ground, milliseconds: killCount * 60)
      let before = Resources(of: view)
      let companions = death.meanwhile.map { Companion($0, of: view, on: death.ground) }
      let killed = kill(
        killCount, serving: view, signal: death.signal, every: death.everyMicroseconds)
      #expect(try app.wait() == 0)
      #expect(killed == killCount)
      try expectSameNames(in: view, death.ground, left: companions.flatMap { $0.end() })
      // What was lost by deaths is found by whoever takes over.
      #expect(kill(1, serving: view, signal: death.signal, every: 1000) == 1)
      #expect(eventually { view.openDescriptors() <= before.descriptors + 8 })
      let after = Resources(of: view)
      #expect(after.descriptors <= before.descriptors + 8, "\(before), \(after)")
      // A sanitizer has memory of its own.
      let spare = BuiltPrograms.daemonIsOfAnotherBuild ? 8192 : 64
      #expect(after.ownKilobytes <= before.ownKilobytes + spare, "\(before), \(after)")
      if death.isLimited { try expectNothingOwed(in: view) }
      try expectNothingLeft(in: view)
    }
  }

  /// What a view's supervisor has.
  private struct Resources {
    /// It shares them with whoever serves.
    let descriptors: Int
    /// What of its memory is nobody else's.
    let ownKilobytes: Int

    init(of view: TestView) {
      descriptors = view.openDescriptors()
      let status = try? String(contentsOfFile: "/proc/\(view.daemon.pid)/status", encoding: .utf8)
      let line = status?.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
      ownKilobytes = line?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
    }
  }

  struct Faults: Sendable, CustomTestStringConvertible {
    let ground: Ground
    let oneIn: Int
    var isOld = false
    var isLimited = false
    var meanwhile: [Meanwhile] = []

    var testDescription: String {
      "\(ground.rawValue), one in \(oneIn) passes" + (isOld ? ", as on an old kernel" : "")
        + (isLimited ? ", with limits" : "")
        + meanwhile.map { ", while \($0.rawValue)" }.joined()
    }

    fileprivate var settings: TestView.Settings {
      var settings = TestView.Settings(faultOneIn: oneIn, faults: isOld ? oldKernel : [:])
      if isLimited { settings.limit() }
      return settings
    }
  }

  @Test(
    "an app sees only pauses when who serves it dies between any two steps",
    arguments: [
      Faults(ground: .memory, oneIn: 500), Faults(ground: .disk, oneIn: 100),
      Faults(ground: .memory, oneIn: 500, isOld: true),
      Faults(ground: .memory, oneIn: 500, isLimited: true, meanwhile: [.cachesAreDropped]),
      Faults(ground: .memory, oneIn: 300, meanwhile: [.appsAreKilled]),
    ])
  func faults(_ faults: Faults) throws {
    try withGround(faults.ground) { directory in
      let view = try TestView(in: directory, faults.settings)
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: killCount * 100)
      let companions = faults.meanwhile.map { Companion($0, of: view, on: faults.ground) }
      #expect(try app.wait() == 0)
      let left = companions.flatMap { $0.end() }
      #expect(view.restarts() >= (BuiltPrograms.daemonIsOfAnotherBuild ? 1 : killCount))
      try expectSameNames(in: view, faults.ground, left: left)
      if faults.isLimited { try expectNothingOwed(in: view) }
      try expectNothingLeft(in: view)
    }
  }

  @Test(
    "what is refused is in the log once, whoever dies over it", arguments: [nil, 100, 1000])
  func refusals(oneIn: Int?) throws {
    // Each time no more than the log has room for.
    let deaths = 50
    for _ in 0..<max(1, killCount / deaths) { try refuse(oneIn: oneIn, deaths: deaths) }
  }

  private func refuse(oneIn: Int?, deaths: Int) throws {
    try withGround(.memory) { directory in
      try FileManager.default.createDirectory(
        atPath: directory + "/container/data/Documents/closed", withIntermediateDirectories: true)
      let view = try TestView(
        in: directory,
        TestView.Settings(
          profile: "/ read write exec backup\n/Documents/closed -write\n", faultOneIn: oneIn))
      let said = directory + "/said"
      let app = try startSurvivor(
        in: view.path + "/Documents/closed", milliseconds: deaths * 40, threads: 0,
        output: said)
      if oneIn == nil {
        #expect(kill(deaths, serving: view, signal: SIGKILL, every: 20_000) == deaths)
      }
      #expect(try app.wait() == 0)
      #expect(view.restarts() > 0)
      #expect(try view.unmount() == 0)
      let text = try String(contentsOfFile: said, encoding: .utf8)
      let rounds = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
      #expect(try refusalCount(in: view.container) == rounds, "\(text)")
    }
  }

  /// How many refusals a container's log tells of.
  private func refusalCount(in container: String) throws -> Int {
    var count = 0
    for name in ["log.1", "log"] {
      guard let log = FileManager.default.contents(atPath: container + "/" + name) else { continue }
      for line in log.split(separator: UInt8(ascii: "\n")) {
        switch AuditEntry(line: Array(line)) {
        case .request(let request): count += request.count
        case .more(_, _, let more): count += more
        case .lost(_, let lost): count += lost
        case .event, nil:
          Issue.record("a line that is none: \(String(decoding: line, as: UTF8.self))")
        }
      }
    }
    return count
  }

  /// What a view shows of what apps have left that were killed is what is there.
  ///
  /// A request that its killed caller has taken back between two workers may have been carried out:
  /// the kernel hears of that when the last one serves.
  private func expectSameNames(
    in view: TestView, _ ground: Ground, left directories: [String]
  ) throws {
    let kept = view.container + "/data/tmp"
    let script = """
      cd "$0" && for place in "$@"; do
        for name in . first second third link entry-0 entry-29; do
          [ ! -e $place/$name ] && [ ! -L $place/$name ] || stat -c '%n %f %h' $place/$name
        done
      done
      """
    func look(_ place: String) throws -> String {
      try run("setpriv", asOwner(of: ground) + ["sh", "-c", script, place] + directories).text
    }
    let there = try look(kept)
    _ = try eventually { try look(view.path + "/tmp") == there }
    #expect(try look(view.path + "/tmp") == there)
    let all = ["sh", "-c", "rm -rf \"$0\"/*", view.path + "/tmp"]
    #expect(try run("setpriv", asOwner(of: ground) + all).status == 0)
    #expect(try contents(kept).isEmpty)
  }

  private func expectNothingOwed(in view: TestView) throws {
    for book in ["test.profile:2", "test.profile:3"] {
      #expect(try view.used(book) == Cost(), "\(book)")
    }
  }

  private func expectNothingLeft(in view: TestView) throws {
    #expect(try contents(view.container + "/data/Documents").isEmpty)
    #expect(try view.unmount() == 0)
    #expect(try contents(view.container + "/orphans").isEmpty)
    // Nobody has hung, which a pause would hide.
    #expect(events(in: view.container).isEmpty)
  }
}

private func contents(_ directory: String) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: directory)
}
