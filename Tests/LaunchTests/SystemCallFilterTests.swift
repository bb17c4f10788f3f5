// The filter of system calls as a program: each rule is in it, and it compiles for the kernel.

import LinuxKit
import Testing

@testable import Launch

@Suite("The filter of system calls")
struct SystemCallFilterTests {
  @Test("is a program of whole instructions, within what the kernel takes")
  func size() throws {
    for allowed in [true, false] {
      let rules = SystemCallRules.all(allowsUserNamespaces: allowed)
      let program = try SystemCallFilter.program(of: rules)
      #expect(program.count % 8 == 0)
      #expect((100...4096).contains(program.count / 8))
    }
  }

  @Test("a grant of user namespaces takes away the rules about namespaces and nothing else")
  func userNamespaces() {
    let strict = SystemCallRules.all(allowsUserNamespaces: false)
    let granted = SystemCallRules.all(allowsUserNamespaces: true)
    let names = Set(strict.map(\.name)).subtracting(granted.map(\.name))
    #expect(
      names == [
        "chroot", "clone", "clone3", "fsconfig", "fsmount", "fsopen", "fspick", "mount",
        "mount_setattr", "move_mount", "open_tree", "open_tree_attr", "pivot_root", "setns",
        "umount", "umount2", "unshare",
      ])
    #expect(granted.allSatisfy { strict.contains($0) })
  }

  @Test("names each system call once")
  func names() {
    let names = SystemCallRules.all(allowsUserNamespaces: false).map(\.name)
    #expect(names.count == Set(names).count)
  }
}
