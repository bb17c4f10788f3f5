// What the daemon must know to serve one view: the message that it reads from a pipe at its start.
//
// The format is private to one release: the daemon refuses any other version.

public import Policy

/// Everything about one container that its daemon needs, in one value.
///
/// The daemon has no Foundation and reads no property list, so whoever starts it sends this.
public struct ViewConfiguration: Equatable, Sendable {
  /// How the view is mounted.
  public enum Transport: UInt8, Sendable {
    /// By mount(2), which needs CAP_SYS_ADMIN: `allow_other`, `noexec`.
    case kernel = 0
    /// By fusermount3, for an ordinary user: only that user may enter, and exec is left to `run`.
    case fusermount = 1
  }

  /// What the one who starts the daemon knows of the bundle's seal.
  public enum Seal: Equatable, Sendable {
    /// There is none: the bundle is served as it is.
    case absent
    /// The table of chunks has this SHA-256; whether a difference was found before.
    case table(digest: [UInt8], isModified: Bool)
    /// There should be one, and it can't be trusted: nothing of the bundle is served.
    case broken
  }

  /// What a view does without that it could have.
  public struct Features: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Features by their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Extended attributes, for which the kernel asks before it writes to a file.
    public static let extendedAttributes = Self(rawValue: 1)
    /// What is written stays with the kernel until it has time to bring it.
    public static let writeback = Self(rawValue: 2)
    static let all: Self = [.extendedAttributes, .writeback]
  }

  /// The container's identifier.
  public var identifier: [UInt8]
  /// The uid that owns what the container holds.
  public var ownerUID: UInt32
  /// The gid that owns what the container holds.
  public var ownerGID: UInt32
  /// The bundle's directory name, such as `Notes.app`; empty for a container without a bundle.
  public var bundleName: [UInt8]
  /// The key of the permutation of inode numbers.
  public var inodeKey: (UInt64, UInt64)
  /// The profiles: the layers, and what they may include.
  public var layers: [ProfileSource]
  /// How to mount.
  public var transport: Transport
  /// The absolute path of the mount point.
  public var target: [UInt8]
  /// What /proc/self/mountinfo shows as the source.
  public var source: [UInt8]
  /// MS_* flags of mount(2) beyond those that the transport implies.
  public var mountFlags: UInt64
  /// The bundle's seal.
  public var seal: Seal
  /// Whether a process of its own watches over the one that serves.
  public var isSupervised: Bool
  /// What the view does without.
  public var without: Features

  /// How much the container may hold in all.
  public var limits = ContainerLimits()

  /// When the daemon has what may go purged; nil for never.
  public var pressure: Pressure?

  /// How little free space is too little, and who does something about it.
  public struct Pressure: Equatable, Sendable {
    /// Below so many free bytes the store is purged.
    public var lowByteCount: UInt64
    /// Until so many are free.
    public var highByteCount: UInt64
    /// The path of the store.
    public var store: [UInt8]
    /// The directory of the settings, if it is not the usual one; else empty.
    public var settings: [UInt8]

    /// Pressure with every field given.
    public init(
      lowByteCount: UInt64, highByteCount: UInt64, store: [UInt8], settings: [UInt8]
    ) {
      self.lowByteCount = lowByteCount
      self.highByteCount = highByteCount
      self.store = store
      self.settings = settings
    }
  }

  /// A configuration with every field given but the limits.
  public init(
    identifier: [UInt8], ownerUID: UInt32, ownerGID: UInt32, bundleName: [UInt8],
    inodeKey: (UInt64, UInt64), layers: [ProfileSource], transport: Transport, target: [UInt8],
    source: [UInt8], mountFlags: UInt64, seal: Seal = .absent, isSupervised: Bool = true,
    without: Features = [], pressure: Pressure? = nil
  ) {
    self.identifier = identifier
    self.ownerUID = ownerUID
    self.ownerGID = ownerGID
    self.bundleName = bundleName
    self.inodeKey = inodeKey
    self.layers = layers
    self.transport = transport
    self.target = target
    self.source = source
    self.mountFlags = mountFlags
    self.seal = seal
    self.isSupervised = isSupervised
    self.without = without
    self.pressure = pressure
  }

  /// Field by field.
  public static func == (left: Self, right: Self) -> Bool {
    left.encoded() == right.encoded()
  }
}

extension ViewConfiguration {
  private static let magic: [UInt8] = Array("SFSVIEW5".utf8)
  private static let maximumByteCount = 64 << 20
  private static let maximumLayerCount = 1024

