// What lies in a bundle's directory, and where the seal of it is.
internal import LinuxKit
internal import Paths
internal import Seal

/// Where a bundle keeps what its seal is about.
struct SealPlace: Equatable {
  /// The way from the bundle's directory to the one that holds `_CodeSignature`.
  let names: [[UInt8]]

  /// The same as a path, with a slash at its end; empty if it is the bundle's directory itself.
  var prefix: [UInt8] { names.flatMap { $0 + [UInt8(ascii: "/")] } }

  /// The bundle's directory itself.
  static let top = SealPlace(names: [])

  /// Where a bundle would be sealed by us: in `Contents`, if it is laid out as on macOS.
  static func forSealing(_ bundle: borrowing Walker) throws(Errno) -> SealPlace {
    let contents = Array("Contents".utf8)
    do throws(Errno) {
      _ = try bundle.enter(contents).status(of: Array("Info.plist".utf8))
      return SealPlace(names: [contents])
    } catch {
      guard [.noEntry, .notDirectory, .tooManyLinks].contains(error) else { throw error }
      return top
    }
  }

  /// Where a bundle is sealed; nil if it is not.
  static func found(in bundle: borrowing Walker) throws(Errno) -> SealPlace? {
    var candidates: [[[UInt8]]] = [[], [Array("Contents".utf8)]]
    // A framework with versions: the seal is in the one that is current.
    let versions = Array("Versions".utf8)
    do throws(Errno) {
      let current = try bundle.enter(versions).readLink(Array("Current".utf8))
      candidates.append([versions, current])
    } catch {
      guard expected.contains(error) else { throw error }
    }
    for names in candidates {
      do throws(Errno) {
        let place = try bundle.enter(path: names + [Array(SealFiles.directory.utf8)])
        _ = try place.status(of: Array(SealFiles.codeResources.utf8))
        return SealPlace(names: names)
      } catch {
        guard expected.contains(error) else { throw error }
      }
    }
    return nil
  }

  private static let expected: Set<Errno> = [.noEntry, .notDirectory, .tooManyLinks, .invalid]
}

/// Everything in a bundle but its directories.
struct BundleInventory {
  /// One thing in a bundle.
  struct Item {
    /// What the seal is asked about, with the path from where the seal is.
    let entry: BundleEntry
    let byteCount: Int64
  }

  /// What lies where the seal is, sorted by path.
  var items: [Item] = []
  /// Paths from the bundle's directory of what lies beside, where nothing is sealed.
  var outside: [[UInt8]] = []

  /// Looks at all of it; `isNested` says which directories are code of their own.
  init(
    of bundle: borrowing Walker, called name: [UInt8], at place: SealPlace,
    isNested: @escaping ([UInt8]) -> Bool
  ) throws(StoreError) {
    var visit = InventoryVisit(place: place, isNested: isNested)
    do throws(Errno) {
      try bundle.visitTree(&visit)
    } catch {
      if let refusal = visit.refusal { throw StoreError(.failed, "\(name.printable): \(refusal)") }
      let shown = name + [UInt8(ascii: "/")] + visit.latest
      throw StoreError(shown.printable, error)
    }
    items = visit.items.sorted { $0.entry.path.lexicographicallyPrecedes($1.entry.path) }
    outside = visit.outside.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

private struct InventoryVisit: TreeVisitor {
  let place: SealPlace
  let isNested: ([UInt8]) -> Bool
  var items: [BundleInventory.Item] = []
  var outside: [[UInt8]] = []
  /// What was looked at last.
  var latest: [UInt8] = []
  /// Why it was not looked at to the end, where it is no system call that failed.
  var refusal: String?
  private var parents: [[UInt8]] = []
  private var entryCount = 0

  init(place: SealPlace, isNested: @escaping ([UInt8]) -> Bool) {
    self.place = place
    self.isNested = isNested
  }

  private var prefix: [UInt8] { parents.flatMap { $0 + [UInt8(ascii: "/")] } }

  mutating func visit(
    _ entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> Bool {
    latest = prefix + entry.name
    entryCount += 1
    guard entryCount <= BundleWriter.maximumEntryCount else {
      refusal = "the bundle has more than \(BundleWriter.maximumEntryCount) entries"
      throw .invalid
    }
    let isInside = parents.starts(with: place.names)
    guard isInside else { return visitOutside(entry, try target(of: entry, in: directory)) }
    let path = Array(latest.dropFirst(place.prefix.count))
    switch entry.kind {
    case .directory:
      if isNested(path) {
        add(path, .nested, byteCount: 0)
        return false
      }
      guard parents.count < BundleWriter.maximumDepth else {
        refusal = "directories lie more than \(BundleWriter.maximumDepth) deep"
        throw .invalid
      }
      return true
    case .regular:
      add(path, .file, byteCount: try directory.status(of: entry.name).byteCount)
    case .symbolicLink:
      add(path, .link(try directory.readLink(entry.name)), byteCount: 0)
    case .fifo, .socket, .characterDevice, .blockDevice:
      add(path, .other, byteCount: 0)
    }
    return false
  }

  mutating func didEnter(_ directory: borrowing Walker, name: [UInt8]) throws(Errno) {
    parents.append(name)
  }

  mutating func didLeave(_ name: [UInt8], to parent: borrowing Walker) throws(Errno) {
    parents.removeLast()
  }

  private mutating func add(_ path: [UInt8], _ kind: BundleEntry.Kind, byteCount: Int64) {
    items.append(
      BundleInventory.Item(entry: BundleEntry(path: path, kind: kind), byteCount: byteCount))
  }

  private func target(
    of entry: DirectoryEntry, in directory: borrowing Walker
  ) throws(Errno) -> [UInt8]? {
    entry.kind == .symbolicLink ? try directory.readLink(entry.name) : nil
  }

  /// Beside the seal only the way to it may be, and a framework's links to what is current.
  private mutating func visitOutside(_ entry: DirectoryEntry, _ target: [UInt8]?) -> Bool {
    let way = parents + [entry.name]
    if entry.kind == .directory, place.names.starts(with: way) { return true }
    let isVersioned = place.names.first?.elementsEqual("Versions".utf8) == true
    if isVersioned, let target {
      let current = Array("Current".utf8)
      if parents.isEmpty, target.starts(with: "Versions/Current/".utf8),
        !target.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) })
      {
        return false
      }
      if parents.count == 1, entry.name == current, target == place.names.last { return false }
    }
    outside.append(latest)
    return false
  }
}
