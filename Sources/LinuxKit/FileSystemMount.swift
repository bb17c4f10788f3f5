// mount(2) in its old form: a new file system at a directory.
internal import CLinux

/// Mounts a new file system of `type` at `target`; `flags` are MS_*.
public func mountFileSystem(
  _ type: String, source: [UInt8], target: [UInt8], flags: UInt64, options: String
) throws(Errno) {
  let source = source.map { CChar(bitPattern: $0) } + [0]
  let target = target.map { CChar(bitPattern: $0) } + [0]
  if clinux_mount(source, target, type, UInt(flags), options) != 0 { throw Errno.last }
}
