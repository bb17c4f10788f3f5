// What one run of an app sees and may do, as a value: the steps of the outer namespace, the options
// of bubblewrap, the files that exist only inside, the environment and the command.
//
// Every mount inside that can be written is made by `steps`, in the outer namespace, and is
// noexec,nosuid,nodev (a device node is nosuid,noexec; the view is executable where a rule says
// `exec`); bubblewrap's own are read-only at the end.
internal import Containers
internal import LinuxKit

/// One run of an app, decided before anything is done.
struct Sandbox {
  /// The home directory inside: the view.
  static let home = bytes("/home/app")

  /// What the kernel knows the app by, outside and inside.
  var uid: UInt32
  /// The group of it.
  var gid: UInt32
  /// Whether root starts it, and so gives up its identity on the way.
  var isStartedByRoot: Bool
  /// The bundle's directory name; empty if there is none.
  var bundleName: [UInt8]
  /// Where the view is mounted outside.
  var view: [UInt8]
  /// A directory outside over which the child, in its own namespace, mounts what it prepares.
  var stage: [UInt8]
  /// The program inside and its arguments.
  var command: [[UInt8]]
  /// The variables of whoever starts it.
  var callerEnvironment: [[UInt8]]
  /// What the environment is made by.
  var environmentTable: EnvironmentTable
  /// What the host's root directory has.
  var host: HostTree
  /// What it reaches outside by name.
  var reach = Reach()
  /// What is lent to it, those that hold others first.
  var lent: [LentPlace] = []
  /// Whether rules let something of the view be executed besides the bundle.
  var executesByRules = false
  /// Variables, as `NAME=VALUE`, that it gets besides those of the table, or in their place.
  var moreEnvironment: [[UInt8]] = []
  /// The working directory, inside.
  var directory: [UInt8] = Sandbox.home
  /// The terminal that is made for it, outside; nil if it has none.
  var terminal: [UInt8]?
  /// Whether that terminal controls it, so that keys become signals.
  var isControlled = false
  /// Where to tell who was started and how it ended; nil if nobody asked.
  var statusFile: CInt?

  /// A file that exists only inside, read-only.
  struct File: Equatable {
    let path: [UInt8]
    let mode: UInt32
    let content: [UInt8]
  }
}

// MARK: - What exists only inside

extension Sandbox {
  /// The files that are made for the app, in the order of their descriptors.
  var files: [File] {
    let accounts = Accounts(uid: uid, gid: gid, home: Self.home)
    var files = [
      File(path: bytes("/etc/passwd"), mode: 0o444, content: accounts.passwd),
      File(path: bytes("/etc/group"), mode: 0o444, content: accounts.group),
      File(
        path: bytes("/etc/hosts"), mode: 0o444,
        content: Accounts.hosts + (reach.hosts ?? [])),
      File(
        path: bytes("/etc/GNUstep/GNUstep.conf"), mode: 0o444,
        content: GNUstepConfiguration.text(host: host.gnustepConfiguration)),
    ]
    if let display = reach.display {
      files.append(File(path: Display.keyPath, mode: 0o400, content: display.keys))
    }
    return files
  }

  /// The environment, of bubblewrap too: what its process 1 shows is what the app knows anyway.
  var environment: [[UInt8]] {
    var variables = environmentTable.environment(home: Self.home, caller: callerEnvironment)
    if let display = reach.display {
      variables.append(bytes("DISPLAY=") + display.0.valueInside)
      variables.append(bytes("XAUTHORITY=") + Display.keyPath)
    }
    return variables + reach.sockets.flatMap(\.variables)
  }
}

extension Sandbox {
  /// The environment inside.
  ///
  /// Bubblewrap does not have those that the caller added: some of them would change what it does.
  var wholeEnvironment: [[UInt8]] { merged(environment, with: moreEnvironment) }

  /// The system calls that it is refused.
  var systemCallRules: [SystemCallRule] {
    SystemCallRules.all(allowsUserNamespaces: reach.allowsUserNamespaces)
  }

  /// Where commands are looked for.
  var searchPath: [UInt8] {
    let prefix = bytes("PATH=")
    let variable = wholeEnvironment.last { $0.starts(with: prefix) }
    return Array((variable ?? prefix).dropFirst(prefix.count))
  }
}

// MARK: - The outer namespace

