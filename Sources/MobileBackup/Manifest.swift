// `Manifest.db`: which entries a backup has.
//
// The table `Files` is that of iTunes and Finder. Beside it `SandboxfsFiles` says what their format
// has no place for: times in nanoseconds, by which a later backup knows what has not changed, and
// names that are no UTF-8. Other readers pass over it, and a backup of a device has none.
internal import BackupFormat
internal import Paths

/// The manifest of one backup.
final class Manifest {
  static let name = "Manifest.db"

  private let database: Database
  private let hasOwnTable: Bool
  private var statements: [String: Statement] = [:]
  private var pendingCount = 0

  /// Opens a manifest by a path that we made; `shown` is what errors call it.
  init(path: String, _ mode: Database.Mode, shown: String) throws(BackupError) {
    database = try Database(path: path, mode, shown: shown)
    if mode == .writing { try Self.create(in: database) }
    let tables = try Self.tables(of: database)
    guard tables.contains("Files") else {
      throw BackupError("\(shown): it has no table of files, so it is no backup's manifest")
    }
    hasOwnTable = tables.contains("SandboxfsFiles")
  }

  private static func create(in database: Database) throws(BackupError) {
    try database.execute(
      """
      PRAGMA journal_mode = DELETE;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS Files (fileID TEXT PRIMARY KEY, domain TEXT, relativePath TEXT,
        flags INTEGER, file BLOB);
      CREATE INDEX IF NOT EXISTS FilesDomainIdx ON Files(domain);
      CREATE INDEX IF NOT EXISTS FilesRelativePathIdx ON Files(relativePath);
      CREATE INDEX IF NOT EXISTS FilesFlagsIdx ON Files(flags);
      CREATE TABLE IF NOT EXISTS Properties (key TEXT PRIMARY KEY, value BLOB);
      CREATE TABLE IF NOT EXISTS SandboxfsFiles (fileID TEXT PRIMARY KEY, path BLOB,
        modified INTEGER, changed INTEGER, born INTEGER) WITHOUT ROWID;
      """)
  }

  /// Real tables only: a view of that name could do anything.
  private static func tables(of database: Database) throws(BackupError) -> Set<String> {
    let statement = try database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    try statement.bind([])
    var names: Set<String> = []
    while try statement.step() {
      names.insert(String(decoding: statement.bytes(0) ?? [], as: UTF8.self))
    }
    return names
  }

  private func statement(_ text: String) throws(BackupError) -> Statement {
    if let known = statements[text] { return known }
    let new = try database.prepare(text)
    statements[text] = new
    return new
  }

  // MARK: Writing

  /// How many entries are written to the disk at a time: each such step waits for the disk.
  private static let batchCount = 1_000

  /// Forgets which entries were added since the last time.
  func beginDomain() throws(BackupError) {
    try flush()
    try database.execute(
      """
      DROP TABLE IF EXISTS temp.Seen;
      CREATE TEMP TABLE Seen (fileID TEXT PRIMARY KEY) WITHOUT ROWID;
      """)
  }

  /// Adds an entry, or puts it in the place of the one with its id.
  ///
  /// It is on the disk after `flush` or some time before.
  func add(_ entry: BackupEntry) throws(BackupError) {
    if pendingCount == 0 { try database.execute("BEGIN IMMEDIATE") }
    pendingCount += 1
    let id = try entry.fileID
    try statement("INSERT OR IGNORE INTO temp.Seen VALUES (?)").run([.text(id)])
    try statement("INSERT OR REPLACE INTO Files VALUES (?, ?, ?, ?, ?)").run([
      .text(id), .text(Array(entry.domain.utf8)), .text(entry.relativePath),
      .integer(entry.kind.rawValue), .blob(MobileFile.archive(entry)),
    ])
    let path: Statement.Value = entry.relativePath == entry.path ? .null : .blob(entry.path)
    try statement("INSERT OR REPLACE INTO SandboxfsFiles VALUES (?, ?, ?, ?, ?)").run([
      .text(id), path, .integer(entry.modifiedNanoseconds),
      .integer(entry.isSettled ? entry.changedNanoseconds : 0), .integer(entry.bornNanoseconds),
    ])
    if pendingCount >= Self.batchCount { try flush() }
  }

