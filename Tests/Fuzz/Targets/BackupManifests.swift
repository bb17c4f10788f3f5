// Manifests of backups: whoever restores one reads what a stranger may have written.

import BackupFormat

extension FuzzTarget {
  /// A row of a manifest: the flags in the first byte, the two spellings of its path, each up to a
  /// zero, and the archive of an MBFile.
  ///
  /// What can be used lies below the container when it is restored, and is read from what we would
  /// write of it as it was.
  static let backupManifest = FuzzTarget(name: "backup-manifest") { bytes in
    var rest = bytes.dropFirst()
    func next() -> [UInt8] {
      let text = Array(rest.prefix { $0 != 0 })
      rest = rest.dropFirst(text.count + 1)
      return text
    }
    var columns = ManifestColumns()
    columns.flags = bytes.first.map(Int64.init)
    columns.domain = Array("AppDomain-com.example.App".utf8)
    columns.relativePath = next()
    let path = next()
    if !path.isEmpty { columns.path = path }
    columns.file = Array(rest)
    guard case .entry(let entry, _) = ManifestRow(columns, expectedID: []) else { return nil }
    return complaint(about: entry) ?? complaint(aboutWriting: entry)
  }

  private static func complaint(about entry: BackupEntry) -> String? {
    if entry.byteCount < 0 || entry.permissions > 0o777 { return "a size or mode that is none" }
    if entry.kind != .file && entry.byteCount != 0 { return "what is no file has a size" }
    guard entry.refusal(bundleName: Array("Name.app".utf8)) == nil else { return nil }
    let names = entry.path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for name in names where !entry.path.isEmpty {
      let isOdd =
        name.isEmpty || name.count > 255 || name.contains(0) || name.elementsEqual(".".utf8)
        || name.elementsEqual("..".utf8)
      if isOdd { return "it would be restored elsewhere" }
    }
    return names.first?.elementsEqual("Name.app".utf8) == true ? "it is in the bundle" : nil
  }

  private static func complaint(aboutWriting entry: BackupEntry) -> String? {
    // A text that is no UTF-8 has no place in an archive, and nor have times between seconds.
    let texts = [entry.target ?? []] + entry.attributes.map(\.name)
    guard texts.allSatisfy({ String(validating: $0, as: UTF8.self) != nil }) else { return nil }
    var again = BackupEntry(domain: entry.domain, path: entry.path, kind: entry.kind)
    if let problem = MobileFile.read(MobileFile.archive(entry), into: &again) {
      return "written it is unreadable: \(problem)"
    }
    again.isSettled = entry.isSettled
    return again == entry ? nil : "written and read it is another"
  }
}
