// What a table says about the environment, line by line.

import Foundation
import Testing

@testable import Launch

@Suite("The environment of a program in a container")
struct EnvironmentTableTests {
  private func environment(
    _ table: String, caller: [String] = [], home: String = "/home/app"
  ) throws -> [String] {
    try EnvironmentTable(table).environment(
      home: Array(home.utf8), caller: caller.map { Array($0.utf8) }
    ).map { String(decoding: $0, as: UTF8.self) }
  }

  struct Row: CustomTestStringConvertible {
    let testDescription: String
    let table: String
    let caller: [String]
    let want: [String]

    init(_ label: String, _ table: String, _ caller: [String], _ want: [String]) {
      (testDescription, self.table, self.caller, self.want) = (label, table, caller, want)
    }
  }

  @Test(
    "is what the table says and nothing else",
    arguments: [
      Row("set", "A=b", [], ["A=b"]),
      Row("set whatever the caller has", "A=b", ["A=evil"], ["A=b"]),
      Row("set to nothing", "A=", [], ["A="]),
      Row("passed on", "A", ["A=1=2"], ["A=1=2"]),
      Row("not passed on if there is none", "A", ["AB=1"], []),
      Row("passed on before the default", "A?=c", ["A=d"], ["A=d"]),
      Row("default", "A?=c", [], ["A=c"]),
      Row("the home, wherever it stands", "A=x:${home}/a b:${home}", [], ["A=x:/h/a b:/h"]),
      Row("no other placeholder", "A=$HOME ${user} ${home", [], ["A=$HOME ${user} ${home"]),
      Row("nothing that is not named", "A=b", ["LD_PRELOAD=/tmp/x.so", "HOME=/root"], ["A=b"]),
      Row("comments and blanks", "# A=b\n\n   \n  B=c  \n", [], ["B=c"]),
      Row("what the last line says", "A=1\nB=2\nA=3", [], ["A=3", "B=2"]),
      Row("removed", "A=1\n-A\n-B", ["A=2", "B=2"], []),
      Row("there again", "A=1\n-A\nA", ["A=2"], ["A=2"]),
      Row("in the order of the table", "B=1\nA=2", [], ["B=1", "A=2"]),
    ])
  func rules(_ row: Row) throws {
    #expect(try environment(row.table, caller: row.caller, home: "/h") == row.want)
  }

  @Test(
    "is refused by line where the table is none",
    arguments: [
      ("A=b\n=c", 2, "=c"), ("A b", 1, "A b"), ("\n\nÄ=1", 3, "Ä=1"), ("A?b", 1, "A?b"),
      ("-", 1, "-"),
      ("-A=b", 1, "-A=b"), ("mkdir ../x", 1, "mkdir ../x"), ("mkdir /x", 1, "mkdir /x"),
    ])
  func refusals(_ row: (String, Int, String)) {
    #expect(throws: EnvironmentTableError(line: row.1, text: row.2)) {
      try EnvironmentTable(row.0)
    }
  }

  @Test("names no path outside of the home but system directories and the configuration")
  func shipped() throws {
    for line in try environment(EnvironmentTable.shipped) {
      let value = line.drop { $0 != "=" }.dropFirst()
      for path in value.split(separator: ":") where path.hasPrefix("/") {
        #expect(
          ["/home/app", "/usr/", "/bin", "/etc/GNUstep/"].contains { path.hasPrefix($0) }, "\(line)"
        )
      }
    }
  }

  @Test("is on its page")
  func documentation() throws {
    let page = try String(contentsOfFile: "docs/run.md", encoding: .utf8)
    let words = Set(page.split { !($0.isLetter || $0.isNumber || "_*".contains($0)) })
    for line in try environment(EnvironmentTable.shipped) {
      let name = line.prefix { $0 != "=" }
      #expect(words.contains(name), "\(name)")
    }
  }

  @Test("goes on in another table, and says of that one which line is none")
  func addition() throws {
    var table = try EnvironmentTable("A=1\nB\nmkdir tmp/run")
    try table.add(Array("# more\n-B\nA=${home}\nmkdir tmp/run\nmkdir tmp/a b".utf8))
    let variables = table.environment(home: [UInt8(ascii: "h")], caller: [Array("B=2".utf8)])
    #expect(variables == [Array("A=h".utf8)])
    #expect(
      table.directories.map { String(decoding: $0, as: UTF8.self) } == ["tmp/run", "tmp/a b"])
    #expect(throws: EnvironmentTableError(line: 2, text: "\\377 b")) {
      try table.add([10, 0xff, 32, UInt8(ascii: "b")])
    }
  }

  @Test("makes each directory after its parent")
  func directories() throws {
    let table = try EnvironmentTable("mkdir tmp/run\nmkdir Library/Application Support/State")
    #expect(
      table.directories.map { String(decoding: $0, as: UTF8.self) }
        == ["tmp/run", "Library/Application Support/State"])
  }
}
