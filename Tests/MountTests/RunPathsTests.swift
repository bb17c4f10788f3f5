// What the frameworks answer inside: the layout of a container, by programs compiled against them.

import Foundation
import TestSupport
import Testing

/// `NAME=VALUE` lines.
private func values(_ text: String) -> [String: String] {
  var values: [String: String] = [:]
  for line in text.split(separator: "\n") {
    let parts = line.split(separator: "=", maxSplits: 1)
    if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
  }
  return values
}

private let writes = [
  "ensured": "yes", "ensured again": "yes", "wrote document": "yes", "wrote temporary": "yes",
  "wrote bundle": "no", "synchronized": "yes",
]

@Suite("The paths that programs ask for", .enabled(if: geteuid() == 0, "needs root"))
struct RunPathsTests {
  private static let hasGNUstep = isInstalled("gnustep-config") && isInstalled("gcc")

  @Test(
    "GNUstep answers with the layout of the container",
    .enabled(if: hasGNUstep, "needs gobjc, gnustep-make and libgnustep-base-dev"),
    arguments: RunScene.Person.allCases)
  func gnustep(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let (name, app) = ("GNUstepPaths", "org.example.GNUstepPaths")
      try scene.install(scene.makeGNUstepBundle(name))
      let executable = "/home/app/\(name).app/\(name)"
      for launch in 1...2 {
        let outcome = try scene.run(app)
        #expect(outcome.status == 0, "\(outcome.errorText)")
        let want = writes.merging([
          "home": "/home/app", "applications": "/home/app",
          "documents": "/home/app/Documents", "preferences": "/home/app/Library/Preferences",
          "caches": "/home/app/Library/Caches", "temporary": "/home/app/tmp",
          "support": "/home/app/Library/ApplicationSupport", "launches": "\(launch)",
          "bundle": "/home/app/\(name).app", "identifier": app, "greeting": "Hello",
        ]) { $1 }
        #expect(values(outcome.text) == want)
      }
      for (language, greeting) in [("French", "Bonjour"), ("Japanese", "こんにちは")] {
        let outcome = try scene.run(app, [executable, "-NSLanguages", "(\(language))"])
        #expect(values(outcome.text)["greeting"] == greeting)
      }
      // By the person's LANG, of which the C library must have the locale.
      let locale = "localedef -i fr_FR -f UTF-8 tmp/fr_FR.UTF-8; LOCPATH=$HOME/tmp exec "
      let outcome = try scene.run(
        app, ["sh", "-c", locale + executable], environment: ["LANG": "fr_FR.UTF-8"])
      #expect(values(outcome.text)["greeting"] == "Bonjour", "\(outcome.errorText)")
      let files = FileManager.default
      #expect(files.fileExists(atPath: scene.data(app, "Library/Preferences/\(name).plist")))
      #expect(files.fileExists(atPath: scene.data(app, "Documents/Notes/2024/a.txt")))
      #expect(!files.fileExists(atPath: scene.data(app, "tmp/a.txt")), "tmp is emptied")
    }
  }

  @Test(
    "Swift Foundation answers with the layout of the container",
    arguments: RunScene.Person.allCases)
  func foundation(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let (name, app) = ("FoundationPaths", "org.example.FoundationPaths")
      try scene.install(
        scene.makeBundle(name) { executable in try scene.compileSwift(name, to: executable) })
      for launch in 1...2 {
        let outcome = try scene.run(app)
        #expect(outcome.status == 0, "\(outcome.errorText)")
        let want = writes.merging([
          "home": "/home/app", "home directory": "/home/app", "applications": "/home/app",
          "documents": "/home/app/Documents", "preferences": "/home/app/Library/Preferences",
          "caches": "/home/app/Library/Caches", "temporary": "/home/app/tmp/",
          "support": "/home/app/Library/Application Support", "launches": "\(launch)",
          "saved": "yes", "bundle": "/home/app/\(name).app", "identifier": app,
        ]) { $1 }
        #expect(values(outcome.text) == want)
      }
    }
  }
}
