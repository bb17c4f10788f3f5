// Making a seal of ours over a bundle.

internal import PropertyLists

/// What is to be sealed: a path, and what is there.
public struct SealableEntry: Equatable, Sendable {
  /// What is there.
  public enum Content: Equatable, Sendable {
    /// A file with these digests.
    case file(sha1: [UInt8], sha256: [UInt8])
    /// A symbolic link with this target.
    case link([UInt8])
  }

  /// The path, from the directory that holds `_CodeSignature`.
  public let path: [UInt8]
  /// What is there.
  public let content: Content

  /// An entry with every field given.
  public init(path: [UInt8], content: Content) {
    self.path = path
    self.content = content
  }
}

extension CodeResources {
  /// A seal of ours over these entries.
  ///
  /// `matches` and `matches1` say whether the pattern of `SealRule.ours2` and `ours1` at an index
  /// matches a path. Throws for a name that a seal cannot hold.
  public init(
    sealing entries: [SealableEntry], matches: (Int, [UInt8]) -> Bool,
    matches1: (Int, [UInt8]) -> Bool
  ) throws(SealError) {
    try Self.checkNames(of: entries)
    var first: [SealedEntry] = []
    var second: [SealedEntry] = []
    for entry in entries {
      let path = entry.path
      let rule = SealRule.ruling(of: SealRule.ours2) { matches($0, path) }
      if let rule, !rule.omits {
        second.append(
          SealedEntry(path: path, content: entry.content2, isOptional: rule.isOptional))
      }
      guard case .file(let sha1, _) = entry.content else { continue }
      let rule1 = SealRule.ruling(of: SealRule.ours1) { matches1($0, path) }
      guard let rule1, !rule1.omits else { continue }
      first.append(
        SealedEntry(
          path: path, content: .file(sha1: sha1, sha256: nil), isOptional: rule1.isOptional))
    }
    self.init(
      version1: SealBook(version: .one, entries: first, rules: SealRule.ours1),
      version2: SealBook(version: .two, entries: second, rules: SealRule.ours2))
  }

  /// Whether an entry of a bundle is a part of its seal, and so not to be sealed.
  public static func isPartOfSeal(_ entry: BundleEntry) -> Bool { SealFiles.isOwn(entry) }

  /// Refuses names that a reader of the seal could not tell from others.
  private static func checkNames(of entries: [SealableEntry]) throws(SealError) {
    var names: [String: [UInt8]] = [:]
    for entry in entries {
      let texts = [entry.path] + (entry.linkTarget.map { [$0] } ?? [])
      for text in texts {
        guard String(validating: text, as: UTF8.self) != nil else {
          throw SealError(
            "\(SealedEntry.shown(entry.path)) can't be sealed: its name is not UTF-8, and a seal "
              + "is a text: rename it")
        }
        guard PropertyList.isWritable(text) else {
          throw SealError(
            "\(SealedEntry.shown(entry.path)) can't be sealed: there are control characters in "
              + "its name, which a seal can't hold: rename it")
        }
      }
      // Strings compare as people read them, whatever they are composed of.
      let name = String(decoding: entry.path, as: UTF8.self)
      if let other = names.updateValue(entry.path, forKey: name), other != entry.path {
        throw SealError(
          "\(SealedEntry.shown(entry.path)) can't be sealed: two names differ only in how their "
            + "letters are composed: rename one")
      }
    }
  }
}

extension SealableEntry {
  fileprivate var content2: SealedEntry.Content {
    switch content {
    case .file(_, let sha256): .file(sha1: nil, sha256: sha256)
    case .link(let target): .link(target)
    }
  }

  fileprivate var linkTarget: [UInt8]? {
    guard case .link(let target) = content else { return nil }
    return target
  }
}
