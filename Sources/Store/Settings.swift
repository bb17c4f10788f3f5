// `sandboxfs.conf`: what holds on this host, or for a user, whatever the app.
//
// A line is a name and a value with `=` between; `#` begins a comment. Where several files speak,
// the stricter word holds.
internal import Containers
internal import LinuxKit
internal import Paths

/// What `sandboxfs.conf` in the settings says.
struct Settings {
  /// What every seal must be worth.
  private(set) var requirement = SealRequirement.any
  /// What apps may reach by name at most.
  private(set) var allowances = Set(Allowance.allCases)
  /// Below how much free space what may go is purged; empty for what holds where nobody speaks.
  private var lowMarks: [SpaceMark] = []
  /// How much is free again when a purge ends; likewise.
  private var highMarks: [SpaceMark] = []

  private static let fileName = "sandboxfs.conf"
  private static let maximumByteCount = 64 << 10

  /// Reads the file in each directory of settings, as far as there is one.
  init(_ location: StoreLocation) throws(StoreError) {
    for place in location.settings {
      let path = place + Array("/\(Self.fileName)".utf8)
      let file = try allowing([.noEntry, .notDirectory], path.printable) { () throws(Errno) in
        try Descriptor.following(path)
      }
      guard let file else { continue }
      let text = try saying(path.printable) { () throws(Errno) in
        try file.reopened(Opening.reading).readToEnd(atMost: Self.maximumByteCount)
      }
      try read(text, path.printable)
    }
  }

  private mutating func read(_ text: [UInt8], _ shown: String) throws(StoreError) {
    let lines = String(decoding: text, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      let words = line.prefix { $0 != "#" }.split(separator: "=", maxSplits: 1).map { word in
        word.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      }
      if words.allSatisfy(\.isEmpty) { continue }
      let mistake = "\(shown):\(number + 1): '\(Array(line.utf8).printable)': expected "
      guard words.count == 2, try take(words[1], as: words[0], mistake) else {
        throw StoreError(
          .failed, mistake + "require, allow, purge.low or purge.high, and a value behind '='")
      }
    }
  }

  /// Takes one setting; false if there is none of that name.
  private mutating func take(
    _ value: String, as name: String, _ mistake: String
  ) throws(StoreError) -> Bool {
    switch name {
    case "require":
      guard let requirement = SealRequirement(rawValue: value) else {
        throw StoreError(.failed, mistake + "require = signed, adhoc or any")
      }
      self.requirement = max(self.requirement, requirement)
    case "allow": try limitAllowances(value, mistake)
    case "purge.low": lowMarks.append(try Self.mark(value, mistake))
    case "purge.high": highMarks.append(try Self.mark(value, mistake))
    default: return false
    }
    return true
  }

  /// Lets apps reach no more than these names.
  private mutating func limitAllowances(
    _ value: String, _ mistake: String
  ) throws(StoreError) {
    let names = value == "none" ? [] : value.split { $0 == "," || $0 == " " }
    let allowed = names.map { Allowance(rawValue: String($0)) }
    guard !allowed.contains(nil), value == "none" || !allowed.isEmpty else {
      let all = Allowance.allCases.map(\.rawValue).sorted().joined(separator: ", ")
      throw StoreError(.failed, mistake + "allow = none, or some of \(all)")
    }
    allowances.formIntersection(allowed.compactMap(\.self))
  }

  private static func mark(_ value: String, _ mistake: String) throws(StoreError) -> SpaceMark {
    if let mark = SpaceMark(Array(value.utf8)) { return mark }
    throw StoreError(.failed, mistake + SpaceMark.expectation)
  }

  /// Between which marks of free space a file system of so many bytes is kept by purging.
  func purgeMarks(of whole: UInt64) -> (low: UInt64, high: UInt64) {
    func bytes(_ marks: [SpaceMark], else share: UInt64, atMost size: UInt64) -> UInt64 {
      marks.map { $0.byteCount(of: whole) }.max()
        ?? min(SpaceMark.percent(share).byteCount(of: whole), size)
    }
    let low = bytes(lowMarks, else: 5, atMost: 2 << 30)
    return (low, max(low, bytes(highMarks, else: 10, atMost: 4 << 30)))
  }
}
