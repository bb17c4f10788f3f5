// The view of a run: mounted by the first that needs it, shared by all, unmounted by the last.
internal import Containers
internal import LinuxKit
internal import Mounting
internal import Paths

/// A share in a mounted view.
///
/// A view that a person has mounted elsewhere is used too: root binds it, and an ordinary user's
/// has only that one place.
struct ViewLease: ~Copyable {
  /// Where the view is.
  let path: [UInt8]
  /// The daemon that serves it.
  let daemon: Int32
  /// Whether its rules let something be executed besides the bundle.
  let executesByRules: Bool
  /// What was mounted when the view was looked for; nil if it was mounted since.
  let mounts: MountTable?
  private let name: [UInt8]
  private let configuration: ViewConfiguration
  private var runs: Descriptor?

  /// Mounts the view if no other run has, and joins those who use it.
  init(
    _ expected: consuming ExpectedView, of container: borrowing Descriptor,
    _ configuration: ViewConfiguration, in directory: borrowing RunDirectory,
    isCurrent: () -> Bool
  ) throws(LaunchError) {
    let name = expected.name
    let gate = expected.gate
    let view: FoundView
    do throws(MountError) {
      view = try mountedView(
        container, try expected.question.answer(container), configuration, named: name,
        in: directory)
    } catch {
      throw LaunchError(.ours, error.message)
    }
    guard isCurrent() else {
      _ = try directory.takeDownUnlessUsed(name, emptying: nil)
      throw LaunchError.outdated
    }
    runs = try directory.joinRuns(of: name)
    _ = consume gate
    path = view.path
    daemon = view.daemon.pid
    executesByRules = view.daemon.executesByRules
    mounts = view.mounts
    self.name = name
    self.configuration = configuration
  }

  /// Leaves; the last one empties what goes at exit, and unmounts.
  ///
  /// Returns what could not be done, a line each.
  consuming func end(in directory: borrowing RunDirectory) -> [String] {
    runs = nil
    do throws(LaunchError) {
      let gate = try directory.waitForGate(of: name)
      let remarks = try directory.takeDownUnlessUsed(name, emptying: configuration)
      _ = consume gate
      return remarks
    } catch {
      return [error.message]
    }
  }
}

/// A view whose daemon was asked whether it serves; nobody else mounts or unmounts it now.
///
/// What a run needs besides is made before it is leased, while the daemon answers.
struct ExpectedView: ~Copyable {
  fileprivate let name: [UInt8]
  fileprivate let gate: Descriptor
  fileprivate let question: DaemonQuestion

  /// Waits until whoever mounts or unmounts it is done, and asks.
  init(
    of container: borrowing Descriptor, named name: [UInt8],
    in directory: borrowing RunDirectory, _ signals: borrowing BlockedSignals
  ) throws(LaunchError) {
    self.name = name
    gate = try directory.waitForGate(of: name, signals)
    question = DaemonQuestion(container)
  }
}

/// A view that is mounted.
private struct FoundView {
  let path: [UInt8]
  let daemon: DaemonStatus
  /// What is mounted besides; nil if nobody has looked.
  let mounts: MountTable?
}

/// The view that is mounted by the daemon that says so, or a new one.
private func mountedView(
  _ container: borrowing Descriptor, _ status: DaemonStatus?, _ configuration: ViewConfiguration,
  named name: [UInt8], in directory: borrowing RunDirectory
) throws(MountError) -> FoundView {
  let place = directory.mountPoint(of: name)
  if let status {
    let mounts = try mountTable()
    let entry = mounts.entries.last {
      $0.device == status.device && $0.isWhole && ($0.mountPoint == place || !isPrivileged())
    }
    if let entry { return FoundView(path: entry.mountPoint, daemon: status, mounts: mounts) }
  }
  do throws(Errno) {
    try directory.makeMountPoint(of: name)
  } catch {
    throw MountError(.system, "cannot make \(place.printable): \(error.message)")
  }
  var settings = MountSettings()
  settings.isPrivate = true
  let view = try ViewMounts.mount(container, configuration, at: place, settings)
  return FoundView(path: view.target, daemon: view.status, mounts: nil)
}

/// What is mounted in our namespace.
private func mountTable() throws(MountError) -> MountTable {
  do throws(Errno) {
    return try MountTable.read()
  } catch {
    throw MountError(.system, "cannot read what is mounted: \(error.message)")
  }
}

extension MountEntry {
  /// Whether it shows all of its file system.
  fileprivate var isWhole: Bool { root == [UInt8(ascii: "/")] }
}

extension RunDirectory {
  /// Unmounts the views whose runs were killed together with whoever should have unmounted them.
  ///
  /// What is in use, or in doubt, stays.
  func sweep() {
    BusProxy.sweep(in: self)
    for name in names() {
      guard let gate = takeFreeGate(of: name) else { continue }
      _ = try? takeDownUnlessUsed(name, emptying: nil)
      _ = consume gate
    }
  }

  /// Unmounts a view that no run uses; the caller has the gate.
  ///
  /// Empties what goes at exit, if this is the last mount of the view and `configuration` says what
  /// that is. Returns what could not be done, a line each.
  fileprivate func takeDownUnlessUsed(
    _ name: [UInt8], emptying configuration: ViewConfiguration?
  ) throws(LaunchError) -> [String] {
    let path = mountPoint(of: name)
    do throws(Errno) {
      guard let runs = try takeFreeRuns(of: name) else { return [] }
      let table = try MountTable.read()
      var remarks: [String] = []
      if let entry = table.topmost(at: path) {
        // What does not answer can be neither emptied nor waited for.
        let isDead = isDead(path, withinMilliseconds: silenceMilliseconds) ?? true
        let isLast = table.entries.count { $0.device == entry.device && $0.isWhole } == 1
        if let configuration, isLast, !isDead {
          remarks += emptyAtExit(view: path, configuration)
        }
        remarks += unmount(path, isDead ? [.isPrivate, .lazy] : .isPrivate)
      }
      if try MountTable.read().topmost(at: path) == nil { forget(name) }
      _ = consume runs
      return remarks
    } catch {
      throw LaunchError(.ours, "cannot unmount the view at \(path.printable): \(error.message)")
    }
  }

  private func unmount(_ path: [UInt8], _ settings: UnmountSettings) -> [String] {
    do throws(MountError) {
      try ViewMounts.unmount(path, settings)
      return []
    } catch {
      return ["its view stays mounted: \(error.message)"]
    }
  }
}
