// Builds the tree of pattern positions, and then numbers it once and for all.

import Paths

/// Gathers patterns into a tree.
struct AutomatonBuilder {
  private struct Draft {
    var rules: [UInt32] = []
    var literals: [[UInt8]: Int] = [:]
    var globs: [Glob: Int] = [:]
    /// The children in the order in which they came.
    var children: [(component: Pattern.Component, draft: Int)] = []
    var anyDepth: Int?
    var isAnyDepth = false
    var isStructural = false
    var isBundle = false
    var hasConduct = false
  }

  private var drafts = [Draft()]
  private var automaton: Automaton

  init(seed: UInt64) { automaton = Automaton(seed: seed) }

  /// Adds a rule's pattern.
  mutating func insert(_ pattern: Pattern, rule: UInt32, hasConduct: Bool) {
    let draft = draft(for: pattern.components)
    drafts[draft].rules.append(rule)
    if hasConduct { drafts[draft].hasConduct = true }
  }

  /// Marks a path as structural.
  mutating func insertStructural(_ names: [[UInt8]], isBundle: Bool) {
    let draft = draft(for: names.map(Pattern.Component.literal))
    drafts[draft].isStructural = true
    drafts[draft].hasConduct = true
    if isBundle { drafts[draft].isBundle = true }
  }

  private mutating func draft(for components: [Pattern.Component]) -> Int {
    var current = 0
    for component in components { current = child(component, of: current) }
    return current
  }

  private mutating func child(_ component: Pattern.Component, of parent: Int) -> Int {
    let known =
      switch component {
      case .literal(let name): drafts[parent].literals[name]
      case .glob(let glob): drafts[parent].globs[glob]
      case .anyDepth: drafts[parent].anyDepth
      }
    if let known { return known }
    let new = drafts.count
    drafts.append(Draft())
    drafts[parent].children.append((component, new))
    switch component {
    case .literal(let name): drafts[parent].literals[name] = new
    case .glob(let glob): drafts[parent].globs[glob] = new
    case .anyDepth:
      drafts[parent].anyDepth = new
      drafts[new].isAnyDepth = true
    }
    return new
  }

  // MARK: Numbering

  /// The finished tree.
  consuming func finish() -> Automaton {
    var position: [Int: Automaton.Position] = [:]
    number(&position)
    for draft in drafts.indices {
      guard let parent = position[draft] else { preconditionFailure("every draft was numbered") }
      for child in drafts[draft].children {
        guard let target = position[child.draft] else {
          preconditionFailure("every draft was numbered")
        }
        connect(parent, child.component, to: target)
      }
    }
    gatherForms()
    return automaton
  }

  /// Numbers the drafts depth first; without recursion, since a pattern may be deep.
  private mutating func number(_ position: inout [Int: Automaton.Position]) {
    var stack: [(draft: Int, isLeaving: Bool)] = [(0, false)]
    while let (draft, isLeaving) = stack.popLast() {
      if isLeaving {
        leave(position[draft] ?? 0, draft, position)
        continue
      }
      position[draft] = Automaton.Position(automaton.nodes.count)
      appendNode(draft)
      stack.append((draft, true))
      for child in drafts[draft].children.reversed() { stack.append((child.draft, false)) }
    }
  }

  private mutating func appendNode(_ draft: Int) {
    var node = Automaton.Node()
    let start = UInt32(automaton.rules.count)
    automaton.rules.append(contentsOf: drafts[draft].rules)
    node.ownRules = start..<UInt32(automaton.rules.count)
    node.isAnyDepth = drafts[draft].isAnyDepth
    node.hasLiterals = !drafts[draft].literals.isEmpty
    node.isStructural = drafts[draft].isStructural
    node.isBundle = drafts[draft].isBundle
    node.hasConductBelow = drafts[draft].hasConduct
    automaton.nodes.append(node)
  }

  private mutating func leave(
    _ node: Automaton.Position, _ draft: Int, _ position: [Int: Automaton.Position]
  ) {
    automaton.nodes[Int(node)].end = Automaton.Position(automaton.nodes.count)
    for child in drafts[draft].children {
      guard let below = position[child.draft] else { continue }
      if automaton.nodes[Int(below)].hasConductBelow {
        automaton.nodes[Int(node)].hasConductBelow = true
      }
    }
  }

  // MARK: Edges

  private mutating func connect(
    _ parent: Automaton.Position, _ component: Pattern.Component, to target: Automaton.Position
  ) {
    switch component {
    case .literal(let name): connect(parent, literal: name, to: target)
    case .glob(let glob): connect(parent, glob: glob, to: target)
    case .anyDepth: automaton.nodes[Int(parent)].anyDepth = target
    }
  }

  private mutating func connect(
    _ parent: Automaton.Position, literal name: [UInt8], to target: Automaton.Position
  ) {
    let index = UInt32(automaton.literals.count)
    let hash = automaton.literalHash(parent, automaton.nameHash(name.span, 0..<name.count))
    automaton.literals.append(
      Automaton.LiteralEdge(parent: parent, name: store(name), target: target))
    automaton.literalTable.insert(index, hash: hash)
  }

  private mutating func connect(
    _ parent: Automaton.Position, glob: Glob, to target: Automaton.Position
  ) {
    let prefix = glob.literalPrefix
    let suffix = glob.literalSuffix
    let isSuffix = suffix.count > prefix.count
    let key = (isSuffix ? suffix : prefix).prefix(255)
    let form = Automaton.Form(isSuffix: isSuffix, length: UInt8(key.count))
    // A key that was cut to 255 bytes belongs to a glob that matches no name; its end is as good.
    var edge = Automaton.GlobEdge(
      parent: parent, form: form, key: store(Array(key)), glob: automaton.globs.insert(glob),
      target: target, next: nil)
    let hash = automaton.globHash(
      parent, form, automaton.nameHash(Array(key).span, 0..<key.count))
    let bytes = automaton.bytes
    let edges = automaton.globEdges
    let first = automaton.globEdgeTable.find(hash) { index in
      let other = edges[Int(index)]
      return other.parent == parent && other.form == form
        && bytes[other.keyRange].elementsEqual(key)
    }
    let index = UInt32(automaton.globEdges.count)
    if let first {
      edge.next = automaton.globEdges[Int(first)].next
      automaton.globEdges[Int(first)].next = index
    } else {
      automaton.globEdgeTable.insert(index, hash: hash)
    }
    automaton.globEdges.append(edge)
  }

  private mutating func store(_ bytes: [UInt8]) -> Range<UInt32> {
    let start = UInt32(automaton.bytes.count)
    automaton.bytes.append(contentsOf: bytes)
    return start..<UInt32(automaton.bytes.count)
  }

  /// Lists for each position in which forms its globs are to be sought.
  private mutating func gatherForms() {
    var known: [Automaton.Position: [Automaton.Form]] = [:]
    for edge in automaton.globEdges where known[edge.parent]?.contains(edge.form) != true {
      known[edge.parent, default: []].append(edge.form)
    }
    for (parent, forms) in known {
      let start = UInt32(automaton.forms.count)
      automaton.forms.append(contentsOf: forms)
      automaton.nodes[Int(parent)].forms = start..<UInt32(automaton.forms.count)
    }
  }
}

extension Automaton.GlobEdge {
  var keyRange: Range<Int> { Int(key.lowerBound)..<Int(key.upperBound) }
}
