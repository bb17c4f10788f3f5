// What is looked up outside for the inside: the caller's display.
internal import Glibc
internal import LinuxKit
internal import Paths

/// The display that the caller has, with its key.
func callersDisplay(
  _ environment: [[UInt8]]
) throws(LaunchError) -> (Display, keys: [UInt8]) {
  func value(of name: String) -> [UInt8]? {
    let prefix = Array("\(name)=".utf8)
    return environment.first { $0.starts(with: prefix) }.map { Array($0.dropFirst(prefix.count)) }
  }
  guard let text = value(of: "DISPLAY"), !text.isEmpty else {
    throw LaunchError(.ours, "--allow x11: DISPLAY is not set")
  }
  guard let display = Display(text) else {
    throw LaunchError(
      .ours,
      "--allow x11: DISPLAY is '\(text.printable)'; expected a server of this machine, such as :0")
  }
  guard (try? canonicalPath(display.socket)) != nil else {
    throw LaunchError(
      .ours, "--allow x11: there is no X server at \(display.socket.printable)")
  }
  let usual = value(of: "HOME").map { $0 + Array("/.Xauthority".utf8) }
  let keys = (value(of: "XAUTHORITY") ?? usual).flatMap(contents(of:)) ?? []
  return (display, keys: DisplayKeys.file(for: display, from: keys))
}

/// Makes the directory in the view's `tmp` on which the display's socket is mounted.
///
/// It goes with everything else in `tmp`. The app may have put something else in its place.
func makeDisplayDirectory(for sandbox: Sandbox) throws(LaunchError) {
  do throws(Errno) {
    let temporary = try Walker.open(path: sandbox.view).enter(Array("tmp".utf8))
    _ = try temporary.enterOrCreate(Display.directoryName, mode: 0o755)
    // Root makes it for the app, an ordinary user for himself.
    try temporary.setOwner(of: Display.directoryName, uid: sandbox.uid, gid: sandbox.gid)
  } catch {
    throw LaunchError(
      .ours, "--allow x11: cannot make tmp/.X11-unix in the container: \(error.message)")
  }
}

/// A small file of the host's or of the caller's; nil if it cannot be read.
func contents(of path: [UInt8]) -> [UInt8]? {
  try? path.withCPath { path throws(Errno) in
    try Descriptor.open(path, O_RDONLY).readToEnd(atMost: 1 << 20)
  }
}
