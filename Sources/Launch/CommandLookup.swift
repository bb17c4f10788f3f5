// Whether a command can be executed inside, looked up from outside before anything is started: so
// that what is not there is told apart from what may not run, as a shell does.
internal import Containers
internal import Glibc
internal import LinuxKit
internal import Paths

/// Finds what a command's first word names inside.
struct CommandLookup {
  /// Where the view is outside.
  let view: [UInt8]
  /// The bundle's directory name.
  let bundleName: [UInt8]
  /// The names of the host's root directory that are there inside.
  let systemNames: [[UInt8]]
  /// Whether the rules, which are not asked here, let something else be executed.
  let executesByRules: Bool

  /// The paths of what is lent to it.
  let lentPaths: [[UInt8]]
  /// The paths of what is made for it, and of what it is shown of the host's configuration.
  let configurationPaths: [[UInt8]]

  /// Looks where the sandbox will.
  init(_ sandbox: Sandbox) {
    view = sandbox.view
    bundleName = sandbox.bundleName
    lentPaths = sandbox.lent.map(\.path)
    executesByRules = sandbox.executesByRules
    configurationPaths =
      sandbox.filePaths
      + sandbox.host.configuration.map { Array("/etc/".utf8) + $0.name }
    systemNames = [Array("usr".utf8)] + sandbox.host.entries.map(\.name)
  }

  /// What was found at a path.
  enum Finding: Equatable {
    case executable
    case notExecutable
    case missing
    /// A symbolic link that the app made, which is not followed from outside; or what rules decide.
    case unknown
  }

  /// Throws what a shell would say of the command with status 126 or 127.
  func check(_ word: [UInt8], path: [UInt8]) throws(LaunchError) {
    let slash = UInt8(ascii: "/")
    let candidates =
      word.contains(slash)
      ? [word.first == slash ? word : Sandbox.home + [slash] + word]
      : path.split(separator: UInt8(ascii: ":")).map { $0 + [slash] + word }
    let findings = candidates.map { finding(Array($0)) }
    if findings.contains(.executable) || findings.contains(.unknown) { return }
    if findings.contains(.notExecutable) {
      throw LaunchError(
        .notExecutable,
        "\(word.printable): cannot be executed; only the bundle's and the system's programs can be")
    }
    throw LaunchError(.notFound, "\(word.printable): not found in the container")
  }

  private func finding(_ path: [UInt8]) -> Finding {
    let home = Sandbox.home + [UInt8(ascii: "/")]
    if path.starts(with: home) { return findingInView(Array(path.dropFirst(home.count))) }
    let first = path.split(separator: UInt8(ascii: "/")).first.map(Array.init) ?? []
    // What is lent can't be executed, and an app may have planted links in it.
    if lentPaths.contains(where: { isPath(path, inside: $0) }) {
      return (try? Descriptor.exactly(path)) == nil ? .missing : .notExecutable
    }
    // What is made for it need not be there outside, and of what is shown nothing is a program.
    if let shown = configurationPaths.first(where: { isPath(path, inside: $0) }) {
      return path == shown || isThere(path) ? .notExecutable : .missing
    }
    // Programs of the system are root's: their links may be followed.
    guard systemNames.contains(first) else { return .missing }
    guard isThere(path) else { return .missing }
    return isProgram(path) ? .executable : .notExecutable
  }

  private func isThere(_ path: [UInt8]) -> Bool {
    (try? path.withCPath { path throws(Errno) in Glibc.access(path, F_OK) }) == 0
  }

  private func findingInView(_ path: [UInt8]) -> Finding {
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    guard let last = names.last, !names.contains(where: isDots) else { return .unknown }
    do throws(Errno) {
      var place = try Walker.open(path: view)
      // The bundle is a mount of its own, which a walker does not enter.
      if names[0] == bundleName, names.count > 1 {
        place = try Walker.open(path: view + [UInt8(ascii: "/")] + bundleName)
      }
      let between = names.dropLast().dropFirst(names[0] == bundleName && names.count > 1 ? 1 : 0)
      let status = try place.enter(path: between).status(of: last)
      if status.kind == .symbolicLink { return .unknown }
      let isProgram = status.kind == .regular && status.permissions & 0o111 != 0
      guard isProgram else { return .notExecutable }
      if names[0] == bundleName { return .executable }
      return executesByRules ? .unknown : .notExecutable
    } catch {
      return error == Errno(ELOOP) ? .unknown : .missing
    }
  }

  private func isDots(_ name: [UInt8]) -> Bool {
    name == [UInt8(ascii: ".")] || name.elementsEqual("..".utf8)
  }

  private func isProgram(_ path: [UInt8]) -> Bool {
    let status = try? path.withCPath { path throws(Errno) in
      try Descriptor.open(path, O_PATH).status()
    }
    guard let status else { return false }
    return status.kind == .regular && status.permissions & 0o111 != 0
  }
}

// MARK: - The working directory

extension CommandLookup {
  /// Throws if there is no such directory inside, as far as that can be known from outside.
  func checkDirectory(_ path: [UInt8]) throws(LaunchError) {
    let temporary = Array("/tmp".utf8)
    let place =
      isPath(path, inside: temporary)
      ? Sandbox.home + Array("/tmp".utf8) + path.dropFirst(temporary.count) : path
    if path == Sandbox.home || hasDirectory(place) ?? true { return }
    throw LaunchError(
      .ours, "--cwd: there is no directory '\(path.printable)' in the container")
  }

  /// nil for what only the container knows.
  private func hasDirectory(_ path: [UInt8]) -> Bool? {
    let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    if names.contains(where: isDots) { return nil }
    if path.starts(with: Sandbox.home + [UInt8(ascii: "/")]) {
      return hasDirectoryInView(Array(names.dropFirst(2)))
    }
    if lentPaths.contains(where: { isPath(path, inside: $0) }) {
      return (try? Descriptor.exactly(path).status().kind) == .directory
    }
    guard let first = names.first, systemNames.contains(first) else {
      let madeForIt = ["dev", "etc", "home", "proc", "run", "sys", "var"].map { Array($0.utf8) }
      let leadsToLent = lentPaths.contains { isPath($0, inside: path) }
      return names.first.map(madeForIt.contains) ?? true || leadsToLent ? nil : false
    }
    return (try? Descriptor.following(path).status().kind) == .directory
  }

  private func hasDirectoryInView(_ names: [[UInt8]]) -> Bool? {
    do throws(Errno) {
      let isInBundle = names.first == bundleName
      let start = isInBundle ? view + [UInt8(ascii: "/")] + bundleName : view
      _ = try Walker.open(path: start).enter(path: names.dropFirst(isInBundle ? 1 : 0))
      return true
    } catch {
      return [.noEntry, .notDirectory].contains(error) ? false : nil
    }
  }
}
