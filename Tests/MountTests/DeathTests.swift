// What is beside a view when who serves it dies: the control socket, followers of the log, rules,
// programs that run inside.

import Glibc
import TestSupport
import Testing

/// `die` kills who serves the view, and waits until another does.
private let prelude = #"""
  number() { sandboxfs status --json $APP | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" | head -n 1; }
  took_over() { [ "$(number worker)" != "$1" ] && [ -n "$(number worker)" ]; }
  die() {
    local worker
    worker=$(number worker)
    kill -9 "$worker"
    eventually took_over "$worker"
  }

  """#

@Suite("When who serves a view dies,", .enabled(if: geteuid() == 0, "needs root"))
struct DeathTests {
  @Test("the socket answers, whoever follows the log goes on, and rules hold that were set")
  func beside() throws {
    let said = try shell(
      prelude + #"""
        sandboxfs mount $APP view
        touch view/Documents/hid; ls view/Documents
        sandboxfs log -f --json $APP > followed & follower=$!
        mkdir view/one 2> /dev/null; eventually grep -q '"/one"' followed
        printf '/Documents/hid hidden\n/Documents -write\n' > new.profile
        sandboxfs policy set $APP new.profile > /dev/null
        die
        ls view/Documents; mkdir view/Documents/two 2> /dev/null || echo refused
        eventually grep -q /Documents/two followed
        # The kernel is told by who serves now.
        sandboxfs policy unset $APP > /dev/null; ls view/Documents
        mkdir view/Documents/three && rmdir view/Documents/three && echo allowed
        die
        kill $follower; wait $follower 2> /dev/null
        grep -c /Documents/two followed; number restarts
        sandboxfs unmount view
        """#)
    #expect(said == "hid\nrefused\nhid\nallowed\n1\n2\n")
  }

  @Test("a program that runs in its container goes on, and its end is noticed")
  func program() throws {
    let said = try shell(
      prelude + #"""
        sandboxfs run $APP -- sh -c '
          exec 5> Documents/open; : > Documents/ready
          while [ ! -e Documents/go ]; do sleep 0.02; done
          echo kept >&5; cat Documents/open; exit 7' & running=$!
        eventually sandboxfs status --json $APP
        eventually [ -e $C/data/Documents/ready ]
        die; die
        sandboxfs ps | grep -q $APP && echo runs
        sandboxfs exec $APP -- touch Documents/go
        wait $running; echo "status $?"
        unmounted() { [ "$(sandboxfs status $APP)" = 'no view of what was named is mounted' ]; }
        eventually unmounted
        """#)
    #expect(said == "runs\nkept\nstatus 7\n")
  }

  @Test("a mount is there, and said to be there, though who watches dies when it begins")
  func beginning() throws {
    try withTemporaryDirectory { tools in
      try compileC("firstdeath", to: tools + "/firstdeath")
      let said = try shell(
        #"""
        for _ in 1 2 3 4 5 6 7 8; do
          TOOLS/firstdeath sandboxfs mount $APP view && touch view/tmp/a && sandboxfs unmount view
        done
        """#.replacing("TOOLS", with: tools))
      #expect(said == "")
    }
  }
}
