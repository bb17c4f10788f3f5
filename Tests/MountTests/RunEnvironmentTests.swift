// The table of variables that a person can extend, as programs and people see it.

import Foundation
import TestSupport
import Testing

@Suite("The table of variables", .enabled(if: geteuid() == 0, "needs root"))
struct RunEnvironmentTests {
  @Test(
    "files in environment.d add to it, change it and take from it, for programs and for who looks")
  func files() throws {
    try withRunScene(.ordinaryUser) { scene in
      let app = try scene.installScript("Variables")
      let directory = scene.path + "/settings/environment.d"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      func write(_ name: String, _ text: String) throws {
        try text.write(toFile: directory + "/" + name, atomically: true, encoding: .utf8)
      }
      try write("20-b.conf", "PLACE=${home}/Documents/Place\nmkdir Documents/Place\nWHO?=nobody")
      try write("10-a.conf", "PLACE=/elsewhere\n-GOPATH\nSECRET\n")
      try write("ignored", "PLACE=/ignored\n")

      let shown = try scene.perform([scene.program, "run", "--show-environment", app])
      #expect(shown.status == 0, "\(shown.errorText)")
      let lines = Set(shown.text.split(separator: "\n").map(String.init))
      #expect(lines.isSuperset(of: ["PLACE=/home/app/Documents/Place", "WHO=nobody"]))
      #expect(lines.contains("SECRET=not for apps") && !shown.text.contains("GOPATH"))
      let inside = try scene.script(app, "env; test -d $PLACE")
      // bash sets some of its own.
      let own = Set(["PWD", "OLDPWD", "SHLVL", "_"])
      let variables = inside.split(separator: "\n").map(String.init).filter { line in
        !own.contains(String(line.prefix { $0 != "=" }))
      }
      #expect(Set(variables) == lines)

      let table = try scene.perform([scene.program, "run", "--show-environment"]).text
      #expect(table.contains("# \(directory)/10-a.conf\nPLACE=/elsewhere\n"))
      try write("30-c.conf", "A=b\nrubbish here\n")
      let refused = try scene.run(app, ["true"])
      #expect(refused.status == 125)
      #expect(
        refused.errorText.contains(
          "environment.d/30-c.conf, line 2: 'rubbish here': expected NAME=VALUE"))
    }
  }
}
