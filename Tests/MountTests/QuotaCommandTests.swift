// Limits by the command line: what they are, what is used, and what is done about books that are
// wrong.

import Glibc
import TestSupport
import Testing

@Suite("sandboxfs quota", .enabled(if: geteuid() == 0, "needs root"))
struct QuotaCommandTests {
  // A new container holds one file: the tag of its caches.
  @Test("sets limits, shows what is used, and they hold at once and at the next mount")
  func limits() throws {
    let said = try shell(
      """
      q() { sandboxfs quota "$@" $APP | sed 's/  */ /g'; }
      echo '/Library/Caches quota=20K,3' | sandboxfs policy set $APP - > /dev/null
      q; sandboxfs mount $APP view
      head -c 5000 /dev/zero > view/Documents/a; echo x > view/Library/Caches/c
      q --set 16K --files 9
      head -c 9000 /dev/zero 2> /dev/null > view/Documents/b || echo refused
      rm view/Documents/b; touch view/Library/Caches/d
      touch view/Library/Caches/f 2> /dev/null || echo refused
      df --output=size,used,avail view | tail -1 | xargs
      df --output=itotal,iavail view/Library/Caches | tail -1 | xargs
      sandboxfs unmount view; q --soft 12K --files none; sandboxfs mount $APP view
      head -c 9000 /dev/zero 2> /dev/null > view/Documents/b || echo refused
      q --set none --soft none; head -c 9000 /dev/zero > view/Documents/b && echo written
      sandboxfs log $APP | grep EDQUOT | grep -o built-in:limit | sort -u
      """)
    #expect(
      said == """
        WHAT USED LIMIT FREE FILES LIMIT FREE SET BY
        com.example.Notes 4096 B - - 1 - - -
        /Library/Caches 4096 B 20.0 KiB 16.0 KiB 1 3 2 com.example.Notes/profile:1
        WHAT USED LIMIT FREE FILES LIMIT FREE SET BY
        com.example.Notes 16.0 KiB 16.0 KiB 0 B 3 9 6 record
        /Library/Caches 8192 B 20.0 KiB 12.0 KiB 2 3 1 com.example.Notes/profile:1
        refused
        refused
        16 16 0
        3 0
        WHAT USED LIMIT FREE FILES LIMIT FREE SET BY
        com.example.Notes 16.0 KiB 16.0 KiB 0 B 4 - - record, log beyond 12.0 KiB
        /Library/Caches 8192 B 20.0 KiB 12.0 KiB 3 3 0 com.example.Notes/profile:1
        refused
        WHAT USED LIMIT FREE FILES LIMIT FREE SET BY
        com.example.Notes 16.0 KiB - - 5 - - -
        /Library/Caches 8192 B 20.0 KiB 12.0 KiB 3 3 0 com.example.Notes/profile:1
        written
        built-in:limit

        """)
  }

  @Test("says what it does not understand, and changes nothing")
  func mistakes() throws {
    let said = try shell(
      """
      sandboxfs quota --set much $APP 2>&1 || echo $?
      sandboxfs quota --files 1K $APP 2>&1 || echo $?
      sandboxfs quota com.example.Absent 2>&1 | cut -c1-50
      grep -c Limit $C/container.plist
      """)
    #expect(
      said == """
        sandboxfs quota: --set 'much': expected a size such as 500M or 2G, or none
        2
        sandboxfs quota: --files '1K': expected a number of files, or none
        2
        sandboxfs quota: com.example.Absent is not install
        0

        """)
  }

  @Test("check tells what was changed behind the view, and repairs it")
  func check() throws {
    let said = try shell(
      """
      sandboxfs check; sandboxfs quota --set 1M $APP > /dev/null; sandboxfs mount $APP view
      sandboxfs check; echo x > $C/data/Documents/behind
      sandboxfs check | sed 's/  */ /g'; sandboxfs check --json $APP | grep right
      sandboxfs check --repair | tail -1; sandboxfs check $APP
      sandboxfs exclude $APP Documents/behind; sandboxfs check $APP
      """)
    #expect(
      said == """
        everything is right
        everything is right
        APP LIMIT BYTES COUNTED FILES COUNTED
        com.example.Notes record 4096 8192 1 2
        'sandboxfs check --repair' sets it right
            "right": false
        it is set right
        everything is right
        everything is right

        """)
  }
}
