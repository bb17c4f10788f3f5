// Resources of the bundle, in the person's language.
internal import Glibc

extension AppContainer {
  /// The path of a resource of the bundle; nil if there is none.
  ///
  /// One that is there without a language is found first, then one in the directories `LANG.lproj`
  /// of the languages of `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` or `LANG`, then one in English.
  public static func resourcePath(_ name: String) -> String? {
    let surroundings = Surroundings.current
    return surroundings.resourcePaths(name).first { access($0, F_OK) == 0 }
  }
}

extension AppContainer {
  /// The names that the directories of the person's languages may have, without `.lproj`: those of
  /// `LANGUAGE`, `LC_ALL`, `LC_MESSAGES` or `LANG`, the best first, then English.
  public static var languages: [String] { Surroundings.current.directories }
}

extension Surroundings {
  /// Where a resource may be, the best place first.
  func resourcePaths(_ name: String) -> [String] {
    let roots = ["Resources", "Contents/Resources"].map(app.appending) + [app]
    return roots.map { $0.appending(name) }
      + directories.flatMap { language in
        roots.map { $0.appending("\(language).lproj").appending(name) }
      }
  }

  /// What a directory of resources may be called, the best name first.
  var directories: [String] { languages + ["Base", "en", "English"] }

  /// The names that a language's directory may have, for each language that the person wants.
  var languages: [String] {
    let locale = variables["LC_ALL"] ?? variables["LC_MESSAGES"] ?? variables["LANG"] ?? "C"
    if ["C", "POSIX"].contains(bare(locale)) { return [] }
    let wanted = (variables["LANGUAGE"] ?? "").split(separator: ":").map(String.init) + [locale]
    var names: [String] = []
    for language in wanted.map(bare) {
      let code = String(language.prefix { $0 != "_" })
      let region = language.split(separator: "_").joined(separator: "-")
      for name in [language, region, Self.names[language], code, Self.names[code]] {
        if let name, !names.contains(name) { names.append(name) }
      }
    }
    return names
  }

  /// A locale without its encoding and its variant.
  private func bare(_ locale: String) -> String {
    String(locale.prefix { $0 != "." && $0 != "@" })
  }

  /// What OpenStep calls them.
  private static let names = [
    "cs": "Czech", "da": "Danish", "de": "German", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ru": "Russian", "sk": "Slovak", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian",
    "zh_CN": "SimplifiedChinese", "zh_TW": "TraditionalChinese",
  ]
}
