// The command that lends an app what its rules refuse, and notes it: for as long as the one who
// asks stays connected.
//
// {"command":"learn"} is answered by a line with "status". Whoever asked then stays connected, and
// says {"command":"finish"} at the end: the answer is a line for each note, and a last one with
// "status". The rules are back before that, and also when the connection ends without a word.
import Containers
import LinuxKit
import Policy
import View

/// One client that learns, on its thread.
struct LearningSession: ~Copyable {
  private static let lineLimit = 4096
  private static let patienceMilliseconds: Int64 = 10_000

  private let connection: Descriptor
  private let live: LivePolicy

  init(_ connection: consuming Descriptor, _ live: LivePolicy) {
    self.connection = connection
    self.live = live
  }

  /// Goes on until the client has finished or is gone.
  func run() {
    guard let lesson = live.beginLesson() else {
      return send(ControlAnswer.refusal("somebody else is learning rules of this app"))
    }
    send(ControlAnswer.done)
    let line = try? connection.readLine(limit: Self.lineLimit, .unlimited)
    let isWhole = live.end(lesson)
    guard let line, flatObject(line)?["command"] == Array("finish".utf8) else { return }
    send(
      isWhole
        ? report(lesson)
        : ControlAnswer.refusal("the rules were changed meanwhile, so nothing could be learned"))
  }

  /// A client that is gone has lost its answer; the next reading tells so.
  private func send(_ answer: [UInt8]) {
    try? connection.sendAll(answer, ClientPatience(milliseconds: Self.patienceMilliseconds))
  }

  private func report(_ lesson: Lesson) -> [UInt8] {
    let (notes, missingCount) = lesson.notes
    var lines: [UInt8] = []
    for note in notes {
      var object = FlatObjectWriter()
      object.add(note.isRefused ? "refused" : "lent", note.path)
      if !note.secondPath.isEmpty { object.add("path2", note.secondPath) }
      object.add("operation", note.operation.name.utf8)
      object.add("kind", (note.isDirectory ? "directory" : "file").utf8)
      object.add("result", note.denial.errnoName.utf8)
      object.add("rule", note.rule.utf8)
      lines += object.line + [UInt8(ascii: "\n")]
    }
    var object = FlatObjectWriter()
    object.add("status", "ok".utf8)
    object.add("missing", missingCount)
    return lines + object.line + [UInt8(ascii: "\n")]
  }
}
