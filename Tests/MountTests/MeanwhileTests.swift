// What happens beside a mount: changes while it is made, runs that were killed, root in the store
// of somebody else.

import Glibc
import TestSupport
import Testing

/// `./sandboxfs` is the program with a daemon that, for its first `$1` starts, finds the rules
/// changed once it is on its way; `starts` counts them.
private let changing = """
  mkdir bin; cp $(command -v sandboxfs) bin
  real=$(command -v sandboxfs-view)
  changing() {
    echo 0 > starts
    printf '%s\\n' '#!/bin/bash' "cd $PLACE; n=\\$((\\$(cat starts) + 1)); echo \\$n > starts" \\
      "if [ \\$n -le $1 ]; then echo '/Documents -write # '\\$n > new; mv new $C/profile; fi" \\
      "exec $real \\"\\$@\\"" > bin/sandboxfs-view
    chmod 755 bin/sandboxfs-view
  }

  """

@Suite("Meanwhile", .enabled(if: geteuid() == 0, "needs root"))
struct MeanwhileTests {
  @Test("a container that is changed while it is being mounted is mounted as it is then")
  func changed() throws {
    let said = try shell(
      changing + """
        changing 1; bin/sandboxfs mount $APP view; echo "$? after $(cat starts)"
        touch view/Documents/a 2> /dev/null || echo refused
        sandboxfs unmount view; sandboxfs policy unset $APP
        changing 1
        bin/sandboxfs run $APP -- sh -c 'touch Documents/a 2> /dev/null || echo refused'
        echo "$? after $(cat starts)"
        """)
    #expect(
      said == """
        0 after 2
        refused
        removed the rules of com.example.Notes
        refused
        0 after 2

        """)
  }

  @Test("a container that is always being changed is not mounted, and nothing is left of it")
  func alwaysChanged() throws {
    let said = try shell(
      changing + """
        changing 9
        bin/sandboxfs mount $APP view; echo "$? after $(cat starts)"
        bin/sandboxfs run $APP -- true; echo "$? after $(cat starts)"
        sandboxfs status; ls /run/sandboxfs/views; pgrep -x sandboxfs-view
        """)
    let mount = "com.example.Notes was changed twice while it was being mounted; try again"
    let run = "the app was updated while its view was being mounted; run it again"
    #expect(
      said == """
        sandboxfs mount: \(mount)
        1 after 2
        sandboxfs run: \(run)
        125 after 4
        no view is mounted

        """)
  }

  @Test("a mount that umount(8) will not know is made, and said")
  func remark() throws {
    let said = try shell(
      """
      rm -rf /run/mount; touch /run/mount
      sandboxfs mount $APP view 2> error; echo "$? $(wc -l < error)"; cut -d: -f1 error
      ls view/Notes.app; sandboxfs unmount view; sandboxfs status
      """)
    #expect(
      said == """
        16 1
        sandboxfs mount
        Info.plist
        Notes
        _CodeSignature
        no view is mounted

        """)
  }

  @Test(
    "what a run that was killed has left is unmounted by who looks next",
    arguments: ["status", "list --quiet", "uninstall --yes com.example.Notes"])
  func sweeping(_ command: String) throws {
    let said = try shell(
      """
      sandboxfs list --quiet | wc -l; [ ! -e /run/sandboxfs ] || echo made
      gone() { ! pgrep -f "^sleep 4716"; }
      sandboxfs run $APP -- sleep 4716 & run=$!
      eventually pgrep -f "^sleep 4716"
      sandboxfs status | wc -l
      kill -KILL $run; wait $run 2> /dev/null
      eventually gone
      sandboxfs \(command)
      grep -c fuse.sandboxfs /proc/self/mountinfo; ls /run/sandboxfs/views
      """)
    let lines = said.split(separator: "\n").filter { !$0.contains("Killed") }
    let want =
      switch command.prefix(4) {
      case "stat": ["1", "2", "no view is mounted", "0"]
      case "list": ["1", "2", "com.example.Notes", "0"]
      default: ["1", "2", "removed com.example.Notes", "0"]
      }
    #expect(lines.map { String($0) } == want, "\(said)")
  }

  @Test("what root's daemon makes in the container of somebody else belongs to them")
  func owners() throws {
    try withMountingScene { scene in
      let uid = MountingScene.uid
      _ = try run("chown", ["\(uid):\(uid)", scene.container])
      try scene.mount()
      #expect(mkdir(scene.target + "/Notes", 0o700) == -1)
      try scene.unmount()
      let shown = try run(
        "sh",
        ["-c", "cd '\(scene.container)' && sleep 0.2 && stat -c '%n %a %u' lock log"])
      #expect(shown.text == "lock 600 \(uid)\nlog 600 \(uid)\n", "\(shown.errorText)")
    }
  }
}
