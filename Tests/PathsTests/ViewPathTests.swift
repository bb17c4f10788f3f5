// Paths of a view are absolute and plain.

import Paths
import Testing

struct ViewPathTests {
  @Test(arguments: [
    ("/", [], true), ("/a", ["a"], false), ("/a/", ["a"], true), ("//a//b", ["a", "b"], false),
    ("/.a", [".a"], false), ("/...", ["..."], false),
  ])
  func `a path is the names from the root on`(
    _ text: String, _ names: [String], _ namesDirectory: Bool
  ) throws {
    let path = try ViewPath(Array(text.utf8))
    #expect(path.components == names.map { Array($0.utf8) })
    #expect(path.namesDirectory == namesDirectory)
  }

  @Test(arguments: [
    "", "a", "a/b", "/a/../b", "/.", "/a/.", "/a\0b", "/" + String(repeating: "x", count: 256),
  ])
  func `what is no such path says what was expected`(_ text: String) {
    let error = #expect(throws: ViewPath.Malformed.self) { try ViewPath(Array(text.utf8)) }
    #expect(error?.expected.isEmpty == false)
  }
}
