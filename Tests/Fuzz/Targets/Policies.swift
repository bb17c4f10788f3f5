// Profiles and globs: written by bundles, and matched against names that apps choose.

import Paths
import Policy

extension FuzzTarget {
  /// The first byte chooses the layer, the others are the text.
  static let profile = FuzzTarget(name: "profile") { bytes in
    guard let first = bytes.first else { return nil }
    let ranks = ProfileSource.Rank.allCases.filter { $0 != .included }
    let source = ProfileSource(
      rank: ranks[Int(first) % ranks.count], name: Array("p".utf8), text: Array(bytes.dropFirst()))
    let bundle = Array("Notes.app".utf8)
    do throws(ProfileErrors) {
      let engine = try PolicyEngine(layers: [ShippedProfiles.standard, source], bundleName: bundle)
      return complaint(about: engine, [ShippedProfiles.standard, source], bundle)
    } catch {
      return error.errors.lazy.compactMap { complaint(about: $0, in: source) }.first
    }
  }

  /// The bytes up to the first zero are a pattern, those behind it a name.
  static let glob = FuzzTarget(name: "glob") { bytes in
    let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let pattern = parts[0].map { PatternByte($0, isEscaped: false) }
    let name = parts.count > 1 ? Array(parts[1].prefix(64)) : []
    do throws(GlobError) {
      let glob = try Glob(pattern[...])
      return complaint(about: glob, name) ?? difference(of: glob, parts[0], name)
    } catch {
      let isInside = (0...pattern.count).contains(error.offset)
      return isInside ? nil : "the mistake is at \(error.offset) of \(pattern.count)"
    }
  }
}

private func complaint(about error: ProfileError, in source: ProfileSource) -> String? {
  let lines = source.text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  guard error.file == source.name else { return nil }
  guard (1...max(1, lines.count)).contains(error.line) else { return "no such line: \(error)" }
  let count = lines.isEmpty ? 0 : lines[error.line - 1].count
  guard (1...count + 1).contains(error.column) else { return "no such column: \(error)" }
  let isShown = error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{7F}" }
  return isShown ? nil : "it cannot be shown"
}

private func complaint(
  about engine: PolicyEngine, _ layers: [ProfileSource], _ bundle: [UInt8]
) -> String? {
  for path in paths {
    var zone = ZoneID.root
    for name in path.components { zone = engine.zone(named: name.span, in: zone) }
    guard zone == engine.zone(of: path) else { return "two zones for one path" }
    for operation in Operation.allCases {
      let second = operation.takesTwoPaths ? paths[0] : nil
      let question = Question(operation, path, secondPath: second)
      let explanation = engine.explain(question)
      _ = engine.refusalByMount(of: question, isNoExec: true)
      let hasLine = engine.text(of: explanation.verdict.rule, in: layers) != nil
      let hasLayer = engine.layer(of: explanation.verdict.rule) != nil
      guard hasLine == hasLayer else { return "a rule without its line" }
      if explanation.losers.contains(explanation.verdict.rule) { return "the winner lost" }
    }
  }
  // Each line that is tried makes an engine, so only short profiles are worth the time.
  let question = Question(.write, paths[1])
  guard layers.allSatisfy({ $0.text.count < 400 }),
    case .lines(let lines) = engine.remedy(for: question, layers: layers, bundleName: bundle)
  else { return nil }
  return lines.isEmpty ? "a remedy without lines" : nil
}

private let paths = [
  ["tmp", "a"], ["Documents", "a", "b"], ["Library", "Caches", "x.log"], ["Notes.app", "Notes"], [],
].map { ViewPath(components: $0.map { Array($0.utf8) }) }

// MARK: - Globs

private func complaint(about glob: Glob, _ name: [UInt8]) -> String? {
  var table = GlobTable()
  let id = table.insert(glob)
  for example in glob.examples where !table.matches(id, example.span) {
    return "an example that does not match: \(example)"
  }
  guard let copy = reading(glob.text) else { return "its text is none: \(glob.text)" }
  let copyID = table.insert(copy)
  for name in [name] + glob.examples {
    let isMatch = table.matches(id, name.span)
    let canBeName = !name.contains(0) && !name.contains(UInt8(ascii: "/"))
    guard isMatch == table.matches(copyID, name.span) || !canBeName else {
      return "its text is another: \(glob.text)"
    }
    if let literal = glob.literal, (literal == name) != isMatch { return "not its literal" }
    if isMatch, name.count < glob.minimumByteCount { return "shorter than the shortest" }
    if isMatch, !name.starts(with: glob.literalPrefix) { return "not its beginning" }
    if isMatch, !name.reversed().starts(with: glob.literalSuffix.reversed()) {
      return "not its end"
    }
  }
  return nil
}

/// Whether a pattern without sets is matched otherwise than by its definition, column by column.
private func difference(of glob: Glob, _ pattern: ArraySlice<UInt8>, _ name: [UInt8]) -> String? {
  guard !pattern.contains(UInt8(ascii: "[")), pattern.count <= 256 else { return nil }
  // Whether the pattern so far matches the first bytes of the name.
  var matches = (0...name.count).map { $0 == 0 }
  for piece in pattern {
    var next = [Bool](repeating: false, count: name.count + 1)
    for count in 0...name.count {
      if piece == UInt8(ascii: "*") {
        next[count] = matches[count] || (count > 0 && next[count - 1])
      } else if count > 0 {
        next[count] = matches[count - 1] && [name[count - 1], UInt8(ascii: "?")].contains(piece)
      }
    }
    matches = next
  }
  var table = GlobTable()
  let id = table.insert(glob)
  return table.matches(id, name.span) == matches[name.count] ? nil : "matched otherwise"
}

/// The glob that a profile reads from a pattern's text.
private func reading(_ text: String) -> Glob? {
  var pattern: [PatternByte] = []
  var rest = Array(text.utf8)[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "\\") else {
      pattern.append(PatternByte(byte, isEscaped: false))
      continue
    }
    let digits = rest.prefix(3).prefix { (0x30...0x37).contains($0) }
    if digits.count == 3, let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8) {
      pattern.append(PatternByte(value, isEscaped: true))
      rest.removeFirst(3)
    } else if let byte = rest.popFirst() {
      pattern.append(PatternByte(byte, isEscaped: true))
    }
  }
  return try? Glob(pattern[...])
}
