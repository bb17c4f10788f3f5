// Changing rules by the command line: on a view that is mounted, on one that is not, and where it
// must not happen.

import Glibc
import TestSupport
import Testing

@Suite("sandboxfs policy set", .enabled(if: geteuid() == 0, "needs root"))
struct PolicySetTests {
  @Test("changes what a mounted view refuses, at once, and lists what is open")
  func mounted() throws {
    let said = try shell(
      """
      sandboxfs mount $APP view
      echo before > view/Documents/a; touch view/Documents/hid
      exec 5>> view/Documents/a 6< view/tmp
      echo '/Documents -write
      /Documents/hid hidden' > new.profile
      sandboxfs policy set $APP new.profile | sed -e "s/\\[$$\\]/[US]/" -e 's/  */ /g'
      cmp new.profile $C/profile; stat -c '%a %u' $C/profile
      echo after 2> /dev/null > view/Documents/b && echo written; ls view/Documents
      echo kept >&5; cat view/Documents/a
      sandboxfs policy set --json $APP - < new.profile | sed "s/: $$/: US/"
      exec 5>&-
      sandboxfs policy unset $APP; [ -e $C/profile ] || echo none; ls view/Documents
      echo after > view/Documents/b && echo written
      sandboxfs policy unset $APP
      """)
    #expect(
      said == #"""
        set the rules of com.example.Notes; its view follows them
        OPEN FILE STILL ALLOWED PROCESS
        /Documents/a write bash[US]
        600 0
        a
        before
        kept
        {
          "identifier": "com.example.Notes",
          "mounted": true,
          "kept": [
            {
              "path": "/Documents/a",
              "operation": "write",
              "pid": US
            }
          ],
          "notes": []
        }
        removed the rules of com.example.Notes; its view follows them
        none
        a
        hid
        written
        removed the rules of com.example.Notes; its view follows them

        """#)
  }

  @Test("of an app that is not mounted holds from the next mount")
  func unmounted() throws {
    let said = try shell(
      """
      echo '/Documents -write' | sandboxfs policy set $APP -
      sandboxfs policy explain $APP /Documents/a create | head -1
      sandboxfs mount $APP view; touch view/Documents/a 2> /dev/null || echo refused
      """)
    #expect(
      said.split(separator: "\n").map { $0.prefix(40) } == [
        "set the rules of com.example.Notes", "create /Documents/a: refused with EACCES", "refused",
      ], "\(said)")
  }

  @Test("with a mistake anywhere changes nothing, and tells each with its place")
  func mistakes() throws {
    let said = try shell(
      """
      sandboxfs mount $APP view
      echo '/Documents/x -write' > good.profile; sandboxfs policy set $APP good.profile
      printf '/a raed\\n/Documents -write\\n@include nope\\n' > bad.profile
      sandboxfs policy set $APP bad.profile > out 2>&1; echo "$? $(cut -d: -f1-4 out)"
      sandboxfs policy set $APP - < bad.profile 2>&1 | cut -d: -f1-4
      head -c 1100000 /dev/zero | sandboxfs policy set $APP -; echo $?
      sandboxfs policy set $APP absent.profile; echo $?
      sandboxfs policy set $APP .; echo $?
      sandboxfs policy set com.example.Absent good.profile 2> /dev/null; echo $?
      cmp good.profile $C/profile && ls $C && touch view/Documents/y && echo same
      """)
    #expect(
      said == """
        set the rules of com.example.Notes; its view follows them
        1 bad.profile:1:4: 'raed'
        bad.profile:3:10: 'nope'
        standard input:1:4: 'raed'
        standard input:3:10: 'nope'
        sandboxfs policy set: standard input: File too large
        1
        sandboxfs policy set: absent.profile: No such file or directory
        1
        sandboxfs policy set: .: Is a directory
        1
        1
        bundle
        container.plist
        control
        data
        lock
        orphans
        profile
        seal
        same

        """)
  }

  @Test("puts the rules back if the daemon ends over them")
  func deadDaemon() throws {
    let said = try shell(
      """
      sandboxfs mount $APP view
      echo '/Documents/x -write' > good.profile; sandboxfs policy set $APP good.profile
      daemon="$(pgrep -x sandboxfs-view) $(pgrep -x sandboxfs-work)"
      kill -STOP $daemon
      echo '/Documents -write' | sandboxfs policy set $APP - & client=$!
      eventually grep -q '/Documents -write' $C/profile
      # It has asked the daemon, or it would find none.
      eventually sh -c "ls -l /proc/$client/fd | grep socket"
      kill -KILL $daemon; wait $client; echo $?
      cmp good.profile $C/profile && echo same
      sandboxfs unmount -l view
      sandboxfs policy unset $APP
      """)
    #expect(
      said.split(separator: "\n").filter { !$0.contains("Killed") } == [
        "set the rules of com.example.Notes; its view follows them",
        "sandboxfs policy set: the container's daemon has ended before it answered", "1", "same",
        "removed the rules of com.example.Notes",
      ], "\(said)")
  }

  @Test("reload makes views follow what has changed besides, all or those that are named")
  func reload() throws {
    let said = try shell(
      """
      mkdir -p $SANDBOXFS_SETTINGS/profiles
      sandboxfs policy reload; sandboxfs policy reload $APP
      sandboxfs mount $APP view
      echo '/Documents -write' > $SANDBOXFS_SETTINGS/profiles/$APP.profile
      touch view/Documents/a && echo written
      sandboxfs policy reload
      touch view/Documents/b 2> /dev/null || echo refused
      echo '/Documents wirte' > $SANDBOXFS_SETTINGS/profiles/$APP.profile
      sandboxfs policy reload $APP 2>&1 | cut -d: -f1-4; echo ${PIPESTATUS[0]}
      touch view/Documents/b 2> /dev/null || echo refused
      echo '/tmp/x exec' > $SANDBOXFS_SETTINGS/profiles/$APP.profile
      sandboxfs policy reload --json $APP
      """)
    #expect(
      said == """
        com.example.Notes: it is not mounted
        written
        com.example.Notes: its view follows the rules
        refused
        com.example.Notes.profile:1:12: 'wirte'
        1
        refused
        [
          {
            "identifier": "com.example.Notes",
            "mounted": true,
            "kept": [],
            "notes": [
              "what may be executed outside of the bundle changes at the next mount"
            ]
          }
        ]

        """)
  }
}
