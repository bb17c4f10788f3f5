// `sandboxfs policy learn`: what is proposed makes the same run succeed; nothing is lent beyond
// what may be, nor for longer than the run.

import Glibc
import TestSupport
import Testing

/// An app with directories under rules of their own, and `job`, a script that wants more than it
/// may; `run` runs it.
private let scene = """
  mkdir $C/data/Documents/old $C/data/Documents/log $C/data/Documents/secret
  echo x > $C/data/Documents/log/l
  chown -R --reference=$C/data $C/data/Documents
  printf '/Documents/old -write\\n/Documents/log append\\n/Documents/secret -read\\n' > own
  sandboxfs policy set $APP own
  cat > job <<'END'
  cd
  echo a > notes.txt; sed -i s/a/b/ notes.txt
  mkdir state; for i in 1 2 3 4 5; do echo $i > state/$i; done
  for i in 1 2 3 4; do echo $i > Documents/old/$i.txt; done
  ls Documents/secret; ln -sf x link; echo x > 'a b#*'; cat notes.txt
  END
  run() { sandboxfs run $APP -- sh -c "$(cat job)"; }
  learn() { sandboxfs policy learn "$@" $APP -- sh -c "$(cat job)"; }

  """

@Suite("sandboxfs policy learn", .enabled(if: geteuid() == 0, "needs root"))
struct LearnTests {
  @Test("proposes few lines, with which the same run is refused nothing")
  func applied() throws {
    let said = try shell(
      scene + """
        run > /dev/null 2>&1; [ -s $C/log ] && echo refused
        learn -o new; echo $?
        cat new
        sandboxfs run $APP -- sh -c 'rm notes.txt 2> /dev/null || echo back'
        sandboxfs policy set $APP new
        sandboxfs run $APP -- \\
          sh -c 'rm -r notes.txt state link Documents/old/*.txt "a b#*"'
        wc -l < $C/log; run; wc -l < $C/log
        sandboxfs run $APP -- sh -c 'rm -r state link'
        learn > again 2> /dev/null; cmp new again && echo same
        """)
    #expect(
      said == #"""
        set the rules of com.example.Notes
        refused
        b
        sandboxfs policy learn: lines that were added: 7
        0
        /Documents/old -write
        /Documents/log append
        /Documents/secret -read

        # Learned from sh -c "cd\012echo a > notes.txt; sed -i s/a/b/ notes.txt\012mkdir s...
        /Documents/old/*.txt write
        /Documents/secret read
        "/a b#\*" write
        /link write
        /notes.txt write
        /sed* write
        /state write
        back
        set the rules of com.example.Notes
        10
        b
        10
        same

        """#)
  }

  @Test("lends nothing that is structural, sealed, hidden, append, or the administrator's")
  func refused() throws {
    let said = try shell(
      scene + """
        mkdir -p $SANDBOXFS_SETTINGS/profiles
        echo '/Documents/secret -read' > $SANDBOXFS_SETTINGS/limits.profile
        echo '/admin* -write' > $SANDBOXFS_SETTINGS/profiles/$APP.profile
        echo '/none hidden' >> own; sandboxfs policy set $APP own
        sandboxfs policy learn $APP -- sh -c '
          ls Documents/secret; echo > admins; echo > none; mkdir x.app; chmod 700 .
          rm -f Documents/log/l; rmdir tmp; echo > Notes.app/x; cp /bin/true t; ./t
          exit 3' 2> /dev/null
        echo $?
        """)
    #expect(
      said == """
        set the rules of com.example.Notes
        set the rules of com.example.Notes
        /Documents/old -write
        /Documents/log append
        /Documents/secret -read
        /none hidden

        # Learned from sh -c "\\012  ls Documents/secret; echo > admins; echo > none; mkdir...
        /t write
        # Refused, and not to be allowed by a line here:
        #   create /admins: EACCES, com.example.Notes.profile:1
        #   create /none: EACCES, com.example.Notes/profile:4
        #   create /x.app: EACCES, ios.profile:8
        #   list /Documents/secret: EACCES, limits.profile:1
        #   remove /Documents/log/l: EPERM, com.example.Notes/profile:2
        #   remove /tmp: EPERM, built-in:structural
        #   setattr /: EACCES, built-in:unset
        3

        """)
  }

  @Test("puts the rules back when it is killed, and lets one learn at a time")
  func ended() throws {
    let said = try shell(
      scene + """
        sandboxfs mount $APP view
        mkdir view/a 2> /dev/null || echo refused
        sandboxfs policy learn $APP -- sh -c 'echo > ready; sleep 4718' & learner=$!
        eventually test -e view/ready
        mkdir view/a && echo lent
        sandboxfs policy learn $APP -- true; echo $?
        kill -KILL $learner; wait $learner 2> /dev/null
        refuses() { ! mkdir view/b || { rmdir view/b; false; }; }
        eventually refuses && rmdir view/a 2> /dev/null || echo refused
        sandboxfs policy learn $APP -- true
        """)
    #expect(
      said.split(separator: "\n").filter { !$0.contains("Killed") } == [
        "set the rules of com.example.Notes", "refused", "lent",
        "sandboxfs policy learn: somebody else is learning rules of this app", "125", "refused",
        "/Documents/old -write", "/Documents/log append", "/Documents/secret -read",
        "sandboxfs policy learn: nothing was refused",
      ], "\(said)")
  }

  @Test("ends when other rules are set, which hold at once")
  func overtaken() throws {
    let said = try shell(
      scene + """
        sandboxfs mount $APP view
        sandboxfs policy learn $APP -- sh -c 'echo > ready
          while ! [ -e tmp/go ]; do sleep 0.1; done; mkdir new' & learner=$!
        eventually test -e view/ready
        echo '/Documents/secret -read' | sandboxfs policy set $APP -
        mkdir view/a 2> /dev/null || echo refused
        touch view/tmp/go; wait $learner; echo $?
        """)
    #expect(
      said == """
        set the rules of com.example.Notes
        set the rules of com.example.Notes; its view follows them
        refused
        mkdir: cannot create directory ‘new’: Permission denied
        sandboxfs policy learn: the rules were changed meanwhile, so nothing could be learned
        125

        """)
  }

  @Test("runs nothing where the profile could not be written, and passes statuses on")
  func statuses() throws {
    let said = try shell(
      """
      sandboxfs policy learn -o absent/file $APP -- touch Documents/ran; echo $?
      ls $C/data/Documents
      sandboxfs policy learn com.example.Absent -- true 2> /dev/null; echo $?
      sandboxfs policy learn $APP -- ; echo $?
      sandboxfs policy learn -o new $APP -- no-such-command 2> /dev/null; echo $?
      sandboxfs policy learn -o new $APP 2> error; echo $?; cat error; wc -c < new
      """)
    #expect(
      said == """
        sandboxfs policy learn: absent/file: No such file or directory
        125
        125
        sandboxfs policy learn: COMMAND is missing behind '--'
        125
        127
        1.0
        0
        sandboxfs policy learn: nothing was refused
        0

        """)
  }
}
