// Copies a bundle from where it lies on the host into the store.
//
// Links that stay inside are kept. Links that leave are followed, now and never again, into what
// everyone on the host may read and what root or the installer owns: so no bundle can make whoever
// installs it hand over what only they may read. Every file is looked at through the descriptor
// that it is then read from.
internal import LinuxKit
internal import Paths

/// One copy of a bundle.
struct BundleCopy {
  private(set) var writer = BundleWriter()
  /// Who installs.
  private let installer = effectiveUID()
  /// Who owns the bundle's own directory.
  private let bundleOwner: UInt32
  /// The first link that was followed out, with where to, and how many there were.
  private var firstFollowed: String?
  private var followedCount = 0

  /// Where a directory that is copied lies.
  private struct Place {
    /// The path to show, from the bundle's name on.
    var shown: [UInt8]
    /// The path from the top of the tree that links may not leave.
    var beneath: [UInt8] = []
    /// Whether that tree is outside of the bundle.
    var isOutside = false
    /// The directories that this one is in.
    var ancestors: [FileIdentity] = []

    func entry(_ name: [UInt8]) -> [UInt8] { shown + [UInt8(ascii: "/")] + name }

    func below(_ name: [UInt8], _ identity: FileIdentity) -> Place {
      var place = self
      place.shown = entry(name)
      place.beneath = beneath.isEmpty ? name : beneath + [UInt8(ascii: "/")] + name
      place.ancestors.append(identity)
      return place
    }
  }

  /// Copies the bundle at `source` to the entry `name` of `target`.
  ///
  /// Returns what the installer should know, and may want to.
  static func copy(
    _ source: borrowing Walker, as name: [UInt8], into target: borrowing Walker
  ) throws(StoreError) -> (warnings: [String], notes: [String]) {
    let status = try saying(name.printable) { () throws(Errno) in try source.status() }
    var copy = BundleCopy(bundleOwner: status.ownerUID)
    let created = try copy.writer.createDirectory(name, in: target, shownAs: name)
    try copy.copyEntries(
      of: source, beneath: source, into: created,
      Place(shown: name, ancestors: [status.identity]))
    return (copy.writer.warnings, copy.notes)
  }

  /// What was taken from outside: one line, since some apps have a hundred such links.
  private var notes: [String] {
    guard let firstFollowed else { return [] }
    if followedCount == 1 { return [firstFollowed] }
    return ["\(firstFollowed), and \(followedCount - 1) more links that lead out of the bundle"]
  }

  private init(bundleOwner: UInt32) { self.bundleOwner = bundleOwner }

  // MARK: Entries

