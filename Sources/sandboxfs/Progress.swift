// How far something is that takes longer than a second: a bar on a terminal, nothing anywhere else.

internal import LinuxKit
internal import Store

/// Shows how far work is once it has taken a second, and takes the bar away at its end.
///
/// Nil where nobody watches standard error.
func withProgress<Result>(
  _ word: String, _ body: (SealProgress?) throws -> Result
) rethrows -> Result {
  guard ProgressBar.isWatched else { return try body(nil) }
  let bar = ProgressBar(word)
  defer { bar.finish() }
  return try body { done, all in bar.show(done, of: all) }
}

/// A bar of progress on standard error; used by one thread.
final class ProgressBar {
  private let word: String
  /// Whether there is anybody to show it to; if not, nobody need find out how much there is to do.
  static let isWatched = StandardStream.error.isTerminal
  private let start = WallTime.now
  private var lastTenth: Int64 = -1
  private var isDrawn = false

  private static let width = 30

  init(_ word: String) { self.word = word }

  /// Says how many bytes are done, and of how many files.
  ///
  /// Drawn at most ten times a second, from the first second on.
  func show(_ done: Int64, of all: Int64, files: Int? = nil) {
    guard Self.isWatched, all > 0 else { return }
    let now = WallTime.now
    let tenths =
      (now.seconds - start.seconds) * 10 + (now.nanoseconds - start.nanoseconds) / 100_000_000
    guard tenths >= 10, tenths != lastTenth else { return }
    lastTenth = tenths
    isDrawn = true
    let share = min(Double(done) / Double(all), 1)
    let filled = Int(share * Double(Self.width))
    let bar =
      String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
    let percent = String(Int(share * 100))
    let padding = String(repeating: " ", count: 3 - percent.count)
    let left = share > 0.01 ? Int64(Double(tenths) / 10 * (1 - share) / share) : nil
    write(
      "\r\(word) [\(bar)] \(padding)\(percent) %\(files.map { ", \($0) files" } ?? "")"
        + "\(left.map { ", \($0 / 60) min \($0 % 60) s left" } ?? "")\u{1B}[K")
  }

  /// Takes the bar away.
  func finish() {
    if isDrawn { write("\r\u{1B}[K") }
    isDrawn = false
  }

  private func write(_ text: String) { try? StandardStream.error.write(Array(text.utf8)) }
}

/// A size for people: bytes below 10,000, then in units of 1024 with one digit.
func size(_ bytes: Int64) -> String {
  if bytes < 10_000 { return "\(bytes) B" }
  let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
  var tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024
  var unit = 0
  while tenths >= 10_240, unit < units.count - 1 {
    tenths /= 1024
    unit += 1
  }
  return "\(tenths / 10).\(tenths % 10) \(units[unit])"
}
