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
      if let expected = take(words) {
        let found = Array(line.utf8).printable
        throw StoreError(.failed, "\(shown):\(number + 1): '\(found)': expected \(expected)")
      }
    }
  }

  /// Takes the words of a line; what was expected instead, if it can't.
  private mutating func take(_ words: [String]) -> String? {
    switch words.count == 2 ? words[0] : "" {
    case "require":
      guard let requirement = SealRequirement(rawValue: words[1]) else {
        return "require = signed, adhoc or any"
      }
      self.requirement = max(self.requirement, requirement)
    case "allow":
      let names = words[1] == "none" ? [] : words[1].split { $0 == "," || $0 == " " }
      let allowed = names.map { Allowance(rawValue: String($0)) }
      guard !allowed.contains(nil), words[1] == "none" || !allowed.isEmpty else {
        let all = Allowance.allCases.map(\.rawValue).sorted().joined(separator: ", ")
        return "allow = none, or some of \(all)"
      }
      allowances.formIntersection(allowed.compactMap(\.self))
    default: return "require = ... or allow = ..."
    }
    return nil
  }
}
