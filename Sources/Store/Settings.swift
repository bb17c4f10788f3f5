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
      guard words.count == 2, words[0] == "require",
        let requirement = SealRequirement(rawValue: words[1])
      else {
        let found = Array(line.utf8).printable
        throw StoreError(
          .failed,
          "\(shown):\(number + 1): '\(found)': expected require = signed, adhoc or any")
      }
      self.requirement = max(self.requirement, requirement)
    }
  }
}
