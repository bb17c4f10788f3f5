// The host's register of the uids that containers have: one line each, never changed or removed.
//
// A line says `UID IDENTIFIER INODE BIRTH`, the last two being the container's directory's. They
// stay when a store is moved and are others when it is copied, which is how a copied store is
// known.
internal import Glibc
internal import LinuxKit
internal import Paths

/// Gives out uids, each once on this host.
struct UIDRegister {
  /// The file.
  let path: [UInt8]
  /// The first uid that may be given out.
  let first: UInt32
  /// The last one: what is beyond is negative for programs that keep uids in an int.
  static let last: UInt32 = 0x7fff_fffe

  /// What a uid is given to.
  struct Holder: Equatable {
    let identifier: BundleIdentifier
    let inode: UInt64
    let birthNanoseconds: Int64

    /// The container in this directory.
    init(_ identifier: BundleIdentifier, in directory: borrowing Walker) throws(Errno) {
      let status = try directory.status()
      self.identifier = identifier
      inode = status.identity.inode
      birthNanoseconds = status.bornNanoseconds
    }

    fileprivate var text: String { "\(identifier) \(inode) \(birthNanoseconds)" }
  }

  /// Whether a uid is one that this register gives out.
  func governs(_ uid: UInt32) -> Bool { uid >= first && uid <= Self.last }

  /// Whether a uid was given to this very container.
  func has(_ uid: UInt32, for holder: Holder) throws(StoreError) -> Bool {
    let file: Descriptor
    do throws(Errno) {
      file = try open(O_RDONLY)
    } catch {
      if error == .noEntry { return false }
      throw StoreError(path.printable, error)
    }
    return try lines(of: file).contains("\(uid) \(holder.text)")
  }

  /// Gives the next free uid, which is a free gid too, to a container.
  func allocate(for holder: Holder) throws(StoreError) -> UInt32 {
    try makeDirectoryOfRegister()
    let file = try saying(path.printable) { () throws(Errno) in
      try open(O_RDWR | O_CREAT | O_APPEND)
    }
    try saying(path.printable) { () throws(Errno) in try file.lock(.exclusive) }
    let lines = try lines(of: file)
    let given = lines.compactMap { UInt32($0.prefix { $0 != " " }) }.filter(governs)
    let uid = try nextFree(after: given.max())
    try saying(path.printable) { () throws(Errno) in
      // A line that a crash cut short is ended first, and so stays one that says nothing.
      try file.writeAll(
        Array("\(lines.last?.isEmpty == false ? "\n" : "")\(uid) \(holder.text)\n".utf8))
      try file.synchronize()
    }
    return uid
  }

  private func makeDirectoryOfRegister() throws(StoreError) {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > 0 else { return }
    do throws(Errno) {
      try makeDirectory(Array(path[..<slash]), mode: 0o700)
    } catch {
      if error != .exists { throw StoreError(path.printable, error) }
    }
  }

  private func open(_ flags: CInt) throws(Errno) -> Descriptor {
    let raw = try path.withCPath { path throws(Errno) in
      try Descriptor.open(path, flags | O_NOFOLLOW, mode: 0o600).release()
    }
    return Descriptor(owning: raw)
  }

  private func lines(of file: borrowing Descriptor) throws(StoreError) -> [Substring] {
    let text = try saying(path.printable) { () throws(Errno) in
      try file.readToEnd(atMost: 1 << 30)
    }
    return String(decoding: text, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
  }

  /// The next number that is nobody's: no user, no group, and not given to a user's namespaces.
  private func nextFree(after given: UInt32?) throws(StoreError) -> UInt32 {
    let ranges = ["/etc/subuid", "/etc/subgid"].flatMap(SubordinateRange.read)
    var candidate = given.map { $0 + 1 } ?? first
    while candidate <= Self.last {
      if let range = ranges.first(where: { $0.contains(candidate) }) {
        candidate = UInt32(clamping: range.end)
        continue
      }
      let number = candidate
      let isTaken = try saying("looking up uid \(number)") { () throws(Errno) in
        let hasUser = try HostAccount.of(uid: number) != nil
        let hasGroup = try HostAccount.hasGroup(number)
        return hasUser || hasGroup
      }
      if !isTaken { return candidate }
      candidate += 1
    }
    throw StoreError(.failed, "\(path.printable): no uid is left between \(first) and \(Self.last)")
  }
}

/// A line of /etc/subuid or /etc/subgid.
struct SubordinateRange {
  let start: UInt64
  let end: UInt64

  /// The ranges in a file; none if it can't be read.
  static func read(_ path: String) -> [SubordinateRange] {
    let text = try? Descriptor.open(path, O_RDONLY).readToEnd(atMost: 16 << 20)
    return String(decoding: text ?? [], as: UTF8.self).split(separator: "\n").compactMap(Self.init)
  }

  /// `NAME:START:COUNT`.
  init?(_ line: Substring) {
    let fields = line.split(separator: ":", omittingEmptySubsequences: false)
    guard fields.count == 3, let start = UInt32(fields[1]), let count = UInt32(fields[2]) else {
      return nil
    }
    self.start = UInt64(start)
    end = UInt64(start) + UInt64(count)
  }

  func contains(_ id: UInt32) -> Bool { UInt64(id) >= start && UInt64(id) < end }
}
