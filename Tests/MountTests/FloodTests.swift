// A flood of refusals, on a real mount: what an app can do to hide one among millions.

import Containers
import Glibc
import LinuxKit
import Mounting
import Synchronization
import TestSupport
import Testing

/// What is refused, each for another reason; `number` makes names that were not used before.
private let attempts: [@Sendable (_ view: String, _ number: Int) -> CInt] = [
  { mkdir("\($0)/new\($1)", 0o700) },
  { view, _ in rmdir("\(view)/Documents") },
  { mknod("\($0)/tmp/device\($1)", S_IFCHR | 0o666, 0x103) },
  { mkdir("\($0)/Documents/closed/\($1)", 0o700) },
  { view, _ in chmod("\(view)/Documents/closed", 0o777) },
  { view, _ in rename("\(view)/tmp", "\(view)/Documents/x") },
  { symlink("x", "\($0)/Documents/\($1).key") },
]

private let rules = """
  / read
  /Documents read write
  /Documents/closed -write
  /Documents/*.key hidden
  /tmp read write

  """

@Suite(.serialized) struct FloodTests {
  @Test("of many threads, kinds and paths is counted to the last, and hides no kind")
  func counted() throws {
    try withMountingScene { scene in
      #expect(mkdir("\(scene.container)/data/Documents/closed", 0o700) == 0)
      try scene.mount(rules: rules)
      let perThread = 3000
      let refused = Atomic(0)
      let view = scene.target
      // The kinds alternate; the last of them comes when the flood is well under way.
      let flood: @Sendable (Int) -> @Sendable () throws -> Void = { thread in
        {
          for number in 0..<perThread {
            let isEarly = number < perThread / 2
            let kind = number % (isEarly ? attempts.count - 1 : attempts.count)
            let result = attempts[kind](view, thread * perThread + number)
            if result != 0 { refused.add(1, ordering: .relaxed) }
          }
        }
      }
      try concurrently((0..<4).map(flood))
      #expect(refused.load(ordering: .relaxed) == 4 * perThread)
      try scene.unmount()
      let records = try scene.log()
      let total = records.reduce(0) { $0 + count($1) }
      #expect(total == 4 * perThread)
      #expect(Set(records.filter { $0["path"] != nil }.map(kind)).count == attempts.count)
      #expect(records.allSatisfy { $0["lost"] == nil })
    }
  }

  @Test("that fills the log twice leaves the first line of each kind before it")
  func fullLog() throws {
    let said = try shell(
      #"""
      sandboxfs mount $APP view
      rmdir view/Documents 2> /dev/null
      eventually grep -q '"remove"' $C/log
      long=$(head -c 60000 /dev/zero | tr '\0' x)
      line="{\"time\":\"$(date -u +%FT%T.%3NZ)\",\"lost\":1,\"x\":\"$long\"}"
      for _ in $(seq 17); do echo "$line"; done > full
      cp full $C/log; cp full $C/log.1
      mkdir view/new 2> /dev/null
      eventually grep -q '"create"' $C/log
      sandboxfs log --json $APP | grep -v '"lost"' | grep -o '"operation":"[a-z]*"'
      rmdir view/Documents 2> /dev/null
      sandboxfs unmount view
      sandboxfs mount $APP view
      rmdir view/Documents 2> /dev/null
      sandboxfs unmount view
      grep -c remove $C/log.first; wc -l < $C/log.first
      """#)
    #expect(
      said == """
        "operation":"remove"
        "operation":"create"
        1
        2

        """)
  }

  @Test("on a disk that is full is counted, and told when there is room again")
  func fullDisk() throws {
    let said = try shell(
      #"""
      mkdir small; mount -t tmpfs -o size=2m none small || exit
      cp -a $SANDBOXFS_STORE/. small; chmod 700 small
      SANDBOXFS_STORE=$PLACE/small; C=$SANDBOXFS_STORE/containers/$APP
      sandboxfs mount $APP view
      head -c 4M /dev/zero > small/fill 2> /dev/null
      for n in 1 2 3 4 5; do mkdir view/full$n 2> /dev/null; done
      rmdir view/Documents 2> /dev/null
      eventually test -e $C/log; sleep 0.2; wc -c < $C/log
      rm small/fill
      mkdir view/last 2> /dev/null
      sandboxfs unmount view
      sandboxfs log --json $APP | grep -o '"lost":6'
      sandboxfs log --json $APP | grep -c '"/last"'
      grep -c . $C/log.first
      umount -l small
      """#)
    #expect(said == "0\n\"lost\":6\n1\n1\n")
  }

  private func count(_ record: [String: String]) -> Int {
    let member = record["more"] ?? record["lost"] ?? record["count"] ?? "1"
    return Int(member) ?? 0
  }

  private func kind(_ record: [String: String]) -> String {
    ["operation", "result", "rule", "uid"].map { record[$0] ?? "" }.joined(separator: " ")
  }
}