extension Sandbox {
  /// The prepared home, devices and directory with the display's socket, outside.
  private var stagedHome: [UInt8] { stage + bytes("/home") }
  private var stagedDevices: [UInt8] { stage + bytes("/dev") }
  private var stagedDisplay: [UInt8] { stage + bytes("/display") }
  private var stagedSockets: [UInt8] { stage + bytes("/sockets") }
  private var stagedLent: [UInt8] { stage + bytes("/lent") }

  private static let harmless: MountAttributes = [.noExec, .noSetID, .noDevices]

  /// What the child does before it executes bubblewrap.
  var steps: [NamespaceStep] {
    leaving + stagingHome + stagingDevices + stagingDisplay + stagingSockets + stagingLent
      + becomingTheApp + (reach.hosts == nil ? [] : [.keepFromAbstractSockets])
  }

  private var leaving: [NamespaceStep] {
    // devpts can be mounted only where root is mapped, so the user is root of the outer namespace.
    isStartedByRoot
      ? [.leave(user: false), .keepMountsInside]
      : [.leave(user: true), .mapRoot(uid: uid, gid: gid), .keepMountsInside]
  }

  private var stagingHome: [NamespaceStep] {
    var steps: [NamespaceStep] = [
      .mount(type: "tmpfs", onto: stage, options: "mode=0711", attributes: Self.harmless),
      .directory(stagedHome, mode: 0o700),
      // Root's view carries its bundle, which is mounted on it, readable and executable.
      .bind(
        view, onto: stagedHome,
        adding: executesByRules ? [.noSetID, .noDevices] : Self.harmless, recursive: true),
    ]
    if !isStartedByRoot, !bundleName.isEmpty {
      // A user's view is executable as a whole outside, so that the bundle can be inside.
      let bundle = bytes("/") + bundleName
      steps.append(
        .bind(
          view + bundle, onto: stagedHome + bundle, adding: [.readOnly, .noSetID, .noDevices],
          recursive: false))
    }
    return steps
  }

  private static let deviceNodes = ["full", "null", "random", "tty", "urandom", "zero"]
  private static let deviceLinks = [
    ("fd", "/proc/self/fd"), ("ptmx", "pts/ptmx"), ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
  ]

  private var stagingDevices: [NamespaceStep] {
    let devices = stagedDevices
    var steps: [NamespaceStep] = [
      .directory(devices, mode: 0o755),
      .mount(type: "tmpfs", onto: devices, options: "mode=0755", attributes: Self.harmless),
    ]
    for name in Self.deviceNodes {
      let node = bytes("/" + name)
      steps.append(.file(devices + node))
      steps.append(
        .bind(
          bytes("/dev") + node, onto: devices + node, adding: [.noExec, .noSetID],
          recursive: false))
    }
    for (number, node) in (reach.graphics?.nodes ?? []).enumerated() {
      let inside = devices + node.dropFirst(bytes("/dev").count)
      let isInDirectory = inside.starts(with: devices + bytes("/dri/"))
      if number == 0, isInDirectory {
        steps.append(.directory(devices + bytes("/dri"), mode: 0o755))
      }
      steps.append(.file(inside))
      steps.append(.bind(node, onto: inside, adding: [.noExec, .noSetID], recursive: false))
    }
    for (name, target) in Self.deviceLinks {
      steps.append(.link(devices + bytes("/" + name), target: bytes(target)))
    }
    if let terminal {
      // ttyname(3) looks for the terminal's node in /dev.
      let console = devices + bytes("/console")
      steps.append(.file(console))
      steps.append(
        .bind(terminal, onto: console, adding: [.noExec, .noSetID], recursive: false))
    }
    let (terminals, shared) = (devices + bytes("/pts"), devices + bytes("/shm"))
    steps += [
      .directory(terminals, mode: 0o755),
      .mount(
        type: "devpts", onto: terminals, options: "newinstance,ptmxmode=0666,mode=620",
        attributes: [.noExec, .noSetID]),
      .directory(shared, mode: 0o755),
      .mount(type: "tmpfs", onto: shared, options: "mode=1777", attributes: Self.harmless),
      .restrict(devices, .readOnly),
    ]
    return steps
  }

