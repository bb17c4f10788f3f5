// What a pane of settings says, and what each setting may be.

import Preferences
import PropertyLists
import Testing

private func pane(_ specifiers: String) throws -> SettingsPane {
  let text = "{ PreferenceSpecifiers = ( \(specifiers) ); }"
  return try SettingsPane(PropertyList.openStep(Array(text.utf8))) { $0 == "Sound" ? "Son" : $0 }
}

private func setting(_ specifier: String) throws -> Setting {
  try #require(try pane(specifier).settings.first)
}

@Suite struct SettingsTests {
  private static let toggle = "{ Type = PSToggleSwitchSpecifier; Key = k; DefaultValue = <*BY>; }"
  private static let words =
    "{ Type = PSToggleSwitchSpecifier; Key = k; TrueValue = yes; FalseValue = no; }"
  private static let slider =
    "{ Type = PSSliderSpecifier; Key = k; MinimumValue = <*I-1>; MaximumValue = <*R2.5>; }"
  private static let digits = "{ Type = PSTextFieldSpecifier; Key = k; KeyboardType = NumberPad; }"
  private static let text = "{ Type = PSTextFieldSpecifier; Key = k; }"
  private static let choice =
    "{ Type = PSMultiValueSpecifier; Key = k; Values = (<*I1>, <*I2>); Titles = (Sound, \"2\"); }"
  private static let shown = "{ Type = PSTitleValueSpecifier; Key = k; Values = (); Titles = (); }"

  @Test(
    "a word is a value of the setting's type",
    arguments: [
      (toggle, "on", PropertyList.boolean(true)), (toggle, "NO", .boolean(false)),
      (words, "off", .string("no")), (slider, "2.5", .real(2.5)), (slider, "-1", .real(-1)),
      (digits, "0123", .string("0123")), (text, "", .string("")), (text, "on", .string("on")),
      (choice, "2", .integer(2)), (choice, "Son", .integer(1)), (choice, "1", .integer(1)),
    ])
  func values(_ specifier: String, _ word: String, _ want: PropertyList) throws {
    #expect(try setting(specifier).value(of: Array(word.utf8)) == want)
  }

  @Test(
    "a word that is none of its values is refused, and the line says what may be",
    arguments: [
      (toggle, "maybe", "'maybe': expected on, off"), (slider, "2.6", "'2.6': expected -1 to 2.5"),
      (slider, "nan", "'nan': expected -1 to 2.5"), (digits, "12a", "'12a': expected digits"),
      (digits, "", "'': expected digits"), (choice, "3", "'3': expected Son, 2"),
      (text, "\u{1}", "expected a text"), (shown, "1", "set by the app alone"),
      ("{ Type = PSOther; Key = k; }", "1", "PSOther is not supported"),
    ])
  func refusals(_ specifier: String, _ word: String, _ part: String) throws {
    let setting = try setting(specifier)
    let error = #expect(throws: DefaultsMistake.self) { try setting.value(of: Array(word.utf8)) }
    #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
  }

  @Test("groups and panes are the section of what is in them, and titles are translated")
  func sections() throws {
    let pane = try pane(
      """
      { Type = PSTextFieldSpecifier; Key = first; },
      { Type = PSGroupSpecifier; Title = Sound; },
      { Type = PSTextFieldSpecifier; Key = second; Title = Sound; },
      { Type = PSChildPaneSpecifier; Title = More; File = More; },
      { Type = PSGroupSpecifier; }, { Type = PSTextFieldSpecifier; Key = third; }
      """)
    #expect(pane.settings.map(\.section) == [[], ["Son"], []])
    #expect(pane.settings.map(\.title) == ["first", "Son", "third"])
    #expect(pane.children.map(\.file) == ["More"] && pane.children[0].section == ["More"])
  }

  @Test(
    "what is no pane is refused",
    arguments: [
      "{ Type = PSTextFieldSpecifier; }", "{ Key = k; }, {}", "{ Type = PSChildPaneSpecifier; }",
      "{ Type = PSMultiValueSpecifier; Key = k; Values = (a); }",
      "{ Type = PSSliderSpecifier; Key = k; MinimumValue = <*I2>; MaximumValue = <*I1>; }", "word",
    ])
  func mistakes(_ specifiers: String) {
    #expect(throws: DefaultsMistake.self) { try pane(specifiers) }
  }
}
