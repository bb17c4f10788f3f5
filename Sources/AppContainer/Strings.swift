// Texts of the bundle, in the person's language.
internal import Glibc
internal import Synchronization

// `docs/app-container.md` shows how to compile both into one library.
#if canImport(PropertyLists)
  internal import PropertyLists
#endif

extension AppContainer {
  /// A text of the bundle in the person's language; the key itself if there is none.
  ///
  /// It is looked for in `TABLE.strings`, wherever `resourcePath` looks: where a table has not got
  /// it, or can't be read, in the next one.
  public static func localizedString(_ key: String, table: String = "Localizable") -> String {
    Surroundings.current.localizedString(key, table: table)
  }
}

extension Surroundings {
  func localizedString(_ key: String, table: String) -> String {
    for path in resourcePaths(table + ".strings") {
      if let text = Self.strings(at: path)[Array(key.utf8)] { return text }
    }
    return key
  }

  /// What was read, by path: nobody can change a bundle that is in use.
  private static let known = Mutex<[String: [[UInt8]: String]]>([:])

  private static func strings(at path: String) -> [[UInt8]: String] {
    if let strings = known.withLock({ $0[path] }) { return strings }
    var strings: [[UInt8]: String] = [:]
    if let list = contents(of: path).flatMap({ try? PropertyList.read($0) }) {
      for entry in list.dictionary?.entries ?? [] { strings[entry.key] = entry.value.string }
    }
    known.withLock { $0[path] = strings }
    return strings
  }

  private static let maximumByteCount = 16 << 20

  private static func contents(of path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_size <= maximumByteCount
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = read(file, &bytes, bytes.count)
    return count == bytes.count ? bytes : nil
  }
}
