// Every entry of a bundle as the table of its chunks has it.
internal import LinuxKit
internal import Paths
internal import Seal

/// Looks at every entry of a bundle that nobody else changes.
struct BundleSurvey: TreeVisitor {
  private var items: [SealedItem]
  private var components: [[UInt8]] = []

  /// Every entry of a bundle, with the hashes of what is in it; what is known is not read again.
  static func items(
    of bundle: borrowing Walker, called name: [UInt8], known: KnownDigests
  ) throws(StoreError) -> [SealedItem] {
    var items = try saying("hashing \(name.printable)") { () throws(Errno) in
      var survey = BundleSurvey(status: try bundle.status())
      try bundle.visitTree(&survey)
      return survey.items
    }
    let files = items.indices.filter { items[$0].fileSize != nil }
    let jobs = files.map { index in
      BundleHashing.Job(
        path: items[index].path, byteCount: items[index].fileSize ?? 0, digests: .chunks)
    }
    let found = try BundleHashing.digests(of: jobs, in: bundle, called: name, known: known)
    for (index, digests) in zip(files, found) {
      guard case .file(let size, let isExecutable, _) = items[index].content,
        size == digests.byteCount
      else {
        throw StoreError(
          .failed, "\(name.printable)/\(items[index].path.printable) was changed by somebody else")
      }
      items[index].content = .file(
        size: size, isExecutable: isExecutable, hashes: digests.chunks)
    }
    return items
  }

  private init(status: FileStatus) {
    items = [SealedItem(path: [], content: .directory, status)]
  }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    let path = Array((components + [entry.name]).joined(separator: [UInt8(ascii: "/")]))
    let status = try directory.status(of: entry.name)
    let content: SealedItem.Content
    switch status.kind {
    case .directory: content = .directory
    case .symbolicLink: content = .link(target: try directory.readLink(entry.name))
    case .regular:
      content = .file(
        size: status.byteCount, isExecutable: status.permissions & 0o111 != 0, hashes: [])
    default:
      // The store's own copy holds nothing else.
      throw .invalid
    }
    items.append(SealedItem(path: path, content: content, status))
    return status.kind == .directory
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    components.append(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    components.removeLast()
  }
}

extension SealedItem {
  fileprivate init(path: [UInt8], content: Content, _ status: FileStatus) {
    let time = status.modifiedTime
    self.init(
      path: path, content: content, seconds: time.seconds, nanoseconds: time.nanoseconds)
  }

  /// How many bytes a file has; nil for anything else.
  fileprivate var fileSize: Int64? {
    if case .file(let size, _, _) = content { return size }
    return nil
  }
}
