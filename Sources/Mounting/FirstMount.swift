// The first mount of a container: what follows once its daemon serves.
internal import Containers
internal import LinuxKit

extension ViewMounts {
  /// Does what the daemon cannot: the mount's own attributes, the bundle, the note for umount(8).
  static func finish(
    _ daemon: ChildProcess, _ directory: borrowing Descriptor,
    _ configuration: ViewConfiguration, at target: MountTarget, _ settings: MountSettings,
    _ signals: borrowing BlockedSignals
  ) throws(MountError) -> MountedView {
    do throws(MountError) {
      guard let status = try DaemonStatus.ask(directory) else {
        throw MountError(.failed, "the container's daemon ended as soon as it served")
      }
      var remark: MountError?
      if configuration.transport == .kernel {
        let view = try openView(status.device, at: target)
        remark = try complete(view, configuration, at: target, settings, status)
      }
      try signals.check()
      StartedDaemons.add(daemon)
      return MountedView(
        target: target.path, device: status.device, status: status, isFirst: true,
        remark: remark)
    } catch {
      target.takeDown(configuration)
      // Without its mount it ends by itself, unless it is what has failed.
      _ = RunningProcess(pid: daemon.pid).waitForEnd(milliseconds: 2000)
      end(daemon)
      throw error
    }
  }

  /// Gives a view that is attached its attributes, its bundle and its note.
  ///
  /// Returns what is wrong if only the note could not be made. A view that is to be read-only is
  /// writable for a moment; if somebody has opened a file for writing by then, this fails.
  static func complete(
    _ view: borrowing Descriptor, _ configuration: ViewConfiguration, at target: MountTarget,
    _ settings: MountSettings, _ status: DaemonStatus
  ) throws(MountError) -> MountError? {
    var settings = settings
    settings.executesByRules = status.executesByRules
    do throws(Errno) {
      try view.changeMount(setting: settings.attributes, clearing: MountSettings.decided)
      if !configuration.bundleName.isEmpty {
        try bindBundle(configuration.bundleName, in: view, settings)
      }
    } catch {
      throw MountError(.failed, "cannot bind the bundle at \(target.name)", error)
    }
    if settings.isPrivate { return nil }
    do throws(MountError) {
      try recordView(
        source: configuration.source, at: target.path, bundle: configuration.bundleName)
      return nil
    } catch {
      return error
    }
  }

  /// The root of the view that was just mounted, if that is what the target's path now leads to.
  static func openView(
    _ device: DeviceNumber, at target: MountTarget
  ) throws(MountError) -> Descriptor {
    do throws(Errno) {
      let view = try Descriptor.place(target.path)
      if try MountIdentity(view).device == device { return view }
    } catch {
      throw MountError(.failed, "cannot open the view at \(target.name)", error)
    }
    throw MountError(
      .failed, "the view is not at \(target.name): somebody changed the path while it was mounted")
  }
}
