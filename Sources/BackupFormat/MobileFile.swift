// The column `file`: an MBFile in a keyed archive, as NSKeyedArchiver writes it on a device.
//
// Foundation's archiver on Linux can't give a class the name MBFile, so the archive is composed
// here. Which keys there are was read off real backups.
internal import PropertyLists

/// Turns entries into archives and back.
public enum MobileFile {
  private static let archiver = "NSKeyedArchiver"
  private static let version: Int128 = 100_000
  private static let nanosecondsOfSecond: Int64 = 1_000_000_000

  /// Kinds of files in st_mode.
  private static let modeBits: [BackupEntry.Kind: UInt32] = [
    .file: 0o100000, .directory: 0o040000, .symbolicLink: 0o120000,
  ]

  /// The number that devices give to the user `mobile`, and to its group.
  private static let mobile: Int128 = 501

  /// The archive of an entry.
  public static func archive(_ entry: BackupEntry) -> [UInt8] {
    var objects: [PropertyList] = [.string("$null"), .boolean(false)]
    func add(_ value: PropertyList) -> PropertyList {
      objects.append(value)
      return .uid(UInt64(objects.count - 1))
    }
    var fields = PropertyDictionary()
    fields["LastModified"] = seconds(entry.modifiedNanoseconds)
    fields["LastStatusChange"] = seconds(entry.changedNanoseconds)
    fields["Birth"] = seconds(entry.bornNanoseconds)
    fields["Size"] = .integer(Int128(entry.byteCount))
    fields["Mode"] = .integer(Int128((modeBits[entry.kind] ?? 0) | entry.permissions))
    fields["UserID"] = .integer(mobile)
    fields["GroupID"] = .integer(mobile)
    fields["InodeNumber"] = .integer(Int128(entry.inode))
    fields["Flags"] = .integer(0)
    fields["ProtectionClass"] = .integer(entry.kind == .file ? 3 : 0)
    fields["RelativePath"] = add(.string(entry.relativePath))
    if let target = entry.target { fields["Target"] = add(.string(target)) }
    if let digest = entry.digest { fields["Digest"] = add(.data(digest)) }
    if !entry.attributes.isEmpty {
      fields["ExtendedAttributes"] = add(.data(attributes(entry.attributes).binary))
    }
    fields["$class"] = add(fileClass)
    objects[1] = .dictionary(fields)
    return dictionary([
      ("$version", .integer(version)), ("$archiver", .string(archiver)),
      ("$top", dictionary([("root", .uid(1))])), ("$objects", .array(objects)),
    ]).binary
  }

  private static var fileClass: PropertyList {
    dictionary([
      ("$classname", .string("MBFile")),
      ("$classes", .array([.string("MBFile"), .string("NSObject")])),
    ])
  }

  private static func seconds(_ nanoseconds: Int64) -> PropertyList {
    .integer(Int128(floor(nanoseconds)))
  }

  private static func floor(_ nanoseconds: Int64) -> Int64 {
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: nanosecondsOfSecond)
    return rest < 0 ? seconds - 1 : seconds
  }

  private static func attributes(_ attributes: [BackupEntry.Attribute]) -> PropertyList {
    var all = PropertyDictionary()
    // A name that is no UTF-8 has no place in a property list.
    for attribute in attributes where String(validating: attribute.name, as: UTF8.self) != nil {
      all[attribute.name] = .data(attribute.value)
    }
    return .dictionary(all)
  }

  // MARK: Reading

  /// Fills in what an archive says about an entry; why it is no archive of one, if it is none.
  public static func read(_ bytes: [UInt8], into entry: inout BackupEntry) -> String? {
    let archive: PropertyList
    do throws(PropertyListError) {
      archive = try .binary(bytes)
    } catch {
      return error.description
    }
    guard let objects = archive["$objects"]?.array,
      let fields = resolve(archive["$top"]?["root"], in: objects)?.dictionary
    else { return "it is no keyed archive" }
    if let mode = number(fields["Mode"]) {
      guard let bits = UInt32(exactly: mode), bits & 0o170000 == modeBits[entry.kind] else {
        return "its mode contradicts its kind"
      }
      entry.permissions = bits & 0o777
    }
    if let size = number(fields["Size"]) {
      guard size >= 0 else { return "its size is negative" }
      entry.byteCount = entry.kind == .file ? size : 0
    }
    entry.modifiedNanoseconds = nanoseconds(fields["LastModified"])
    entry.changedNanoseconds = nanoseconds(fields["LastStatusChange"])
    entry.bornNanoseconds = nanoseconds(fields["Birth"])
    entry.inode = UInt64(exactly: fields["InodeNumber"]?.integer ?? 0) ?? 0
    entry.target = resolve(fields["Target"], in: objects)?.bytesOfString
    entry.digest = resolve(fields["Digest"], in: objects).flatMap(content)
    guard let packed = resolve(fields["ExtendedAttributes"], in: objects).flatMap(content) else {
      return nil
    }
    return readAttributes(packed, into: &entry)
  }

  private static func readAttributes(_ bytes: [UInt8], into entry: inout BackupEntry) -> String? {
    guard let all = (try? PropertyList.binary(bytes))?.dictionary else {
      return "its extended attributes can't be read"
    }
    entry.attributes = all.entries.compactMap { attribute in
      attribute.value.data.map { BackupEntry.Attribute(name: attribute.key, value: $0) }
    }
    return nil
  }

  /// Bytes, as they are or in the archive of an NSData.
  private static func content(_ value: PropertyList) -> [UInt8]? {
    value.data ?? value["NS.data"]?.data
  }

  private static func resolve(_ value: PropertyList?, in objects: [PropertyList]) -> PropertyList? {
    guard let value else { return nil }
    guard let index = value.uid else { return value }
    guard index > 0, index < objects.count else { return nil }
    return objects[Int(index)]
  }

  private static func number(_ value: PropertyList?) -> Int64? {
    value?.integer.flatMap { Int64(exactly: $0) }
  }

  private static func nanoseconds(_ value: PropertyList?) -> Int64 {
    guard let seconds = number(value) else { return 0 }
    let (product, isTooFar) = seconds.multipliedReportingOverflow(by: nanosecondsOfSecond)
    return isTooFar ? 0 : product
  }

  private static func dictionary(_ entries: [(String, PropertyList)]) -> PropertyList {
    var dictionary = PropertyDictionary()
    for (key, value) in entries { dictionary[key] = value }
    return .dictionary(dictionary)
  }
}
