// What is mounted, as /proc/PID/mountinfo tells it.
internal import Glibc

/// A superblock's device number.
public struct DeviceNumber: Hashable, Sendable, CustomStringConvertible {
  /// The major number.
  public let major: UInt32
  /// The minor number.
  public let minor: UInt32

  /// A device number of two parts.
  public init(major: UInt32, minor: UInt32) {
    self.major = major
    self.minor = minor
  }

  /// Reads `MAJOR:MINOR`; nil for anything else.
  public init?(_ text: some Sequence<UInt8>) {
    let parts = String(decoding: Array(text), as: UTF8.self).split(
      separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let major = UInt32(parts[0]), let minor = UInt32(parts[1]) else {
      return nil
    }
    self.init(major: major, minor: minor)
  }

  /// `MAJOR:MINOR`, as mountinfo writes it.
  public var description: String { "\(major):\(minor)" }
}

/// One line of mountinfo, its escapes undone.
public struct MountEntry: Equatable, Sendable {
  /// The mount's number; it can be given to another mount once this one is gone.
  public let id: UInt64
  /// The mount that it lies on.
  public let parentID: UInt64
  /// The file system.
  public let device: DeviceNumber
  /// The path inside the file system that the mount shows; `/` for all of it.
  public let root: [UInt8]
  /// Where it is, seen from the process's root.
  public let mountPoint: [UInt8]
  /// The mount's own options, such as `ro` and `nosuid`.
  public let options: [[UInt8]]
  /// The file system's type, such as `fuse.sandboxfs`.
  public let type: [UInt8]
  /// What was mounted.
  public let source: [UInt8]
  /// The file system's options, which all its mounts share.
  public let superOptions: [[UInt8]]

  /// Reads a line; nil if it is none.
  public init?(line: some Collection<UInt8>) {
    let fields = line.split(separator: UInt8(ascii: " "))
    // The optional fields end with a lone dash.
    guard fields.count >= 10,
      let dash = fields[6...].firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
      fields.count >= dash + 4, let id = UInt64(String(decoding: fields[0], as: UTF8.self)),
      let parentID = UInt64(String(decoding: fields[1], as: UTF8.self)),
      let device = DeviceNumber(fields[2])
    else { return nil }
    self.id = id
    self.parentID = parentID
    self.device = device
    root = unescaped(fields[3])
    mountPoint = unescaped(fields[4])
    options = words(fields[5])
    type = unescaped(fields[dash + 1])
    source = unescaped(fields[dash + 2])
    superOptions = words(fields[dash + 3])
  }

  /// Whether the mount itself has the option, such as `noexec`.
  public func has(_ option: StaticString) -> Bool { options.contains(bytes(of: option)) }

  /// Whether the file system has the option, such as `ro`.
  public func superHas(_ option: StaticString) -> Bool {
    superOptions.contains(bytes(of: option))
  }

  /// The value of a file system's option, such as that of `user_id`.
  public func superValue(of option: StaticString) -> [UInt8]? {
    let prefix = bytes(of: option) + [UInt8(ascii: "=")]
    return superOptions.first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) }
  }
}

/// The mounts that a process sees, in the order in which they were made.
public struct MountTable: Sendable {
  /// The mounts; of two at one place the later one is on top.
  public let entries: [MountEntry]

  /// Reads the text of a mountinfo file; lines of another form are left out.
  public init(text: [UInt8]) {
    entries = text.split(separator: UInt8(ascii: "\n")).compactMap(MountEntry.init(line:))
  }

  /// Reads the caller's own.
  public static func read() throws(Errno) -> MountTable { try read("/proc/thread-self/mountinfo") }

  /// Reads that of a process.
  ///
  /// Throws ENOENT or ESRCH if it has ended, and EACCES if it may not be looked at.
  public static func read(of process: Int32) throws(Errno) -> MountTable {
    try read("/proc/\(process)/mountinfo")
  }

  private static func read(_ path: String) throws(Errno) -> MountTable {
    let file = try Descriptor.open(path, O_RDONLY)
    return MountTable(text: try file.readToEnd(atMost: 256 << 20))
  }

  /// What is mounted there, the topmost of several; nil if nothing is.
  public func topmost(at mountPoint: [UInt8]) -> MountEntry? {
    entries.last { $0.mountPoint == mountPoint }
  }

  /// The mounts that lie directly on one, in the order in which they were made.
  public func children(of entry: MountEntry) -> [MountEntry] {
    entries.filter { $0.parentID == entry.id && $0.id != entry.id }
  }
}

private func bytes(of text: StaticString) -> [UInt8] {
  text.withUTF8Buffer { Array($0) }
}

private func words(_ field: some Collection<UInt8>) -> [[UInt8]] {
  field.split(separator: UInt8(ascii: ",")).map(unescaped)
}

/// Undoes the kernel's `\ooo`, by which it writes blanks, tabs, line feeds and backslashes.
private func unescaped(_ field: some Collection<UInt8>) -> [UInt8] {
  let field = Array(field)
  guard field.contains(UInt8(ascii: "\\")) else { return field }
  var plain: [UInt8] = []
  var position = 0
  while position < field.count {
    if field[position] == UInt8(ascii: "\\"), let byte = octal(field[(position + 1)...].prefix(3)) {
      plain.append(byte)
      position += 4
    } else {
      plain.append(field[position])
      position += 1
    }
  }
  return plain
}

private func octal(_ digits: ArraySlice<UInt8>) -> UInt8? {
  guard digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
  return UInt8(exactly: digits.reduce(0) { $0 * 8 + Int($1 - 0x30) })
}
