// Unmounting: the bundle, then the view; if the view is in use, the bundle is bound again, so that
// nothing has changed.
internal import LinuxKit
internal import Paths

extension ViewMounts {
  /// Unmounts the view at a directory, or the one whose bundle is mounted there.
  ///
  /// Waits a moment for the daemon's end, if this was its last mount. Throws, with the processes
  /// that use it, if the view is busy. A view that is taken away lazily or by force is never
  /// waited for.
  public static func unmount(
    _ target: [UInt8], _ settings: UnmountSettings = []
  ) throws(MountError) {
    let view = try MountedParts.find(target)
    if settings.contains(.pretend) { return }
    // While it is mounted its daemon, and by that the disk, can be found. Where the view stays
    // mounted elsewhere there is nothing to wait for.
    let isLast = view.isOnly || settings.contains(.force)
    let waits = isLast && !settings.contains(.lazy)
    let daemon = waits ? RunningDaemon.find(serving: view.root.device) : nil
    let isSynchronized = settings.contains(.synchronized) && !settings.contains(.force)
    let disk = isSynchronized ? daemon.flatMap(BackingDisk.init) : nil
    if isPrivileged() {
      try unmountAsRoot(view, settings, daemon)
    } else {
      try unmountAsUser(view, settings)
    }
    try disk?.synchronize(behind: view.name)
  }

  private static func unmountAsRoot(
    _ view: MountedParts, _ settings: UnmountSettings, _ daemon: RunningDaemon?
  ) throws(MountError) {
    if settings.contains(.force) {
      // The kernel cuts the connection even if it then says that the view is busy, and a view that
      // can answer nothing any more is of no use to anyone.
      try? LinuxKit.unmount(view.path, .force)
      try detach(view)
    } else if settings.contains(.lazy) {
      try detach(view)
    } else if try isDead(view) {
      // Through a dead view there is no way to its bundle.
      try detach(view)
    } else {
      try unmountParts(view)
    }
    if !settings.contains(.isPrivate) {
      forgetMounts(at: [view.path] + (view.bundle.map { [$0.mountPoint] } ?? []))
    }
    waitForEnd(of: daemon, serving: view.root.device)
  }

  /// Makes a mounted view read-only or writable; nothing else of it changes.
  public static func remount(
    _ target: [UInt8], readOnly: Bool
  ) throws(MountError) {
    let view = try MountedParts.find(target)
    if !readOnly, view.root.superHas("ro") {
      throw MountError(
        .failed,
        "\(view.name) was mounted read-only as a whole, by fusermount3: "
          + "unmount it and mount it again"
      )
    }
    do throws(Errno) {
      let root = try Descriptor.place(view.path)
      try root.changeMount(
        setting: readOnly ? .readOnly : [], clearing: readOnly ? [] : .readOnly)
    } catch {
      let writers = error == .busy ? " while something in it is open for writing" : ""
      throw MountError(
        .failed, "cannot make \(view.name) \(readOnly ? "read-only" : "writable")\(writers)", error)
    }
  }

  /// The options of the view at a directory, as the mount table has them.
  public static func options(at target: [UInt8]) throws(MountError) -> [[UInt8]] {
    let root = try MountedParts.find(target).root
    return root.options + root.superOptions
  }

  /// Whether anything is mounted at a directory.
  public static func isMountPoint(_ target: [UInt8]) throws(MountError) -> Bool {
    let table = try readMountTable()
    return table.topmost(at: try mountPointPath(target, table)) != nil
  }

  /// Whether anything is mounted at a path of the mount table's; nothing on the way is looked at.
  public static func isMounted(at path: [UInt8]) throws(MountError) -> Bool {
    try readMountTable().topmost(at: path) != nil
  }

  /// Whether a view has lost its daemon.
  ///
  /// Throws if it does not answer: a daemon that is stopped would keep us waiting for ever.
  private static func isDead(_ view: MountedParts) throws(MountError) -> Bool {
    guard let answer = LinuxKit.isDead(view.path, withinMilliseconds: silenceMilliseconds) else {
      throw MountError(
        .failed,
        "\(view.name) does not answer: its daemon is stopped or waits for the disk; "
          + "--lazy takes the view away and leaves it to end by itself, "
          + "--force fails what is under way")
    }
    return answer
  }