  /// The message: the magic, then each field in order; numbers little-endian, bytes behind their
  /// 32-bit length.
  public func encoded() -> [UInt8] {
    var writer = ByteWriter(bytes: Self.magic)
    writer.bytes(identifier)
    writer.integer(ownerUID)
    writer.integer(ownerGID)
    writer.bytes(bundleName)
    writer.integer(inodeKey.0)
    writer.integer(inodeKey.1)
    writer.integer(UInt32(layers.count))
    for layer in layers {
      writer.integer(layer.rank.rawValue)
      writer.bytes(layer.name)
      writer.bytes(layer.text)
    }
    writer.integer(transport.rawValue)
    writer.bytes(target)
    writer.bytes(source)
    writer.integer(mountFlags)
    writer.seal(seal)
    writer.integer(UInt8(isSupervised ? 1 : 0))
    writer.limit(limits.byteCount)
    writer.limit(limits.entryCount)
    writer.limit(limits.softByteCount)
    writer.integer(without.rawValue)
    writer.pressure(pressure)
    return writer.bytes
  }

  /// Reads a message; nil if it is not one of this version, whole and with nothing behind it.
  public init?(decoding message: [UInt8]) {
    guard message.count <= Self.maximumByteCount, message.starts(with: Self.magic) else {
      return nil
    }
    var reader = ByteReader(message[Self.magic.count...])
    guard let identifier = reader.bytes(), let ownerUID = reader.integer(UInt32.self),
      let ownerGID = reader.integer(UInt32.self), let bundleName = reader.bytes(),
      let firstKey = reader.integer(UInt64.self), let secondKey = reader.integer(UInt64.self),
      let layers = Self.layers(from: &reader),
      let transport = reader.integer(UInt8.self).flatMap(Transport.init(rawValue:)),
      let target = reader.bytes(), let source = reader.bytes(),
      let mountFlags = reader.integer(UInt64.self), let seal = reader.seal(),
      let supervision = reader.integer(UInt8.self), supervision <= 1,
      let limits = reader.limits(),
      let without = reader.integer(UInt8.self).map(Features.init(rawValue:)),
      Features.all.isSuperset(of: without), let pressure = reader.pressure(), reader.isAtEnd
    else { return nil }
    self.init(
      identifier: identifier, ownerUID: ownerUID, ownerGID: ownerGID, bundleName: bundleName,
      inodeKey: (firstKey, secondKey), layers: layers, transport: transport, target: target,
      source: source, mountFlags: mountFlags, seal: seal, isSupervised: supervision == 1,
      without: without, pressure: pressure)
    self.limits = limits
  }

  private static func layers(from reader: inout ByteReader) -> [ProfileSource]? {
    guard let count = reader.integer(UInt32.self), count <= maximumLayerCount else { return nil }
    var layers: [ProfileSource] = []
    for _ in 0..<count {
      guard let rank = reader.integer(UInt8.self).flatMap(ProfileSource.Rank.init(rawValue:)),
        let name = reader.bytes(), let text = reader.bytes()
      else { return nil }
      layers.append(ProfileSource(rank: rank, name: name, text: text))
    }
    return layers
  }
}

extension ByteWriter {
  fileprivate mutating func limit(_ limit: UInt64?) {
    integer(UInt8(limit == nil ? 0 : 1))
    if let limit { integer(limit) }
  }

  fileprivate mutating func seal(_ seal: ViewConfiguration.Seal) {
    switch seal {
    case .absent: integer(UInt8(0))
    case .table(let digest, let isModified):
      integer(UInt8(isModified ? 2 : 1))
      bytes(digest)
    case .broken: integer(UInt8(3))
    }
  }

  fileprivate mutating func pressure(_ pressure: ViewConfiguration.Pressure?) {
    integer(pressure?.lowByteCount ?? 0)
    integer(pressure?.highByteCount ?? 0)
    bytes(pressure?.store ?? [])
    bytes(pressure?.settings ?? [])
  }
}

extension ByteReader {
  fileprivate mutating func limits() -> ContainerLimits? {
    guard let bytes = limit(), let entries = limit(), let soft = limit() else { return nil }
    return ContainerLimits(byteCount: bytes, entryCount: entries, softByteCount: soft)
  }

  private mutating func limit() -> UInt64?? {
    switch integer(UInt8.self) {
    case 0: return .some(nil)
    case 1: return integer(UInt64.self).map(Optional.some)
    default: return nil
    }
  }

  fileprivate mutating func seal() -> ViewConfiguration.Seal? {
    switch integer(UInt8.self) {
    case 0: return .absent
    case let kind? where kind == 1 || kind == 2:
      return bytes().map { .table(digest: $0, isModified: kind == 2) }
    case 3: return .broken
    default: return nil
    }
  }

  /// The pressure, which a mark of 0 bytes says there is none of; nil for what is none.
  fileprivate mutating func pressure() -> ViewConfiguration.Pressure?? {
    guard let low = integer(UInt64.self), let high = integer(UInt64.self), let store = bytes(),
      let settings = bytes(), low > 0 || high == 0 && store.isEmpty && settings.isEmpty
    else { return nil }
    if low == 0 { return .some(nil) }
    return ViewConfiguration.Pressure(
      lowByteCount: low, highByteCount: high, store: store, settings: settings)
  }
}
