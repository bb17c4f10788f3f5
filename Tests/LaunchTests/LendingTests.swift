// What is lent, decided before anything is done: which steps, and when a file is still the one.

import Containers
import LinuxKit
import Testing

@testable import Launch

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private func identity(_ inode: UInt64, born: Int64 = 9, device: UInt64 = 1) -> Grant.Identity {
  Grant.Identity(inode: inode, bornNanoseconds: born, device: device)
}

@Suite("What is lent")
struct LendingTests {
  /// What lies at the path now, and whether it counts as what was lent.
  struct Row: CustomTestStringConvertible {
    let testDescription: String
    var kind = Grant.Kind.file
    var found = identity(5)
    var parent = identity(2)
    var owner: UInt32 = 1000
    var links: UInt32 = 1
    let want: Bool
  }

  @Test(
    "is the same inode, or a file that its owner has saved in the same directory",
    arguments: [
      Row(testDescription: "nothing has changed", want: true),
      Row(
        testDescription: "the device has another number", found: identity(5, device: 7),
        want: true),
      Row(
        testDescription: "the number was used again", kind: .directory,
        found: identity(5, born: 8), want: false),
      Row(testDescription: "another directory", kind: .directory, found: identity(6), want: false),
      Row(testDescription: "a file was saved by rename", found: identity(6), want: true),
      Row(testDescription: "somebody else's", found: identity(6), owner: 0, want: false),
      Row(testDescription: "a further link", found: identity(6), links: 2, want: false),
      Row(
        testDescription: "in another directory", found: identity(6), parent: identity(3),
        want: false),
    ])
  func sameness(_ row: Row) {
    let grant = Grant(
      path: bytes("/srv/a"), kind: row.kind, access: .read, identity: identity(5),
      parent: identity(2), ownerUID: 1000, grantorUID: 1000)
    #expect(
      grant.isMet(by: row.found, in: row.parent, ownerUID: row.owner, linkCount: row.links)
        == row.want)
  }

  @Test("the device counts where there is no time of birth")
  func withoutBirth() {
    let known = identity(5, born: 0)
    #expect(known.isSame(as: known))
    #expect(!known.isSame(as: identity(5, born: 0, device: 2)))
  }

  @Test("what lies in something else that is lent is attached in there")
  func nested() throws {
    func place(_ path: String, readOnly: Bool = false) -> LentPlace {
      LentPlace(
        path: bytes(path), isDirectory: true, isReadOnly: readOnly, device: 1, inode: 2)
    }
    var sandbox = Sandbox(
      uid: 1, gid: 1, isStartedByRoot: true, bundleName: [], view: bytes("/view"),
      stage: bytes("/stage"), command: [], callerEnvironment: [],
      environmentTable: try EnvironmentTable(EnvironmentTable.shipped),
      host: HostTree())
    sandbox.lent = [place("/srv/a"), place("/srv/ab"), place("/srv/a/b/c", readOnly: true)]
    let harmless: MountAttributes = [.noExec, .noSetID, .noDevices]
    let lends = sandbox.steps.filter { if case .lend = $0 { true } else { false } }
    #expect(
      lends == [
        .lend(
          bytes("/srv/a"), device: 1, inode: 2, base: bytes("/stage"), path: bytes("srv/a"),
          adding: harmless),
        .lend(
          bytes("/srv/ab"), device: 1, inode: 2, base: bytes("/stage"), path: bytes("srv/ab"),
          adding: harmless),
        .lend(
          bytes("/srv/a/b/c"), device: 1, inode: 2, base: bytes("/stage/srv/a"),
          path: bytes("b/c"), adding: harmless.union(.readOnly)),
      ])
    // Those two are made to be mounted upon, with what holds them, and each once.
    let made = sandbox.steps.filter {
      if case .directory(let path, _) = $0 { path.starts(with: bytes("/stage/srv")) } else { false }
    }
    #expect(
      made
        == ["/stage/srv", "/stage/srv/a", "/stage/srv/ab"].map {
          .directory(bytes($0), mode: 0o755)
        })
  }
}
