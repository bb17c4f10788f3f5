// The files of this repository as the tidy tests see them.

import Foundation

/// One text file.
struct SourceFile: Sendable {
  /// The path below the repository's root.
  let path: String
  let lines: [String]

  /// The target that it belongs to, if it is in Sources or Tests.
  var target: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 ? String(parts[1]) : nil
  }
}

/// Where the repository is, and what is in it.
enum Repository {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every file that people wrote: no build results, nothing of git's.
  static let files: [String] = {
    let keys: [URLResourceKey] = [.isRegularFileKey, .isDirectoryKey]
    let walk = FileManager.default.enumerator(at: root, includingPropertiesForKeys: keys)
    var paths: [String] = []
    while let url = walk?.nextObject() as? URL {
      let name = url.lastPathComponent
      if [".git", ".build", "artefacts"].contains(name) {
        walk?.skipDescendants()
      } else if (try? url.resourceValues(forKeys: Set(keys)))?.isRegularFile == true {
        paths.append(String(url.path.dropFirst(root.path.count + 1)))
      }
    }
    return paths.sorted()
  }()

  /// The files whose path ends with one of these.
  static func files(endingIn suffixes: String...) -> [SourceFile] {
    files.filter { path in suffixes.contains { path.hasSuffix($0) } }.map(read)
  }

  /// The Swift files below a directory.
  static func swiftFiles(below directory: String) -> [SourceFile] {
    files.filter { $0.hasPrefix(directory + "/") && $0.hasSuffix(".swift") }.map(read)
  }

  static func read(_ path: String) -> SourceFile {
    let data = FileManager.default.contents(atPath: root.appending(path: path).path) ?? Data()
    let text = String(decoding: data, as: UTF8.self)
    return SourceFile(path: path, lines: text.components(separatedBy: "\n"))
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root.appending(path: path).path)
  }
}