  /// Writes what was added.
  func flush() throws(BackupError) {
    guard pendingCount > 0 else { return }
    pendingCount = 0
    try database.execute("COMMIT")
  }

  /// The ids of a domain that were not added since `beginDomain`.
  func unseen(in domain: String) throws(BackupError) -> [[UInt8]] {
    let rows = try database.prepare(
      "SELECT fileID FROM Files WHERE domain = ? AND fileID NOT IN (SELECT fileID FROM temp.Seen)")
    try rows.bind([.text(Array(domain.utf8))])
    var ids: [[UInt8]] = []
    while try rows.step() { ids.append(rows.bytes(0) ?? []) }
    return ids
  }

  /// Notes a value under a key, or reads it: which run of the system a manifest was begun in.
  func note(_ value: [UInt8], as key: String) throws(BackupError) {
    try statement("INSERT OR REPLACE INTO Properties VALUES (?, ?)").run([
      .text(Array(key.utf8)), .blob(value),
    ])
  }

  /// What was noted under a key.
  func noted(_ key: String) throws(BackupError) -> [UInt8]? {
    let found = try statement("SELECT value FROM Properties WHERE key = ?")
    try found.bind([.text(Array(key.utf8))])
    return try found.step() ? found.bytes(0) : nil
  }

  /// Removes the entry with an id.
  func remove(id: [UInt8]) throws(BackupError) {
    try statement("DELETE FROM Files WHERE fileID = ?").run([.text(id)])
    try statement("DELETE FROM SandboxfsFiles WHERE fileID = ?").run([.text(id)])
  }

  // MARK: Reading

  private static let columns = """
    SELECT f.fileID, f.domain, f.relativePath, f.flags, f.file, s.path, s.modified, s.changed,
      s.born FROM Files f LEFT JOIN SandboxfsFiles s ON s.fileID = f.fileID
    """
  private static let foreignColumns = """
    SELECT fileID, domain, relativePath, flags, file, NULL, NULL, NULL, NULL FROM Files f
    """

  private var selection: String { hasOwnTable ? Self.columns : Self.foreignColumns }

  /// The entry with an id; nil if there is none, or none that can be used.
  func entry(id: [UInt8]) throws(BackupError) -> BackupEntry? {
    let found = try statement(selection + " WHERE f.fileID = ?")
    try found.bind([.text(id)])
    guard try found.step() else { return nil }
    guard case .entry(let entry, _) = try row(found) else { return nil }
    return entry
  }

  /// Shows each row of a domain to `body`, a directory before what is in it.
  func forEach(
    of domain: String, _ body: (ManifestRow) throws(BackupError) -> Void
  ) throws(BackupError) {
    // A statement of its own: `body` may ask for others.
    let rows = try database.prepare(selection + " WHERE f.domain = ? ORDER BY f.relativePath")
    try rows.bind([.text(Array(domain.utf8))])
    while try rows.step() { try body(try row(rows)) }
  }

  /// The domains that there are, in order.
  func domains() throws(BackupError) -> [String] {
    let rows = try database.prepare("SELECT DISTINCT domain FROM Files ORDER BY domain")
    try rows.bind([])
    var names: [String] = []
    while try rows.step() {
      names.append(String(decoding: rows.bytes(0) ?? [], as: UTF8.self))
    }
    return names
  }

  private func row(_ statement: Statement) throws(BackupError) -> ManifestRow {
    var columns = ManifestColumns()
    columns.id = statement.bytes(0) ?? []
    columns.domain = statement.bytes(1) ?? []
    columns.relativePath = statement.bytes(2) ?? []
    columns.flags = statement.integer(3)
    columns.file = statement.bytes(4) ?? []
    columns.path = statement.bytes(5)
    columns.modified = statement.integer(6)
    columns.changed = statement.integer(7)
    columns.born = statement.integer(8)
    let domain = String(decoding: columns.domain, as: UTF8.self)
    return ManifestRow(
      columns,
      expectedID: try BackupEntry.fileID(domain: domain, relativePath: columns.relativePath))
  }
}
