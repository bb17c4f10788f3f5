// Purging the containers of a store: what was used least recently goes first, whosever it is.

internal import Containers
internal import Launch
internal import LinuxKit
internal import MobileBackup
internal import Mounting
internal import Paths
internal import Policy
internal import Purging
internal import Store

/// When a purge has done enough.
enum PurgeGoal {
  /// When nothing is left that may go.
  case everything
  /// When so many bytes are freed.
  case freed(UInt64)
  /// When so much of the file system is free.
  case free(SpaceMark)
}

/// What a purge has done, or would do.
struct PurgeReport {
  /// A file that is gone, or would go.
  struct File {
    let app: String
    let path: [[UInt8]]
    let byteCount: Int64
    let used: String
    let rule: String
  }

  /// What became of one app's files.
  struct App {
    let identifier: BundleIdentifier
    var removedCount = 0
    var inUseCount = 0
    var byteCount: Int64 = 0
  }

  private(set) var files: [File] = []
  /// Those of which something is gone, or would be but for who uses it.
  var apps: [App] = []
  var failures: [String] = []
  /// What is missing to the goal; nil where there was none.
  var missingByteCount: UInt64?

  /// What the disk got back.
  private(set) var byteCount: Int64 = 0
  mutating func add(_ file: File) {
    files.append(file)
    byteCount += file.byteCount
  }

  var inUseCount: Int { apps.reduce(0) { $0 + $1.inUseCount } }
}

/// A purge of some containers.
final class StorePurge {
  /// A file that may go, and whose it is.
  private struct Item {
    let subject: Int
    let file: PurgeCandidate
  }

  private let store: Store
  private let goal: PurgeGoal
  private var subjects: [(container: Container, policy: PolicyEngine)] = []
  private var items: [Item] = []
  private var report = PurgeReport()
  private var apps: [PurgeReport.App] = []
  private let bar = ProgressBar("purging")
  /// What all would give back that may go.
  private var candidateByteCount: Int64 = 0

  /// Looks for what may go in the containers of these apps.
  ///
  /// One that can't be looked at is reported, and the others are purged all the same.
  ///
  /// A survey that changes nothing passes over directories that shut themselves off.
  init(
    _ store: Store, _ identifiers: [BundleIdentifier], _ goal: PurgeGoal, changesNothing: Bool
  ) throws {
    self.store = store
    self.goal = goal
    for identifier in identifiers {
      do {
        let container = try store.container(identifier)
        let policy = try subject(container).policy
        let survey = PurgeSurvey(policy, on: .pressure, opensUp: !changesNothing)
        let (found, closedCount) = try survey.candidates(in: container.data())
        if closedCount > 0 {
          report.failures.append(
            "\(identifier): \(counted(closedCount, "directory", "directories")) could not be "
              + "looked into: a purge opens them, --dry-run does not")
        }
        items += found.map { Item(subject: subjects.count, file: $0) }
        subjects.append((container, policy))
        apps.append(PurgeReport.App(identifier: identifier))
      } catch {
        if identifiers.count == 1 { throw error }
        fail(identifier, describe(error))
      }
    }
    items.sort { $0.file.usedNanoseconds < $1.file.usedNanoseconds }
    candidateByteCount = items.reduce(0) { $0 + $1.file.byteCount }
  }

  /// Notes what went wrong, which says of which app if the error itself does not.
  private func fail(_ identifier: BundleIdentifier, _ message: String) {
    let name = "\(identifier)"
    report.failures.append(message.contains(name) ? message : "\(name): \(message)")
  }

  /// How many bytes are still to be freed; nil for all that there are.
  private func missing() throws -> UInt64? {
    switch goal {
    case .everything: return nil
    case .freed(let wanted): return wanted - min(wanted, UInt64(clamping: report.byteCount))
    case .free(let mark):
      let space = try store.directory.descriptor.space()
      let wanted = mark.byteCount(of: space.byteCount)
      return wanted - min(wanted, space.freeByteCount)
    }
  }

