// What of the host is shown to every app: its programs, and what these need of `/etc`.
internal import Glibc
internal import LinuxKit
internal import Paths

/// What of the host's root directory shows its programs, beside `/usr`, and what is in its `/etc`.
struct HostTree: Equatable {
  /// An entry such as `lib64`.
  struct Entry: Equatable {
    /// Its path, without the slash before it.
    let name: [UInt8]
    /// What it is.
    let form: Form
  }

  /// What an entry is inside.
  enum Form: Equatable {
    /// A directory of the host.
    case directory
    /// A file of the host.
    case file
    /// A symbolic link to another place of what is shown.
    case link([UInt8])
  }

  /// The names that may stand in a root directory beside `/usr` and lead to programs.
  private static let names = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"]

  /// What programs need of `/etc`; nothing in it is secret or says who the host is.
  private static let configurationNames = [
    "alternatives", "ca-certificates", "chromium.d", "crypto-policies", "fonts", "gai.conf",
    "java", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
    "mime.types", "nsswitch.conf", "pki/ca-trust", "pki/tls/certs", "protocols", "services",
    "ssl/certs", "ssl/openssl.cnf", "timezone",
  ]

  /// What they need besides, to find others in the network.
  private static let networkNames = ["host.conf", "resolv.conf"]

  /// What is made for the app.
  private static let ownNames = ["GNUstep", "Xauthority", "group", "hosts", "mtab", "passwd"]

  /// Those of the root directory.
  var entries: [Entry] = []
  /// Those of `/etc`, by their paths in it.
  var configuration: [Entry] = []
  /// Those of `/etc` that only an app in the network gets.
  var networkConfiguration: [Entry] = []
  /// The host's GNUstep.conf; empty without one.
  var gnustepConfiguration: [UInt8] = []

  /// The paths that are the container's own where there is this host, each with all below it.
  var occupiedPaths: [[UInt8]] {
    let configuration = Self.configurationNames + Self.networkNames + Self.ownNames
    return ["/dev", "/proc", "/sys", "/tmp", "/usr", "/var/tmp"].map { Array($0.utf8) }
      + entries.map { [UInt8(ascii: "/")] + $0.name }
      + configuration.map { Array("/etc/\($0)".utf8) }
  }
}

extension HostTree {
  /// What this host has.
  static func current() -> HostTree {
    HostTree(
      entries: present(names, in: "/"), configuration: present(configurationNames, in: "/etc"),
      networkConfiguration: present(networkNames, in: "/etc"),
      gnustepConfiguration: contents(of: Array("/etc/GNUstep/GNUstep.conf".utf8)) ?? [])
  }

  private static func present(_ names: [String], in directory: String) -> [Entry] {
    guard let place = try? Walker.open(path: directory.utf8) else { return [] }
    return names.compactMap { name in
      form(of: Array(name.utf8), in: place, directory).map {
        Entry(name: Array(name.utf8), form: $0)
      }
    }
  }

  /// What is shown of an entry; nil if it is not there.
  ///
  /// A link that leads to the system's programs and data is one inside too: that of `localtime` is
  /// the only thing that says what the time zone is called. Where others lead is shown instead.
  private static func form(
    of name: [UInt8], in place: borrowing Walker, _ directory: String
  ) -> Form? {
    let names = name.split(separator: UInt8(ascii: "/")).map(Array.init)
    do throws(Errno) {
      if names.count == 1 {
        let kind = try place.status(of: name).kind
        if kind != .symbolicLink { return kind == .directory ? .directory : .file }
        let target = try place.readLink(name)
        if systemPlaces.contains(where: { target.starts(with: $0.utf8) }) { return .link(target) }
      }
      let status = try Descriptor.following(Array((directory + "/").utf8) + name).status()
      return status.kind == .directory ? .directory : .file
    } catch {
      return nil
    }
  }

  /// How a link in the root directory, or one in `/etc`, begins that leads to the system's.
  private static let systemPlaces = ["usr/", "/usr/", "../usr/"]
}