  private static func detach(_ view: MountedParts) throws(MountError) {
    do throws(Errno) {
      // The bundle's mount lies on the view and goes with it.
      try LinuxKit.unmount(view.path, .detach)
    } catch Errno.invalid {
      // The forced unmount has done it already.
    } catch Errno.notConnected {
      throw MountError(
        .failed,
        "cannot unmount \(view.name): it is mounted in a view that nobody serves any more; "
          + "unmount that one, and this one goes with it")
    } catch {
      throw MountError(.failed, "cannot unmount \(view.name)", error)
    }
  }

  private static func unmountParts(_ view: MountedParts) throws(MountError) {
    if let foreign = view.foreign.first {
      throw MountError(
        .failed, "\(view.name) is busy: \(foreign.mountPoint.printable) is mounted in it")
    }
    do throws(Errno) {
      if let bundle = view.bundle { try unmountPatiently(bundle.mountPoint, view) }
    } catch {
      throw failure(error, view)
    }
    do throws(Errno) {
      try unmountPatiently(view.path, view)
    } catch {
      let failure = failure(error, view)
      try bindAgain(view)
      throw failure
    }
  }

  /// How long to wait, each time, until it is tried again to unmount what is busy where nobody can
  /// be found who uses it: who only looks at it for a moment, as a program does that lists open
  /// files, must not be in the way.
  private static let pauses: [UInt32] = [20, 20, 40, 80, 160, 320]

  private static func patiently<Failure: Error>(
    _ view: MountedParts, isBusy: (Failure) -> Bool, _ unmount: () throws(Failure) -> Void
  ) throws(Failure) {
    for pause in pauses {
      do throws(Failure) {
        return try unmount()
      } catch {
        guard isBusy(error), view.users.isEmpty else { throw error }
        pauseMilliseconds(pause)
      }
    }
    try unmount()
  }

  private static func unmountPatiently(_ path: [UInt8], _ view: MountedParts) throws(Errno) {
    try patiently(view, isBusy: { $0 == .busy }) { () throws(Errno) in
      try LinuxKit.unmount(path)
    }
  }

  private static func unmountAsUser(
    _ view: MountedParts, _ settings: UnmountSettings
  ) throws(MountError) {
    if settings.contains(.lazy) { return try unmountByFusermount(view.path, lazily: true) }
    // It says why in words only.
    try patiently(view, isBusy: { $0.message.hasSuffix(Errno.busy.message) }) {
      () throws(MountError) in
      try unmountByFusermount(view.path, lazily: false)
    }
  }

  private static func failure(_ error: Errno, _ view: MountedParts) -> MountError {
    guard error == .busy else { return MountError(.failed, "cannot unmount \(view.name)", error) }
    let users = view.users
    return MountError(
      .failed,
      "\(view.name) is busy"
        + (users.isEmpty ? "" : ": in use by \(Holders.list(users))")
        + "; end them, or unmount it lazily (-l)")
  }

  private static func bindAgain(_ view: MountedParts) throws(MountError) {
    guard let bundle = view.bundle else { return }
    var settings = MountSettings()
    settings.noExecution = bundle.has("noexec")
    do throws(Errno) {
      let root = try Descriptor.place(view.path)
      let name = bundle.mountPoint.dropFirst(view.path.count + 1)
      try bindBundle(Array(name), in: root, settings)
    } catch {
      throw MountError(
        .failed, "\(view.name) is busy, and its bundle could not be bound again", error)
    }
  }

  /// Waits a moment, so that the container can be mounted or uninstalled by the next command.
  private static func waitForEnd(of daemon: RunningDaemon?, serving device: DeviceNumber) {
    guard let daemon else { return }
    let tables = [try? MountTable.read(), try? MountTable.read(of: daemon.process.pid)]
    // Where it serves on, in our namespace or in its own, there is nothing to wait for.
    for table in tables where table?.entries.contains(where: { $0.device == device }) ?? false {
      return
    }
    _ = daemon.process.waitForEnd(milliseconds: 1000)
    StartedDaemons.reap()
  }
}

/// The file system that a view's container is on.
private struct BackingDisk: ~Copyable {
  private let directory: Walker

