// The command lines by which mount(8) and umount(8) call their helpers.

internal import Arguments
internal import LinuxKit
internal import Mounting
internal import Paths

let statuses = [
  ExitStatus("0", "the view answers, or is gone"),
  ExitStatus("1", "what was asked for makes no sense, or is not allowed"),
  ExitStatus("2", "the system could not: no memory, no descriptors, no daemon"),
  ExitStatus("4", "a fault of sandboxfs"),
  ExitStatus("8", "interrupted by a signal; everything is as it was"),
  ExitStatus("16", "mounted, but it could not be noted in libmount's table"),
  ExitStatus("32", "it was tried and failed; the view is in use"),
]

let typeOption = Option(
  "", "t", value: "TYPE", summary: "the type: sandboxfs or fuse.sandboxfs")
let namespaceOption = Option(
  "", "N", value: "NAMESPACE", .file,
  summary: "enter the mount namespace of a process first: a pid, or a file such as /proc/1/ns/mnt")
let noTableOption = Option("", "n", summary: "taken, and without effect")
let verboseOption = Option("", "v", summary: "say what was done")

/// Checks what `-t` says.
func checkType(_ arguments: ParsedArguments) throws(MountError) {
  guard let type = arguments.value(typeOption) else { return }
  let known = ["sandboxfs", "fuse.sandboxfs"].map { Array($0.utf8) }
  if !known.contains(type) {
    throw MountError(
      .usage, "type '\(type.printable)' is not ours; it is 'sandboxfs' or 'fuse.sandboxfs'")
  }
}

/// Enters the namespace that `-N` names.
func enterNamespace(_ arguments: ParsedArguments) throws(MountError) {
  guard let name = arguments.value(namespaceOption) else { return }
  let isPid = !name.isEmpty && name.allSatisfy { (0x30...0x39).contains($0) }
  let path = isPid ? Array("/proc/".utf8) + name + Array("/ns/mnt".utf8) : name
  do throws(Errno) {
    try enterMountNamespace(path)
  } catch {
    throw MountError(.usage, "cannot enter the namespace '\(name.printable)': \(error.message)")
  }
}

/// Says a line on standard output if `-v` was given.
func say(_ line: String, _ arguments: ParsedArguments) {
  // That nobody can read it does not undo what was done.
  if arguments.has(verboseOption) { try? StandardStream.output.write(Array((line + "\n").utf8)) }
}
