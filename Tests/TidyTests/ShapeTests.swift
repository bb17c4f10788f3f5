// Files, functions and lines fit on a screen, and say what they are.

import Testing

private let longestLine = 100
private let longestFunction = 70

@Suite struct ShapeTests {
  @Test("a line fits on the screen")
  func lineLength() {
    let scripts = Repository.files.filter { $0.hasPrefix("scripts/") }.map(Repository.read)
    for file in Repository.files(endingIn: ".swift", ".c", ".h", ".md") + scripts {
      var isBlock = false
      for (number, line) in file.lines.enumerated() {
        // What a program prints is shown in a page as it is.
        if file.path.hasSuffix(".md"), line.hasPrefix("```") { isBlock.toggle() }
        guard line.count > longestLine, !isBlock else { continue }
        // A table's row in a page cannot be broken, and an expected text had better not be.
        if line.hasPrefix("|") || file.path.hasPrefix("Tests/") && line.contains("\"") { continue }
        Issue.record("\(file.path):\(number + 1) has \(line.count) columns")
      }
    }
  }

  @Test("a function fits on the screen")
  func functionLength() {
    for file in Repository.files(endingIn: ".swift") {
      for (start, length) in functions(in: file.lines) where length > longestFunction {
        Issue.record("\(file.path):\(start + 1): this function has \(length) lines")
      }
    }
  }

  @Test("the length of a function is counted from its first line to its brace")
  func counting() {
    let lines = [
      "struct A {", "  func short() {}", "  init(", "    _ a: Int", "  ) throws {", "    b()",
      "  }",
      "  private func long<T>(_ t: T) -> T", "  where T: P {", "    if c {", "    }", "  }",
      "  func required()", "}",
    ]
    #expect(functions(in: lines).map(\.start) == [2, 7])
    #expect(functions(in: lines).map(\.length) == [5, 5])
  }

  @Test("a file opens with what it is about")
  func head() {
    for file in Repository.files(endingIn: ".swift", ".c", ".h")
    where file.path.hasPrefix("Sources/") || file.path.hasPrefix("Modules/") {
      let first = file.lines.first ?? ""
      let isSourceOfItsHeader = file.path.hasSuffix(".c") && first.hasPrefix("#include")
      #expect(first.hasPrefix("// ") || isSourceOfItsHeader, "\(file.path) has no head comment")
    }
  }

  @Test("the scripts start with what they are about")
  func scripts() {
    for path in Repository.files where path.hasPrefix("scripts/") || path.hasPrefix(".ci/") {
      let lines = Repository.read(path).lines
      let isSourced = path.hasSuffix(".sh") || path.hasSuffix(".py")
      #expect(lines.first?.hasPrefix(isSourced ? "# " : "#!/usr/bin/env bash") == true, "\(path)")
      #expect(isSourced || lines[1].hasPrefix("# "), "\(path) has no head comment")
    }
  }
}

/// Where functions begin, and how many lines they have.
///
/// The files are formatted, so a function ends at the first brace in its own column.
private func functions(in lines: [String]) -> [(start: Int, length: Int)] {
  var found: [(start: Int, length: Int)] = []
  for (start, line) in lines.enumerated() {
    guard line.contains(/^ *([a-z@][^"]* )?(func [^ ]|init[?]?[(<]|deinit)/),
      let opening = bodyOpening(lines, from: start)
    else { continue }
    let margin = String(line.prefix { $0 == " " })
    let end = lines[opening...].dropFirst().firstIndex { $0.hasPrefix(margin + "}") }
    if let end { found.append((start, end - start + 1)) }
  }
  return found
}

/// The line whose last brace opens the body; nil for a body on one line, or none.
private func bodyOpening(_ lines: [String], from start: Int) -> Int? {
  var depth = 0
  for index in start..<lines.count {
    for character in lines[index] {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
    }
    guard depth == 0 else { continue }
    if lines[index].hasSuffix("{") { return index }
    let next = index + 1 < lines.count ? lines[index + 1] : ""
    let continues = ["where ", "-> ", "throws "].contains { next.drop { $0 == " " }.hasPrefix($0) }
    guard continues else { return nil }
  }
  return nil
}
