// What does not outlive the last process of an app.
internal import Containers
internal import LinuxKit
internal import Paths
internal import Policy

/// Empties the view's `tmp`, if its rules say that it goes at exit; no process of the app lives.
///
/// Goes through the view, so that its daemon knows, and never follows a link that the app has left.
/// Returns what could not be removed, a line each.
func emptyAtExit(view: [UInt8], _ configuration: ViewConfiguration) -> [String] {
  let name = Array("tmp".utf8)
  guard goesAtExit(name, configuration) else { return [] }
  do throws(Errno) {
    try Walker.open(path: view).enter(name).removeContents()
    return []
  } catch {
    return ["cannot empty tmp: \(error.message)"]
  }
}

/// What the policy says about an entry of the root.
///
/// A policy that cannot be read keeps the daemon from serving, so there is no view then.
private func goesAtExit(_ name: [UInt8], _ configuration: ViewConfiguration) -> Bool {
  let policy = try? PolicyEngine(
    layers: configuration.layers, bundleName: configuration.bundleName)
  guard let policy else { return false }
  return policy.attributes(of: policy.zone(named: name.span, in: .root)).purge.contains(.exit)
}
