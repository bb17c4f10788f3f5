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
          cp docs/examples/app_paths.py "$bundle"
          swiftc -emit-library -static-stdlib -O -parse-as-library -swift-version 6 \
            -enable-upcoming-feature InternalImportsByDefault -module-name AppContainer \
            -I Modules/CAppContainer Sources/AppContainer/*.swift \
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

          """, "\(inPython.errorText)")
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
