// Running a program in a container: mount the view, decide what the program sees, start it through
// bubblewrap, watch over it, and leave everything as it was.
//
// It fails closed: whatever cannot be set up, nothing runs.
public import Containers
public import LinuxKit
public import Mounting
internal import Paths

/// Running programs in containers.
public enum Launch {
  /// Runs a command in the container whose directory is `container`, and waits for its end.
  ///
  /// Without a command the bundle's executable is run. The program dies with the calling thread.
  /// HUP, INT and TERM are passed on to it. Once the container can't be updated any more,
  /// `isCurrent` says whether record and configuration are still its own; if not,
  /// `LaunchError.outdated` is thrown.
  public static func run(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, command: [[UInt8]], _ options: RunOptions,
    isCurrent: () -> Bool
  ) throws(LaunchError) -> RunOutcome {
    try run(container, record, configuration, command, options, isCurrent: isCurrent) {
      program throws(LaunchError) in try program()
    }
  }

  /// Runs a command likewise, while its view's daemon lends it what its rules refuse, as far as the
  /// administrator's allow, and notes it.
  ///
  /// Whoever else uses the view meanwhile is lent the same. Throws if somebody else learns, or if
  /// the rules are changed meanwhile.
  public static func learn(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, command: [[UInt8]], _ options: RunOptions,
    isCurrent: () -> Bool
  ) throws(LaunchError) -> (outcome: RunOutcome, learned: LearningSession.Notes) {
    var learned = LearningSession.Notes()
    let place = try duplicate(container)
    let outcome = try run(
      container, record, configuration, command, options, isCurrent: isCurrent
    ) { program throws(LaunchError) in
      let session = try begin(at: place)
      let status = Result { () throws(LaunchError) in try program() }
      do throws(MountError) {
        learned = try session.finish()
      } catch {
        // What has ended the program has ended the session too.
        _ = try status.get()
        throw LaunchError(.ours, error.message)
      }
      return try status.get()
    }
    return (outcome, learned)
  }

  private static func run(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, _ command: [[UInt8]], _ options: RunOptions,
    isCurrent: () -> Bool,
    around: (() throws(LaunchError) -> Int32) throws(LaunchError) -> Int32
  ) throws(LaunchError) -> RunOutcome {
    let request = try Request(record, command, options)
    let signals = try watchedSignals()
    let directory = try RunDirectory(environment: options.environment)
    directory.sweep()
    let expected = try ExpectedView(
      of: container, named: viewName(of: container, record, options), in: directory, signals)
    let groundwork = Groundwork(request.reach)
    let lease = try ViewLease(
      expected, of: container, configuration, in: directory, isCurrent: isCurrent)
    let result = Result { () throws(LaunchError) in
      try around { () throws(LaunchError) in
        var sandbox = try request.sandbox(
          view: lease.path, stage: directory.stage, host: groundwork.host)
        sandbox.executesByRules = lease.executesByRules
        let proxy = try request.busProxy(in: directory)
        if let proxy { sandbox.reach.sockets.append(try proxy.socket(for: request.uid)) }
        defer { withExtendedLifetime(proxy) {} }
        try checkExecution(of: sandbox, lease.mounts)
        return try run(
          sandbox, bubblewrap: request.bubblewrap, filter: groundwork.filter, daemon: lease.daemon,
          signals)
      }
    }
    let remarks = lease.end(in: directory)
    return RunOutcome(status: try result.get(), remarks: remarks)
  }

  /// Throws what this machine lacks for any run: bubblewrap, or user namespaces.
  ///
  /// `run` asks too. To ask first spares a person errors that follow from it.
  public static func checkMachine() throws(LaunchError) {
    _ = try findBubblewrap()
    try refuseWithoutUserNamespaces()
  }

  /// Unmounts what runs that were killed have left mounted.
  ///
  /// Every command that looks at what is mounted may call it first; what is in use stays.
  public static func sweep(environment: [[UInt8]]) {
    guard RunDirectory.exists(environment: environment),
      let directory = try? RunDirectory(environment: environment)
    else { return }
    directory.sweep()
  }

  private static func run(
    _ sandbox: Sandbox, bubblewrap: [UInt8], filter: Result<[UInt8], Errno>, daemon: Int32,
    _ signals: borrowing BlockedSignals
  ) throws(LaunchError) -> Int32 {
    var sandbox = sandbox
    let lookup = CommandLookup(sandbox)
    try lookup.check(sandbox.command[0], path: sandbox.searchPath)
    try lookup.checkDirectory(sandbox.directory)
    if sandbox.reach.display != nil { try makeDisplayDirectory(for: sandbox) }
    guard let daemon = ProcessHandle(pid: daemon) else { throw daemonDied }
    let relay = try terminal(for: sandbox)
    sandbox.terminal = relay?.path
    sandbox.isControlled = relay?.hasKeys == true && hasSessionTool()
    let run = try RunningSandbox(sandbox, bubblewrap: bubblewrap, filter: filter, relay: relay)
    return try run.wait(signals, daemon, statusFile: sandbox.statusFile)
  }
}

/// What a run was asked for, checked before anything is mounted.
private struct Request {
  let bubblewrap: [UInt8]
  let record: ContainerRecord
  let command: [[UInt8]]
  let options: RunOptions
  let uid: UInt32
  let reach: Reach
  let lent: [LentPlace]

