// The session bus for an app: xdg-dbus-proxy stands between, and lets it see the bus itself and its
// own name. Whoever could talk to the services of a session could have them do anything.
internal import Containers
internal import LinuxKit
internal import Paths

/// A proxy that runs; it ends with its owner.
final class BusProxy {
  private let process: ChildProcess
  /// The proxy ends when nobody has this open any more, also if we are killed.
  private var life: Pipe?
  /// Its socket.
  let path: [UInt8]

  private static let prefix = Array("bus-".utf8)

  private init(_ process: ChildProcess, _ life: consuming Pipe, _ path: [UInt8]) {
    self.process = process
    self.life = consume life
    self.path = path
  }

  /// Starts one for an app of an ordinary user's.
  static func start(
    for record: ContainerRecord, to address: [UInt8], in directory: borrowing RunDirectory
  ) throws(LaunchError) -> BusProxy {
    let program = Array("/usr/bin/xdg-dbus-proxy".utf8)
    guard (try? canonicalPath(program)) != nil else {
      throw LaunchError(.ours, "--allow dbus: install the package xdg-dbus-proxy")
    }
    let number = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let path = directory.path + [UInt8(ascii: "/")] + prefix + Array(number.utf8)
    var words = [program, Array("--fd=3".utf8), address, path, Array("--filter".utf8)]
    if isBusName(record.identifier.bytes) {
      words.append(Array("--own=".utf8) + record.identifier.bytes + Array(".*".utf8))
    }
    do throws(Errno) {
      var life = try Pipe()
      let nothing = try Descriptor.null()
      let process = try ChildProcess.spawn(
        ChildProcess.Start(path: program, arguments: words, newSession: true),
        descriptors: [nothing.rawValue, 2, 2, life.writing?.rawValue ?? -1])
      life.writing = nil
      // It writes a byte when one can connect.
      let isReady = try !life.reading.readSome(atMost: 1).isEmpty
      let proxy = BusProxy(process, life, path)
      guard isReady else { throw Errno.connectionRefused }
      return proxy
    } catch {
      throw LaunchError(
        .ours, "--allow dbus: no proxy for \(address.printable): \(error.message)")
    }
  }

  deinit {
    life = nil
    _ = try? process.wait()
    Self.removeSocket(at: path)
  }

  /// Its socket as an app sees it.
  func socket(for uid: UInt32) throws(LaunchError) -> SessionSocket {
    try SessionSearch(environment: [], uid: uid).socket(
      at: path, as: "bus", .dbus, variables: ["DBUS_SESSION_BUS_ADDRESS=unix:path=/run/app/bus"])
  }

  /// Removes the sockets of proxies that ended with a run that was killed.
  static func sweep(in directory: borrowing RunDirectory) {
    guard let base = try? Walker.open(path: directory.path), let entries = try? base.entries()
    else { return }
    for entry in entries where entry.kind == .socket && entry.name.starts(with: prefix) {
      do throws(Errno) {
        _ = try UnixConnection(
          to: String(decoding: entry.name, as: UTF8.self), in: base.descriptor, milliseconds: 100)
      } catch {
        if error == .connectionRefused { try? base.removeFile(entry.name) }
      }
    }
  }

  private static func removeSocket(at path: [UInt8]) {
    let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
    guard let base = try? Walker.open(path: path[..<slash]) else { return }
    try? base.removeFile(path[(slash + 1)...])
  }

  /// Whether the bus takes a name: no part of one begins with a digit.
  private static func isBusName(_ name: [UInt8]) -> Bool {
    name.split(separator: UInt8(ascii: ".")).allSatisfy { part in
      part.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    }
  }
}
