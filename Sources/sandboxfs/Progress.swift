// A line on a terminal that says how far a long piece of work is.

internal import LinuxKit
internal import Store
internal import Synchronization

/// Shows how far work is once it has taken a second, and takes the line away at its end.
///
/// Nil where nobody watches standard error.
func withProgress<Result>(
  _ word: String, _ body: (SealProgress?) throws -> Result
) rethrows -> Result {
  guard StandardStream.error.isTerminal else { return try body(nil) }
  let line = ProgressLine(word)
  defer { line.remove() }
  return try body { done, all in line.show(done, of: all) }
}

/// The line; used by one thread.
private final class ProgressLine {
  private let word: String
  private var calls = 0
  private var isShown = false

  /// It is called ten times a second.
  private static let callsUntilShown = 10
  private static let barWidth = 40

  init(_ word: String) { self.word = word }

  func show(_ done: Int64, of all: Int64) {
    calls += 1
    guard calls >= Self.callsUntilShown, all > 0 else { return }
    isShown = true
    let part = min(1, Double(done) / Double(all))
    let filled = Int(part * Double(Self.barWidth))
    let bar =
      String(repeating: "#", count: filled)
      + String(repeating: ".", count: Self.barWidth - filled)
    let percent = String(Int(part * 100))
    let padding = String(repeating: " ", count: 3 - percent.count)
    write("\r\(word) [\(bar)] \(padding)\(percent) %")
  }

  func remove() {
    if isShown { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) { try? StandardStream.error.write(Array(text.utf8)) }
}
