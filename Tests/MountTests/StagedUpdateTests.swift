// `sandboxfs install --stage`, as people use it.

import Glibc
import Testing

@Suite("A staged update", .enabled(if: geteuid() == 0, "needs root"))
struct StagedUpdateTests {
  @Test("waits while the app is mounted, and is there at the next mount and in the next run")
  func staged() throws {
    let said = try shell(
      #"""
      sandboxfs mount $APP view
      sed -i 's/>1.0</>2.0</; s/echo 1.0/echo 2.0/' Notes.app/Info.plist Notes.app/Notes
      sandboxfs install Notes.app; echo "status $?"
      sandboxfs install --stage Notes.app
      sandboxfs info $APP | grep -E "^(Version|At the next mount)" | tr -s ' '
      sandboxfs run $APP
      sandboxfs unmount view && sandboxfs mount $APP view
      sandboxfs run $APP
      sandboxfs info $APP | grep -E "^(Version|At the next mount)" | tr -s ' '
      sandboxfs verify --deep $APP > /dev/null && echo valid
      sandboxfs unmount view
      sandboxfs install --stage Notes.app
      """#)
    #expect(
      said == """
        sandboxfs install: com.example.Notes is mounted: unmount it first, or have the new version \
        wait for the next mount with --stage
        status 1
        staged com.example.Notes (Notes 2.0); it takes the bundle's place before the next mount
        Version 1.0
        At the next mount 2.0
        1.0
        2.0
        Version 2.0
        valid
        updated com.example.Notes (Notes 2.0)

        """)
  }
}
