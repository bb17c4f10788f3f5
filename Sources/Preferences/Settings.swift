// A bundle's `Settings.bundle`: what a person may set of an app, and what each setting may be.
public import PropertyLists

/// One setting, or what a pane shows in the place of one.
public struct Setting: Equatable, Sendable {
  /// What it may be.
  public enum Kind: Equatable, Sendable {
    /// One of two values.
    case toggle(on: PropertyList, off: PropertyList)
    /// A number within a range.
    case slider(minimum: Double, maximum: Double)
    /// A text; of digits alone, or one that is not shown.
    case text(isNumber: Bool, isSecret: Bool)
    /// One of several values, each with its title.
    case choice([Choice])
    /// A value that the app sets and the person only sees.
    case shown([Choice])
    /// Of a type that is not known here.
    case unknown
  }

  /// A value with what a person knows it by.
  public struct Choice: Equatable, Sendable {
    /// The value.
    public let value: PropertyList
    /// Its title.
    public let title: String
  }

  /// The key in the preferences.
  public let key: [UInt8]
  /// What a person knows it by.
  public let title: String
  /// The titles of the panes and of the group that it is in, the outermost first.
  public let section: [String]
  /// Apple's name of its type.
  public let type: String
  /// What it may be.
  public let kind: Kind
  /// What the app takes where nothing is set; nil if it says nothing.
  public let initial: PropertyList?
}

extension Setting {
  /// What it may be, in words.
  public var allowed: String {
    switch kind {
    case .toggle: "on, off"
    case .slider(let minimum, let maximum):
      "\(PropertyList.real(minimum).plainText) to \(PropertyList.real(maximum).plainText)"
    case .text(let isNumber, _): isNumber ? "digits" : "a text"
    case .choice(let choices): choices.map(\.title).joined(separator: ", ")
    case .shown: "set by the app alone"
    case .unknown: "\(type) is not supported"
    }
  }

  /// A value as a person knows it; `plain` is the text of one that has no name.
  public func words(
    for value: PropertyList, _ plain: (PropertyList) -> String = { $0.plainText }
  ) -> String {
    switch kind {
    case .toggle(let on, let off): value == on ? "on" : value == off ? "off" : plain(value)
    case .choice(let choices), .shown(let choices):
      choices.first { $0.value == value }?.title ?? plain(value)
    case .slider, .text, .unknown: plain(value)
    }
  }

  /// The value that a word means; throws if it may not be that.
  public func value(of word: [UInt8]) throws(DefaultsMistake) -> PropertyList {
    let text = String(decoding: word, as: UTF8.self)
    switch kind {
    case .toggle(let on, let off):
      let truth = ["on": true, "off": false][text.lowercased()] ?? truth(text)
      if let truth { return truth ? on : off }
    case .slider(let minimum, let maximum):
      if let number = Double(text), (minimum...maximum).contains(number) { return .real(number) }
    case .text(let isNumber, _):
      let isDigits = !word.isEmpty && word.allSatisfy { (48...57).contains($0) }
      if PropertyList.isWritable(word), isDigits || !isNumber { return .string(word) }
    case .choice(let choices):
      let found =
        choices.first { $0.value.plainText == text } ?? choices.first { $0.title == text }
      if let found { return found.value }
    case .shown, .unknown:
      throw DefaultsMistake("can't be set here: \(allowed)")
    }
    throw DefaultsMistake("'\(shown(word))': expected \(allowed)")
  }
}

/// One pane of settings, as one file of a `Settings.bundle` describes it.
public struct SettingsPane: Equatable, Sendable {
  /// The settings in it, in order.
  public let settings: [Setting]
  /// The panes that it leads to, by the name of their file without `.plist`, each with the titles
  /// that are above it.
  public let children: [Child]

  /// A pane that another leads to.
  public struct Child: Equatable, Sendable {
    /// The name of its file, without `.plist`.
    public let file: String
    /// The titles that are above it, the outermost first.
    public let section: [String]

    /// A pane by its file.
    public init(file: String, section: [String]) {
      self.file = file
      self.section = section
    }
  }

  /// Reads a pane.
  ///
  /// `translate` says what a title is in the person's language. Throws what is wrong with it.
  public init(
    _ list: PropertyList, section: [String] = [], translate: @escaping (String) -> String
  ) throws(DefaultsMistake) {
    guard let specifiers = list["PreferenceSpecifiers"]?.array else {
      throw DefaultsMistake("it has no array PreferenceSpecifiers")
    }
    var (settings, children): ([Setting], [Child]) = ([], [])
    var section = section
    let outer = section
    for specifier in specifiers {
      let reader = SpecifierReader(specifier: specifier, translate: translate)
      switch reader.type {
      case "PSGroupSpecifier":
        section = outer + (reader.title.isEmpty ? [] : [reader.title])
      case "PSChildPaneSpecifier":
        guard let file = specifier["File"]?.string else {
          throw DefaultsMistake("a PSChildPaneSpecifier has no File")
        }
        children.append(Child(file: file, section: outer + [reader.title]))
      default:
        settings.append(try reader.setting(in: section))
      }
    }
    self.settings = settings
    self.children = children
  }
}

/// Reads one entry of a pane.
private struct SpecifierReader {
  let specifier: PropertyList
  let translate: (String) -> String

  var type: String { specifier["Type"]?.string ?? "" }
  var title: String { specifier["Title"]?.string.map(translate) ?? "" }

  func setting(in section: [String]) throws(DefaultsMistake) -> Setting {
    guard let key = specifier["Key"]?.bytesOfString, !key.isEmpty else {
      throw DefaultsMistake("a \(type.isEmpty ? "setting without a Type" : type) has no Key")
    }
    let name = String(decoding: key, as: UTF8.self)
    return Setting(
      key: key, title: title.isEmpty ? name : title, section: section, type: type,
      kind: try kind(name), initial: specifier["DefaultValue"])
  }

  private func kind(_ name: String) throws(DefaultsMistake) -> Setting.Kind {
    switch type {
    case "PSToggleSwitchSpecifier":
      return .toggle(
        on: specifier["TrueValue"] ?? .boolean(true),
        off: specifier["FalseValue"] ?? .boolean(false))
    case "PSSliderSpecifier":
      let minimum = number("MinimumValue") ?? 0
      let maximum = number("MaximumValue") ?? 1
      guard minimum <= maximum else {
        throw DefaultsMistake("the least value of '\(name)' is greater than the greatest")
      }
      return .slider(minimum: minimum, maximum: maximum)
    case "PSTextFieldSpecifier":
      return .text(
        isNumber: specifier["KeyboardType"]?.string == "NumberPad",
        isSecret: specifier["IsSecure"] == .boolean(true))
    case "PSMultiValueSpecifier", "PSRadioGroupSpecifier": return .choice(try choices(name))
    case "PSTitleValueSpecifier": return .shown(try choices(name))
    default: return .unknown
    }
  }

  private func number(_ key: String) -> Double? {
    switch specifier[key] {
    case .integer(let number): Double(number)
    case .real(let number) where number.isFinite: number
    default: nil
    }
  }

  private func choices(_ name: String) throws(DefaultsMistake) -> [Setting.Choice] {
    let values = specifier["Values"]?.array ?? []
    let titles = specifier["Titles"]?.array ?? []
    guard values.count == titles.count else {
      throw DefaultsMistake("'\(name)' has not as many Titles as Values")
    }
    return zip(values, titles).map { value, title in
      Setting.Choice(value: value, title: translate(title.string ?? title.plainText))
    }
  }
}
