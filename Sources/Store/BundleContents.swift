// What a bundle says of itself: its form, and the keys of its Info.plist.
internal import LinuxKit
internal import Paths
internal import PropertyLists

/// The names inside a bundle that mean something.
enum BundleContents {
  /// The bundle's own rules.
  static let profileName = "sandbox.profile"

  /// Where a bundle or a framework says what it is, from where its seal is.
  static let informationPaths = [
    "Info.plist", "Resources/Info.plist", "Resources/Info-gnustep.plist", "Contents/Info.plist",
  ]
}

/// The ways to lay out a bundle.
private enum BundleForm: CaseIterable {
  /// As on iOS: everything at the top.
  case flat
  /// As on macOS: everything in `Contents`.
  case deep
  /// As GNUstep does it: the executable at the top, everything else in `Resources`.
  case gnustep

  var informationPath: String {
    switch self {
    case .flat: "Info.plist"
    case .deep: "Contents/Info.plist"
    case .gnustep: "Resources/Info-gnustep.plist"
    }
  }

  /// Where the executable is, before its name.
  var executablePrefix: String { self == .deep ? "Contents/MacOS/" : "" }
}

/// What the store must know of a bundle.
struct BundleInformation {
  let identifier: BundleIdentifier
  let executable: [UInt8]
  let displayName: String
  let version: String

  /// Reads a bundle that nobody else changes.
  ///
  /// Throws what must be different for it to be installed.
  init(of bundle: borrowing Walker, called name: [UInt8]) throws(StoreError) {
    let (form, list) = try Self.information(of: bundle, called: name)
    let reader = Reader(list: list, path: "\(name.printable)/\(form.informationPath)")
    let program = try reader.executable()
    identifier = try reader.identifier(program: program)
    displayName =
      try reader.text("CFBundleDisplayName", "CFBundleName", "ApplicationName", "NSExecutable")
      ?? String(decoding: program, as: UTF8.self)
    version =
      try reader.text("CFBundleShortVersionString", "ApplicationRelease", "CFBundleVersion") ?? ""
    executable = Array(form.executablePrefix.utf8) + program
    try Self.checkExecutable(executable, in: bundle, called: name)
  }

  private static func information(
    of bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) -> (BundleForm, PropertyList) {
    for form in BundleForm.allCases {
      let path = "\(name.printable)/\(form.informationPath)"
      let found = try allowing([.noEntry, .notDirectory], path) { () throws(Errno) in
        try bundle.find(beneath: form.informationPath.utf8)
      }
      guard let found else { continue }
      let kind = try saying(path) { () throws(Errno) in try found.status().kind }
      guard kind == .regular else { throw StoreError(.failed, "\(path) is not a file") }
      let bytes = try saying(path) { () throws(Errno) in
        try found.reopened(Opening.reading).readToEnd(atMost: PropertyListFile.maximumByteCount)
      }
      do throws(PropertyListFile.Malformed) {
        return (form, try PropertyListFile.read(bytes))
      } catch {
        throw StoreError(.failed, "\(path) is no property list: \(error.reason)")
      }
    }
    throw StoreError(
      .failed,
      "\(name.printable) is no app: it has neither Info.plist, Contents/Info.plist nor "
        + "Resources/Info-gnustep.plist")
  }

  private static func checkExecutable(
    _ path: [UInt8], in bundle: borrowing Walker, called name: [UInt8]
  ) throws(StoreError) {
    let shown = "\(name.printable)/\(path.printable)"
    let status: FileStatus
    do throws(Errno) {
      status = try bundle.find(beneath: path).status()
    } catch {
      guard error == .noEntry else { throw StoreError(shown, error) }
      throw StoreError(.failed, "\(name.printable) lacks its executable: there is no \(shown)")
    }
    guard status.kind == .regular else { throw StoreError(.failed, "\(shown) is not a file") }
    guard status.permissions & 0o111 != 0 else {
      throw StoreError(.failed, "\(shown) is not executable: chmod +x it and install again")
    }
  }
}

/// Reads keys, of which Apple's go before GNUstep's.
private struct Reader {
  let list: PropertyList
  /// Where they are, for errors.
  let path: String

  private static let maximumTextByteCount = 255

  func executable() throws(StoreError) -> [UInt8] {
    guard let name = try text("CFBundleExecutable", "NSExecutable"), !name.isEmpty else {
      throw StoreError(
        .failed, "\(path) names no executable: it needs CFBundleExecutable or NSExecutable")
    }
    let bytes = Array(name.utf8)
    guard !bytes.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
      throw StoreError(.failed, "\(path): the executable '\(bytes.printable)' is not a name")
    }
    return bytes
  }

  func identifier(program: [UInt8]) throws(StoreError) -> BundleIdentifier {
    let stated = try text("CFBundleIdentifier").map { Array($0.utf8) }
    let bytes = stated ?? Array("org.gnustep.".utf8) + program
    guard let identifier = BundleIdentifier(bytes: bytes) else {
      let shown =
        bytes.count <= 2 * BundleIdentifier.maximumByteCount
        ? bytes : bytes.prefix(40) + Array("...".utf8)
      throw StoreError(
        .failed,
        "\(path): '\(shown.printable)' is no identifier: those are words of letters, digits, '-' "
          + "and '_' with dots between, such as com.example.Notes, of at most "
          + "\(BundleIdentifier.maximumByteCount) bytes")
    }
    return identifier
  }

  /// The first of these keys that says something, as a text without NUL; numbers are texts too.
  func text(_ keys: String...) throws(StoreError) -> String? {
    for key in keys {
      let found: String
      switch list[key] {
      case nil: continue
      case .string(let bytes): found = String(decoding: bytes, as: UTF8.self)
      case .integer(let number): found = String(number)
      case .real(let number): found = String(number)
      default: throw StoreError(.failed, "\(path): \(key) is not a text")
      }
      // What Xcode would have filled in, and nobody did, says nothing.
      if found.contains("$(") || found.contains("${") { continue }
      guard !found.utf8.contains(0) else {
        throw StoreError(.failed, "\(path): \(key) has a NUL in it")
      }
      let isIdentifier = key == "CFBundleIdentifier"
      guard isIdentifier || found.utf8.count <= Self.maximumTextByteCount else {
        throw StoreError(
          .failed, "\(path): \(key) is longer than \(Self.maximumTextByteCount) bytes")
      }
      return found
    }
    return nil
  }
}
