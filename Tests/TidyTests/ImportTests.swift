// Arrows point to what is imported; nothing points back.

import Testing

/// What each target may import of ours.
private let arrows: [String: Set<String>] = [
  // Pure.
  "Paths": [],
  "Policy": ["Paths"],
  "Containers": ["Paths", "Policy"],
  "PropertyLists": [],
  "Preferences": ["PropertyLists"],
  "Arguments": ["Paths"],
  "Seal": ["PropertyLists"],
  "BackupFormat": ["PropertyLists"],
  // Edge: each is the only door to what it names.
  "LinuxKit": ["CLinux"],
  "FuseKit": ["CFuse3", "LinuxKit"],
  "Crypto": ["CCrypto", "LinuxKit"],
  "Accounting": ["Policy", "LinuxKit"],
  "Store": [
    "Paths", "Policy", "Containers", "PropertyLists", "Seal", "LinuxKit", "Crypto", "Purging",
    "CArchive",
  ],
  "Purging": ["Policy", "LinuxKit"],
  "View": [
    "Paths", "Policy", "Containers", "PropertyLists", "Seal", "LinuxKit", "FuseKit", "Crypto",
    "Accounting",
  ],
  "MobileBackup": [
    "Paths", "Policy", "Containers", "PropertyLists", "BackupFormat", "LinuxKit", "Crypto",
    "Purging", "Store", "CSQLite",
  ],
  "Mounting": ["Paths", "Containers", "LinuxKit", "Store", "CMount"],
  "Launch": [
    "Paths", "Policy", "Containers", "LinuxKit", "Purging", "Store", "Mounting", "CSeccomp",
  ],
  // Stands alone, for programs inside.
  "AppContainer": ["CAppContainer", "PropertyLists"],
  // Programs.
  "sandboxfs": [
    "Paths", "Policy", "Containers", "PropertyLists", "Preferences", "Arguments", "Seal",
    "BackupFormat", "LinuxKit", "Crypto", "Purging", "Store", "MobileBackup", "Mounting", "Launch",
    "AppContainer", "Accounting",
  ],
  "sandboxfs-view": [
    "Paths", "Policy", "Containers", "Seal", "LinuxKit", "FuseKit", "Crypto", "Accounting",
    "Purging", "View",
  ],
  "MountHelper": ["Paths", "Containers", "Arguments", "LinuxKit", "Store", "Mounting"],
]

private let pure: Set = [
  "Paths", "Policy", "Containers", "PropertyLists", "Preferences", "Arguments", "Seal",
  "BackupFormat",
]

@Suite struct ImportTests {
  @Test("every target of Sources has its arrows")
  func targets() {
    let found = Set(Repository.swiftFiles(below: "Sources").compactMap(\.target))
    #expect(found.subtracting(arrows.keys) == [], "add them to the table of this test")
  }

  @Test("a target imports what its arrows point to and nothing else")
  func imports() {
    for file in Repository.swiftFiles(below: "Sources") {
      let target = file.target ?? ""
      var allowed = arrows[target] ?? []
      allowed.insert("Synchronization")
      if !pure.contains(target) { allowed.insert("Glibc") }
      // Nor Foundation: it costs 7 MB of residence and some milliseconds of every start.
      for module in file.lines.compactMap(importedModule) {
        #expect(allowed.contains(module), "\(file.path) imports \(module)")
      }
    }
  }

  @Test("a pure target holds no unsafe code")
  func safety() {
    for file in Repository.swiftFiles(below: "Sources") where pure.contains(file.target ?? "") {
      for (number, line) in file.lines.enumerated() where !line.contains("//") {
        #expect(
          !line.lowercased().contains("unsafe") && !line.contains("@_"),
          "\(file.path):\(number + 1): \(line)")
      }
    }
  }
}

/// The module of an import line, whatever stands before `import` and behind the module's name.
private func importedModule(_ line: String) -> String? {
  let words = line.split(separator: " ")
  guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
    words[..<place].allSatisfy({
      ["public", "internal", "package", "private", "fileprivate"].contains($0)
        || $0.hasPrefix("@")
    })
  else { return nil }
  let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let"]
  let module = kinds.contains(words[place + 1]) ? words[place + 2] : words[place + 1]
  return String(module.prefix { $0 != "." })
}
