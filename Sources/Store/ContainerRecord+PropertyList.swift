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
    list["profile"] = .string(profileName)
    list["inodeKey"] = .data(inodeKey.flatMap(Self.bytes))
    list["installed"] = .date(Double(installedSeconds))
    list["updated"] = .date(Double(updatedSeconds))
    return .dictionary(list)
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
    if fields["require"] != nil {
      requirement = try Self.field("require", fields) { $0.string.flatMap(SealRequirement.init) }
    }
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
