// What can stand in the way of a run, and what to do about it: one line each.
internal import Glibc
internal import LinuxKit
internal import Paths

/// The view's daemon is gone, and nothing inside can read or write any more.
let daemonDied = LaunchError(
  .ours, "the view's daemon has died, so the program was killed; start it again")

/// Bubblewrap ended before the program began; what it could not do, it has said itself.
let bubblewrapFailed = LaunchError(
  .ours,
  "bubblewrap could not set up the container, for the reason that it gives above; "
    + "it must be 0.8.0 or newer")

/// Bubblewrap's path.
///
/// It is never looked for along a path of the caller's: root would run it too.
func findBubblewrap() throws(LaunchError) -> [UInt8] {
  for directory in ["/usr/bin", "/usr/local/bin", "/bin"] {
    let path = Array("\(directory)/bwrap".utf8)
    if (try? canonicalPath(path)) != nil { return path }
  }
  throw LaunchError(.ours, "bubblewrap is missing: install the package bubblewrap (bwrap)")
}

/// A setting of the kernel's that keeps ordinary users from making user namespaces.
private struct NamespaceSetting {
  let file: String
  let refusal: [UInt8]
  let remedy: String
}

private let namespaceSettings = [
  NamespaceSetting(
    file: "/proc/sys/user/max_user_namespaces", refusal: [UInt8(ascii: "0")],
    remedy: "user.max_user_namespaces=15000"),
  NamespaceSetting(
    file: "/proc/sys/kernel/unprivileged_userns_clone", refusal: [UInt8(ascii: "0")],
    remedy: "kernel.unprivileged_userns_clone=1"),
]

/// Refuses where the kernel is set to refuse, before anything is mounted.
func refuseWithoutUserNamespaces() throws(LaunchError) {
  for setting in namespaceSettings where isSet(setting.file, to: setting.refusal) {
    throw LaunchError(
      .ours,
      "the kernel refuses user namespaces; allow them with: sysctl -w \(setting.remedy)")
  }
}

private func isSet(_ file: String, to value: [UInt8]) -> Bool {
  guard let file = try? Descriptor.open(file, O_RDONLY),
    let text = try? file.readToEnd(atMost: 4096)
  else { return false }
  return text.prefix { $0 != UInt8(ascii: "\n") }.elementsEqual(value)
}

/// Ubuntu's way of refusing user namespaces: they can be made, but give no rights.
private func appArmorRefuses() -> Bool {
  isSet("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", to: [UInt8(ascii: "1")])
}

/// What a step that failed means.
func explanation(of failure: SpawnFailure, bubblewrap: [UInt8]) -> LaunchError {
  let cause = failure.errno.message
  guard let step = failure.step else {
    return LaunchError(.ours, "cannot start \(bubblewrap.printable): \(cause)")
  }
  if appArmorRefuses() {
    return LaunchError(
      .ours,
      "AppArmor refuses user namespaces (\(cause)); install the profile that comes with sandboxfs, "
        + "or allow them with: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
  }
  switch step {
  case .leave(user: true), .mapRoot:
    return LaunchError(
      .ours, "the kernel refuses a user namespace (\(cause)); see user_namespaces(7)")
  case .leave(user: false):
    return LaunchError(.ours, "the kernel refuses a mount namespace: \(cause)")
  case .bind(let path, _, _, _), .show(let path, _, _), .bindBeneath(let path, _, _, _):
    return LaunchError(.ours, "cannot bind \(path.printable) into the container: \(cause)")
  case .lend(let path, _, _, _, _, _):
    let reason = failure.errno == .stale ? "it was exchanged for another one just now" : cause
    return LaunchError(.ours, "cannot lend \(path.printable): \(reason)")
  case .mount(let type, _, _, _):
    return LaunchError(.ours, "cannot mount a \(type) for the container: \(cause)")
  case .become(let uid, _):
    return LaunchError(.ours, "cannot become the container's user \(uid): \(cause)")
  case .streams, .keepMountsInside, .restrict, .directory, .file, .link, .owner,
    .directoryBeneath, .keepFromAbstractSockets:
    return LaunchError(.ours, "cannot prepare the container: \(cause)")
  }
}

/// Refuses a view on which not even the bundle may be executed, by what is mounted if somebody has
/// looked since the view was.
///
/// That is for the message: whatever it says, the kernel asks the mount.
func checkExecution(of sandbox: Sandbox, _ mounts: MountTable?) throws(LaunchError) {
  guard !sandbox.bundleName.isEmpty, let table = try? mounts ?? MountTable.read() else { return }
  let bundle = sandbox.view + [UInt8(ascii: "/")] + sandbox.bundleName
  let mount = table.topmost(at: bundle) ?? table.topmost(at: sandbox.view)
  guard let mount, mount.has("noexec") else { return }
  throw LaunchError(
    .ours,
    "the view at \(sandbox.view.printable) is mounted noexec, so its bundle cannot run; "
      + "add exec to its options in fstab and mount it again")
}
