// Panes of settings: bundles bring them, and what apps put into their preferences is shown.

import Preferences
import PropertyLists

extension FuzzTarget {
  /// A list is shown in a form that can be read; of a pane each choice can be made, by its value.
  static let settingsPane = FuzzTarget(name: "settings-pane") { bytes in
    guard let list = try? PropertyList.openStep(bytes) else { return nil }
    if bytes.count < 1 << 12, (try? PropertyList.openStep(Array(list.openStepText.utf8))) == nil {
      return "what is shown can't be read"
    }
    guard let pane = try? SettingsPane(list, translate: { $0 + "!" }) else { return nil }
    for setting in pane.settings {
      guard case .choice(let choices) = setting.kind else { continue }
      for choice in choices {
        let word = Array(choice.value.plainText.utf8)
        guard let value = try? setting.value(of: word), value.plainText == choice.value.plainText
        else { return "a choice can't be made" }
        if setting.words(for: value).isEmpty, !choice.title.isEmpty { return "no words for it" }
      }
    }
    return nil
  }

  /// What is written behind a key is a value that can be kept in a file.
  static let defaultsWords = FuzzTarget(name: "defaults-words") { bytes in
    let words = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
    guard let change = try? DefaultsChange(words: words), let value = try? change.applied(to: nil)
    else { return nil }
    return value.xml == nil ? "a value that no file can hold" : nil
  }
}
