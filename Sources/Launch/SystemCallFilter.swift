// The rules about system calls, as the program that the kernel runs before each of them.
internal import CSeccomp
internal import Glibc
internal import LinuxKit

/// Filters of system calls.
enum SystemCallFilter {
  /// What refuses what the rules say and allows everything else: instructions of eight bytes.
  ///
  /// Whoever calls by another architecture's numbers is killed: 32-bit programs, and x32.
  static func program(of rules: [SystemCallRule]) throws(Errno) -> [UInt8] {
    // Null only without memory.
    guard let filter = seccomp_init(allow) else { throw Errno(ENOMEM) }
    defer { seccomp_release(filter) }
    try checked(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, kill))
    for rule in rules { try add(rule, to: filter) }
    let file = try Descriptor.memory(holding: [])
    try checked(seccomp_export_bpf(filter, file.rawValue))
    try file.rewind()
    return try file.readToEnd(atMost: mostInstructions * 8)
  }

  private static let allow: UInt32 = 0x7FFF_0000
  private static let kill: UInt32 = 0x8000_0000
  private static func refuse(_ errno: Int32) -> UInt32 { 0x0005_0000 | UInt32(errno) }

  /// What libseccomp answers about a name that it does not know.
  private static let unknown: CInt = -1
  /// What the kernel takes.
  private static let mostInstructions = 4096

  private static func add(
    _ rule: SystemCallRule, to filter: scmp_filter_ctx
  ) throws(Errno) {
    let known = seccomp_syscall_resolve_name(rule.name)
    guard let number = known == unknown ? rule.number : known else {
      preconditionFailure("libseccomp knows \(rule.name), or the rule has its number")
    }
    // Negative: a call of other architectures.
    if number < 0 { return }
    let action = refuse(rule.errno)
    if rule.tests.isEmpty {
      return try checked(seccomp_rule_add_array(filter, action, number, 0, nil))
    }
    for test in rule.tests {
      var comparison = test.comparison
      try checked(seccomp_rule_add_array(filter, action, number, 1, &comparison))
    }
  }

  /// libseccomp returns negative error numbers.
  private static func checked(_ result: CInt) throws(Errno) {
    if result < 0 { throw Errno(-result) }
  }
}

extension SystemCallRule.Test {
  fileprivate var comparison: scmp_arg_cmp {
    switch self {
    case .masked(let argument, let mask, let value):
      scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
    case .atLeast(let argument, let value):
      scmp_arg_cmp(arg: argument, op: SCMP_CMP_GE, datum_a: value, datum_b: 0)
    }
  }
}