  /// The one behind what a daemon serves; nil if the caller can't open it.
  init?(of daemon: RunningDaemon) {
    guard let container = daemon.process.directory(descriptor: 3),
      let directory = try? container.reopened(Opening.directory)
    else { return nil }
    self.directory = Walker(directory)
  }

  /// Waits until it has written everything.
  borrowing func synchronize(behind name: String) throws(MountError) {
    do throws(Errno) {
      try directory.synchronizeFileSystem()
    } catch {
      throw MountError(
        .failed, "\(name) is unmounted, but not all that was written is on the disk", error)
    }
  }
}

/// The canonical path of what may be a mount point.
///
/// What the table has is taken as it is: nothing on its way is looked at, so that it may lead
/// through a view that is dead or silent.
private func mountPointPath(
  _ target: [UInt8], _ table: MountTable
) throws(MountError) -> [UInt8] {
  do throws(Errno) {
    let path = try absolutePath(target)
    if table.topmost(at: path) != nil { return path }
    return try canonicalPathOfMountPoint(target)
  } catch {
    throw MountError(.failed, target.printable, error)
  }
}

/// A mounted view and what is mounted on it.
struct MountedParts {
  /// The view itself.
  let root: MountEntry
  /// Its bundle.
  let bundle: MountEntry?
  /// What others have mounted in it.
  let foreign: [MountEntry]
  /// Whether the view is mounted nowhere else in this namespace.
  let isOnly: Bool

  /// The processes that use it.
  var users: [RunningProcess] { Holders.ofMounts([root] + (bundle.map { [$0] } ?? [])) }
  var path: [UInt8] { root.mountPoint }
  var name: String { path.printable }

  /// The view at a path; where a bundle is, its view.
  ///
  /// What unmounts by source finds the bundle, since it was mounted last.
  static func find(_ target: [UInt8]) throws(MountError) -> MountedParts {
    let table = try readMountTable()
    let path = try mountPointPath(target, table)
    guard var root = table.topmost(at: path), root.isView else {
      throw MountError(.failed, "no view is mounted at \(path.printable)")
    }
    if !root.isWholeView {
      guard
        let view = table.entries.last(where: {
          $0.id == root.parentID && $0.isWholeView && $0.device == root.device
        })
      else {
        throw MountError(
          .failed, "\(path.printable) is a part of a view that was bound by hand; use umount -i")
      }
      root = view
    }
    let children = table.children(of: root)
    let bundle = children.first { $0.device == root.device && $0.isBundle(of: root) }
    return MountedParts(
      root: root, bundle: bundle, foreign: children.filter { $0.id != bundle?.id },
      isOnly: table.entries.count { $0.device == root.device && $0.isWholeView } == 1)
  }
}

extension MountEntry {
  /// Whether it is a directory of the view's root, bound onto itself.
  func isBundle(of view: MountEntry) -> Bool {
    let prefix = view.mountPoint == [UInt8(ascii: "/")] ? [] : view.mountPoint
    return mountPoint == prefix + root && root.count > 1
      && !root.dropFirst().contains(UInt8(ascii: "/"))
  }
}

/// Lets fusermount3 unmount the caller's own view.
func unmountByFusermount(_ path: [UInt8], lazily: Bool) throws(MountError) {
  let said: [UInt8]
  let status: Int32
  do throws(Errno) {
    let nothing = try Descriptor.null()
    var errors = try Pipe()
    let child = try ChildProcess.spawn(
      ChildProcess.Start(
        path: Array("/usr/bin/fusermount3".utf8),
        arguments: ["fusermount3", lazily ? "-uz" : "-u", "--"].map { Array($0.utf8) } + [path]),
      descriptors: [nothing.rawValue, nothing.rawValue, errors.writing?.rawValue ?? -1])
    errors.writing = nil
    said = try errors.reading.readToEnd(atMost: 1 << 16)
    status = try child.wait()
  } catch {
    throw MountError(.system, "cannot run fusermount3 (package fuse3)", error)
  }
  if status == 0 { return }
  let line = said.split(separator: UInt8(ascii: "\n")).first ?? []
  throw MountError(
    .failed, line.isEmpty ? "fusermount3 failed with status \(status)" : line.printable)
}
