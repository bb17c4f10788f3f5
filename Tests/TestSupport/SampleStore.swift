// A store and bundles of the test's own, so that no test touches the host's.

import Glibc
public import Store

/// Runs `body` with an empty store, and the path of a directory to build bundles in.
///
/// Its register of uids and its settings are the test's own too.
public func withStore<Result>(_ body: (Store, String) throws -> Result) throws -> Result {
  try withTemporaryDirectory { path in
    try body(try Store.openOrCreate(sampleLocation(in: path)), path)
  }
}

/// Places in a directory of the test's own.
public func sampleLocation(in path: String, store name: String = "store") -> StoreLocation {
  StoreLocation(
    store: Array("\(path)/\(name)".utf8), settings: [Array("\(path)/settings".utf8)],
    uidRegister: Array("\(path)/uids".utf8))
}

/// A bundle that is built on the disk.
public struct SampleBundle {
  /// The path of its directory.
  public let path: String

  /// Makes the directory of a bundle.
  public init(_ name: String, in directory: String) throws {
    path = "\(directory)/\(name)"
    try makeDirectories(path)
  }

  /// The bundle at a path.
  public init(of path: String) { self.path = path }

  /// Writes a file, and makes the directories above it.
  public func write(_ contents: some Sequence<UInt8>, to name: String, mode: UInt32 = 0o644) throws
  {
    let target = "\(path)/\(name)"
    try makeDirectories(String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)]))
    let bytes = Array(contents)
    let file = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else {
      throw ProgramFailure(description: "\(target): \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    guard Glibc.write(file, bytes, bytes.count) == bytes.count, fchmod(file, mode) == 0 else {
      throw ProgramFailure(description: "\(target): \(String(cString: strerror(errno)))")
    }
  }

  /// Makes a symbolic link.
  public func link(_ name: String, to destination: String) throws {
    guard symlink(destination, "\(path)/\(name)") == 0 else {
      throw ProgramFailure(description: "\(name): \(String(cString: strerror(errno)))")
    }
  }

  /// The text of an Info.plist with these keys.
  public static func information(_ keys: [(String, String)]) -> String {
    let entries = keys.map { "<key>\($0.0)</key><string>\($0.1)</string>" }.joined()
    return "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\(entries)</dict></plist>"
  }

  /// A flat bundle that can be installed, whose program is a shell script.
  public static func flat(
    _ name: String = "Notes.app", in directory: String, identifier: String = "com.example.Notes",
    version: String = "1.0"
  ) throws -> SampleBundle {
    let bundle = try SampleBundle(name, in: directory)
    let information = information([
      ("CFBundleIdentifier", identifier), ("CFBundleExecutable", "Notes"),
      ("CFBundleName", "Notes"), ("CFBundleShortVersionString", version),
    ])
    try bundle.write(information.utf8, to: "Info.plist")
    try bundle.write("#!/bin/sh\necho \(version)\n".utf8, to: "Notes", mode: 0o755)
    return bundle
  }
}

private func makeDirectories(_ path: String) throws {
  var made = ""
  for name in path.split(separator: "/") {
    made += "/" + name
    guard mkdir(made, 0o755) == 0 || errno == EEXIST else {
      throw ProgramFailure(description: "\(made): \(String(cString: strerror(errno)))")
    }
  }
}
