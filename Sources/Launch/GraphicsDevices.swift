// What a program needs to draw with the graphics processor: the nodes by which one computes, not
// those by which one sets what the screen shows; and what the kernel tells of these devices.
internal import Glibc
internal import LinuxKit
internal import Paths

/// The graphics devices that an app may be allowed to use.
struct GraphicsDevices: Equatable {
  /// Where the kernel tells what belongs to a node's number.
  struct Link: Equatable {
    /// A path such as `/sys/dev/char/226:128`.
    let path: [UInt8]
    /// The directory that it leads to.
    let target: [UInt8]
  }

  /// The paths of the nodes.
  var nodes: [[UInt8]] = []
  /// The directories of the devices in `/sys`.
  var descriptions: [[UInt8]] = []
  /// How one finds those from a node.
  var links: [Link] = []

  /// Those of this host.
  static func current() -> GraphicsDevices {
    var devices = GraphicsDevices()
    for name in names(in: "/dev/dri", ["renderD"]) {
      devices.nodes.append(Array("/dev/dri/".utf8) + name)
      devices.describe(Array("/sys/class/drm/".utf8) + name)
    }
    devices.nodes += names(in: "/dev", ["nvidia", "kfd"]).map { Array("/dev/".utf8) + $0 }
    return devices
  }

  private static func names(in directory: String, _ prefixes: [String]) -> [[UInt8]] {
    guard let place = try? Walker.open(path: directory.utf8) else { return [] }
    let entries = (try? place.entries()) ?? []
    return entries.filter { entry in
      entry.kind == .characterDevice && prefixes.contains { entry.name.starts(with: $0.utf8) }
    }.map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Adds what the kernel tells of a node, if it does.
  private mutating func describe(_ entry: [UInt8]) {
    guard let target = try? canonicalPath(entry),
      let device = try? canonicalPath(target + Array("/device".utf8)),
      let number = contents(of: target + Array("/dev".utf8))
    else { return }
    // The node's own directory lies below that of its device.
    if !descriptions.contains(device) { descriptions.append(device) }
    let digits = number.prefix { $0 != UInt8(ascii: "\n") }
    links.append(Link(path: Array("/sys/dev/char/".utf8) + digits, target: target))
  }
}
