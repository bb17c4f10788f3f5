// What `sandboxfs log --suggest` proposes is tried: with it the app gets what it was refused.

import Glibc
import TestSupport
import Testing

@Suite("sandboxfs log --suggest", .enabled(if: geteuid() == 0, "needs root"))
struct LogSuggestionTests {
  @Test("proposes lines with which the same operations succeed, and names what no rule allows")
  func tried() throws {
    let said = try shell(
      #"""
      mkdir -p $C/data/Documents/closed; touch $C/data/Documents/closed/old $C/data/Documents/l
      printf '/Documents/closed -write\n/Documents/l append\n/Documents/*.key hidden\n' > own
      sandboxfs policy set $APP own > /dev/null
      sandboxfs mount $APP view
      app() {
        for n in 1 2 3 4 5; do touch "view/Documents/closed/$n"; done
        rm -f view/Documents/closed/old
        mkdir 'view/own files'; mkdir 'view/own files/x'
        truncate -s 0 view/Documents/l
        touch view/Documents/a.key view/Library/Preferences/plain
        rmdir view/Documents/closed
        rmdir view/tmp
      }
      app 2> first
      sandboxfs unmount view
      sandboxfs log --suggest $APP | tee suggested
      echo "log: ${PIPESTATUS[0]}"
      cat own suggested | sandboxfs policy set $APP -
      sandboxfs mount $APP view
      echo "before: $(grep -c . first)"; app
      sandboxfs unmount view
      sandboxfs log --suggest $APP
      """#)
    let reason = "by built-in:structural): nothing: this holds whatever the rules say"
    #expect(
      said == #"""
        # for the end of the rules of com.example.Notes: see 'sandboxfs policy set'
        /Documents/closed write   # 7 refusals: create, remove at 7 paths
        "/own files" write        # 1 refusal: create
        /Documents/a.key -hidden  # 1 refusal: create
        /Documents/l -append      # 1 refusal: write
        # refused whatever that profile says; what would help instead:
        #   remove /tmp (1 refusal, \#(reason)
        log: 0
        set the rules of com.example.Notes
        before: 12
        rmdir: failed to remove 'view/Documents/closed': Directory not empty
        rmdir: failed to remove 'view/tmp': Operation not permitted
        # refused whatever that profile says; what would help instead:
        #   remove /tmp (2 refusals, \#(reason)
        # 10 refusals: allowed by the rules as they are now

        """#)
  }

  @Test("is JSON for programs, heeds --since, and says nothing where there is nothing")
  func programs() throws {
    let said = try shell(
      #"""
      sandboxfs log --suggest $APP; echo "nothing: $?"
      WHO='"pid":1,"uid":2,"command":"sh"'
      line() { echo "{\"time\":\"$1\",$WHO,$2,\"result\":\"EACCES\",\"rule\":\"built-in:unset\"}"; }
      line 2026-01-01T00:00:00.000Z '"operation":"create","path":"/old"' > $C/log
      line 2026-01-03T00:00:00.000Z '"operation":"create","path":"/a\u00ff b","count":3' >> $C/log
      line 2026-01-03T00:00:00.000Z '"operation":"create","path":"nd/of/a/long/one"' >> $C/log
      line 2026-01-03T00:00:00.000Z '"operation":"remove","path":"/tmp"' | sed 's/EACCES/EPERM/' >> $C/log
      line 2026-01-03T00:00:00.000Z '"operation":"create","more":40' >> $C/log
      echo '{"time":"2026-01-03T00:00:00.000Z","lost":2}' >> $C/log
      echo nonsense >> $C/log
      sandboxfs log --since 2026-01-02 --json --suggest $APP
      sandboxfs log --suggest -f $APP; echo $?
      """#)
    #expect(
      said == #"""
        nothing: 0
        {
          "lines": [
            {
              "line": "\"/a\\377 b\" write",
              "refusals": 3,
              "paths": 1,
              "operations": [
                "create"
              ]
            }
          ],
          "notByRules": [
            {
              "operation": "remove",
              "paths": [
                "/tmp"
              ],
              "rule": "built-in:structural",
              "instead": "nothing: this holds whatever the rules say",
              "refusals": 1
            }
          ],
          "allowedByNow": 0,
          "leftOut": 0,
          "withoutPath": 43
        }
        sandboxfs log: lines that can't be read were left out: 1
        sandboxfs log: --suggest and --follow exclude each other
        2

        """#)
  }
}
