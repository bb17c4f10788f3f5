// `sandboxfs upgrade`, as people use it.

import Glibc
import Testing

@Suite("sandboxfs upgrade", .enabled(if: geteuid() == 0, "needs root"))
struct UpgradeCommandTests {
  @Test("moves each view once to the program that is installed, and says how long nobody served")
  func upgrade() throws {
    let said = try shell(
      #"""
      sandboxfs mount $APP view
      sandboxfs mount $APP second
      exec 5> view/Documents/open
      sandboxfs upgrade $APP | sed 's/ [0-9]* ms/ N ms/'
      sandboxfs upgrade --all --json | sed 's/: [0-9]\+,*$/: N/; s/"[0-9]*:[0-9]*"/"M:N"/'
      echo after >&5 && cat view/Documents/open
      sandboxfs status --json $APP | grep -m 3 -E 'version|restarts|upgrades'
      sandboxfs log $APP
      sandboxfs unmount second && exec 5>&- && sandboxfs unmount view
      """#)
    #expect(
      said == """
        com.example.Notes: 0.1.0, after a pause of N ms
        [
          {
            "identifier": "com.example.Notes",
            "device": "M:N",
            "state": "upgraded",
            "before": "0.1.0",
            "now": "0.1.0",
            "pauseMicroseconds": N
          }
        ]
        after
            "version": "0.1.0",
            "restarts": 2,
            "upgrades": 2,

        """)
  }

  @Test("refuses, and changes nothing, where nobody could go on")
  func refusals() throws {
    let said = try shell(
      #"""
      sandboxfs upgrade --all && echo nothing to do
      sandboxfs upgrade; sandboxfs upgrade --all $APP; sandboxfs upgrade no/app
      sandboxfs upgrade $APP; echo "status $?"
      sandboxfs upgrade com.example.None; echo "status $?"
      mkdir own && cp "$(command -v sandboxfs)" "$(command -v sandboxfs-view)" own
      own/sandboxfs mount $APP view
      printf '#!/bin/sh\necho "error it keeps other books" >&5\n' > new && chmod 755 new
      mv new own/sandboxfs-view
      sandboxfs upgrade $APP; echo "status $?"
      sandboxfs upgrade $APP --json 2>&1 | grep reason
      touch view/tmp/a && sandboxfs unmount view
      """#)
    let refusal = "PLACE/own/sandboxfs-view cannot go on with the view: it keeps other books"
    #expect(
      said == """
        no view is mounted
        nothing to do
        sandboxfs upgrade: which view? write the identifier of an app, or --all
        sandboxfs upgrade: --all and 'com.example.Notes' exclude each other
        sandboxfs upgrade: 'no/app' is no app's identifier, such as com.example.Notes; \
        see 'sandboxfs list'
        sandboxfs upgrade: no view of 'com.example.Notes' is mounted; the next mount has the new \
        program
        status 1
        sandboxfs upgrade: com.example.None is not installed in PLACE/store: see 'sandboxfs list'
        status 1
        sandboxfs upgrade: com.example.Notes: \(refusal)
        status 1
            "reason": "\(refusal)"

        """)
  }

  @Test("a program that takes long to say whether it can go on keeps nobody else waiting")
  func patience() throws {
    let said = try shell(
      #"""
      mkdir own && cp "$(command -v sandboxfs)" "$(command -v sandboxfs-view)" own
      own/sandboxfs mount $APP view
      cat > new <<END
      #!/bin/sh
      : > $PWD/asked
      while [ ! -e $PWD/go ]; do sleep 0.02; done
      echo "error it has thought about it" >&5
      END
      chmod 755 new && mv new own/sandboxfs-view
      sandboxfs upgrade $APP 2> refusal & upgrade=$!
      eventually [ -e asked ]
      for _ in 1 2 3; do sandboxfs status --json $APP | grep state; done
      : > go; wait $upgrade; echo "status $?"; grep -o 'it has.*' refusal
      sandboxfs unmount view
      """#)
    let answering = "    \"state\": \"answering\",\n"
    let answers = String(repeating: answering, count: 3)
    #expect(said == answers + "status 1\nit has thought about it\n")
  }
}
