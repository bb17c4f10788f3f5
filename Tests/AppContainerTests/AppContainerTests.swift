// Where an app's things belong, inside of a container and outside.

import Foundation
import Glibc
import Testing

@testable import AppContainer

@Suite("AppContainer")
struct AppContainerTests {
  /// A directory that is laid out as a container's home, for the time of a test.
  private func withHome(_ body: (String) throws -> Void) throws {
    let home = "/tmp/app-container-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    for name in ["Documents", "Library/Preferences", "Library/Caches", "tmp", "Notes.app"] {
      #expect(AppContainer.ensureDirectory("\(home)/\(name)"))
    }
    try body(home)
  }

  @Test("the variables of a container decide, and its layout without them")
  func inside() throws {
    try withHome { home in
      let bare = Surroundings(
        variables: [:], account: home, executable: home + "/Notes.app/bin/Notes")
      #expect(bare.home == home)
      #expect(bare.documents == home + "/Documents")
      #expect(bare.preferences == home + "/Library/Preferences")
      #expect(bare.caches == home + "/Library/Caches")
      #expect(bare.temporary == home + "/tmp")
      #expect(bare.app == home + "/Notes.app")
      let told = Surroundings(
        variables: [
          "CFFIXED_USER_HOME": home + "/", "HOME": "/other", "XDG_CACHE_HOME": "/c",
          "XDG_CONFIG_HOME": "/p/", "TMPDIR": "/t/",
        ], account: "/root", executable: "/usr/bin/python3")
      #expect(told.home == home)
      #expect(told.preferences == "/p")
      #expect(told.caches == "/c")
      #expect(told.temporary == "/t")
      #expect(told.app == home + "/Notes.app")
    }
  }

  @Test("outside of a container the paths are those of XDG")
  func outside() {
    let place = Surroundings(
      variables: ["HOME": "/nonexistent"], account: "/root", executable: "/opt/x/bin/x")
    #expect(place.documents == "/nonexistent/Documents")
    #expect(place.preferences == "/nonexistent/.config")
    #expect(place.caches == "/nonexistent/.cache")
    #expect(place.temporary == "/tmp")
    #expect(place.app == "/opt/x/bin")
  }

  @Test("a directory is there afterwards, or a reason why not")
  func directories() throws {
    try withHome { home in
      #expect(AppContainer.ensureDirectory(home + "/Documents/a/b/c"))
      #expect(AppContainer.ensureDirectory(home + "/Documents/a/b/c/"))
      #expect(FileManager.default.createFile(atPath: home + "/file", contents: nil))
      #expect(!AppContainer.ensureDirectory(home + "/file"))
      #expect(errno == EEXIST)
      #expect(!AppContainer.ensureDirectory(home + "/file/x"))
      #expect(errno == EEXIST)
    }
  }

  @Test(
    "a locale leads to the names that its directory may have",
    arguments: [
      (["LANG": "fr_CA.UTF-8"], ["fr_CA", "fr-CA", "fr", "French"]),
      (["LANG": "zh_TW"], ["zh_TW", "zh-TW", "TraditionalChinese", "zh"]),
      (
        ["LANG": "de_DE@euro", "LANGUAGE": "ja:en"],
        [
          "ja", "Japanese", "en", "English", "de_DE",
          "de-DE", "de", "German",
        ]
      ),
      (["LANG": "C.UTF-8", "LANGUAGE": "ja"], []), ([:], []),
    ])
  func languages(_ row: (variables: [String: String], want: [String])) {
    let place = Surroundings(variables: row.variables, account: "/", executable: "/x")
    #expect(place.languages == row.want)
  }

  @Test("a text is in the person's language, from the first table that has it")
  func texts() throws {
    try withHome { home in
      func write(_ text: String, _ path: String, _ encoding: String.Encoding = .utf8) throws {
        let path = home + "/Notes.app/Resources/" + path
        AppContainer.ensureDirectory(path.directory)
        try text.write(toFile: path, atomically: false, encoding: encoding)
      }
      try write(
        "/* greetings */ \"Hello\" = \"Bonjour \\U00e0 tous\"; Bye = \"Au revoir\";",
        "French.lproj/Localizable.strings", .utf16)
      try write("Hello = Hi; Only = English;", "en.lproj/Localizable.strings")
      try write("Hello = Moin;", "de.lproj/Other.strings")
      try write("\"broken", "de.lproj/Localizable.strings")
      func text(_ key: String, _ language: String, table: String = "Localizable") -> String {
        Surroundings(
          variables: ["LANG": language], account: home, executable: home + "/Notes.app/bin/Notes"
        ).localizedString(key, table: table)
      }
      #expect(text("Hello", "fr_FR.UTF-8") == "Bonjour à tous")
      #expect(text("Bye", "fr_FR.UTF-8") == "Au revoir")
      #expect(text("Only", "fr_FR.UTF-8") == "English")
      #expect(text("Hello", "C") == "Hi")
      #expect(text("Hello", "de_DE.UTF-8") == "Hi", "what can't be read is passed over")
      #expect(text("Hello", "de_DE.UTF-8", table: "Other") == "Moin")
      #expect(text("None", "fr_FR.UTF-8") == "None")
      #expect(text("Hello", "fr_FR.UTF-8", table: "None") == "Hello")
    }
  }

  @Test("the mark is the property list that iOS writes")
  func mark() throws {
    let list = try PropertyListSerialization.propertyList(
      from: Data(AppContainer.mark), format: nil)
    #expect(list as? String == "com.apple.backupd")
    #expect(AppContainer.mark.count == 61)
  }
}
