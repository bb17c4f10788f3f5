// The record as a property list: each key, and what it must be.
internal import Containers
internal import Paths
internal import PropertyLists

/// Why a property list is no record.
struct RecordError: Error {
  let reason: String
}

extension ContainerRecord {
  /// The record as `container.plist` has it.
  var propertyList: PropertyList {
    var list = PropertyDictionary()
    list["identifier"] = .string(identifier.description)
    list["ownerUID"] = .integer(Int128(ownerUID))
    list["ownerGID"] = .integer(Int128(ownerGID))
    list["bundleName"] = Self.name(bundleName)
    list["executable"] = Self.name(executable)
    list["displayName"] = .string(displayName)
    list["version"] = .string(version)
    list["sealState"] = .string(sealState.rawValue)
    if requirement != .adHoc { list["require"] = .string(requirement.rawValue) }
    if !tableDigest.isEmpty { list["chunkTable"] = .data(tableDigest) }
    if !authenticator.isEmpty { list["authenticator"] = .data(authenticator) }
    if !grants.isEmpty { list["grants"] = .array(grants.map(Self.list)) }
    if !allowances.isEmpty {
      list["allow"] = .array(allowances.sorted().map { .string($0.rawValue) })
    }
    list["profile"] = .string(profileName)
    for (key, limit) in Self.limitKeys where limits[keyPath: limit] != nil {
      list[key] = .integer(Int128(limits[keyPath: limit] ?? 0))
    }
    list["inodeKey"] = .data(inodeKey.flatMap(Self.bytes))
    list["installed"] = .date(Double(installedSeconds))
    list["updated"] = .date(Double(updatedSeconds))
    return .dictionary(list)
  }

  /// Reads the bytes of `container.plist`.
  init(bytes: [UInt8]) throws(RecordError) {
    let list: PropertyList
    do throws(PropertyListFile.Malformed) {
      list = try PropertyListFile.read(bytes)
    } catch {
      throw RecordError(reason: error.reason)
    }
    try self.init(list)
  }

  /// Reads what `propertyList` wrote.
  init(_ list: PropertyList) throws(RecordError) {
    guard let fields = list.dictionary else { throw RecordError(reason: "it is no dictionary") }
    let key = try Self.field("inodeKey", fields) { $0.data?.count == 16 ? $0.data : nil }
    self.init(
      identifier: try Self.field("identifier", fields) { $0.string.flatMap(BundleIdentifier.init) },
      ownerUID: try Self.field("ownerUID", fields) { $0.integer.flatMap { UInt32(exactly: $0) } },
      ownerGID: try Self.field("ownerGID", fields) { $0.integer.flatMap { UInt32(exactly: $0) } },
      bundleName: try Self.field("bundleName", fields, Self.bundleName),
      executable: try Self.field("executable", fields, Self.name),
      displayName: try Self.field("displayName", fields) { $0.string },
      version: try Self.field("version", fields) { $0.string },
      sealState: try Self.field("sealState", fields) { $0.string.flatMap(SealState.init) },
      profileName: try Self.field("profile", fields, Self.profileName),
      inodeKey: [Self.word(key.prefix(8)), Self.word(key.suffix(8))],
      installedSeconds: try Self.field("installed", fields, Self.seconds),
      updatedSeconds: try Self.field("updated", fields, Self.seconds))
    tableDigest = try Self.code("chunkTable", fields)
    authenticator = try Self.code("authenticator", fields)
    for (key, limit) in Self.limitKeys where fields[key] != nil {
      limits[keyPath: limit] = try Self.field(key, fields) {
        $0.integer.flatMap { UInt64(exactly: $0) }
      }
    }
    if fields["require"] != nil {
      requirement = try Self.field("require", fields) { $0.string.flatMap(SealRequirement.init) }
    }
    if fields["grants"] != nil {
      grants = try Self.field("grants", fields) { $0.array }.map(Self.grant)
    }
    if fields["allow"] != nil {
      let words = try Self.field("allow", fields) { $0.array }
      allowances = Set(
        try words.map { word throws(RecordError) in
          guard let allowance = word.string.flatMap(Allowance.init) else {
            throw RecordError(reason: "'allow' is not acceptable")
          }
          return allowance
        })
    }
  }

