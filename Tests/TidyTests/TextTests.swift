// What the pages point to exists, and nothing tells of the places where they were written.

import Foundation
import Testing

@Suite struct TextTests {
  @Test("a link in a page leads somewhere")
  func links() {
    for page in Repository.files(endingIn: ".md") {
      for link in page.lines.flatMap({ $0.matches(of: /\]\(([^)#\s]*)(#[^)\s]*)?\)/) })
      where !link.1.contains("://") && !link.1.hasPrefix("mailto:") {
        check(link: String(link.1), anchor: link.2.map { String($0.dropFirst()) }, of: page.path)
      }
    }
  }

  private func check(link: String, anchor: String?, of page: String) {
    let directory = (page as NSString).deletingLastPathComponent as NSString
    let target = link.isEmpty ? page : directory.appendingPathComponent(link)
    let path = (target as NSString).standardizingPath
    #expect(Repository.exists(path), "\(page) links to \(link)")
    guard let anchor, path.hasSuffix(".md") else { return }
    let anchors = headings(Repository.read(path))
    #expect(anchors.contains(anchor), "\(page) links to #\(anchor) of \(path)")
  }

  /// Places and hosts of those who wrote it.
  ///
  /// A reader elsewhere can do nothing with them. In pieces, so that this file does not hold them.
  static let forbidden = [
    "/wo" + "rk/", "/fa" + "rm/", "deb." + "debian.org", "workt" + "ree", "TO" + "DO", "FIX" + "ME",
    "XX" + "X:",
  ]

  @Test("nothing tells of one machine, or of work that is not done", arguments: forbidden)
  func words(_ word: String) {
    for path in Repository.files {
      for (number, line) in Repository.read(path).lines.enumerated() where line.contains(word) {
        Issue.record("\(path):\(number + 1) says '\(word)'")
      }
    }
  }
}

/// The anchors that a reader of Markdown gives a page's headings.
private func headings(_ page: SourceFile) -> Set<String> {
  Set(
    page.lines.filter { $0.hasPrefix("#") }.map { line in
      let title = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces).lowercased()
      return String(
        title.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }.map {
          $0 == " " ? "-" : $0
        })
    })
}
