// The environment of a program in a container: which variables there are, and where they point.
//
// It is built from nothing: what is not in the table does not exist inside.
internal import Paths

/// The rules by which an environment is made, one a line.
public struct EnvironmentTable: Equatable, Sendable {
  /// What one line says about one variable.
  enum Rule: Equatable, Sendable {
    /// `NAME=VALUE`: always this.
    case set([UInt8])
    /// `NAME`: the caller's, if there is one.
    case pass
    /// `NAME?=VALUE`: the caller's, else this.
    case passOr([UInt8])
    /// `-NAME`: there is none, whatever an earlier line says.
    case remove
  }

  /// The variables, in the order in which they came first.
  private(set) var rules: [(name: [UInt8], rule: Rule)] = []
  /// The directories below the home that must exist, parents first.
  public private(set) var directories: [[UInt8]] = []

  /// The shipped table, read.
  public static let standard: EnvironmentTable = {
    do throws(EnvironmentTableError) {
      return try EnvironmentTable(shipped)
    } catch {
      preconditionFailure("the shipped table is one: \(error)")
    }
  }()

  /// Reads a table; throws the first line that is none of the forms.
  public init(_ text: String) throws(EnvironmentTableError) {
    try add(Array(text.utf8))
  }

  /// Reads another table behind this one: what it says of a variable holds in the place of what was
  /// said.
  ///
  /// Throws the first line that is none of the forms.
  public mutating func add(_ text: [UInt8]) throws(EnvironmentTableError) {
    let lines = text.split(separator: newline, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = trimmed(line)
      if words.isEmpty || words[0] == UInt8(ascii: "#") { continue }
      if let directory = Self.directory(words) {
        if !directories.contains(directory) { directories.append(directory) }
      } else if let rule = Self.rule(words) {
        add(rule)
      } else {
        throw EnvironmentTableError(line: index + 1, text: words.printable)
      }
    }
  }

  private mutating func add(_ rule: (name: [UInt8], rule: Rule)) {
    if let index = rules.firstIndex(where: { $0.name == rule.name }) {
      rules[index] = rule
    } else {
      rules.append(rule)
    }
  }

  /// The environment as `NAME=VALUE`, for the home directory and what the caller has.
  public func environment(home: [UInt8], caller: [[UInt8]]) -> [[UInt8]] {
    rules.compactMap { name, rule in
      let prefix = name + [equalsSign]
      let passed = caller.first { $0.starts(with: prefix) }
      return switch rule {
      case .set(let value): prefix + expanded(value, home: home)
      case .pass: passed
      case .passOr(let value): passed ?? prefix + expanded(value, home: home)
      case .remove: nil
      }
    }
  }

  /// The path of `mkdir PATH`, which is below the home; nil for anything else.
  private static func directory(_ words: [UInt8]) -> [UInt8]? {
    guard words.starts(with: mkdirWord) else { return nil }
    let path = Array(words.dropFirst(mkdirWord.count))
    let names = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let isBelow = names.allSatisfy {
      !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
    }
    return isBelow && path.count < longestPath ? path : nil
  }

  private static func rule(_ words: [UInt8]) -> (name: [UInt8], rule: Rule)? {
    if words[0] == UInt8(ascii: "-") {
      let name = Array(words.dropFirst())
      return !name.isEmpty && name.allSatisfy(isNameByte) ? (name, .remove) : nil
    }
    let end = words.firstIndex { !isNameByte($0) } ?? words.count
    let name = Array(words[..<end])
    guard !name.isEmpty else { return nil }
    let rest = words[end...]
    if rest.isEmpty { return (name, .pass) }
    if rest.starts(with: [equalsSign]) { return (name, .set(Array(rest.dropFirst()))) }
    if rest.starts(with: [UInt8(ascii: "?"), equalsSign]) {
      return (name, .passOr(Array(rest.dropFirst(2))))
    }
    return nil
  }

  /// Two tables are the same if they have the same rules in the same order.
  public static func == (left: Self, right: Self) -> Bool {
    left.directories == right.directories
      && left.rules.elementsEqual(right.rules) { $0.name == $1.name && $0.rule == $1.rule }
  }
}

/// A line of a table that is none of its forms.
public struct EnvironmentTableError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The number of the line, from 1.
  public let line: Int
  /// What stands there.
  public let text: String

  /// One line for people.
  public var description: String {
    "line \(line): '\(text)': expected NAME=VALUE, NAME?=VALUE, NAME, -NAME or mkdir PATH"
  }
}

/// Variables, `NAME=VALUE` each, with others in the place of those of the same names.
func merged(_ variables: [[UInt8]], with others: [[UInt8]]) -> [[UInt8]] {
  func name(_ variable: [UInt8]) -> ArraySlice<UInt8> { variable.prefix { $0 != equalsSign } }
  let names = others.map(name)
  return variables.filter { !names.contains(name($0)) } + others
}

private let newline = UInt8(ascii: "\n")
private let equalsSign = UInt8(ascii: "=")
private let mkdirWord = Array("mkdir ".utf8)
private let longestPath = 512

private func trimmed(_ line: ArraySlice<UInt8>) -> [UInt8] {
  func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
  let start = line.firstIndex { !isBlank($0) } ?? line.endIndex
  let end = line.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
  return Array(line[start..<max(start, end)])
}

private func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
    true
  default: false
  }
}

private func expanded(_ value: [UInt8], home: [UInt8]) -> [UInt8] {
  let placeholder = Array("${home}".utf8)
  var result: [UInt8] = []
  var rest = value[...]
  while let byte = rest.first {
    if rest.starts(with: placeholder) {
      result += home
      rest = rest.dropFirst(placeholder.count)
    } else {
      result.append(byte)
      rest = rest.dropFirst()
    }
  }
  return result
}
