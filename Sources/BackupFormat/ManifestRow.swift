// What a row of a manifest says, if its columns agree with each other.

/// The columns of a row, as a database has them; nil for what is of another type.
public struct ManifestColumns: Equatable, Sendable {
  /// The name of the row, and of its blob.
  public var id: [UInt8] = []
  /// Whose it is.
  public var domain: [UInt8] = []
  /// The path as the format spells it.
  public var relativePath: [UInt8] = []
  /// What it is.
  public var flags: Int64?
  /// The archive of an MBFile.
  public var file: [UInt8] = []
  /// The path as bytes, where it is no UTF-8.
  public var path: [UInt8]?
  /// Times in nanoseconds since 1970.
  public var modified: Int64?
  /// 0 for a file that changed while it was saved.
  public var changed: Int64?
  /// The birth.
  public var born: Int64?

  /// Nothing at all.
  public init() {}
}

/// A row: the entry, or why it can't be used.
public enum ManifestRow: Equatable, Sendable {
  /// An entry, and the name of its blob.
  case entry(BackupEntry, id: [UInt8])
  /// Columns that contradict each other.
  case unusable(path: [UInt8], reason: String)

  /// Reads the columns; `expectedID` is the digest of domain and path.
  public init(_ columns: ManifestColumns, expectedID: [UInt8]) {
    func unusable(_ reason: String) -> ManifestRow {
      .unusable(path: columns.relativePath, reason: reason)
    }
    guard columns.id == expectedID else {
      self = unusable("its id is not that of its path")
      return
    }
    guard let kind = columns.flags.flatMap(BackupEntry.Kind.init) else {
      self = unusable("it is neither file nor directory nor link")
      return
    }
    var entry = BackupEntry(
      domain: String(decoding: columns.domain, as: UTF8.self),
      path: columns.path ?? columns.relativePath, kind: kind)
    guard entry.relativePath == columns.relativePath else {
      self = unusable("its two spellings differ")
      return
    }
    if let problem = MobileFile.read(columns.file, into: &entry) {
      self = unusable(problem)
      return
    }
    entry.modifiedNanoseconds = columns.modified ?? entry.modifiedNanoseconds
    let changed = columns.changed ?? 0
    entry.isSettled = changed != 0
    if entry.isSettled { entry.changedNanoseconds = changed }
    entry.bornNanoseconds = columns.born ?? entry.bornNanoseconds
    self = .entry(entry, id: columns.id)
  }
}
