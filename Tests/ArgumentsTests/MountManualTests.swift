// The manual page of the mount helper says something about every option.

import Arguments
import Foundation
import Testing

@Suite struct MountManualTests {
  @Test("mount.sandboxfs(8) names every mount option")
  func options() throws {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: repository.appendingPathComponent("man/mount.sandboxfs.8"), encoding: .utf8)
    // As a reader sees it: without the marks of roff, and only what stands about options.
    let section = page.split(separator: "\n.SH ").filter { $0.hasPrefix("MOUNT OPTIONS") }.joined()
    let words = Set(
      section.replacingOccurrences(of: #"\-"#, with: "-").replacingOccurrences(
        of: #"\fR"#, with: ""
      )
      .split { " ,\"\n()".contains($0) }.map {
        $0.hasSuffix("=") ? String($0.dropLast()) : String($0)
      })
    for option in MountOption.all {
      #expect(words.contains(option.name), "the page does not name '\(option.name)'")
    }
  }
}
