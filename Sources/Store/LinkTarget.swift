// Where a symbolic link that comes back may point: below the container's root, and nowhere else.

/// What becomes of a link's target when it is restored.
public enum LinkTarget {
  /// Where devices keep the containers of apps; the UUID of one follows.
  private static let containers = ["/private/var", "/var"].map {
    Array("\($0)/mobile/Containers/Data/Application/".utf8)
  }

  /// No file system keeps a longer one.
  private static let longest = 4095

  /// The target that a link at a path gets; nil if it would lead out of the container.
  ///
  /// An absolute path into the container as a device had it becomes a relative one.
  public static func restored(_ target: [UInt8], at path: [UInt8]) -> [UInt8]? {
    let slash = UInt8(ascii: "/")
    guard !target.isEmpty, !target.contains(0), target.count <= longest else { return nil }
    let depth = path.split(separator: slash).count - 1
    if target.first == slash {
      guard let prefix = containers.first(where: { target.starts(with: $0) }) else { return nil }
      let below = target.dropFirst(prefix.count).drop { $0 != slash }.drop { $0 == slash }
      guard stays(Array(below), depth: 0) else { return nil }
      let up = Array(repeating: Array("..".utf8), count: depth)
      let relative = Array((up + (below.isEmpty ? [] : [Array(below)])).joined(separator: [slash]))
      return relative.isEmpty ? Array(".".utf8) : relative
    }
    return stays(target, depth: depth) ? target : nil
  }

  /// Whether a relative path never leaves the root, from a directory so deep below it.
  ///
  /// Up it may only go at its beginning, from directories: a name may be a link, and behind one to
  /// `.` each `..` leads one step further up than it seems to.
  private static func stays(_ path: [UInt8], depth: Int) -> Bool {
    var depth = depth
    var hasName = false
    for component in path.split(separator: UInt8(ascii: "/")) {
      if component.elementsEqual("..".utf8) {
        depth -= 1
        if hasName || depth < 0 { return false }
      } else if !component.elementsEqual(".".utf8) {
        hasName = true
      }
    }
    return true
  }
}
