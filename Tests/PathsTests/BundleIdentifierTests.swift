// Only reverse-DNS identifiers name a container.

import Paths
import Testing

struct BundleIdentifierTests {
  @Test(arguments: [
    "com.example.Notes", "a.b", "org.gnustep.TextEdit", "1.2", "a-b.c_d",
    "a." + String(repeating: "x", count: 153),
  ])
  func `an identifier is two or more words`(_ text: String) {
    #expect(BundleIdentifier(text)?.description == text)
    #expect(BundleIdentifier(text)?.bytes == Array(text.utf8))
  }

  @Test(arguments: [
    "", "a", ".a", "a.", "a..b", "..", "a/b.c", "a.b\n", "a b.c", "é.b", "a.\0",
    "a." + String(repeating: "x", count: 154),
  ])
  func `nothing else is an identifier`(_ text: String) {
    #expect(BundleIdentifier(text) == nil)
  }
}
