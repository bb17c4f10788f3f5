// The library for programs inside, and the examples of the pages: in C, Python and Objective-C.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite(
  "The places of an app, as programs inside name them", .enabled(if: geteuid() == 0, "needs root"))
struct RunLibraryTests {
  private static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path(percentEncoded: false)

  @Test("C and Python call the library", .enabled(if: isInstalled("gcc"), "needs gcc"))
  func library() throws {
    try withRunScene(.root) { scene in
      let bundle = try scene.makeBundle("Places") { executable in
        try scene.compile(
          """
          cd '\(Self.repository)'
          bundle=$(dirname '\(executable)')
          mkdir -p "$bundle/Resources/fr.lproj" "$bundle/Resources/en.lproj"
          echo Bonjour > "$bundle/Resources/fr.lproj/greeting.txt"
          echo Hello > "$bundle/Resources/en.lproj/greeting.txt"
          echo '"Good morning" = "Bonjour";' > "$bundle/Resources/fr.lproj/Localizable.strings"
          cp docs/examples/app_paths.py "$bundle"
          swiftc -emit-library -static-stdlib -O -parse-as-library -swift-version 6 \
            -enable-upcoming-feature InternalImportsByDefault -module-name AppContainer \
            -I Modules/CAppContainer Sources/AppContainer/*.swift Sources/PropertyLists/*.swift \
            -o "$bundle/libAppContainer.so" 2>&1
          gcc -Wall -Wextra -Werror -I Modules/CAppContainer docs/examples/app-paths.c \
            -L "$bundle" -lAppContainer -Wl,-rpath,'$ORIGIN' -o '\(executable)'
          """)
      }
      try scene.install(bundle)
      let app = "org.example.Places"
      let places = """
        home=/home/app
        app=/home/app/Places.app
        doc=/home/app/Documents

        """
      let inC = try scene.run(app, environment: ["LANG": "fr_FR.UTF-8"])
      #expect(inC.status == 0, "\(inC.errorText)")
      #expect(
        inC.text == places + """
          pref=/home/app/Library/Preferences
          cache=/home/app/Library/Caches
          tmp=/home/app/tmp
          ensured=1
          excluded=00100
          resource=/home/app/Places.app/Resources/fr.lproj/greeting.txt
          text=Bonjour

          """)
      let inPython = try scene.run(
        app,
        [
          "/usr/bin/python3", "/home/app/Places.app/app_paths.py",
          "/home/app/Places.app/libAppContainer.so",
        ])
      #expect(
        inPython.text == places + """
          lib_pref=/home/app/Library/Preferences
          lib_cache=/home/app/Library/Caches
          tmp=/home/app/tmp
          text=Good morning

          """, "\(inPython.errorText)")
    }
  }

  @Test("a package of another has what the page tells it to write, and runs inside")
  func otherPackage() throws {
    let page = try String(
      contentsOfFile: Self.repository + "/docs/app-container.md", encoding: .utf8)
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    try #require(blocks.count == 2, "the page has a manifest and a program")
    try withRunScene(.root) { scene in
      let package = scene.path + "/Notes"
      let sources = package + "/Sources/Notes"
      try FileManager.default.createDirectory(
        atPath: sources, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: scene.path + "/sandboxfs", withDestinationPath: Self.repository)
      let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(name: "Notes", \(blocks[0]))
        """
      try manifest.write(toFile: package + "/Package.swift", atomically: true, encoding: .utf8)
      try blocks[1].write(toFile: sources + "/main.swift", atomically: true, encoding: .utf8)
      let bundle = try scene.makeBundle("Notes") { executable in
        try scene.compile(
          """
          cd '\(package)'
          swift build --static-swift-stdlib 2>&1
          cp .build/debug/Notes '\(executable)'
          """)
      }
      try scene.install(bundle)
      let outcome = try scene.run("org.example.Notes")
      #expect(
        outcome.text == """
          true
          /home/app /home/app/Notes.app /home/app/tmp
          /home/app/Library/Preferences /home/app/Library/Caches
          no greeting
          Good morning

          """, "\(outcome.errorText)")
    }
  }

  @Test(
    "the helpers in Objective-C answer with the layout",
    .enabled(if: isInstalled("gnustep-config"), "needs GNUstep"))
  func objectiveC() throws {
    try withRunScene(.root) { scene in
      let bundle = try scene.makeBundle("AppPaths") { executable in
        try scene.compile(
          """
          cd "$(dirname '\(executable)')"
          gcc $(gnustep-config --objc-flags) '\(Self.repository)/docs/examples/AppPaths.m' \
            -o '\(executable)' $(gnustep-config --base-libs)
          rm -f *.d
          """)
      }
      try scene.install(bundle)
      let outcome = try scene.run("org.example.AppPaths")
      #expect(
        outcome.text == """
          homePath=/home/app
          appPath=/home/app/AppPaths.app
          docPath=/home/app/Documents
          libPrefPath=/home/app/Library/Preferences
          libCachePath=/home/app/Library/Caches
          tmpPath=/home/app/tmp
          hasLive=11

          """, "\(outcome.errorText)")
    }
  }
}
