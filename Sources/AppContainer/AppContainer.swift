// Where an app's things belong: the library for programs that run inside of a container.
//
// It stands alone, and works outside of a container too: there the paths are those of the XDG
// conventions.
internal import Glibc

/// The places of an app.
///
/// All paths are absolute, without a slash at their end.
public enum AppContainer {
  /// The home directory, which holds `Documents`, `Library` and `tmp`.
  public static var homePath: String { Surroundings.current.home }

  /// The bundle that the program comes from; nothing can be written there.
  ///
  /// For a program that comes from none it is the bundle in the home, and outside of a container
  /// the directory of the program.
  public static var appPath: String { Surroundings.current.app }

  /// The person's documents, which are backed up.
  public static var docPath: String { Surroundings.current.documents }

  /// Settings, which are backed up; property lists are best written by the preferences' API.
  public static var libPrefPath: String { Surroundings.current.preferences }

  /// What can be made again: not backed up, and removed when room is needed.
  public static var libCachePath: String { Surroundings.current.caches }

  /// What nobody needs after the last process of the app has ended.
  public static var tmpPath: String { Surroundings.current.temporary }

  /// Makes a directory, and those above it, if it is not there.
  ///
  /// True if there is a directory afterwards, whoever made it; else errno says why.
  @discardableResult
  public static func ensureDirectory(_ path: String) -> Bool {
    if isDirectory(path) { return true }
    let parent = path.directory
    if !parent.isEmpty, parent != path, !isDirectory(parent), !ensureDirectory(parent) {
      return false
    }
    if mkdir(path, 0o777) == 0 { return true }
    // Somebody else may have made it meanwhile.
    let failure = errno
    if isDirectory(path) { return true }
    errno = failure
    return false
  }
}

/// What the places depend on.
struct Surroundings {
  /// The environment.
  let variables: [String: String]
  /// The home that the password file has.
  let account: String
  /// The path of the program.
  let executable: String

  /// Those of this process.
  static var current: Surroundings {
    var variables: [String: String] = [:]
    for name in [
      "CFFIXED_USER_HOME", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LANGUAGE",
      "LC_ALL", "LC_MESSAGES", "LANG",
    ] {
      if let value = getenv(name), value.pointee != 0 { variables[name] = String(cString: value) }
    }
    let account = getpwuid(geteuid())?.pointee.pw_dir.map { String(cString: $0) }
    return Surroundings(
      variables: variables, account: account ?? "/", executable: linkTarget("/proc/self/exe") ?? "")
  }

  var home: String {
    (variables["CFFIXED_USER_HOME"] ?? variables["HOME"] ?? account).withoutSlashes
  }

  var documents: String { home.appending("Documents") }

  var preferences: String {
    place("XDG_CONFIG_HOME", inside: "Library/Preferences", outside: ".config")
  }

  var caches: String { place("XDG_CACHE_HOME", inside: "Library/Caches", outside: ".cache") }

  var temporary: String {
    if let directory = variables["TMPDIR"] { return directory.withoutSlashes }
    return hasLayout ? home.appending("tmp") : "/tmp"
  }

  var app: String {
    var path = executable.directory
    while path.count > 1 {
      if path.hasSuffix(".app") { return path }
      path = path.directory
    }
    return bundleInHome ?? executable.directory
  }

  /// Whether the home is laid out as a container's.
  private var hasLayout: Bool {
    ["Documents", "Library/Preferences", "Library/Caches", "tmp"].allSatisfy {
      isDirectory(home.appending($0))
    }
  }

  private func place(_ variable: String, inside: String, outside: String) -> String {
    if let path = variables[variable] { return path.withoutSlashes }
    return home.appending(hasLayout ? inside : outside)
  }

  private var bundleInHome: String? {
    guard hasLayout, let directory = opendir(home) else { return nil }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".app") { return home.appending(name) }
    }
    return nil
  }
}

/// Whether there is a directory, or a link to one.
func isDirectory(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

private func linkTarget(_ path: String) -> String? {
  var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
  let count = readlink(path, &target, Int(PATH_MAX))
  guard count > 0 else { return nil }
  return String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}

extension String {
  /// A path below this one.
  func appending(_ name: String) -> String { self == "/" ? "/" + name : self + "/" + name }

  /// The path without the slashes at its end.
  var withoutSlashes: String {
    var path = self
    while path.count > 1, path.last == "/" { path.removeLast() }
    return path
  }

  /// The path of what holds it; empty for a name alone.
  var directory: String {
    let path = withoutSlashes
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
