// A command beside those that run: `sandboxfs exec`.
public import Containers
public import LinuxKit
internal import Mounting
internal import Paths

extension Launch {
  /// Runs a command in a container in which a run of the app goes on, confined as that one is.
  ///
  /// User namespaces and what else a run was allowed by system calls are not given to it.
  public static func join(
    _ container: borrowing Descriptor, _ record: ContainerRecord, command: [[UInt8]],
    _ options: RunOptions
  ) throws(LaunchError) -> Int32 {
    let signals = try watchedSignals()
    let run = try runningApp(in: container, record)
    // From here on the numbers could be another's; what is held open can't.
    guard let first = ProcessHandle(pid: run.first) else { throw notRunning(record) }
    let namespaces: NamespaceSet
    do throws(Errno) {
      namespaces = try NamespaceSet(of: run.first)
    } catch {
      throw LaunchError(.ours, "cannot look at process \(run.first): \(error.message)")
    }
    guard run.isStillThere, !first.waitForEnd(milliseconds: 0) else { throw notRunning(record) }
    // Of it only the environment, the command and the place are decided here.
    var sandbox = try Launch.sandbox(
      for: record, command, options, view: placeOfView(run.device), stage: [],
      host: .current())
    sandbox.executesByRules = (try? DaemonStatus.ask(container))?.executesByRules == true
    // Where the caller cannot see the view, the shell inside says what is not there.
    if !sandbox.view.isEmpty {
      try CommandLookup(sandbox).check(command[0], path: sandbox.searchPath)
    }
    let relay = try terminal(for: sandbox)
    let process: JoinedProcess
    do throws(JoinFailure) {
      var start = try start(sandbox, relay)
      // Its network is the host's, if the run was allowed that.
      start.isScoped =
        RunningProcess(pid: run.first).namespace(.network)
        == RunningProcess.current.namespace(.network)
      process = try JoinedProcess(namespaces, start)
    } catch {
      if error.what == "directory" {
        let path = sandbox.directory.printable
        throw LaunchError(.ours, "--cwd: '\(path)' in the container: \(error.errno.message)")
      }
      throw LaunchError(
        .ours, "cannot join \(record.identifier) (\(error.what)): \(error.errno.message)")
    }
    relay?.begin()
    return try wait(for: process, relay, signals, options)
  }
}

/// The run of a container's app that a command joins: the one that began first.
private func runningApp(
  in container: borrowing Descriptor, _ record: ContainerRecord
) throws(LaunchError) -> RunningApp {
  let status: DaemonStatus?
  do throws(MountError) {
    status = try DaemonStatus.ask(container)
  } catch {
    throw LaunchError(.ours, error.message)
  }
  guard let status, let run = RunningApp.all(device: status.device).min(by: { $0.first < $1.first })
  else { throw notRunning(record) }
  return run
}

private func notRunning(_ record: ContainerRecord) -> LaunchError {
  LaunchError(.ours, "\(record.identifier) does not run; start it with 'sandboxfs run'")
}

/// Where the caller sees all of a view; empty if nowhere.
private func placeOfView(_ device: DeviceNumber) -> [UInt8] {
  let entries = (try? MountTable.read().entries) ?? []
  return entries.last { $0.device == device && $0.root == [UInt8(ascii: "/")] }?.mountPoint ?? []
}

/// The shell is the system's, so what its process shows of itself is nobody's secret: a link of the
/// app's to `/proc/self/exe` leads to it, and not to a program of ours.
private func start(_ sandbox: Sandbox, _ relay: TerminalRelay?) throws(JoinFailure)
  -> JoinedProcess.Start
{
  let shell = Array("/bin/sh".utf8)
  let filter: [UInt8]
  do throws(Errno) {
    filter = try SystemCallFilter.program(of: sandbox.reach.systemCallRules)
  } catch {
    throw JoinFailure(what: "filter", errno: error)
  }
  return JoinedProcess.Start(
    uid: sandbox.uid, gid: sandbox.gid, streams: relay?.streams ?? [0, 1, 2],
    hasTerminal: relay?.hasKeys == true, filter: filter, directory: sandbox.directory,
    program: shell,
    arguments: [shell, Array("-c".utf8), Array("exec \"$@\"".utf8), shell] + sandbox.command,
    environment: sandbox.wholeEnvironment)
}

private func wait(
  for process: consuming JoinedProcess, _ relay: TerminalRelay?,
  _ signals: borrowing BlockedSignals, _ options: RunOptions
) throws(LaunchError) -> Int32 {
  var watch = Watch(program: process.program, relay: relay, statusFile: options.statusFile)
  defer { relay?.end() }
  do throws(Errno) {
    while try watch.step(
      process: process.handle.rawValue, daemon: nil, signals)
    {}
    let status = try process.wait()
    watch.tell(exitStatus: status)
    return status
  } catch {
    throw LaunchError(.ours, "cannot wait for the program: \(error.message)")
  }
}
