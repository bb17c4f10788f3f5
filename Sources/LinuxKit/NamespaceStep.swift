// One step that a child takes between fork and exec to leave its caller's world.

/// One step of a child on its way to another program.
///
/// Each is one or two system calls; the first that fails ends the child.
public enum NamespaceStep: Equatable, Sendable {
  /// A descriptor that was given to it takes the place of some of 0 to 2, and is closed.
  case streams([CInt], from: CInt)
  /// A mount namespace of its own, and a user namespace if `user`.
  case leave(user: Bool)
  /// Root of the new user namespace is this user of the old one, and nobody else is mapped.
  case mapRoot(uid: UInt32, gid: UInt32)
  /// What is mounted from here on is not seen outside.
  case keepMountsInside
  /// The mount at one path, with the mounts below it if `recursive`, appears at another as well.
  ///
  /// The attributes are added to the uppermost mount only.
  case bind([UInt8], onto: [UInt8], adding: MountAttributes, recursive: Bool)
  /// A file or directory of the host, with the mounts below it, appears at another path as well.
  ///
  /// All of its mounts get the attributes, and none changes with what is mounted outside later.
  case show([UInt8], onto: [UInt8], adding: MountAttributes)
  /// A directory, with the mounts below it, appears as well on one below another that an app can
  /// write: no link is followed.
  case bindBeneath([UInt8], base: [UInt8], path: [UInt8], adding: MountAttributes)
  /// A file or directory that was looked at before, with the mounts below it, appears as well at a
  /// path below a directory, which an app may have written: no link is followed to either.
  ///
  /// ESTALE if another inode is there now. All of its mounts get the attributes, and none changes
  /// with what is mounted outside later.
  case lend(
    [UInt8], device: UInt64, inode: UInt64, base: [UInt8], path: [UInt8],
    adding: MountAttributes)
  /// A new file system without a device.
  case mount(type: String, onto: [UInt8], options: String, attributes: MountAttributes)
  /// The mount at a path gets attributes.
  case restrict([UInt8], MountAttributes)
  /// A directory of exactly this mode.
  case directory([UInt8], mode: UInt32)
  /// A file; an empty one may be mounted upon.
  case file([UInt8], mode: UInt32 = 0o444, content: [UInt8] = [])
  /// A symbolic link.
  case link([UInt8], target: [UInt8])
  /// The directories, files and links that are made from here on belong to this user.
  case owner(uid: UInt32, gid: UInt32)
  /// The ids of another user: no other group, no capability.
  case become(uid: UInt32, gid: UInt32)
  /// Sockets without a file can be connected to only if their makers came from here; for who shares
  /// the network namespace.
  ///
  /// It sets no_new_privs. A kernel before Linux 6.12 can't do it, which is no failure.
  case keepFromAbstractSockets
  /// A directory below another that an app can write: no link is followed, and whatever is in the
  /// way stays.
  case directoryBeneath([UInt8], path: [UInt8], mode: UInt32)
}
