// `sandboxfs settings` on a bundle that describes what may be set.

import Foundation
import TestSupport
import Testing

@Suite("The settings of an app", .enabled(if: geteuid() == 0, "needs root"))
struct SettingsCommandTests {
  private static let app = "org.example.Settable"

  /// An app with two panes, in English and in French.
  private func install(_ scene: RunScene) throws {
    let bundle = try scene.makeBundle("Settable")
    let files = [
      "Root.plist": """
      { PreferenceSpecifiers = (
        { Type = PSGroupSpecifier; Title = Sound; },
        { Type = PSToggleSwitchSpecifier; Key = sound; Title = Effects; DefaultValue = <*BY>; },
        { Type = PSSliderSpecifier; Key = volume; MaximumValue = <*I10>; DefaultValue = <*I5>; },
        { Type = PSMultiValueSpecifier; Key = size; Title = Size; DefaultValue = <*I1>;
          Values = (<*I1>, <*I2>); Titles = (Small, Large); },
        { Type = PSTextFieldSpecifier; Key = code; IsSecure = <*BY>; },
        { Type = PSTitleValueSpecifier; Key = version; DefaultValue = "1.0"; },
        { Type = PSChildPaneSpecifier; Title = Network; File = Network; } ); }
      """,
      "Network.plist": """
      { StringsTable = Network; PreferenceSpecifiers = (
        { Type = PSTextFieldSpecifier; Key = host; Title = Host; },
        { Type = PSChildPaneSpecifier; Title = Back; File = Root; } ); }
      """,
      "fr.lproj/Root.strings": "Sound = Son; Small = Petit; Large = Grand; Network = \"Réseau\";",
      "French.lproj/Network.strings": "Host = \"Hôte\";",
    ]
    for (name, text) in files {
      let path = bundle + "/Settings.bundle/" + name
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    try scene.install(bundle)
  }

  @Test("are shown in the person's language, with what is set and what may be")
  func listing() throws {
    try withRunScene(.root) { scene in
      try install(scene)
      try scene.defaults("write", Self.app, "{ code = secret; size = 3; }")
      let outcome = try scene.perform(
        [scene.program, "settings", Self.app], environment: ["LANG": "fr_FR.UTF-8"])
      #expect(
        outcome.text == """
          KEY      SECTION  TITLE    VALUE          MAY BE
          sound    Son      Effects  on (default)   on, off
          volume   Son      volume   5 (default)    0 to 10
          size     Son      Size     3              Petit, Grand
          code     Son      code     (not shown)    a text
          version  Son      version  1.0 (default)  set by the app alone
          host     Réseau   Hôte     -              a text

          """, "\(outcome.errorText)")
      let json = try scene.perform([scene.program, "settings", "--json", Self.app]).text
      let array = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]]
      #expect(array?.count == 6)
      #expect(array?[1]["maximum"] as? Int == 10 && array?[1]["set"] as? Bool == false)
      #expect(array?[3]["value"] as? String == "secret")
    }
  }

  @Test("are changed within their range, and taken back")
  func changes() throws {
    try withRunScene(.root) { scene in
      try install(scene)
      func settings(_ words: String...) throws -> (status: Int32, text: String, error: String) {
        let outcome = try scene.perform([scene.program, "settings"] + words)
        return (outcome.status, outcome.text, outcome.errorText)
      }
      for (key, word, shown, kept) in [
        ("sound", "off", "off", "0"), ("volume", "7.5", "7.5", "7.5"),
        ("size", "Large", "Large", "2"), ("host", "-5", "-5", "-5"),
      ] {
        #expect(try settings(Self.app, key, word).status == 0)
        #expect(try settings(Self.app, key).text == shown + "\n")
        #expect(try scene.defaults("read", Self.app, key) == kept + "\n")
      }
      for (key, word, part, status) in [
        ("sound", "loud", "sound: 'loud': expected on, off", Int32(2)),
        ("volume", "11", "volume: '11': expected 0 to 10", 2),
        ("version", "2.0", "version: can't be set here", 2),
        ("other", "1", "no setting 'other'", 1),
      ] {
        let refused = try settings(Self.app, key, word)
        #expect(refused.status == status && refused.error.contains(part), "\(refused.error)")
      }
      #expect(try settings("--reset", Self.app, "sound").status == 0)
      #expect(try settings(Self.app, "sound").text == "on\n")
      #expect(try settings("--reset", Self.app).status == 2)
      let bare = try scene.installScript("Bare")
      #expect(try settings(bare).error.contains("no Settings.bundle"))
    }
  }
}
