// Bundles that tests make: around a script, or a program that is compiled for it.

import Foundation
import Glibc
import TestSupport
import Testing

extension RunScene {
  /// A bundle in the scene's `apps`, flat as on iOS, with an executable that is a script.
  @discardableResult
  func makeBundle(_ name: String, script: String = "#!/bin/sh\n") throws -> String {
    try makeBundle(name) { executable in
      try script.write(toFile: executable, atomically: true, encoding: .utf8)
      chmod(executable, 0o755)
    }
  }

  /// A bundle whose executable `make` puts at the path that it is given.
  @discardableResult
  func makeBundle(_ name: String, _ make: (String) throws -> Void) throws -> String {
    let bundle = path + "/apps/\(name).app"
    try FileManager.default.createDirectory(
      atPath: bundle, withIntermediateDirectories: true)
    let information = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict>
      <key>CFBundleIdentifier</key><string>org.example.\(name)</string>
      <key>CFBundleExecutable</key><string>\(name)</string>
      <key>CFBundleName</key><string>\(name)</string>
      <key>CFBundleVersion</key><string>1</string>
      </dict></plist>

      """
    try information.write(toFile: bundle + "/Info.plist", atomically: true, encoding: .utf8)
    try make(bundle + "/" + name)
    try giveAway(bundle)
    return bundle
  }

  /// Makes and installs an app with a script for its executable; its identifier.
  func installScript(_ name: String, script: String = "#!/bin/sh\n") throws -> String {
    try install(try makeBundle(name, script: script))
    return "org.example.\(name)"
  }

  /// A bundle as GNUstep has it: a program that is compiled here, and strings in three languages.
  func makeGNUstepBundle(_ name: String, program: String? = nil) throws -> String {
    let bundle = path + "/apps/\(name).app"
    let greetings = ["English": "Hello", "French": "Bonjour", "Japanese": "こんにちは"]
    for (language, greeting) in greetings {
      let directory = bundle + "/Resources/\(language).lproj"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      // GNUstep takes a file without the mark for one in the system's old encoding.
      try "\u{feff}\"greeting\" = \"\(greeting)\";\n".write(
        toFile: directory + "/Localizable.strings", atomically: true, encoding: .utf8)
    }
    try """
    {
      ApplicationName = \(name);
      CFBundleIdentifier = "org.example.\(name)";
      NSExecutable = \(name);
    }

    """.write(
      toFile: bundle + "/Resources/Info-gnustep.plist", atomically: true, encoding: .utf8)
    try compile(
      """
      cd '\(path)'
      gcc $(gnustep-config --objc-flags) '\(source((program ?? name) + ".m"))' \
        -o '\(bundle)/\(name)' $(gnustep-config --base-libs)
      """)
    try giveAway(bundle)
    return bundle
  }

  /// A program of `Tests/Programs`, in Swift, that needs no library of the toolchain.
  func compileSwift(_ name: String, to executable: String) throws {
    try compile(
      "swiftc -static-stdlib -Xlinker -s '\(source(name + ".swift"))' -o '\(executable)' 2>&1")
  }

  /// Compiles by a shell script, which must succeed.
  func compile(_ script: String) throws {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let made = try TestSupport.run(
      "sh", ["-ec", script], environment: ["PATH": path, "HOME": home, "LANG": "C.UTF-8"],
      timeoutSeconds: 300)
    try #require(made.status == 0, "\(made.errorText)\(made.text)")
  }

  /// What is installed must be root's or the installer's.
  private func giveAway(_ bundle: String) throws {
    guard person == .ordinaryUser else { return }
    _ = try TestSupport.run("chown", ["-R", "\(RunScene.uid)", bundle])
  }
}

/// A file of `Tests/Programs`.
func source(_ name: String) -> String {
  URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Programs/\(name)").path(percentEncoded: false)
}

/// Compiles a program of `Tests/Programs` in C: a file, or all those of a directory.
func compileC(_ name: String, to executable: String) throws {
  let made = try run(
    "sh",
    [
      "-c",
      """
      gcc -O1 -Wall -Wextra -Werror -std=gnu11 -D_GNU_SOURCE -pthread -o "$1" \
        $(ls "$0"/*.c 2> /dev/null || echo "$0.c")
      """, source(name), executable,
    ])
  try #require(made.status == 0, "\(made.errorText)")
}

/// Whether a program is there that a test needs.
func isInstalled(_ program: String) -> Bool {
  (try? run("sh", ["-c", "command -v \(program)"]).status) == 0
}
