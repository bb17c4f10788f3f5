// The tree that an app sees, from its root down. It is made in the outer namespace, where
// bubblewrap finds it ready: all that is missing is /proc.
//
// Every mount in it that can be written is noexec,nosuid,nodev (a device node is nosuid,noexec; the
// view is executable where a rule says `exec`); the root directory is read-only at the end.
internal import Containers
internal import LinuxKit

extension Sandbox {
  /// What the child does before it executes bubblewrap.
  var steps: [NamespaceStep] {
    var tree = TreeMaker(stage)
    addSystem(to: &tree)
    addFiles(to: &tree)
    addHome(to: &tree)
    addDevices(to: &tree)
    addDisplay(to: &tree)
    addSockets(to: &tree)
    addGraphics(to: &tree)
    addLent(to: &tree)
    return leaving + root + tree.steps + [.restrict(stage, .readOnly)] + becomingTheApp
      + (reach.hosts == nil ? [] : [.keepFromAbstractSockets])
  }

  private static let harmless: MountAttributes = [.noExec, .noSetID, .noDevices]
  /// For what is the host's: its programs are there.
  private static let systemAttributes: MountAttributes = [.readOnly, .noSetID, .noDevices]

  private var leaving: [NamespaceStep] {
    // devpts can be mounted only where root is mapped, so the user is root of the outer namespace.
    isStartedByRoot
      ? [.leave(user: false), .keepMountsInside]
      : [.leave(user: true), .mapRoot(uid: uid, gid: gid), .keepMountsInside]
  }

  /// The root directory, in which all belongs to the app that nobody else has made.
  private var root: [NamespaceStep] {
    // Of the outer user namespace, the app's user is root.
    let (owner, group) = isStartedByRoot ? (uid, gid) : (0, 0)
    return [
      .mount(
        type: "tmpfs", onto: stage, options: "mode=0755,uid=\(owner),gid=\(group)",
        attributes: Self.harmless),
      .owner(uid: owner, gid: group),
    ]
  }

  private var becomingTheApp: [NamespaceStep] {
    (isStartedByRoot ? [.become(uid: uid, gid: gid)] : [])
      + environmentTable.directories.map {
        .directoryBeneath(stage + Self.home, path: $0, mode: 0o700)
      }
  }
}

// MARK: - What is there of the host

extension Sandbox {
  private func addSystem(to tree: inout TreeMaker) {
    tree.show(bytes("/usr"), as: .directory, adding: Self.systemAttributes)
    let network = reach.hosts == nil ? [] : host.networkConfiguration
    for entry in host.entries {
      tree.show(bytes("/") + entry.name, as: entry.form, adding: Self.systemAttributes)
    }
    for entry in host.configuration + network {
      tree.show(bytes("/etc/") + entry.name, as: entry.form, adding: Self.systemAttributes)
    }
  }

  /// The paths inside that are the container's own, each with all that lies below.
  static func occupiedPaths(_ host: HostTree) -> [[UInt8]] {
    host.occupiedPaths + [home, SessionSocket.directory]
  }
}

// MARK: - What exists only inside

extension Sandbox {
  /// A file that exists only inside, read-only.
  struct File: Equatable {
    let path: [UInt8]
    let mode: UInt32
    let content: [UInt8]
  }

  /// The paths of the files that are made for the app.
  var filePaths: [[UInt8]] {
    let paths = ["/etc/passwd", "/etc/group", "/etc/hosts", "/etc/GNUstep/GNUstep.conf"].map(bytes)
    return paths + (reach.display == nil ? [] : [Display.keyPath])
  }

  /// The files that are made for the app.
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

  private func addFiles(to tree: inout TreeMaker) {
    for file in files { tree.file(file.path, mode: file.mode, content: file.content) }
    tree.link(bytes("/etc/mtab"), target: bytes("/proc/self/mounts"))
    tree.directory(bytes("/proc"))
  }

  private func addHome(to tree: inout TreeMaker) {
    tree.directory(Self.home)
    // Root's view carries its bundle, which is mounted on it, readable and executable.
    tree.add(
      .bind(
        view, onto: stage + Self.home,
        adding: executesByRules ? [.noSetID, .noDevices] : Self.harmless, recursive: true))
    if !isStartedByRoot, !bundleName.isEmpty {
      // A user's view is executable as a whole outside, so that the bundle can be inside.
      let bundle = bytes("/") + bundleName
      tree.add(
        .bind(
          view + bundle, onto: stage + Self.home + bundle, adding: Self.systemAttributes,
          recursive: false))
    }
    // It lies in the view, so that saving by rename works.
    let temporary = Self.home + bytes("/tmp")
    tree.link(bytes("/tmp"), target: temporary)
    tree.link(bytes("/var/tmp"), target: temporary)
  }
}

// MARK: - Devices

extension Sandbox {
  private static let deviceNodes = ["full", "null", "random", "tty", "urandom", "zero"]
  private static let deviceLinks = [
    ("fd", "/proc/self/fd"), ("ptmx", "pts/ptmx"), ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
  ]