  private var stagingDisplay: [NamespaceStep] {
    guard let display = reach.display?.0 else { return [] }
    let directory = stagedDisplay
    let socket = directory + bytes("/") + display.socketName
    return [
      .directory(directory, mode: 0o755),
      .file(socket),
      .bind(display.socket, onto: socket, adding: Self.harmless, recursive: false),
      .bindBeneath(
        directory, base: stagedHome, path: bytes("tmp/") + Display.directoryName,
        adding: Self.harmless.union(.readOnly)),
    ]
  }

  private var stagingSockets: [NamespaceStep] {
    if reach.sockets.isEmpty { return [] }
    return [.directory(stagedSockets, mode: 0o711)]
      + reach.sockets.flatMap { socket -> [NamespaceStep] in
        [
          .file(stagedSockets + bytes("/") + socket.name),
          .lend(
            socket.place.path, device: socket.place.device, inode: socket.place.inode,
            base: stagedSockets, path: socket.name, adding: Self.harmless.union(.readOnly)),
        ]
      }
  }

  private var stagingLent: [NamespaceStep] {
    if lent.isEmpty { return [] }
    var steps: [NamespaceStep] = [.directory(stagedLent, mode: 0o711)]
    for place in lent {
      let (base, path) = staged(place)
      if base == stagedLent {
        let target = base + bytes("/") + path
        steps.append(place.isDirectory ? .directory(target, mode: 0o711) : .file(target))
      }
      steps.append(
        .lend(
          place.path, device: place.device, inode: place.inode, base: base, path: path,
          adding: place.isReadOnly ? Self.harmless.union(.readOnly) : Self.harmless))
    }
    return steps
  }

  /// Where something lent is attached outside, below which directory.
  ///
  /// What lies in something else that is lent is attached in there, before bubblewrap sees any of
  /// it: that one follows links, and the app may have planted some.
  private func staged(_ place: LentPlace) -> (base: [UInt8], path: [UInt8]) {
    let outer = lent.firstIndex { isPath(place.path, inside: $0.path) } ?? 0
    let base = stagedLent + bytes("/\(outer)")
    if lent[outer] == place { return (stagedLent, bytes("\(outer)")) }
    return (base, Array(place.path.dropFirst(lent[outer].path.count + 1)))
  }

  /// The paths inside that are the container's own, each with all that lies below.
  static func occupiedPaths(_ host: HostTree) -> [[UInt8]] {
    ["/dev", "/proc", "/sys", "/tmp", "/usr", "/var/tmp"].map(bytes) + [home]
      + host.entries.map { bytes("/") + $0.name }
      + (configuration + networkConfiguration + ownConfiguration).map { bytes("/etc/\($0)") }
      + [SessionSocket.directory]
  }

  private var becomingTheApp: [NamespaceStep] {
    (isStartedByRoot ? [.become(uid: uid, gid: gid)] : [])
      + environmentTable.directories.map {
        .directoryBeneath(stagedHome, path: $0, mode: 0o700)
      }
  }
}

// MARK: - Bubblewrap

/// The descriptors that bubblewrap is started with, besides 0 to 2.
enum BubblewrapDescriptor {
  /// Its options, NUL behind each: nobody reads them in its process's command line.
  static let options = 3
  /// Where it reports.
  static let status = 4
  /// What it waits for when all is set up, before it starts the app.
  static let gate = 5
  /// The filter of system calls.
  static let filter = 6
  /// The first of the files that exist only inside.
  static let firstFile = 7
}

extension Sandbox {
  /// Bubblewrap's command line.
  var arguments: [[UInt8]] {
    words("bwrap --args \(BubblewrapDescriptor.options) --")
      + (isControlled ? words("/usr/bin/setsid --ctty --") : []) + command
  }

  /// The options that it reads from its descriptor.
  var options: [[UInt8]] {
    confinement + variables + system + ownFiles + kernelFileSystems + homeDirectory
      + reached + places
      + words("--remount-ro / --chdir") + [directory]
  }

  private var variables: [[UInt8]] {
    moreEnvironment.flatMap { variable in
      let name = variable.prefix { $0 != UInt8(ascii: "=") }
      return [bytes("--setenv"), Array(name), Array(variable.dropFirst(name.count + 1))]
    }
  }

