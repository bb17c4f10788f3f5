// The files of `environment.d` in the settings: more lines of the table of variables that programs
// in containers get.
internal import LinuxKit
internal import Paths

/// A file of the settings, read.
public struct SettingsFile: Equatable, Sendable {
  /// Its path.
  public let path: [UInt8]
  /// What is in it.
  public let text: [UInt8]
}

extension StoreLocation {
  private static let maximumByteCount = 1 << 20

  /// The files `environment.d/*.conf`, those whose word counts more last: first the host's, then
  /// the user's, each by name.
  ///
  /// Links are followed: the settings are the host's.
  public func environmentFiles() throws(StoreError) -> [SettingsFile] {
    var files: [SettingsFile] = []
    for place in settings.reversed() {
      let directory = place + Array("/environment.d".utf8)
      for name in try Self.names(in: directory) {
        let path = directory + [UInt8(ascii: "/")] + name
        let text = try saying(path.printable) { () throws(Errno) in
          try Descriptor.following(path).reopened(Opening.reading).readToEnd(
            atMost: Self.maximumByteCount)
        }
        files.append(SettingsFile(path: path, text: text))
      }
    }
    return files
  }

  private static func names(in directory: [UInt8]) throws(StoreError) -> [[UInt8]] {
    let suffix = Array(".conf".utf8)
    let entries = try allowing([.noEntry, .notDirectory], directory.printable) {
      () throws(Errno) in try Walker.open(path: directory).entries().map(\.name)
    }
    return (entries ?? []).filter { name in
      name.first != UInt8(ascii: ".") && name.suffix(suffix.count).elementsEqual(suffix)
    }.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
