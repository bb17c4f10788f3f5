// Seals and signatures: every bundle may bring some, written by anybody.

import PropertyLists
import Seal

extension FuzzTarget {
  /// What was read can be written, and reads the same again.
  static let xmlPropertyList = FuzzTarget(name: "xml-plist") { bytes in
    do throws(PropertyListError) {
      let list = try PropertyList.xml(bytes)
      guard isExact(list), let text = list.xml else { return nil }
      return (try? PropertyList.xml(text)) == list ? nil : "written and read it is another"
    } catch {
      guard case .text(let line, let column) = error.place else { return "a mistake without place" }
      return line >= 1 && column >= 1 ? nil : "a mistake nowhere"
    }
  }

  /// A seal can be written, reads the same again, and says one thing of each entry.
  static let codeResources = FuzzTarget(name: "code-resources") { bytes in
    guard
      let list = PropertyList.isBinary(bytes)
        ? try? PropertyList.binary(bytes) : try? PropertyList.xml(bytes)
    else {
      return nil
    }
    do throws(SealError) {
      let resources = try CodeResources(list)
      return complaint(about: resources)
    } catch {
      return isShown(error.description) ? nil : "the mistake cannot be shown"
    }
  }

  /// What may be tried has nothing of what the C library's matcher has no bounds for.
  static let sealRule = FuzzTarget(name: "seal-rule") { bytes in
    guard SealRule.mistake(in: bytes) == nil else { return nil }
    if bytes.count > SealRule.maximumPatternByteCount { return "too long" }
    // Outside of sets: what is escaped means itself, so there is no digit behind a backslash.
    guard !bytes.contains(UInt8(ascii: "[")) else { return nil }
    var isEscaped = false
    var depth = 0
    for byte in bytes {
      if isEscaped {
        if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { return "a reference back" }
        isEscaped = false
        continue
      }
      isEscaped = byte == UInt8(ascii: "\\")
      if byte == UInt8(ascii: "{") { return "a counted repetition" }
      if byte == UInt8(ascii: "(") { depth += 1 }
      if byte == UInt8(ascii: ")") { depth -= 1 }
      if depth < 0 || depth > 16 { return "groups that lie too deep, or are none" }
    }
    return depth == 0 && !isEscaped ? nil : "it is cut short"
  }

  /// A signature and a key have their sizes, and a key's number can be shown.
  static let minisign = FuzzTarget(name: "minisign") { bytes in
    if let signature = try? MinisignSignature(bytes) {
      let sizes = [signature.keyID, signature.signature, signature.globalSignature].map(\.count)
      if sizes != [8, 64, 64] { return "sizes of \(sizes)" }
      if signature.trustedComment.contains(10) { return "a comment of two lines" }
    }
    if let key = try? MinisignKey(bytes) {
      if key.keyID.count != 8 || key.key.count != 32 { return "a key of another size" }
      let number = MinisignKey.shown(key.keyID)
      if UInt64(number, radix: 16) == nil { return "\(number) is no number" }
    }
    return nil
  }
}

/// Whether a list is kept to the bit: fractions that are no numbers equal nothing, and XML has no
/// dates within a second.
private func isExact(_ list: PropertyList) -> Bool {
  switch list {
  case .real(let number): !number.isNaN
  case .date(let seconds): seconds == seconds.rounded()
  case .array(let values): values.allSatisfy(isExact)
  case .dictionary(let entries): entries.entries.allSatisfy { isExact($0.value) }
  default: true
  }
}

private func isShown(_ text: String) -> Bool {
  text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
}

private func complaint(about resources: CodeResources) -> String? {
  let book = resources.book
  // What names code has no form of ours to be written in.
  let hasCode = [resources.version1, resources.version2].contains { book in
    book?.entries.contains { $0.content == .code } == true
  }
  if !hasCode, let text = resources.propertyList.xml {
    let again = (try? PropertyList.xml(text)).flatMap { try? CodeResources($0) }
    if again != resources { return "written and read it is another" }
  }
  let paths = book.entries.prefix(50).map(\.path) + [Array("a/b".utf8), Array("Info.plist".utf8)]
  let kinds: [BundleEntry.Kind] = [.file, .link(Array("a".utf8)), .nested, .other]
  for kind in kinds {
    let entries = paths.map { BundleEntry(path: $0, kind: kind) }
    let survey = SealSurvey(of: entries, by: book, executable: nil) { $0 % 2 == 0 || $1.isEmpty }
    if survey.standings.count != entries.count { return "an entry without its standing" }
    if survey.missing.contains(where: { paths.contains($0) }) { return "missing and there" }
  }
  return nil
}
