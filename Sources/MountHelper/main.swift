// mount.sandboxfs and umount.sandboxfs: one program, which is what it is called by.
//
// mount(8) and umount(8) run it with little or no environment, as the caller; it says one line if
// it fails, and its exit status becomes theirs.

internal import Arguments
internal import Glibc
internal import LinuxKit
internal import Mounting

/// The program's name, as its links are called.
let programName =
  CommandLine.arguments.first.flatMap { $0.split(separator: "/").last }.map(String.init)
  ?? "mount.sandboxfs"

do {
  let arguments = CommandLine.argumentBytes
  if programName.hasPrefix("umount.") {
    try runUnmount(arguments, called: programName)
  } else {
    try runMount(arguments, called: programName)
  }
} catch let error as MountError {
  leave(error.exitStatus, "\(programName): \(error.message)")
} catch let error as UsageError {
  leave(MountError.Kind.usage.rawValue, error.line)
} catch {
  leave(MountError.Kind.internalFault.rawValue, "\(programName): \(error)")
}

/// Says a line on standard error and ends; nobody may be there to read it.
private func leave(_ status: Int32, _ line: String) -> Never {
  try? StandardStream.error.write(Array((line + "\n").utf8))
  exit(status)
}
