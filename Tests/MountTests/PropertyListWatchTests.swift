// What is no property list, in Library/Preferences, is named in the log.

import Containers
import Foundation
import TestSupport
import Testing

extension RunScene {
  /// The paths that the log names as no property lists, or as not looked at, in their order.
  func named(_ app: String, _ rule: String) throws -> [String] {
    let outcome = try perform([program, "log", "--json", app])
    #expect(outcome.status == 0, "\(outcome.errorText)")
    return outcome.text.split(separator: "\n").compactMap { line in
      guard case .request(let request) = AuditEntry(line: Array(line.utf8)),
        request.rule.elementsEqual("built-in:\(rule)".utf8)
      else { return nil }
      #expect(request.operation == "write" && !request.isRefused, "\(line)")
      return String(decoding: request.path, as: UTF8.self)
    }
  }
}

@Suite("Property lists that are none", .enabled(if: geteuid() == 0, "needs root"))
struct PropertyListWatchTests {
  @Test(
    "a file that is no property list is named when it is closed or gets its name, and no other",
    arguments: RunScene.Person.allCases)
  func names(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      let app = try scene.installScript("Lists")
      _ = try scene.script(
        app,
        """
        cd Library/Preferences
        echo '{ a = b; }' > openstep.plist
        echo '<plist version="1.0"><dict/></plist>' > xml.plist
        printf 'bplist00\\320\\010\\0\\0\\0\\0\\0\\0\\001\\001' > binary.plist
        printf '\\0\\0\\0\\0\\0\\0\\0\\001' >> binary.plist
        printf '\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\011' >> binary.plist
        echo rubbish > rubbish; echo rubbish > ../../Documents/rubbish.plist
        echo word > word.plist
        echo '{ a = ' > cut.plist
        mkdir -p ByHost; : > ByHost/empty.plist
        echo '<plist><dict>' > cut.tmp; sleep 0.2; mv cut.tmp renamed.plist
        echo '<plist><dict>' > gone.plist; rm gone.plist
        cat cut.plist > /dev/null
        (echo '{ a = '; sleep 0.2; echo 'b; }') > slow.plist
        truncate -s 2M large.plist
        sleep 0.3
        """)
      let want = ["ByHost/empty", "cut", "renamed", "word"]
      let found = try scene.named(app, "property-list")
      #expect(found.sorted() == want.map { "/Library/Preferences/\($0).plist" })
      #expect(
        try scene.named(app, "property-list-unread") == ["/Library/Preferences/large.plist"])
    }
  }

  @Test("who writes more than anybody can look at hides nothing that is refused")
  func flood() throws {
    try withRunScene(.root) { scene in
      let app = try scene.installScript("Flood")
      _ = try scene.script(
        app,
        """
        cd Library/Preferences
        : > /home/app/tmp/a; ln /home/app/tmp/a /home/app/Library/Caches/a 2> /dev/null || :
        for number in $(seq 2000); do : > $number.plist; done
        mv ../../Documents ../../Other 2> /dev/null || :
        sleep 0.3
        """)
      let log = try scene.perform([scene.program, "log", "--json", app]).text
      #expect(log.contains("built-in:structural"))
      #expect(log.contains("\"rule\":\"built-in:property-list\""))
      #expect(log.contains("\"rule\":\"built-in:property-list-unread\""))
      #expect(log.utf8.count < 1 << 20)
    }
  }

  @Test("under the profile ios GNUstep's temporary names and lock have room, and others have none")
  func onlyPropertyLists() throws {
    try withRunScene(.root) { scene in
      let bundle = try scene.makeBundle("Only")
      let installed = try scene.perform(
        [scene.program, "install", "--profile", "ios", bundle])
      try #require(installed.status == 0, "\(installed.errorText)")
      let text = try scene.script(
        "org.example.Only",
        """
        cd Library/Preferences
        for name in a.plist a.plistX1y2Z3 a.plistX1 notes.txt .hidden .GNUstepDefaults; do
          if (: > $name) 2> /dev/null; then echo $name; fi
        done
        mkdir .lck .lck/.GNUstepDefaults.lck && rmdir .lck/.GNUstepDefaults.lck && echo locked
        mkdir folder 2> /dev/null || mv a.plist a.txt 2> /dev/null || echo refused
        """)
      #expect(text == "a.plist\na.plistX1y2Z3\n.GNUstepDefaults\nlocked\nrefused\n")
    }
  }
}
