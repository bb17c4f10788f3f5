// `sandboxfs mount --foreground`: while it runs the view is there, and it says what is refused.

import Glibc
import TestSupport
import Testing

/// Hides what differs from one run to the next.
private let tidy = #"sed -E -e 's/^[0-9-]{10}T[0-9:.]{12}Z/TIME/' -e 's/\[[0-9]+\]/[PID]/'"#

private let start = """
  present() { mountpoint -q view; }
  foreground() { sandboxfs mount --foreground $APP view 2> said & attendant=$!; }
  # It is there before the command that mounts it has done all that it does.
  attended() { mkdir view/ready 2> /dev/null; grep -q /ready said; }

  """

@Suite("sandboxfs mount --foreground", .enabled(if: geteuid() == 0, "needs root"))
struct ForegroundTests {
  @Test("says what is refused from then on, a line each, and unmounts at a signal")
  func signalled() throws {
    let said = try shell(
      start + #"""
        sandboxfs mount $APP view; mkdir view/before 2> /dev/null; sandboxfs unmount view
        for signal in TERM HUP; do
          foreground; eventually present
          mkdir "$(printf "view/$signal\nx")" 2> /dev/null
          eventually grep -q "$signal" said
          mv view/tmp view/Documents/x 2> /dev/null
          kill -$signal $attendant; wait $attendant; echo "$?"
          present || echo "unmounted"
          \#(tidy) said
        done
        """#)
    let create = #"TIME com.example.Notes: refused create /TERM\012x for mkdir[PID] of uid 0: "#
    let rename =
      "TIME com.example.Notes: refused rename /tmp -> /Documents/x for mv[PID] of uid 0: EPERM by "
      + "built-in:structural"
    let first = "0\nunmounted\n\(create)EACCES by built-in:unset\n\(rename)\n"
    #expect(said == first + first.replacing("/TERM", with: "/HUP"))
  }

  @Test("ends when others unmount the view, or its daemon is gone")
  func ended() throws {
    let said = try shell(
      start + """
        foreground; eventually attended
        sandboxfs unmount view; wait $attendant; echo "unmounted: $?"; grep -v /ready said
        foreground; eventually attended
        end_daemons; wait $attendant; echo "killed: $?"
        grep -v /ready said; present || echo "nothing is left"
        """)
    #expect(
      said.split(separator: "\n").filter { !$0.contains("Killed") } == [
        "unmounted: 0", "killed: 1",
        "sandboxfs mount: the daemon of com.example.Notes has ended, and the view with it",
        "nothing is left",
      ], "\(said)")
  }

  @Test("leaves a view that is in use mounted, and says who uses it")
  func busy() throws {
    let said = try shell(
      start + """
        foreground; eventually attended
        exec 5< view/tmp
        kill -TERM $attendant; wait $attendant; echo "$?"
        grep -v /ready said | \(tidy); present && echo "mounted"
        exec 5<&-; sandboxfs unmount view
        sandboxfs mount --foreground com.example.Absent view; echo "$?"
        """)
    let busy = "is busy: in use by 1 (bash); end them, or unmount it lazily (-l)"
    let line = "is not installed in PLACE/store: see 'sandboxfs list'"
    #expect(
      said == """
        1
        sandboxfs mount: PLACE/view \(busy)
        mounted
        sandboxfs mount: com.example.Absent \(line)
        1

        """)
  }
}