  init(
    _ record: ContainerRecord, _ command: [[UInt8]], _ options: RunOptions
  ) throws(LaunchError) {
    bubblewrap = try findBubblewrap()
    try refuseWithoutUserNamespaces()
    if isPrivileged(), record.ownerUID == 0 {
      throw LaunchError(
        .ours, "\(record.identifier) belongs to root, and no app runs as root; install it again")
    }
    self.command = try Self.command(command, of: record)
    self.record = record
    self.options = options
    uid = isPrivileged() ? record.ownerUID : effectiveUID()
    reach = try Reach(
      asked: options.allowed, noted: record.allowances, environment: options.environment, uid: uid)
    lent = try Self.places(record.grants, options)
  }

  /// What is lent, those that hold others first; what is said last about a path holds, for once
  /// behind what the record says.
  private static func places(
    _ grants: [Grant], _ options: RunOptions
  ) throws(LaunchError) -> [LentPlace] {
    var last: [[UInt8]: Grant] = [:]
    for grant in grants + options.lent { last[grant.path] = grant }
    do throws(GrantError) {
      return try last.values.map { grant throws(GrantError) in
        try Launch.place(
          of: grant, keepingFrom: options.privatePlaces, environment: options.environment)
      }.sorted { $0.path.count < $1.path.count }
    } catch {
      throw LaunchError(.ours, "\(error); 'sandboxfs grant' lends anew, 'sandboxfs revoke' no more")
    }
  }

  private static func command(
    _ command: [[UInt8]], of record: ContainerRecord
  ) throws(LaunchError) -> [[UInt8]] {
    if let word = command.first {
      if word.isEmpty { throw LaunchError(.notFound, "the command is empty") }
      return command
    }
    guard !record.bundleName.isEmpty, !record.executable.isEmpty else {
      throw LaunchError(
        .ours, "\(record.identifier) has no bundle to run: give a command behind --")
    }
    let slash = [UInt8(ascii: "/")]
    return [Sandbox.home + slash + record.bundleName + slash + record.executable]
  }

  func sandbox(
    view: [UInt8], stage: [UInt8], host: HostTree
  ) throws(LaunchError) -> Sandbox {
    var sandbox = try Launch.sandbox(
      for: record, command, options, view: view, stage: stage, host: host)
    sandbox.lent = lent
    sandbox.reach = reach
    return sandbox
  }

  /// A proxy for the session bus, if the app may reach that.
  func busProxy(in directory: borrowing RunDirectory) throws(LaunchError) -> BusProxy? {
    guard let address = reach.busAddress else { return nil }
    return try BusProxy.start(for: record, to: address, in: directory)
  }
}

/// The name of a container's view: the identifier, if that can mean no other container.
func viewName(
  of container: borrowing Descriptor, _ record: ContainerRecord, _ options: RunOptions
) -> [UInt8] {
  guard let identity = try? container.status().identity else { return record.identifier.bytes }
  if let store = options.defaultStore {
    let usual = store + Array("/containers/".utf8) + record.identifier.bytes
    if let other = try? Walker.open(path: usual).status().identity,
      other.inode == identity.inode, other.device == identity.device
    {
      return record.identifier.bytes
    }
  }
  let number = String(identity.device, radix: 16) + "-" + String(identity.inode, radix: 16)
  return record.identifier.bytes + Array("@\(number)".utf8)
}

extension Launch {
  /// The variables that a program in a container gets, `NAME=VALUE` each.
  public static func environment(_ options: RunOptions) -> [[UInt8]] {
    merged(
      options.table.environment(home: Sandbox.home, caller: options.environment),
      with: options.moreEnvironment)
  }

  /// What runs in a record's container, and where.
  static func sandbox(
    for record: ContainerRecord, _ command: [[UInt8]], _ options: RunOptions, view: [UInt8],
    stage: [UInt8], host: HostTree
  ) throws(LaunchError) -> Sandbox {
    let isRoot = isPrivileged()
    var sandbox = Sandbox(
      uid: isRoot ? record.ownerUID : effectiveUID(),
      gid: isRoot ? record.ownerGID : effectiveGID(),
      isStartedByRoot: isRoot, bundleName: record.bundleName, view: view, stage: stage,
      command: command, callerEnvironment: options.environment, environmentTable: options.table,
      host: host)
    sandbox.moreEnvironment = options.moreEnvironment
    sandbox.statusFile = options.statusFile
    let slash = UInt8(ascii: "/")
    if !options.directory.isEmpty {
      sandbox.directory =
        options.directory.first == slash
        ? options.directory : Sandbox.home + [slash] + options.directory
    }
    return sandbox
  }
}

/// A terminal for a program, if whoever starts it has one.
func terminal(for sandbox: Sandbox) throws(LaunchError) -> TerminalRelay? {
  do throws(Errno) {
    return try TerminalRelay(for: sandbox.uid, gid: sandbox.gid)
  } catch {
    throw LaunchError(.ours, "cannot make a terminal for the program: \(error.message)")
  }
}

/// Whether util-linux's setsid is there, which makes the terminal control the program.
private func hasSessionTool() -> Bool {
  (try? canonicalPath(Array("/usr/bin/setsid".utf8))) != nil
}

func watchedSignals() throws(LaunchError) -> BlockedSignals {
  do throws(Errno) {
    return try BlockedSignals()
  } catch {
    throw LaunchError(.ours, "cannot wait for signals: \(error.message)")
  }
}

private func duplicate(_ directory: borrowing Descriptor) throws(LaunchError) -> Descriptor {
  do throws(Errno) {
    return try directory.duplicate()
  } catch {
    throw LaunchError(.ours, "cannot open the container: \(error.message)")
  }
}

private func begin(at container: borrowing Descriptor) throws(LaunchError) -> LearningSession {
  do throws(MountError) {
    return try LearningSession(of: container)
  } catch {
    throw LaunchError(.ours, error.message)
  }
}
