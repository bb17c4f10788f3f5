// `sandboxfs unmount APP` where two stores have the app.

import Glibc
import Testing

@Suite("sandboxfs unmount", .enabled(if: geteuid() == 0, "needs root"))
struct UnmountStoreTests {
  @Test("takes an app to be that of the store, and leaves one of another store alone")
  func stores() throws {
    let said = try shell(
      #"""
      sandboxfs install --store $PLACE/other Notes.app > /dev/null
      sandboxfs mount --store $PLACE/other $APP second
      sandboxfs unmount $APP; echo "status $?"
      sandboxfs mount $APP view
      sandboxfs unmount $APP; echo "status $?"
      sandboxfs status | grep -c "$APP"
      sandboxfs unmount --store $PLACE/none $APP; echo "status $?"
      """#)
    let refusal = "sandboxfs unmount: no view of 'com.example.Notes' is mounted; "
    #expect(
      said == """
        \(refusal)write a directory with a slash, as in './com.example.Notes'
        status 1
        status 0
        1
        status 0

        """)
  }
}
