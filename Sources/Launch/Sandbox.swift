// What one run of an app sees and may do, as a value: the tree that is made in the outer namespace,
// the options of bubblewrap, the environment and the command.
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
  /// A directory outside over which the child, in its own namespace, mounts the tree that it sees.
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
}

// MARK: - Environment

extension Sandbox {
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

  /// Where commands are looked for.
  var searchPath: [UInt8] {
    let prefix = bytes("PATH=")
    let variable = wholeEnvironment.last { $0.starts(with: prefix) }
    return Array((variable ?? prefix).dropFirst(prefix.count))
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
  /// How many there are, with the first three.
  static let count = 7
}

extension Sandbox {
  /// Bubblewrap's command line.
  var arguments: [[UInt8]] {
    words("bwrap --args \(BubblewrapDescriptor.options) --")
      + (isControlled ? words("/usr/bin/setsid --ctty --") : []) + command
  }

  /// The options that it reads from its descriptor.
  var options: [[UInt8]] {
    confinement + variables
      // All is set as it has to be; devices would be none any more after a plain bind.
      + [bytes("--dev-bind"), stage, bytes("/")] + words("--proc /proc --chdir") + [directory]
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
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Options without a blank in them, written as one would type them.
private func words(_ text: String) -> [[UInt8]] {
  text.split(separator: " ").map { Array($0.utf8) }
}
