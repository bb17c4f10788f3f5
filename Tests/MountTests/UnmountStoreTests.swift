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

  @Test("takes what is mounted in a view away with it where nobody serves them any more")
  func nested() throws {
    let said = try shell(
      #"""
      places() { grep -c "fuse.sandboxfs" /proc/self/mountinfo; }
      die() {
        sandboxfs mount $APP view; mkdir -p view/tmp/in; sandboxfs mount $APP view/tmp/in
        end_daemons; eventually sh -c '! stat view'
      }
      die; sandboxfs unmount "$PLACE/view/tmp/in"; echo "status $?"; places
      sandboxfs unmount $APP; echo "status $?"; places
      die; sandboxfs unmount "$PLACE/view"; echo "status $?"; places
      """#)
    let refusal =
      "sandboxfs unmount: cannot unmount PLACE/view/tmp/in: it is mounted in a view that nobody "
      + "serves any more; unmount that one, and this one goes with it\n"
    #expect(said == refusal + "status 1\n4\nstatus 0\n0\nstatus 0\n0\n", "\(said)")
  }
}
