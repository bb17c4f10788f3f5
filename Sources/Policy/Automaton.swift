// The patterns of all rules as one tree of positions, walked by names.
//
// A path is where a set of positions is live; one more name leads from each live position to those
// of its children that match. Literal children are found in a hash table, globs by the literal run
// at their beginning or end, so a step does not grow with the number of rules.

import Paths

/// The immutable tree of pattern positions.
///
/// Positions are numbered in depth-first order: what lies below one is a range.
struct Automaton: Sendable {
  typealias Position = UInt32

  /// What is known of one position.
  struct Node: Sendable {
    /// The position behind the last one below this one.
    var end: Position = 0
    /// The rules whose patterns end here, as a range of `rules`.
    var ownRules: Range<UInt32> = 0..<0
    /// The forms of its globs, as a range of `forms`.
    var forms: Range<UInt32> = 0..<0
    /// The child that is `**`; 0 if there is none.
    var anyDepth: Position = 0
    /// Whether this position is a `**`: it stays live whatever name comes.
    var isAnyDepth = false
    var hasLiterals = false
    /// Whether a structural entry ends here.
    var isStructural = false
    /// Whether the bundle ends here.
    var isBundle = false
    /// Whether a rule here or below has a say in what is allowed.
    var hasConductBelow = false

    /// Whether some name leads further.
    var hasEdges: Bool { hasLiterals || !forms.isEmpty }
  }

  struct LiteralEdge: Sendable {
    var parent: Position
    var name: Range<UInt32>
    var target: Position
  }

  /// Which bytes of a glob are sought in the hash table: a run at its beginning or its end.
  struct Form: Hashable, Sendable {
    var isSuffix: Bool
    /// 0: nothing is known, every glob of this form is tried.
    var length: UInt8
  }

  struct GlobEdge: Sendable {
    var parent: Position
    var form: Form
    var key: Range<UInt32>
    var glob: GlobTable.ID
    var target: Position
    /// The next edge with the same parent and key.
    var next: UInt32?
  }

  var nodes: [Node] = []
  /// The rules' indices in the order of their positions.
  var rules: [UInt32] = []
  var literals: [LiteralEdge] = []
  var literalTable = IndexTable()
  var forms: [Form] = []
  var globEdges: [GlobEdge] = []
  var globEdgeTable = IndexTable()
  var globs = GlobTable()
  /// The bytes of literal names and of globs' keys.
  var bytes: [UInt8] = []
  let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  /// The rules here and below, as a range of `rules`.
  func rulesBelow(_ position: Position) -> Range<UInt32> {
    let end = Int(nodes[Int(position)].end)
    let start = nodes[Int(position)].ownRules.lowerBound
    return start..<(end < nodes.count ? nodes[end].ownRules.lowerBound : UInt32(rules.count))
  }

  /// The hash of a name, the same whatever position it is looked up from.
  @inline(__always)
  func nameHash(_ name: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
    var hash = Hash(seed: seed)
    hash.add(name, range)
    return UInt64(hash.value)
  }

  @inline(__always)
  func literalHash(_ parent: Position, _ nameHash: UInt64) -> UInt32 {
    var hash = Hash(seed: nameHash)
    hash.add(UInt64(parent))
    return hash.value
  }

  @inline(__always)
  func globHash(_ parent: Position, _ form: Form, _ keyHash: UInt64) -> UInt32 {
    var hash = Hash(seed: keyHash)
    hash.add(UInt64(parent) << 9 | UInt64(form.length) << 1 | (form.isSuffix ? 1 : 0))
    return hash.value
  }

  /// Appends the children of a position that a name leads to.
  ///
  /// The order is a matter of the tree alone, so equal sets come as equal lists.
  @inline(__always)
  func appendTargets(
    of position: Position, name: Span<UInt8>, nameHash: UInt64, to targets: inout [Position]
  ) {
    let node = nodes[Int(position)]
    if node.hasLiterals {
      let hash = literalHash(position, nameHash)
      let found = literalTable.find(hash) { index in
        let edge = literals[Int(index)]
        return edge.parent == position && holds(edge.name, name, 0..<name.count)
      }
      if let found { targets.append(literals[Int(found)].target) }
    }
    for form in node.forms {
      appendGlobTargets(of: position, forms[Int(form)], name: name, to: &targets)
    }
  }

  private func appendGlobTargets(
    of position: Position, _ form: Form, name: Span<UInt8>, to targets: inout [Position]
  ) {
    let length = Int(form.length)
    guard name.count >= length else { return }
    let range = form.isSuffix ? (name.count - length)..<name.count : 0..<length
    let hash = globHash(position, form, nameHash(name, range))
    var index = globEdgeTable.find(hash) { index in
      let edge = globEdges[Int(index)]
      return edge.parent == position && edge.form == form && holds(edge.key, name, range)
    }
    while let current = index {
      let edge = globEdges[Int(current)]
      if globs.matches(edge.glob, name) { targets.append(edge.target) }
      index = edge.next
    }
  }

  /// Whether the stored bytes are those of the name.
  @inline(__always)
  private func holds(_ stored: Range<UInt32>, _ name: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard stored.count == range.count else { return false }
    var index = Int(stored.lowerBound)
    for offset in range {
      if bytes[index] != name[offset] { return false }
      index += 1
    }
    return true
  }
}
