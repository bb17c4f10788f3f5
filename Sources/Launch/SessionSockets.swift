// The sockets of a person's session that an app may be allowed to use, each by itself: they are
// bound in a directory of the container's own, and variables say where.
//
// A socket is looked at when it is found, and its inode compared when it is bound.
internal import Containers
internal import LinuxKit
internal import Paths

/// A socket of the session, as an app sees it.
struct SessionSocket: Equatable {
  /// Where they are inside.
  static let directory = Array("/run/app".utf8)

  /// Its name there.
  let name: [UInt8]
  /// The socket outside, as it was found.
  let place: LentPlace
  /// The variables that lead to it.
  let variables: [[UInt8]]

  /// Its path inside.
  var pathInside: [UInt8] { Self.directory + [UInt8(ascii: "/")] + name }
}

/// Looks for the sockets of the caller's session.
struct SessionSearch {
  /// The caller's variables.
  let environment: [[UInt8]]
  /// Whom the app runs as.
  let uid: UInt32

  /// The compositor's; throws if there is none.
  func wayland() throws(LaunchError) -> SessionSocket {
    let path = try inSession(value("WAYLAND_DISPLAY") ?? Array("wayland-0".utf8), .wayland)
    let name = "wayland-0"
    return try socket(
      at: path, as: name, .wayland, variables: ["WAYLAND_DISPLAY=/run/app/\(name)"])
  }

  /// The sound servers', PulseAudio's and PipeWire's; throws if there is none of either.
  func audio() throws(LaunchError) -> [SessionSocket] {
    let prefix = Array("unix:".utf8)
    let server = value("PULSE_SERVER").map { $0.starts(with: prefix) ? Array($0.dropFirst(5)) : $0 }
    let pulse = try inSession(server ?? Array("pulse/native".utf8), .audio)
    let pipewire = try inSession(value("PIPEWIRE_REMOTE") ?? Array("pipewire-0".utf8), .audio)
    var found: [SessionSocket] = []
    if isThere(pulse) {
      found.append(
        try socket(at: pulse, as: "pulse", .audio, variables: ["PULSE_SERVER=unix:/run/app/pulse"]))
    }
    if isThere(pipewire) {
      found.append(
        try socket(
          at: pipewire, as: "pipewire-0", .audio, variables: ["PIPEWIRE_RUNTIME_DIR=/run/app"]))
    }
    guard !found.isEmpty else {
      throw LaunchError(
        .ours,
        "--allow audio: there is no sound server at \(pulse.printable) nor \(pipewire.printable)")
    }
    return found
  }

  /// The session bus's address.
  func busAddress() throws(LaunchError) -> [UInt8] {
    // The bus would be told of a user who is not the proxy's.
    if isPrivileged() {
      throw LaunchError(.ours, "--allow dbus: an app that root runs is in nobody's session")
    }
    if let address = value("DBUS_SESSION_BUS_ADDRESS") { return address }
    let path = try inSession(Array("bus".utf8), .dbus)
    guard isThere(path) else {
      throw LaunchError(.ours, "--allow dbus: DBUS_SESSION_BUS_ADDRESS is not set")
    }
    return Array("unix:path=".utf8) + path
  }

  /// A socket that the app's user can connect to, and that is bound inside.
  func socket(
    at path: [UInt8], as name: String, _ allowance: Allowance, variables: [String]
  ) throws(LaunchError) -> SessionSocket {
    let what = "--allow \(allowance): \(path.printable)"
    let status: FileStatus
    let canonical: [UInt8]
    do throws(Errno) {
      canonical = try canonicalPath(path)
      status = try Descriptor.exactly(canonical).status()
    } catch {
      throw LaunchError(.ours, "\(what): \(error.message)")
    }
    guard status.kind == .socket else { throw LaunchError(.ours, "\(what) is no socket") }
    guard status.ownerUID == uid || status.permissions & 0o002 != 0 else {
      throw LaunchError(
        .ours,
        "\(what) is not for uid \(uid), as which the app runs: run it as the one whose session "
          + "this is")
    }
    let place = LentPlace(
      path: canonical, isDirectory: false, isReadOnly: true, device: status.identity.device,
      inode: status.identity.inode)
    return SessionSocket(
      name: Array(name.utf8), place: place, variables: variables.map { Array($0.utf8) })
  }

  private func isThere(_ path: [UInt8]) -> Bool { (try? canonicalPath(path)) != nil }

  /// A path that may be relative to the session's directory.
  private func inSession(
    _ path: [UInt8], _ allowance: Allowance
  ) throws(LaunchError) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    if path.first == slash { return path }
    guard let directory = value("XDG_RUNTIME_DIR"), directory.first == slash else {
      throw LaunchError(.ours, "--allow \(allowance): XDG_RUNTIME_DIR is not set")
    }
    return directory + [slash] + path
  }

  private func value(_ name: String) -> [UInt8]? {
    let prefix = Array("\(name)=".utf8)
    let found = environment.first { $0.starts(with: prefix) }?.dropFirst(prefix.count)
    return found.flatMap { $0.isEmpty ? nil : Array($0) }
  }
}
