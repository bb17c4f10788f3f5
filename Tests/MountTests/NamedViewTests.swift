// What commands say of apps and places that were named and are not what was meant.

import Glibc
import Testing

@Suite("A view that is named", .enabled(if: geteuid() == 0, "needs root"))
struct NamedViewTests {
  @Test("is unmounted from within it, where nobody else is")
  func fromWithin() throws {
    let said = try shell(
      #"""
      sandboxfs mount $APP view
      (cd view/Documents && exec sandboxfs unmount ../../view); echo "status $?"
      sandboxfs mount $APP view
      (cd view && exec sandboxfs unmount .); echo "status $?"
      sandboxfs mount $APP view
      sandboxfs unmount view > view/Documents/said 2> refusal; echo "status $?"
      sed 's/[0-9]\+ (/N (/' refusal
      sandboxfs unmount view
      """#)
    #expect(
      said == """
        status 0
        status 0
        status 1
        sandboxfs unmount: PLACE/view is busy: in use by N (sandboxfs, this command); end them, \
        or unmount it lazily (-l)

        """)
  }

  @Test("and that nobody knows is an error, and one that is not mounted is none")
  func unknown() throws {
    let said = try shell(
      """
      for command in status ps upgrade; do
        sandboxfs $command com.example.None; echo "status $?"
        sandboxfs $command no/app; echo "status $?"
      done
      sandboxfs status $APP; echo "status $?"; sandboxfs ps $APP; echo "status $?"
      sandboxfs mount $APP view
      # Also where another store has it.
      SANDBOXFS_STORE=$PWD/other sandboxfs status $APP > seen; echo "status $?"
      sandboxfs unmount view
      """)
    let refused = ["status", "ps", "upgrade"].map { command in
      """
      sandboxfs \(command): com.example.None is not installed in PLACE/store: see 'sandboxfs list'
      status 1
      sandboxfs \(command): 'no/app' is no app's identifier, such as com.example.Notes; \
      see 'sandboxfs list'
      status 2

      """
    }.joined()
    #expect(
      said == refused + """
        no view of what was named is mounted
        status 0
        no app of what was named runs
        status 0
        status 0

        """)
  }
}
