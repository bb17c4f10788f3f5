// Mounting: the first mount of a container starts its daemon, which makes it; each other is a copy
// of that one. Either the view is there afterwards, whole, or nothing of it is.
public import Containers
public import LinuxKit
internal import Paths

/// The mounts of views: what makes them, looks at them and takes them away.
///
/// All of it is done by the process that asks, never by a daemon, which would have to answer
/// itself.
public enum ViewMounts {
  /// Mounts a container at a directory and waits until the view answers.
  ///
  /// `configuration` is the container's, without what `settings` say; its target is replaced by
  /// the canonical path of `target`. As root the view is noexec and its bundle is bound read-only
  /// and executable; an ordinary user's is made by fusermount3, and is the only one that there can
  /// be. A dead view at `target` is replaced. HUP, INT and TERM take down what was made and throw.
  public static func mount(
    _ directory: borrowing Descriptor, _ configuration: ViewConfiguration, at target: [UInt8],
    _ settings: MountSettings = MountSettings()
  ) throws(MountError) -> MountedView {
    let signals = try blockSignals()
    let target = try MountTarget(target, for: directory, replacingDead: true)
    let deadline = monotonicMilliseconds() + settings.patienceMilliseconds
    let configuration = configuration.with(settings, target)
    while true {
      if let status = try DaemonStatus.ask(directory),
        let view = try mountAgain(status, configuration, at: target, settings)
      {
        return view
      }
      if let daemon = try startDaemon(
        directory, configuration, at: target, settings, signals)
      {
        return try finish(daemon, directory, configuration, at: target, settings, signals)
      }
      // The one that has the lock is just beginning or just ending.
      try pause(directory, until: deadline, signals)
    }
  }

  /// Finds out whether `mount` could begin, and changes nothing.
  public static func check(
    _ directory: borrowing Descriptor, _ configuration: ViewConfiguration, at target: [UInt8],
    _ settings: MountSettings = MountSettings()
  ) throws(MountError) {
    let target = try MountTarget(target, for: directory, replacingDead: false)
    if let status = try DaemonStatus.ask(directory) {
      _ = try copyable(status, configuration.with(settings, target), at: target, settings)
    }
    if settings.daemon == nil { _ = try installedDaemon() }
  }

  /// Waits a moment before the next try; throws if the time is over.
  private static func pause(
    _ directory: borrowing Descriptor, until deadline: Int64, _ signals: borrowing BlockedSignals
  ) throws(MountError) {
    if monotonicMilliseconds() > deadline { throw try stuck(directory) }
    do throws(Errno) {
      try signals.wait(milliseconds: 20)
    } catch {
      throw MountError(.system, "cannot wait for the container's daemon", error)
    }
    try signals.check()
  }

  /// Why a container whose lock is held cannot be mounted.
  private static func stuck(_ directory: borrowing Descriptor) throws(MountError) -> MountError {
    guard let status = try DaemonStatus.ask(directory) else {
      return MountError(.failed, "the container is locked by a daemon that does not answer")
    }
    let end = "; its daemon is \(status.pid)"
    if let part = try findPart(status) {
      return MountError(
        .failed,
        "the container's view was unmounted, but \(part.entry.root.printable) of it is still "
          + "mounted at \(part.entry.mountPoint.printable)"
          + (part.process.map { " for process \($0)" } ?? "") + end)
    }
    let users = Holders.ofFileSystem(status.device)
    return MountError(
      .failed,
      "the container's view was unmounted lazily and is still in use"
        + (users.isEmpty ? "" : " by \(Holders.list(users))") + end)
  }
}

extension ViewConfiguration {
  /// With what the caller's settings and rights make of it.
  fileprivate func with(_ settings: MountSettings, _ target: MountTarget) -> ViewConfiguration {
    var whole = self
    whole.target = target.path
    whole.source = settings.source ?? identifier
    whole.transport = isPrivileged() ? .kernel : .fusermount
    whole.mountFlags = (isPrivileged() ? settings.fileSystemFlags : settings.userFlags).rawValue
    whole.isSupervised = !settings.unsupervised
    if settings.noExtendedAttributes { whole.without.insert(.extendedAttributes) }
    if settings.noWriteback { whole.without.insert(.writeback) }
    return whole
  }
}

private func blockSignals() throws(MountError) -> BlockedSignals {
  do throws(Errno) {
    return try BlockedSignals()
  } catch {
    throw MountError(.system, "cannot wait for signals", error)
  }
}