  /// The next files that are needed for the goal, as far as one knows.
  private func nextItems() throws -> ArraySlice<Item> {
    guard let missing = try missing() else { return items[...] }
    var sum: UInt64 = 0
    return items.prefix { item in
      defer { sum += UInt64(clamping: item.file.byteCount) }
      return sum < missing
    }
  }

  /// What would go.
  func preview() throws -> PurgeReport {
    for item in try nextItems() { note(item) }
    return finished()
  }

  /// Removes until the goal is reached or nothing is left.
  func perform() throws -> PurgeReport {
    defer { bar.finish() }
    while case let batch = try nextItems(), !batch.isEmpty {
      let isAll = batch.count == items.count && isUnlimited
      for index in subjects.indices {
        let mine = batch.filter { $0.subject == index }
        if mine.isEmpty { continue }
        do {
          try remove(mine, of: index)
        } catch {
          fail(subjects[index].container.identifier, describe(error))
        }
      }
      items.removeFirst(batch.count)
      if isAll { break }
    }
    tellDaemons()
    report.missingByteCount = try missing()
    return finished()
  }

  private var isUnlimited: Bool { if case .everything = goal { true } else { false } }

  private func finished() -> PurgeReport {
    var report = report
    report.apps = apps.filter { $0.removedCount + $0.inUseCount > 0 }
    return report
  }

  // MARK: One container

  private func remove(_ batch: [Item], of index: Int) throws {
    let (container, policy) = subjects[index]
    let isDone = try container.whileUnmounted { data in
      for item in batch { note(item.file.remove(from: data), of: item) }
      // Links and directories that nobody needs any more; files that are in use stay.
      if isUnlimited { try data.removeWhatGoes(on: .pressure, policy, sparing: .files) }
      return true
    }
    if isDone != nil { return }
    guard (try? DaemonStatus.ask(container.directory.descriptor)) ?? nil != nil else {
      throw Failure("another command is at work in it, or its daemon does not answer")
    }
    try removeThroughView(batch, of: container)
  }

  /// Tells the daemons of those that are mounted.
  private func tellDaemons() {
    for (subject, app) in zip(subjects, apps) where app.removedCount > 0 {
      PurgeNotice(fileCount: app.removedCount, byteCount: app.byteCount)
        .tell(subject.container.directory.descriptor)
    }
  }

  private func removeThroughView(_ batch: [Item], of container: Container) throws {
    let options = RunOptions(
      environment: callersEnvironment(), defaultStore: try? StoreLocation.usualStore())
    let data = try container.data()
    let work = try Launch.withView(
      container.directory.descriptor, container.record, try configuration(of: container), options,
      isCurrent: container.isCurrent
    ) { view in
      for item in batch { note(item.file.remove(from: data, through: view), of: item) }
    }
    report.failures += work.remarks.map { "\(container.identifier): \($0)" }
  }

  private func note(_ outcome: PurgeOutcome, of item: Item) {
    switch outcome {
    case .removed:
      note(item)
      bar.show(report.byteCount, of: candidateByteCount)
    case .inUse, .doubtful: apps[item.subject].inUseCount += 1
    case .changed: break
    case .failed(let error):
      let path = Presentation.path(item.file.path)
      report.failures.append("\(apps[item.subject].identifier): \(path): \(error.message)")
    }
  }

  private func note(_ item: Item) {
    let policy = subjects[item.subject].policy
    let zone = item.file.path.reduce(ZoneID.root) { policy.zone(named: $1.span, in: $0) }
    apps[item.subject].removedCount += 1
    apps[item.subject].byteCount += item.file.byteCount
    report.add(
      PurgeReport.File(
        app: "\(apps[item.subject].identifier)", path: item.file.path,
        byteCount: item.file.byteCount,
        used: timestamp(item.file.usedNanoseconds / 1_000_000_000),
        rule: policy.rules(for: .purge, in: zone).last.map(policy.describe) ?? ""))
  }
}
