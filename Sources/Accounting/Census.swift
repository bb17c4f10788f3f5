// Counting what is there: the figures that books must have.
internal import Glibc
public import LinuxKit
public import Policy

/// What a container's data holds, counted by a walk through all of it.
///
/// Structural entries and the bundle's place cost nothing but the values of their attributes, which
/// an app can set. A file with several names counts where it is met first.
public struct Census: Sendable {
  /// All of it.
  public private(set) var total = Charge()
  /// What counts against each of the policy's limits, in the order of `PolicyEngine.quotaRules`.
  public private(set) var limited: [Charge]
  /// How many directories could not be looked into: their owner has shut himself out.
  public private(set) var closedDirectories = 0

  /// Counts what is below `data`.
  ///
  /// Throws what the walk throws: ESTALE if a directory was moved meanwhile.
  public init(of data: borrowing Walker, _ policy: PolicyEngine) throws(Errno) {
    limited = [Charge](repeating: Charge(), count: policy.quotaRules.count)
    var visitor = Visitor(policy: policy, limited: limited)
    visitor.add(
      Charge(
        bytes: Int128(try ExtendedAttributes.ownersByteCount("", in: data.descriptor.rawValue))),
      in: ZoneID.root)
    try data.visitTree(&visitor)
    total = visitor.total
    limited = visitor.limited
    closedDirectories = visitor.closedDirectories
  }
}

private struct Visitor: TreeVisitor {
  let policy: PolicyEngine
  var total = Charge()
  var limited: [Charge]
  var closedDirectories = 0
  private var way: [ZoneID] = [ZoneID.root]
  private var met: Set<FileIdentity> = []
  private let isPrivileged = geteuid() == 0

  init(policy: PolicyEngine, limited: [Charge]) {
    self.policy = policy
    self.limited = limited
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    let zone = policy.zone(named: entry.name.span, in: way[way.count - 1])
    let attributes = policy.attributes(of: zone)
    if attributes.isBundle && attributes.isStructural { return false }
    do throws(Errno) {
      let status = try directory.status(of: entry.name)
      let isDirectory = status.kind == .directory
      if !isDirectory && status.linkCount > 1 && !met.insert(status.identity).inserted {
        return false
      }
      let values = try entry.name.withCPath { name throws(Errno) in
        try ExtendedAttributes.ownersByteCount(name, in: directory.descriptor.rawValue)
      }
      var charge = Charge(bytes: Int128(values))
      if !attributes.isStructural {
        charge += Charge(bytes: Int128(status.contents), entries: 1)
      }
      add(charge, in: zone)
      if isDirectory && !isPrivileged && status.permissions & 0o500 != 0o500 {
        closedDirectories += 1
        return false
      }
      return true
    } catch {
      if error == .noEntry { return false }
      throw error
    }
  }

  mutating func add(_ charge: Charge, in zone: ZoneID) {
    total += charge
    var bits = policy.quotas(of: zone).rawValue
    while bits != 0 {
      limited[bits.trailingZeroBitCount] += charge
      bits &= bits - 1
    }
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) {
    way.append(policy.zone(named: name.span, in: way[way.count - 1]))
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) { way.removeLast() }
}

extension FileStatus {
  fileprivate var contents: Int64 {
    switch kind {
    case .regular, .symbolicLink: Charge.rounded(byteCount)
    case .directory: Charge.unit
    default: 0
    }
  }
}
