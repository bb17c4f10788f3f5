// The three property lists beside the manifest, with the keys that readers of such backups ask for.
internal import BackupFormat
internal import PropertyLists

/// What the property lists of a backup say about where it comes from.
public struct BackupSource: Sendable {
  /// Which store it is, as 40 digits; the name of the backup's directory.
  public let device: String
  /// The name of the host.
  public let hostName: String
  /// The version of this program.
  public let programVersion: String

  /// A source with all fields.
  public init(device: String, hostName: String, programVersion: String) {
    self.device = device
    self.hostName = hostName
    self.programVersion = programVersion
  }
}

/// An app, as the property lists of a backup name it.
struct BackedUpApp {
  let identifier: String
  let version: String
}

/// Writes and reads the property lists.
enum BackupPlists {
  static let infoName = "Info.plist"
  static let manifestName = "Manifest.plist"
  static let statusName = "Status.plist"

  /// What readers take for the version of the system: the first one with this form is 10.2.
  private static let systemVersion = "16.0"
  private static let systemBuild = "20A362"

  /// `Info.plist`, in XML as on a device.
  static func info(
    _ source: BackupSource, apps: [BackedUpApp], now: Double
  ) throws(BackupError) -> [UInt8] {
    let applications = apps.map { app in
      (app.identifier, list([("CFBundleIdentifier", .string(app.identifier))]))
    }
    let info = list([
      ("Applications", list(applications)), ("Build Version", .string(systemBuild)),
      ("Device Name", .string(source.hostName)), ("Display Name", .string(source.hostName)),
      ("GUID", .string(source.device.prefix(32).uppercased())),
      ("IMEI", .string("000000000000000")),
      ("Installed Applications", .array(apps.map { .string($0.identifier) })),
      ("Last Backup Date", .date(now)), ("Product Name", .string("sandboxfs")),
      ("Product Type", .string("Linux")), ("Product Version", .string(systemVersion)),
      ("Serial Number", .string(source.device.prefix(12).uppercased())),
      ("Target Identifier", .string(source.device)), ("Target Type", .string("Device")),
      ("Unique Identifier", .string(source.device.uppercased())),
      ("iTunes Version", .string(source.programVersion)),
    ])
    guard let bytes = info.xml else {
      throw BackupError("writing \(infoName): a name in it has control characters")
    }
    return bytes
  }

  /// `Manifest.plist`, binary as on a device.
  static func manifest(_ source: BackupSource, apps: [BackedUpApp], now: Double) -> [UInt8] {
    let applications = apps.map { app in
      (
        app.identifier,
        list([
          ("CFBundleIdentifier", .string(app.identifier)),
          ("CFBundleVersion", .string(app.version)),
          ("ContainerContentClass", .string("Data/Application")),
        ])
      )
    }
    let lockdown = list([
      ("BuildVersion", .string(systemBuild)), ("DeviceName", .string(source.hostName)),
      ("ProductType", .string("Linux")), ("ProductVersion", .string(systemVersion)),
      ("SerialNumber", .string(source.device.prefix(12).uppercased())),
      ("UniqueDeviceID", .string(source.device)),
    ])
    return list([
      ("Version", .string("10.0")), ("Date", .date(now)), ("IsEncrypted", .boolean(false)),
      ("WasPasscodeSet", .boolean(false)), ("SystemDomainsVersion", .string("24.0")),
      ("BackupKeyBag", .data([])), ("Lockdown", lockdown), ("Applications", list(applications)),
    ]).binary
  }

  /// `Status.plist`, binary as on a device.
  static func status(_ identifier: String, isFull: Bool, now: Double) -> [UInt8] {
    list([
      ("BackupState", .string("new")), ("Date", .date(now)), ("IsFullBackup", .boolean(isFull)),
      ("SnapshotState", .string("finished")), ("UUID", .string(identifier)),
      ("Version", .string("3.3")),
    ]).binary
  }

  /// Whether a `Manifest.plist` says that the backup is encrypted.
  static func saysEncrypted(_ bytes: [UInt8]) -> Bool {
    read(bytes)?["IsEncrypted"] == .boolean(true)
  }

  /// The versions of the apps that a `Manifest.plist` names.
  static func apps(_ bytes: [UInt8]) -> [String: String] {
    let applications = read(bytes)?["Applications"]?.dictionary
    var versions: [String: String] = [:]
    for entry in applications?.entries ?? [] {
      versions[String(decoding: entry.key, as: UTF8.self)] =
        entry.value["CFBundleVersion"]?.string ?? ""
    }
    return versions
  }

  /// When a backup was made, in seconds since 1970; nil if its `Status.plist` does not say it.
  static func date(_ bytes: [UInt8]) -> Double? {
    read(bytes)?["Date"]?.date
  }

  private static func read(_ bytes: [UInt8]) -> PropertyList? {
    PropertyList.isBinary(bytes) ? try? .binary(bytes) : try? .xml(bytes)
  }

  private static func list(_ entries: [(String, PropertyList)]) -> PropertyList {
    var dictionary = PropertyDictionary()
    for (key, value) in entries { dictionary[key] = value }
    return .dictionary(dictionary)
  }
}

/// A random identifier in the form of a UUID, version 4 (RFC 9562).
func randomIdentifier() -> String {
  var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
  bytes[6] = bytes[6] & 0x0f | 0x40
  bytes[8] = bytes[8] & 0x3f | 0x80
  let digits = String(decoding: hexadecimal(bytes), as: UTF8.self).uppercased()
  var text = ""
  for (index, digit) in digits.enumerated() {
    if [8, 12, 16, 20].contains(index) { text += "-" }
    text.append(digit)
  }
  return text
}
