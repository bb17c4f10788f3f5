// Which system calls an app is refused, and with what errno: those that have no place in a
// container, and that have been ways out of one.
//
// All others are allowed. The errno is the one that the kernel itself gives to a program without
// the right, so that programs take the way that they take there.
internal import Glibc

/// A system call that is refused, always or for certain arguments.
struct SystemCallRule: Equatable, Sendable {
  /// When an argument makes the call one that is refused.
  enum Test: Equatable, Sendable {
    /// The argument, of which the kernel looks at the bits of `mask` only, is `value`.
    case masked(argument: UInt32, mask: UInt64, value: UInt64)
    /// The argument is this or more.
    case atLeast(argument: UInt32, UInt64)
  }

  /// The name, as libseccomp knows it.
  let name: String
  /// Its number on every architecture, for a call that is newer than some libseccomp in use.
  let number: Int32?
  /// What the program is told.
  let errno: Int32
  /// Any of them refuses; without one the call is refused whatever its arguments.
  let tests: [Test]

  init(_ name: String, number: Int32? = nil, errno: Int32 = EPERM, _ tests: [Test] = []) {
    self.name = name
    self.number = number
    self.errno = errno
    self.tests = tests
  }
}

/// The rules of one run.
enum SystemCallRules {
  /// All that holds for an app.
  static func all(allowsUserNamespaces: Bool) -> [SystemCallRule] {
    always + sockets + (allowsUserNamespaces ? [] : namespaces)
  }

  /// Ways into other namespaces and new mounts, which only a user namespace gives a right to.
  ///
  /// clone3 takes its flags in memory, where no filter can look: told that there is none, the C
  /// library uses clone.
  private static let namespaces =
    [
      SystemCallRule("clone3", number: 435, errno: ENOSYS),
      SystemCallRule("clone", [bit(userNamespace, of: 0)]),
      SystemCallRule("unshare", [bit(userNamespace, of: 0)]),
      SystemCallRule("open_tree_attr", number: 467),
    ]
    + names(
      """
      setns mount umount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount
      fspick mount_setattr
      """)

  private static let always =
    [
      // A terminal's input queue is the next command of the shell that started us. The kernel looks
      // at 32 bits of the command.
      SystemCallRule(
        "ioctl", [TerminalCommand.pushInput, .console, .discipline].map { command($0.rawValue) }),
      // Its own children it may trace; other processes belong to other programs of the container.
      SystemCallRule("ptrace", [command(attach, argument: 0), command(seize, argument: 0)]),
      // All bits set asks what the personality is.
      SystemCallRule("personality", personalities.map { bit($0, of: 0, butNot: 0x8000_0000) }),
      SystemCallRule("pidfd_getfd", number: 438),
      SystemCallRule("quotactl_fd", number: 443),
    ]
    // Keys of the user, who may have other programs. The kernel's tracing and programs. Memory of
    // other processes. Files by number instead of by name.
    + names("keyctl add_key request_key bpf perf_event_open userfaultfd")
    + names("process_vm_readv process_vm_writev open_by_handle_at")
    // Its operations pass no filter.
    + names("io_uring_setup io_uring_enter io_uring_register")
    // The machine is not the app's.
    + names("acct swapon swapoff reboot quotactl syslog settimeofday clock_settime stime")
    + names("init_module finit_module delete_module kexec_load kexec_file_load")
    + names("iopl ioperm modify_ldt vm86 vm86old lookup_dcookie nfsservctl uselib vhangup")

  /// Of the families of sockets the local ones, IP and the kernel's netlink are bound to network
  /// namespaces or to files; some others, vsock for one, reach the machine's neighbours from any.
  private static let sockets = [
    SystemCallRule(
      "socket", errno: EAFNOSUPPORT,
      (0..<familyCount).filter { !families.contains($0) }.map { command($0, argument: 0) }
        + [.atLeast(argument: 0, familyCount)])
  ]

  /// UNIX, INET, INET6 and NETLINK; UNSPEC is refused by the kernel.
  private static let families: [UInt64] = [0, 1, 2, 10, 16]
  private static let familyCount: UInt64 = 46

  private enum TerminalCommand: UInt64 {
    case pushInput = 0x5412
    case console = 0x541C
    case discipline = 0x5423
  }

  private static let userNamespace: UInt64 = 0x1000_0000
  private static let attach: UInt64 = 16
  private static let seize: UInt64 = 0x4206
  /// MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT and READ_IMPLIES_EXEC.
  private static let personalities: [UInt64] = [0x10_0000, 0x20_0000, 0x40_0000]

  private static func names(_ text: String) -> [SystemCallRule] {
    text.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map {
      SystemCallRule(String(Substring($0)))
    }
  }

  private static func command(_ value: UInt64, argument: UInt32 = 1) -> SystemCallRule.Test {
    .masked(argument: argument, mask: 0xFFFF_FFFF, value: value)
  }

  private static func bit(
    _ bit: UInt64, of argument: UInt32, butNot other: UInt64 = 0
  ) -> SystemCallRule.Test {
    .masked(argument: argument, mask: bit | other, value: bit)
  }
}
