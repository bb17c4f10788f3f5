// What bubblewrap reports: a JSON object a line, of which we need two numbers.

/// The report so far.
struct BubblewrapReport: Equatable {
  /// The first process inside, numbered as outside; nil before there is one.
  private(set) var firstProcess: Int32?
  /// The program's exit status; nil unless it was executed and has ended.
  private(set) var exitStatus: Int32?

  private var line: [UInt8] = []

  /// Takes what came next through the pipe, in pieces of any size.
  mutating func take(_ bytes: [UInt8]) {
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      if let number = number(of: "child-pid") { firstProcess = firstProcess ?? number }
      if let number = number(of: "exit-code") { exitStatus = number }
      line = []
    }
  }

  /// The number that stands behind a key of the line.
  private func number(of key: String) -> Int32? {
    let word = Array("\"\(key)\":".utf8)
    let starts = line.indices.filter { line[$0...].starts(with: word) }
    guard let start = starts.first else { return nil }
    let digits = line[(start + word.count)...].drop { $0 == UInt8(ascii: " ") }
      .prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return Int32(String(decoding: digits, as: UTF8.self))
  }
}
