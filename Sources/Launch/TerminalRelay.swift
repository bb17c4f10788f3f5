// The terminal of a program inside: its own, and never the one of the person who started it.
//
// A program that has a person's terminal open can read what is typed for others, put words into the
// input of the shell, and change the terminal's settings. So it gets a new one, and we carry keys
// in and text out.
internal import Glibc
internal import LinuxKit

/// A terminal for a program, and what passes between it and the person's.
final class TerminalRelay {
  private var pair: PseudoTerminal
  private let resize: ResizeSignal
  /// The person's terminal whose size counts.
  private let model: CInt
  /// Where the text goes.
  private let output: CInt
  /// Whether keys are passed on: only from a terminal that is standard input.
  let hasKeys: Bool
  private var raw: RawTerminal?
  private var isOpen = true
  private var keysEnded = false
  /// Keys that the terminal has not taken yet.
  private var waiting: [UInt8] = []

  /// The streams that are terminals, of 0, 1 and 2.
  let replaced: [CInt]

  /// A terminal for a program that will run as a user; nil if none of our streams is one.
  init?(for uid: UInt32, gid: UInt32) throws(Errno) {
    let terminals = (0...2).filter { isatty($0) == 1 }.map { CInt($0) }
    guard let model = terminals.first else { return nil }
    self.model = model
    replaced = terminals
    hasKeys = model == 0
    output = terminals.first { $0 > 0 } ?? model
    pair = try PseudoTerminal(like: model)
    if geteuid() == 0 { try pair.give(to: uid, gid: gid) }
    resize = try ResizeSignal()
  }

  /// The terminal's path, outside.
  var path: [UInt8] { pair.path }

  /// The terminal, for the program that is started.
  var terminal: CInt { pair.terminal }

  /// What a program gets for 0, 1 and 2.
  var streams: [CInt] { [0, 1, 2].map { replaced.contains($0) ? terminal : $0 } }

  /// The program has begun: from here on the keys are for it.
  func begin() {
    pair.closeTerminal()
    if hasKeys { raw = RawTerminal(model) }
  }

  /// What to wait for.
  var files: [CInt] {
    [
      hasKeys && !keysEnded && waiting.isEmpty ? model : -1,
      isOpen ? pair.controller.rawValue : -1, resize.rawValue,
    ]
  }

  /// Whether keys wait for the program to take others first.
  var isFull: Bool { !waiting.isEmpty }

  /// Passes on what can be, where `files` are ready.
  func step(_ ready: ArraySlice<Bool>) {
    let ready = Array(ready)
    if ready[2] {
      resize.clear()
      pair.takeSize(of: model)
    }
    if ready[0] { readKeys() }
    if !waiting.isEmpty { waiting.removeFirst(pair.write(waiting)) }
    if ready[1] { show() }
  }

  /// More than a terminal holds that nobody has read.
  private static let lastByteCount = 1 << 20

  /// Shows what is left at the end, and gives the person's terminal back.
  func end() {
    // Who goes on writing, such as a process that the program left behind, is not waited for.
    var rest = Self.lastByteCount
    while isOpen, rest > 0 {
      let count = show()
      if count == 0 { break }
      rest -= count
    }
    raw = nil
  }

  private func readKeys() {
    var keys = [UInt8](repeating: 0, count: 4096)
    let count = read(model, &keys, keys.count)
    if count > 0 {
      waiting += keys.prefix(count)
    } else if count == 0 || errno != EINTR && errno != EAGAIN {
      keysEnded = true
    }
  }

  /// How many bytes there were to show.
  @discardableResult
  private func show() -> Int {
    guard let text = pair.read() else {
      isOpen = false
      return 0
    }
    // A terminal that is gone takes nothing any more; the program gets its HUP.
    try? Descriptor.writeAll(text, to: output)
    return text.count
  }
}