  private mutating func copyEntries(
    of source: borrowing Walker, beneath top: borrowing Walker, into target: borrowing Walker,
    _ place: Place
  ) throws(StoreError) {
    guard place.ancestors.count <= BundleWriter.maximumDepth else {
      throw StoreError(
        .failed,
        "\(place.shown.printable): directories lie more than \(BundleWriter.maximumDepth) deep")
    }
    let entries = try saying(place.shown.printable) { () throws(Errno) in try source.entries() }
    for entry in entries.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
      let shown = place.entry(entry.name)
      let found = try saying(shown.printable) { () throws(Errno) in
        try source.open(entry.name, Opening.pathOnly)
      }
      let status = try saying(shown.printable) { () throws(Errno) in try found.status() }
      if status.kind == .symbolicLink {
        try copyLink(entry.name, of: source, beneath: top, into: target, place)
      } else {
        try checkOwner(status, place, shown)
        try copy(found, status, as: entry.name, beneath: top, into: target, place)
      }
    }
  }

  /// Copies a directory or a file that was found.
  private mutating func copy(
    _ found: borrowing Descriptor, _ status: FileStatus, as name: [UInt8],
    beneath top: borrowing Walker, into target: borrowing Walker, _ place: Place
  ) throws(StoreError) {
    let shown = place.entry(name)
    switch status.kind {
    case .directory:
      guard !place.ancestors.contains(status.identity) else {
        throw StoreError(.failed, "\(shown.printable): links lead round in a circle")
      }
      let source = try saying(shown.printable) { () throws(Errno) in
        Walker(try found.reopened(Opening.directory))
      }
      let created = try writer.createDirectory(name, in: target, shownAs: shown)
      try copyEntries(
        of: source, beneath: top, into: created, place.below(name, status.identity))
    case .regular:
      let source = try saying(shown.printable) { () throws(Errno) in
        try found.reopened(Opening.reading)
      }
      let created = try writer.createFile(
        name, permissions: status.permissions, in: target, shownAs: shown)
      try BundleWriter.writing(shown) { () throws(Errno) in
        try source.copyContents(to: created, byteCount: status.byteCount)
        try created.setTimes(accessed: status.modified, modified: status.modified)
      }
    case .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice:
      throw StoreError(
        .failed,
        "\(shown.printable) is a \(status.kind.words): a bundle has files, directories and links")
    }
  }

  /// Refuses what would hand over, by the installer's rights, what is not the bundle's.
  private func checkOwner(
    _ status: FileStatus, _ place: Place, _ shown: [UInt8]
  ) throws(StoreError) {
    let isPublic = status.isPublic
    let owners = place.isOutside ? [0, installer] : [0, installer, bundleOwner]
    guard owners.contains(status.ownerUID) else {
      throw StoreError(
        .failed,
        "\(shown.printable) belongs to another user, uid \(status.ownerUID): copy the bundle, so "
          + "that all in it is yours")
    }
    guard isPublic || (!place.isOutside && status.ownerUID == bundleOwner) else {
      throw StoreError(
        .failed, "\(shown.printable) is not for everybody to read: chmod it, or leave it out")
    }
  }

  // MARK: Links

  private mutating func copyLink(
    _ name: [UInt8], of source: borrowing Walker, beneath top: borrowing Walker,
    into target: borrowing Walker, _ place: Place
  ) throws(StoreError) {
    let shown = place.entry(name)
    let destination = try saying(shown.printable) { () throws(Errno) in try source.readLink(name) }
    let path = place.beneath.isEmpty ? name : place.beneath + [UInt8(ascii: "/")] + name
    do throws(Errno) {
      _ = try top.find(beneath: path)
    } catch {
      switch error {
      case .crossDevice:
        return try copyOutside(name, destination, of: source, into: target, place)
      case .noEntry, .notDirectory, .accessDenied:
        // A link that leads nowhere, but not out: harmless, and some bundles have them.
        break
      case .tooManyLinks:
        throw StoreError(.failed, "\(shown.printable): links lead round in a circle")
      default:
        throw StoreError(shown.printable, error)
      }
    }
    try writer.createLink(name, to: destination, in: target, shownAs: shown)
  }

  /// Copies what a link outside leads to in the place of the link.
  private mutating func copyOutside(
    _ name: [UInt8], _ destination: [UInt8], of source: borrowing Walker,
    into target: borrowing Walker, _ place: Place
  ) throws(StoreError) {
    let shown = place.entry(name)
    let label = "\(shown.printable), which links to \(destination.printable)"
    let found = try allowing([.noEntry], label) { () throws(Errno) in
      try source.openFollowing(name)
    }
    guard let found else { return writer.warn("\(label), is left out: there is no such file") }
    let status = try saying(label) { () throws(Errno) in try found.status() }
    let path = try saying(label) { () throws(Errno) in try found.path() }
    var outside = Place(shown: place.shown, isOutside: true, ancestors: place.ancestors)
    try checkOwner(status, outside, shown + Array(" (".utf8) + path + Array(")".utf8))
    let isReachable = try saying(path.printable) { () throws(Errno) in
      try PublicPath.leadsEveryone(to: status.identity, by: path)
    }
    guard isReachable else {
      throw StoreError(
        .failed,
        "\(shown.printable) links to \(path.printable), which is not for everybody to read: copy "
          + "what the app needs into the bundle")
    }
    followedCount += 1
    if firstFollowed == nil {
      firstFollowed = "\(shown.printable): copied from \(path.printable)"
    }
    guard status.kind == .directory else {
      return try copy(found, status, as: name, beneath: source, into: target, outside)
    }
    let top = try saying(path.printable) { () throws(Errno) in
      Walker(try found.reopened(Opening.directory))
    }
    guard !place.ancestors.contains(status.identity) else {
      throw StoreError(.failed, "\(shown.printable): links lead round in a circle")
    }
    let created = try writer.createDirectory(name, in: target, shownAs: shown)
    outside.shown = shown
    outside.ancestors.append(status.identity)
    try copyEntries(of: top, beneath: top, into: created, outside)
  }
}

extension FileStatus {
  /// Whether everybody may read it, and go into it if it is a directory.
  var isPublic: Bool {
    let wanted: UInt32 = kind == .directory ? 0o005 : 0o004
    return kind == .symbolicLink || permissions & wanted == wanted
  }
}

extension FileKind {
  /// What people call it.
  var words: String {
    switch self {
    case .regular: "file"
    case .directory: "directory"
    case .symbolicLink: "link"
    case .fifo: "fifo"
    case .socket: "socket"
    case .characterDevice, .blockDevice: "device"
    }
  }
}

/// Whether a path is one by which everybody gets to a file.
enum PublicPath {
  /// Goes down from the root without following, so that a path that was swapped meanwhile leads
  /// elsewhere and not to a yes.
  static func leadsEveryone(
    to identity: FileIdentity, by path: [UInt8]
  ) throws(Errno) -> Bool {
    var place = try Descriptor.open("/", Opening.pathOnly)
    for name in path.split(separator: UInt8(ascii: "/")) {
      guard try place.status().permissions & 0o001 != 0 else { return false }
      place = try place.step(to: Array(name))
    }
    let found = try place.status().identity
    return found.inode == identity.inode && found.device == identity.device
  }
}
