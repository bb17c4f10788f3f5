// The bundle's mount: the bundle bound onto itself, read-only and executable, inside a view that is
// neither.
internal import LinuxKit
internal import Paths

/// Binds the bundle of the view that `view` is the root of.
///
/// The kernel then refuses every change of it, by root too, and every execution of anything else.
/// Must be called by who asked for the mount: the daemon answers the lookups that this makes.
func bindBundle(
  _ name: [UInt8], in view: borrowing Descriptor, _ settings: MountSettings
) throws(Errno) {
  let bundle = try view.place(named: name)
  let copy = try MountTree.clone(bundle)
  try copy.change(
    setting: settings.bundleAttributes, clearing: settings.noExecution ? [] : .noExec)
  try copy.attach(on: bundle)
}
