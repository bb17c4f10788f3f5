// What does not outlive the last process of an app.
internal import Containers
internal import LinuxKit
internal import Policy
internal import Purging

/// Removes from the view what its rules let go at exit; no process of the app lives.
///
/// Goes through the view, so that its daemon knows, and never follows a link that the app has left.
/// Returns what could not be removed, a line each.
func emptyAtExit(view: [UInt8], _ configuration: ViewConfiguration) -> [String] {
  // A policy that can't be read keeps the daemon from serving, so there is no view then.
  let policy = try? PolicyEngine(
    layers: configuration.layers, bundleName: configuration.bundleName)
  guard let policy else { return [] }
  do throws(Errno) {
    try Walker.open(path: view).removeWhatGoes(on: .exit, policy)
    return []
  } catch {
    return ["cannot remove what goes at exit: \(error.message)"]
  }
}
