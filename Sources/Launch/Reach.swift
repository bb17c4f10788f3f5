// What an app may reach outside by name, found before anything is mounted.
//
// What the person who runs it asks for must be there. What its record allows is a permission: it is
// taken where the person's session has it.
internal import Containers
internal import LinuxKit

/// What one run reaches outside.
struct Reach {
  /// The display, with the content of a key file for it.
  var display: (Display, keys: [UInt8])?
  /// The sockets of the session.
  var sockets: [SessionSocket] = []
  /// The address of the session bus, for which a proxy is started.
  var busAddress: [UInt8]?
  /// The graphics devices.
  var graphics: GraphicsDevices?
  /// What the host says of names, if the network is shared.
  var hosts: [UInt8]?
  /// Whether it may make user namespaces of its own.
  var allowsUserNamespaces = false

  /// Nothing.
  init() {}

  /// What is asked for, and what the record allows and the session has.
  init(
    asked: Set<Allowance>, noted: Set<Allowance>, environment: [[UInt8]], uid: UInt32
  ) throws(LaunchError) {
    func find<Found>(
      _ allowance: Allowance, _ look: () throws(LaunchError) -> Found
    ) throws(LaunchError) -> Found? {
      if asked.contains(allowance) { return try look() }
      return noted.contains(allowance) ? try? look() : nil
    }
    let session = SessionSearch(environment: environment, uid: uid)
    display = try find(.x11) { () throws(LaunchError) in try callersDisplay(environment) }
    let compositor = try find(.wayland) { () throws(LaunchError) in try session.wayland() }
    let sound = try find(.audio) { () throws(LaunchError) in try session.audio() }
    sockets = [compositor].compactMap(\.self) + (sound ?? [])
    busAddress = try find(.dbus) { () throws(LaunchError) in try session.busAddress() }
    graphics = try find(.gpu) { () throws(LaunchError) in
      let devices = GraphicsDevices.current()
      if devices.nodes.isEmpty {
        throw LaunchError(
          .ours, "--allow gpu: there is no graphics device, such as /dev/dri/renderD128")
      }
      return devices
    }
    let all = asked.union(noted)
    if all.contains(.network) { hosts = contents(of: Array("/etc/hosts".utf8)) ?? [] }
    allowsUserNamespaces = all.contains(.userns)
  }
}

extension Reach {
  /// The system calls that are refused all the same.
  var systemCallRules: [SystemCallRule] {
    SystemCallRules.all(allowsUserNamespaces: allowsUserNamespaces)
  }
}
