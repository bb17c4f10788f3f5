// The door to SQLite: a connection, and statements on it.
//
// A database that strangers wrote is opened read-only, with nothing in its schema trusted, and with
// an end to the work that it may cause.
internal import CSQLite
internal import LinuxKit
internal import Paths

/// SQLite's functions; the first use loads it.
private let sqlite: csqlite_functions = loadedFunctions(by: csqlite_load)

/// A connection to one database file.
final class Database {
  /// How the file is opened.
  enum Mode {
    /// For reading what strangers may have written; nothing beside the file is looked at.
    case readingUntrusted
    /// For reading and writing, and made if it is not there.
    case writing
  }

  fileprivate let connection: OpaquePointer
  private let shown: String

  /// How many steps of SQLite's machine one statement of an untrusted database may take.
  private static let maximumSteps: CInt = 2_000_000_000
  /// The most bytes of one text or blob.
  private static let maximumValueByteCount: CInt = 64 << 20

  /// Opens a file by a path that we made; `shown` is what errors call it.
  init(path: String, _ mode: Mode, shown: String) throws(BackupError) {
    var opened: OpaquePointer?
    let flags: CInt
    let name: String
    switch mode {
    case .readingUntrusted:
      flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
      name = "file:\(path)?immutable=1"
    case .writing:
      flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      name = path
    }
    let status = sqlite.sqlite3_open_v2(name, &opened, flags, nil)
    guard status == SQLITE_OK, let opened else {
      let reason = words(sqlite.sqlite3_errstr(status))
      _ = sqlite.sqlite3_close(opened)
      throw BackupError("\(shown): \(reason)")
    }
    connection = opened
    self.shown = shown
    _ = sqlite.sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, Self.maximumValueByteCount)
    if mode == .readingUntrusted { distrust() }
  }

  deinit { _ = sqlite.sqlite3_close(connection) }

  /// Functions, views and triggers of the file can do nothing then.
  private func distrust() {
    _ = try? execute("PRAGMA trusted_schema = OFF")
    _ = try? execute("PRAGMA cell_size_check = ON")
    // SQLite counts the steps of each statement anew, so this bounds one statement.
    sqlite.sqlite3_progress_handler(connection, Self.maximumSteps, { _ in 1 }, nil)
  }

  /// Runs statements that have no result.
  func execute(_ text: String) throws(BackupError) {
    try check(sqlite.sqlite3_exec(connection, text, nil, nil, nil))
  }

  /// A statement that is run any number of times.
  func prepare(_ text: String) throws(BackupError) -> Statement {
    var prepared: OpaquePointer?
    try check(
      sqlite.sqlite3_prepare_v3(
        connection, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
    guard let prepared else { throw BackupError("\(shown): an empty statement") }
    return Statement(prepared, of: self)
  }

  fileprivate func check(_ status: CInt) throws(BackupError) {
    guard status == SQLITE_OK || status == SQLITE_ROW || status == SQLITE_DONE else {
      // It may quote what a stranger has written into the schema.
      let reason = Array(words(sqlite.sqlite3_errmsg(connection)).utf8).printable
      throw BackupError("\(shown): \(reason)")
    }
  }
}

/// A prepared statement; its parameters and columns count from 0.
final class Statement {
  private let statement: OpaquePointer
  private let database: Database

  fileprivate init(_ statement: OpaquePointer, of database: Database) {
    self.statement = statement
    self.database = database
  }

  deinit { _ = sqlite.sqlite3_finalize(statement) }

  /// A value of a column or a parameter.
  enum Value {
    case null
    case integer(Int64)
    case text([UInt8])
    case blob([UInt8])
  }

  /// Begins anew with these parameters.
  func bind(_ values: [Value]) throws(BackupError) {
    _ = sqlite.sqlite3_reset(statement)
    for (index, value) in values.enumerated() {
      let place = CInt(index + 1)
      let status: CInt =
        switch value {
        case .null: sqlite.sqlite3_bind_null(statement, place)
        case .integer(let number): sqlite.sqlite3_bind_int64(statement, place, number)
        case .text(let bytes):
          withCharacters(bytes) { sqlite.sqlite3_bind_text(statement, place, $0, CInt($1), copied) }
        case .blob(let bytes):
          withCharacters(bytes) { sqlite.sqlite3_bind_blob(statement, place, $0, CInt($1), copied) }
        }
      try database.check(status)
    }
  }

  /// Goes to the next row; false behind the last.
  func step() throws(BackupError) -> Bool {
    let status = sqlite.sqlite3_step(statement)
    if status == SQLITE_ROW { return true }
    let isDone = status == SQLITE_DONE
    if !isDone { try database.check(status) }
    _ = sqlite.sqlite3_reset(statement)
    return false
  }

  /// Runs a statement without a result.
  func run(_ values: [Value]) throws(BackupError) {
    try bind(values)
    while try step() {}
  }

  /// A whole number in a column; nil for everything else.
  func integer(_ column: Int32) -> Int64? {
    guard sqlite.sqlite3_column_type(statement, column) == SQLITE_INTEGER else { return nil }
    return sqlite.sqlite3_column_int64(statement, column)
  }

  /// The bytes of a text or a blob in a column; nil for everything else.
  func bytes(_ column: Int32) -> [UInt8]? {
    switch sqlite.sqlite3_column_type(statement, column) {
    case SQLITE_TEXT, SQLITE_BLOB: break
    default: return nil
    }
    let start = sqlite.sqlite3_column_blob(statement, column)
    let count = Int(sqlite.sqlite3_column_bytes(statement, column))
    return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }
}

private func words(_ text: UnsafePointer<CChar>?) -> String {
  text.map { String(cString: $0) } ?? "SQLite does not say why"
}

/// SQLite copies what it is given: SQLITE_TRANSIENT, a macro that is not imported.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// The bytes by a pointer that is never null: null would be stored as NULL.
private func withCharacters<Result>(
  _ bytes: [UInt8], _ body: (UnsafePointer<CChar>, Int) -> Result
) -> Result {
  (bytes + [0]).withUnsafeBytes { buffer in
    guard let start = buffer.bindMemory(to: CChar.self).baseAddress else {
      preconditionFailure("there is at least one byte")
    }
    return body(start, bytes.count)
  }
}