  private var confinement: [[UInt8]] {
    words("--unshare-user") + (reach.allowsUserNamespaces ? [] : words("--disable-userns"))
      + words("--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup")
      + (reach.hosts == nil ? words("--unshare-net") : [])
      + words("--uid \(uid) --gid \(gid) --hostname app --cap-drop ALL")
      + words("--die-with-parent --new-session --seccomp \(BubblewrapDescriptor.filter)")
      + words("--json-status-fd \(BubblewrapDescriptor.status)")
      + words("--block-fd \(BubblewrapDescriptor.gate)")
  }

  /// What programs need of `/etc`; nothing in it is secret or says who the host is.
  private static let configuration = [
    "alternatives", "ca-certificates", "chromium.d", "crypto-policies", "fonts", "gai.conf",
    "java", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "java-25-openjdk",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
    "mime.types",
    "nsswitch.conf", "pki/ca-trust", "pki/tls/certs", "protocols", "services", "ssl/certs",
    "ssl/openssl.cnf", "timezone",
  ]

  /// What they need besides, to find others in the network.
  private static let networkConfiguration = ["host.conf", "resolv.conf"]

  /// What is made for the app.
  private static let ownConfiguration = [
    "GNUstep", "Xauthority", "group", "hosts", "mtab", "passwd",
  ]

  private var system: [[UInt8]] {
    var options = words("--ro-bind /usr /usr")
    for entry in host.entries {
      let path = bytes("/") + entry.name
      options +=
        entry.linkTarget.map { [bytes("--symlink"), $0, path] } ?? [bytes("--ro-bind"), path, path]
    }
    let network = reach.hosts == nil ? [] : Self.networkConfiguration
    for name in Self.configuration + network {
      options += words("--ro-bind-try /etc/\(name) /etc/\(name)")
    }
    return options + words("--symlink /proc/self/mounts /etc/mtab")
  }

  private var ownFiles: [[UInt8]] {
    var options: [[UInt8]] = []
    for (index, file) in files.enumerated() {
      options += words("--perms 0\(String(file.mode, radix: 8))")
      options += words("--file \(BubblewrapDescriptor.firstFile + index)") + [file.path]
    }
    return options
  }

  private var kernelFileSystems: [[UInt8]] {
    words("--proc /proc --dev-bind") + [stagedDevices, bytes("/dev")]
  }

  private var homeDirectory: [[UInt8]] {
    // One bind carries the view and its bundle. /tmp lies in it, so that saving by rename works.
    let temporary = Self.home + bytes("/tmp")
    return [
      bytes("--bind"), stagedHome, Self.home,
      bytes("--symlink"), temporary, bytes("/tmp"),
      bytes("--symlink"), temporary, bytes("/var/tmp"),
    ]
  }
}

extension Sandbox {
  /// The sockets of the session, and what the kernel tells of graphics devices.
  private var reached: [[UInt8]] {
    let sockets = reach.sockets.flatMap { socket in
      [bytes("--bind"), stagedSockets + bytes("/") + socket.name, socket.pathInside]
    }
    let descriptions = (reach.graphics?.descriptions ?? []).flatMap {
      [bytes("--ro-bind"), $0, $0]
    }
    let links = (reach.graphics?.links ?? []).flatMap { link in
      [bytes("--symlink"), link.target, link.path]
    }
    return sockets + descriptions + links
  }

  /// What is lent, at its own path.
  private var places: [[UInt8]] {
    lent.flatMap { place -> [[UInt8]] in
      let (base, path) = staged(place)
      guard base == stagedLent else { return [] }
      return [bytes("--bind"), base + bytes("/") + path, place.path]
    }
  }
}

/// What of the host's root directory shows its programs, beside `/usr`.
struct HostTree: Equatable {
  /// An entry such as `lib64`.
  struct Entry: Equatable {
    /// Its name.
    let name: [UInt8]
    /// Where it points, if it is a symbolic link; a directory has none.
    let linkTarget: [UInt8]?
  }

  /// The names that may stand in a root directory beside `/usr` and lead to programs.
  static let names = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"]

  /// Those of `names` that there are.
  var entries: [Entry]
  /// The host's GNUstep.conf; empty without one.
  var gnustepConfiguration: [UInt8]
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Options without a blank in them, written as one would type them.
private func words(_ text: String) -> [[UInt8]] {
  text.split(separator: " ").map { Array($0.utf8) }
}
