// Learning rules: what was allowed although the rules refuse it, and what was refused all the same.
//
// While a lesson is going on a request may allocate and count references: it is a person who waits
// for it, not an app that is to be fast.
internal import LinuxKit
internal import Paths
public import Policy
internal import Synchronization

/// The requests from which rules are learned.
public final class Lesson: Sendable {
  /// A request whose answer tells the lesson's policy from the rules.
  public struct Note: Hashable, Sendable {
    /// What was wanted.
    public let operation: Operation
    /// The path in the view.
    public let path: [UInt8]
    /// The other path of an operation that has two.
    public let secondPath: [UInt8]
    /// Whether the first path is a directory's.
    public let isDirectory: Bool
    /// Whether it was refused all the same.
    public let isRefused: Bool
    /// The errno that the rules give.
    public let denial: Denial
    /// The rule that refuses.
    public let rule: String
  }

  /// The most notes that are kept.
  private static let limit = 50_000

  /// The rules themselves.
  private let rules: PolicyEngine
  private let state = Mutex<(notes: Set<Note>, missingCount: Int)>(([], 0))

  /// A lesson about what these rules refuse.
  public init(about rules: PolicyEngine) { self.rules = rules }

  /// All notes, and how many requests could not be noted.
  public var notes: (notes: Set<Note>, missingCount: Int) {
    state.withLock { ($0.notes, $0.missingCount) }
  }

  /// What the rules themselves say.
  fileprivate func verdict(on question: Question) -> Verdict { rules.explain(question).verdict }

  fileprivate func add(_ note: Note) {
    state.withLock { state in
      if state.notes.count < Self.limit || state.notes.contains(note) {
        state.notes.insert(note)
      } else {
        state.missingCount += 1
      }
    }
  }

  fileprivate func miss() { state.withLock { $0.missingCount += 1 } }
}

extension ViewFileSystem {
  /// Notes a request that is lent what the rules refuse, if it is one.
  ///
  /// Returns a refusal that is to stand: what the rules answer with EXDEV is copied by the program,
  /// and no line would change that.
  func noteLent(_ ruling: Ruling, _ inquiry: Inquiry) -> (denial: Denial, rule: RuleID)? {
    guard let lesson = ruling.lesson, ruling.zone != Ruling.withoutPath else { return nil }
    guard let paths = wholePaths(inquiry), let question = question(inquiry, paths) else {
      lesson.miss()
      return nil
    }
    let verdict = lesson.verdict(on: question)
    guard let denial = verdict.denial else { return nil }
    if denial == .crossZone { return (denial, verdict.rule) }
    lesson.add(note(inquiry, paths, denial, ruling.describe(verdict.rule), isRefused: false))
    return nil
  }

  /// Notes a request that is refused although a lesson is going on, if one is.
  func noteRefusal(
    _ denial: Denial, _ rule: RuleID, _ ruling: Ruling, _ inquiry: Inquiry
  ) {
    guard let lesson = ruling.lesson, denial != .notFound else { return }
    guard let paths = wholePaths(inquiry) else { return lesson.miss() }
    lesson.add(note(inquiry, paths, denial, ruling.describe(rule), isRefused: true))
  }

  private func note(
    _ inquiry: Inquiry, _ paths: [[UInt8]], _ denial: Denial, _ rule: String, isRefused: Bool
  ) -> Lesson.Note {
    Lesson.Note(
      operation: inquiry.operation, path: paths[0], secondPath: paths.count > 1 ? paths[1] : [],
      isDirectory: inquiry.isDirectory, isRefused: isRefused, denial: denial, rule: rule)
  }

  private func question(_ inquiry: Inquiry, _ paths: [[UInt8]]) -> Question? {
    guard let first = try? ViewPath(paths[0]) else { return nil }
    let second = paths.count > 1 ? try? ViewPath(paths[1]) : nil
    return Question(
      inquiry.operation, first, secondPath: second,
      kind: inquiry.isDirectory ? .directory : .file)
  }

  private func wholePaths(_ inquiry: Inquiry) -> [[UInt8]]? {
    guard let first = wholePath(inquiry.subject) else { return nil }
    guard let subject = inquiry.second else { return [first] }
    return wholePath(subject).map { [first, $0] }
  }

  /// A path of the view, however long; nil if it is longer than any system call takes.
  private func wholePath(_ subject: Subject) -> [UInt8]? {
    let limit = 4096
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: limit, alignment: 1)
    defer { buffer.deallocate() }
    let path = nodes.path(of: subject, into: buffer, limit: limit)
    guard path.count < limit else { return nil }
    return Array(UnsafeRawBufferPointer(start: path.start, count: path.count))
  }
}
