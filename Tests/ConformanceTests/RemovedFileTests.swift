// What becomes of the space of files that were removed through a view.

import Foundation
import Glibc
import LinuxKit
import TestSupport
import Testing

@Suite(.serialized) struct RemovedFileTests {
  @Test("what removed files held is given back, though nobody asks for anything any more")
  func givenBack() throws {
    try withGround(.memory) { directory in
      let view = try TestView(in: directory)
      let worker = try #require(RunningProcess(pid: view.daemon.pid).children.first)
      for number in 0..<100 {
        let path = view.path + "/Documents/gone-\(number)"
        // Small ones and, in between, some that are given back at once.
        let size = number % 10 == 0 ? 1 << 20 : 1024
        #expect(FileManager.default.createFile(atPath: path, contents: Data(count: size)))
        #expect(unlink(path) == 0)
      }
      #expect(mkdir(view.path + "/Documents/gone", 0o700) == 0)
      #expect(rmdir(view.path + "/Documents/gone") == 0)
      #expect(eventually { held(by: worker).isEmpty }, "\(held(by: worker))")
      #expect(try view.unmount() == 0)
    }
  }

  /// The removed files that a process has open, as the kernel calls them.
  private func held(by process: Int32) -> [String] {
    let directory = "/proc/\(process)/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.compactMap { name in
      let target = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "\(directory)/\(name)")
      return target.flatMap { $0.contains("/gone") ? $0 : nil }
    }
  }
}