  private func addDevices(to tree: inout TreeMaker) {
    let graphics = reach.graphics?.nodes ?? []
    for node in Self.deviceNodes.map({ bytes("/dev/\($0)") }) + graphics {
      addDevice(node, as: node, to: &tree)
    }
    // ttyname(3) looks for the terminal's node in /dev.
    if let terminal { addDevice(terminal, as: bytes("/dev/console"), to: &tree) }
    for (name, target) in Self.deviceLinks {
      tree.link(bytes("/dev/\(name)"), target: bytes(target))
    }
    tree.mount(
      bytes("/dev/pts"), type: "devpts", options: "newinstance,ptmxmode=0666,mode=620",
      attributes: [.noExec, .noSetID])
    tree.mount(
      bytes("/dev/shm"), type: "tmpfs", options: "mode=1777", attributes: Self.harmless)
  }

  private func addDevice(_ node: [UInt8], as path: [UInt8], to tree: inout TreeMaker) {
    tree.file(path)
    tree.add(.bind(node, onto: stage + path, adding: [.noExec, .noSetID], recursive: false))
  }

  /// What the kernel tells of graphics devices.
  private func addGraphics(to tree: inout TreeMaker) {
    for description in reach.graphics?.descriptions ?? [] {
      tree.show(description, as: .directory, adding: Self.systemAttributes)
    }
    for link in reach.graphics?.links ?? [] { tree.link(link.path, target: link.target) }
  }
}

// MARK: - What it reaches, and what is lent to it

extension Sandbox {
  private func addDisplay(to tree: inout TreeMaker) {
    guard let display = reach.display?.0 else { return }
    let directory = SessionSocket.directory + bytes("/x11")
    let socket = directory + bytes("/") + display.socketName
    tree.file(socket)
    tree.add(
      .bind(display.socket, onto: stage + socket, adding: Self.harmless, recursive: false))
    tree.add(
      .bindBeneath(
        stage + directory, base: stage + Self.home, path: bytes("tmp/") + Display.directoryName,
        adding: Self.harmless.union(.readOnly)))
  }

  private func addSockets(to tree: inout TreeMaker) {
    for socket in reach.sockets {
      tree.file(socket.pathInside)
      tree.add(
        .lend(
          socket.place.path, device: socket.place.device, inode: socket.place.inode,
          base: stage + SessionSocket.directory, path: socket.name,
          adding: Self.harmless.union(.readOnly)))
    }
  }

  /// Lends what is lent at its own path, those first that hold others.
  ///
  /// What lies in something else that is lent is attached in there: the app may have planted links,
  /// and none is followed.
  private func addLent(to tree: inout TreeMaker) {
    for place in lent {
      let outer = lent.first { isPath(place.path, inside: $0.path) } ?? place
      let isOuter = outer == place
      if isOuter { place.isDirectory ? tree.directory(place.path) : tree.file(place.path) }
      tree.add(
        .lend(
          place.path, device: place.device, inode: place.inode,
          base: isOuter ? stage : stage + outer.path,
          path: Array(place.path.dropFirst(isOuter ? 1 : outer.path.count + 1)),
          adding: place.isReadOnly ? Self.harmless.union(.readOnly) : Self.harmless))
    }
  }
}

// MARK: - Making

/// The steps that make a tree in a directory outside; the paths are those inside.
private struct TreeMaker {
  private let root: [UInt8]
  private(set) var steps: [NamespaceStep] = []
  /// The directories that there are.
  private var made: Set<[UInt8]> = [[]]

  init(_ root: [UInt8]) { self.root = root }

  mutating func add(_ step: NamespaceStep) { steps.append(step) }

  /// Makes a directory and those that hold it, as far as they are not there.
  mutating func directory(_ path: [UInt8]) {
    guard made.insert(path).inserted else { return }
    makeParent(of: path)
    steps.append(.directory(root + path, mode: 0o755))
  }

  mutating func file(_ path: [UInt8], mode: UInt32 = 0o444, content: [UInt8] = []) {
    makeParent(of: path)
    steps.append(.file(root + path, mode: mode, content: content))
  }

  mutating func link(_ path: [UInt8], target: [UInt8]) {
    makeParent(of: path)
    steps.append(.link(root + path, target: target))
  }

  mutating func mount(
    _ path: [UInt8], type: String, options: String, attributes: MountAttributes
  ) {
    directory(path)
    steps.append(
      .mount(type: type, onto: root + path, options: options, attributes: attributes))
  }

  /// Shows something of the host at its own path.
  mutating func show(_ path: [UInt8], as form: HostTree.Form, adding attributes: MountAttributes) {
    switch form {
    case .link(let target): return link(path, target: target)
    case .directory: directory(path)
    case .file: file(path)
    }
    steps.append(.show(path, onto: root + path, adding: attributes))
  }

  private mutating func makeParent(of path: [UInt8]) {
    directory(Array(path.prefix(upTo: path.lastIndex(of: UInt8(ascii: "/")) ?? 0)))
  }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