  private static var limitKeys: [(key: String, limit: WritableKeyPath<ContainerLimits, UInt64?>)] {
    [
      ("byteLimit", \.byteCount), ("entryLimit", \.entryCount),
      ("softByteLimit", \.softByteCount),
    ]
  }

  /// 32 bytes; none if the key is not there, as in what an older version wrote.
  private static func code(
    _ key: String, _ fields: PropertyDictionary
  ) throws(RecordError) -> [UInt8] {
    if fields[key] == nil { return [] }
    return try field(key, fields) { $0.data?.count == 32 ? $0.data : nil }
  }

  private static func field<Value>(
    _ key: String, _ fields: PropertyDictionary, _ read: (PropertyList) -> Value?
  ) throws(RecordError) -> Value {
    guard let found = fields[key] else { throw RecordError(reason: "'\(key)' is missing") }
    guard let value = read(found) else { throw RecordError(reason: "'\(key)' is not acceptable") }
    return value
  }

  private static func list(_ grant: Grant) -> PropertyList {
    var list = PropertyDictionary()
    list["path"] = name(grant.path)
    list["kind"] = .string(grant.kind.rawValue)
    list["access"] = .string(grant.access.rawValue)
    list["file"] = self.list(grant.identity)
    list["directory"] = self.list(grant.parent)
    list["owner"] = .integer(Int128(grant.ownerUID))
    list["grantor"] = .integer(Int128(grant.grantorUID))
    return .dictionary(list)
  }

  private static func list(_ identity: Grant.Identity) -> PropertyList {
    .array([
      .integer(Int128(identity.inode)), .integer(Int128(identity.bornNanoseconds)),
      .integer(Int128(identity.device)),
    ])
  }

  private static func grant(_ list: PropertyList) throws(RecordError) -> Grant {
    guard let fields = list.dictionary else {
      throw RecordError(reason: "'grants' is not acceptable")
    }
    return Grant(
      path: try field("path", fields) { name($0).flatMap { $0.first == slash ? $0 : nil } },
      kind: try field("kind", fields) { $0.string.flatMap(Grant.Kind.init) },
      access: try field("access", fields) { $0.string.flatMap(Grant.Access.init) },
      identity: try field("file", fields, identity),
      parent: try field("directory", fields, identity),
      ownerUID: try field("owner", fields) { $0.integer.flatMap { UInt32(exactly: $0) } },
      grantorUID: try field("grantor", fields) { $0.integer.flatMap { UInt32(exactly: $0) } })
  }

  private static let slash = UInt8(ascii: "/")

  private static func identity(_ list: PropertyList) -> Grant.Identity? {
    guard let numbers = list.array?.map(\.integer), numbers.count == 3,
      let inode = numbers[0].flatMap({ UInt64(exactly: $0) }),
      let born = numbers[1].flatMap({ Int64(exactly: $0) }),
      let device = numbers[2].flatMap({ UInt64(exactly: $0) })
    else { return nil }
    return Grant.Identity(inode: inode, bornNanoseconds: born, device: device)
  }

  /// Names are bytes: as a text where they are UTF-8, else as data.
  private static func name(_ bytes: [UInt8]) -> PropertyList {
    String(validating: bytes, as: UTF8.self) == nil ? .data(bytes) : .string(bytes)
  }

  private static func name(_ list: PropertyList) -> [UInt8]? {
    let name = list.bytesOfString ?? list.data
    return name?.contains(0) == true ? nil : name
  }

  private static func bundleName(_ list: PropertyList) -> [UInt8]? {
    name(list).flatMap { $0.isEmpty || BundleName.mistake(in: $0) == nil ? $0 : nil }
  }

  /// It becomes part of a path.
  private static func profileName(_ list: PropertyList) -> String? {
    list.string.flatMap { Profiles.isName($0) ? $0 : nil }
  }

  private static func seconds(_ list: PropertyList) -> Int64? {
    list.date.flatMap { Int64(exactly: $0.rounded()) }
  }

  private static func bytes(_ word: UInt64) -> [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
  }

  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
