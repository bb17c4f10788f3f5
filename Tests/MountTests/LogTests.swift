// `sandboxfs log`: what was refused, for a person and for a program, while it happens and later.

import Glibc
import TestSupport
import Testing

/// Hides what differs from one run to the next.
private let tidy =
  #"sed -E -e 's/[0-9-]{10}T[0-9:.]{12}Z/TIME/' -e 's/\[[0-9]+\]/[PID]/' -e 's/  +/  /g'"#

@Suite("sandboxfs log", .enabled(if: geteuid() == 0, "needs root"))
struct LogTests {
  @Test("shows what was refused, while the view is mounted and after that")
  func shown() throws {
    let said = try shell(
      """
      sandboxfs log $APP; echo "before: $?"
      sandboxfs mount $APP view
      mkdir view/new 2> /dev/null
      mkdir "$(printf 'view/a\\033 \\377')" 2> /dev/null
      mv view/Documents view/tmp/Docs 2> /dev/null
      eventually grep -q path2 $C/log
      sandboxfs log $APP | \(tidy)
      sandboxfs unmount view
      sandboxfs log $APP | wc -l
      sandboxfs log --json $APP | cmp - $C/log && echo same
      sandboxfs log --since 1d $APP | wc -l
      sandboxfs log --since 2999-12-31 $APP; echo "later: $?"
      """)
    #expect(
      said == #"""
        before: 0
        TIME  OPERATION  RESULT  COUNT  PROCESS  RULE  PATH
        TIME  create  EACCES  1  mkdir[PID]  built-in:unset  /new
        TIME  create  EACCES  1  mkdir[PID]  built-in:unset  "/a\033 \377"
        TIME  rename  EPERM  1  mv[PID]  built-in:structural  /Documents -> /tmp/Docs
        4
        same
        4
        later: 0

        """#)
  }

  @Test("tells what was lost, how often, and how much it could not read")
  func lines() throws {
    let said = try shell(
      #"""
      TIME='"time":"2026-01-01T00:00:00.000Z"'
      WHO='"pid":1,"uid":2,"command":"sh"'
      WHAT='"operation":"read","path":"/tmp/\u00e4","result":"EACCES","rule":"a:1","count":12'
      echo "{$TIME,$WHO,$WHAT}" > $C/log.1
      echo '{"time":"2026-01-02T00:00:00.000Z","lost":345}' > $C/log
      echo '{"time":"2026-01-0' >> $C/log
      printf '{"time":"2026-01-03T00:00:00.000Z","lost":6}' >> $C/log
      sandboxfs log $APP
      sandboxfs log --since 2026-01-02 --json $APP
      """#)
    #expect(
      said == #"""
        TIME                      OPERATION  RESULT  COUNT  PROCESS  RULE  PATH
        2026-01-01T00:00:00.000Z  read       EACCES  12     sh[1]    a:1   /tmp/\344
        2026-01-02T00:00:00.000Z  lost       -       345    -        -     more than could be noted
        sandboxfs log: lines that can't be read were left out: 1
        {"time":"2026-01-02T00:00:00.000Z","lost":345}
        sandboxfs log: lines that can't be read were left out: 1

        """#)
  }

  @Test("follows a view over its unmount, and the log when it is full")
  func following() throws {
    let said = try shell(
      #"""
      line='{"time":"2026-01-01T00:00:00.000Z","lost":1}'
      sandboxfs log -f --json $APP > followed &
      eventually pgrep -x sandboxfs
      for _ in $(seq 23300); do echo "$line"; done > full
      mv full $C/log
      sandboxfs mount $APP view
      for name in a b c; do
        mkdir view/$name 2> /dev/null
        eventually grep -q "\"/$name\"" followed
      done
      sandboxfs unmount view; sandboxfs mount $APP view
      mkdir view/d 2> /dev/null
      eventually grep -q '"/d"' followed
      sort followed > one; sort $C/log.1 $C/log > other; cmp one other && wc -l < one
      ls $C | grep log
      sandboxfs unmount view
      sandboxfs uninstall --yes $APP
      eventually wait %1; echo "the follower: $?"
      """#)
    #expect(
      said == """
        23304
        log
        log.1
        log.first
        removed com.example.Notes
        the follower: 0

        """)
  }

  @Test("that is no file of the container's own is neither written nor read, and nothing mounts")
  func defects() throws {
    let said = try shell(
      #"""
      attempt() {
        sandboxfs mount $APP view; echo "mount: $?"
        sandboxfs log $APP; echo "log: $?"
        rm -rf $C/log
      }
      mkdir $C/log; attempt
      ln -s $PLACE/elsewhere $C/log; attempt
      mkfifo $C/log; attempt
      touch $C/log; chown 12345 $C/log; attempt
      echo other > other; ln other $C/log; attempt
      cat other; ls elsewhere
      sandboxfs mount $APP view && mkdir view/a 2> /dev/null
      eventually test -e $C/log.first
      mv $C/log aside; ln -s $PLACE/elsewhere $C/log
      mkdir view/b 2> /dev/null
      sandboxfs unmount view; ls elsewhere
      """#)
    let mount = "sandboxfs mount: the audit log 'log' in the container's directory"
    let log = "sandboxfs log: the log of com.example.Notes:"
    #expect(
      said == """
        \(mount) is a directory: move it away
        mount: 1
        \(log) what is in its place is no regular file: move it away
        log: 1
        \(mount) is a symbolic link: move it away
        mount: 1
        \(log) a symbolic link is in its place: move it away
        log: 1
        \(mount) is no regular file: move it away
        mount: 1
        \(log) what is in its place is no regular file: move it away
        log: 1
        \(mount) belongs to uid 12345 and not to uid 0, as the container does: move it away
        mount: 1
        log: 0
        \(mount) has another name elsewhere: move it away
        mount: 1
        sandboxfs log: lines that can't be read were left out: 1
        log: 0
        other
        ls: cannot access 'elsewhere': No such file or directory
        ls: cannot access 'elsewhere': No such file or directory

        """)
  }

  @Test("tells nothing of what -audit keeps silent, and what audit wants of what was allowed")
  func audited() throws {
    let said = try shell(
      #"""
      sandboxfs mount $APP view
      mkdir view/Documents/loud view/Documents/silent; echo x > view/Documents/silent/f
      printf '/Documents/loud audit\n/Documents/silent -write -audit\n' |
        sandboxfs policy set $APP - > /dev/null
      cd view/Documents/loud
      echo text > a; cat a; chmod 600 a; mv a b; rm b
      cd ../silent
      echo y 2> /dev/null >> f || echo refused
      rm f 2> /dev/null || echo refused
      mkdir d 2> /dev/null || echo refused
      cd "$PLACE"; sandboxfs unmount view
      sandboxfs log $APP | sed 1d | \#(tidy) | sed -E 's/TIME *//; s/  [a-z]+\[PID\]//'
      """#)
    #expect(
      said == """
        text
        refused
        refused
        refused
        create  OK  1  ios.profile:3  /Documents/loud/a
        read  OK  1  ios.profile:3  /Documents/loud/a
        setattr  OK  1  ios.profile:3  /Documents/loud/a
        rename  OK  1  ios.profile:3  /Documents/loud/a -> /Documents/loud/b
        remove  OK  1  ios.profile:3  /Documents/loud/b

        """)
  }

  @Test("of an app that is not there, or of a time that is none, is refused in one line")
  func refused() throws {
    let said = try shell(
      """
      sandboxfs log com.example.Absent; echo $?
      for time in yesterday 5 -1h 2026-13 99999999999d 2026-01-01T1; do
        sandboxfs log --since=$time $APP 2> error; echo "$? $(wc -l < error)"
      done
      for time in 5s 2m 3h 4d 2026-01-01T10:20 '2026-01-01 10:20:30Z' 2026-01-01T10:20:30.123Z; do
        sandboxfs log --since="$time" $APP || echo "not $time"
      done
      """)
    let line = "is not installed in PLACE/store: see 'sandboxfs list'"
    #expect(
      said == "sandboxfs log: com.example.Absent \(line)\n1\n"
        + String(repeating: "2 1\n", count: 6))
  }
}
