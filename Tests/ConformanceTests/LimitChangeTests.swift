// Who serves a view dies over a change of its limits: whoever takes over counts anew, so that the
// books are those of the limits that hold.

import Containers
import Glibc
import LinuxKit
import TestSupport
import Testing

private let page = 4096

/// Makes a file of so many pages.
private func fill(_ path: String, pages: Int) throws {
  let file = try Descriptor.open(path, O_WRONLY | O_CREAT, mode: 0o600)
  try file.writeAll([UInt8](repeating: 1, count: pages * page))
}

@Suite("After a death over a change of limits,", .serialized) struct LimitChangeTests {
  /// Where a change of limits can end; the second only where nothing was limited before.
  private static let steps = Array(0..<5)

  @Test("the books are those of the policy that holds", arguments: steps)
  func policy(_ step: Int) throws {
    try withGround(.memory) { directory in
      var settings = TestView.Settings(
        profile: "/ read write\n/Documents quota=1G\n",
        faults: ["SANDBOXFS_FAULT_CHANGE": "\(step)"])
      if step != 1 { settings.limits = ContainerLimits(byteCount: 1 << 30) }
      if step == 1 { settings.profile = "/ read write\n" }
      let view = try TestView(in: directory, settings)
      try fill(view.path + "/Documents/f", pages: 3)
      try fill(view.path + "/tmp/t", pages: 5)
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: 300)
      usleep(50_000)
      #expect(throws: Errno.self) {
        try view.setProfile("/ read write\n/tmp quota=24K,9\n/Documents quota=2G\n")
      }
      #expect(try app.wait() == 0)
      #expect(eventually { view.restarts() == 1 })
      #expect(try view.used("test.profile:2") == Cost(bytes: 5 * page, entries: 1))
      #expect(try view.used("test.profile:3") == Cost(bytes: 3 * page, entries: 1))
      if step != 1 { #expect(try view.used() == Cost(bytes: 8 * page, entries: 2)) }
      try fill(view.path + "/tmp/u", pages: 1)
      #expect(throws: Errno(EDQUOT)) { try fill(view.path + "/tmp/v", pages: 1) }
      #expect(try view.unmount() == 0)
      #expect(events(in: view.container).isEmpty)
    }
  }

  @Test("the container's own limit is the old one or the new one", arguments: steps)
  func own(_ step: Int) throws {
    try withGround(.memory) { directory in
      let view = try TestView(
        in: directory, TestView.Settings(faults: ["SANDBOXFS_FAULT_CHANGE": "\(step)"]))
      try fill(view.path + "/Documents/f", pages: 3)
      let app = try startSurvivor(in: view.path + "/Documents", milliseconds: 300)
      usleep(50_000)
      #expect(throws: Errno.self) { try view.limit(bytes: 64 * page) }
      #expect(try app.wait() == 0)
      #expect(eventually { view.restarts() == 1 })
      if step == 0 {
        #expect(try view.command(#"{"command":"quota","count":"1"}"#)?.isEmpty == true)
      } else {
        #expect(try view.used() == Cost(bytes: 3 * page, entries: 1))
        #expect(throws: Errno(EDQUOT)) { try fill(view.path + "/tmp/t", pages: 62) }
      }
      #expect(try view.unmount() == 0)
    }
  }
}
