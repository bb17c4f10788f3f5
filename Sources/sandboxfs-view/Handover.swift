// What one program of ours tells another that goes on with its view: which open descriptor is what.
//
// A text of lines in a file in memory, whose number is in the environment. The rest is in the
// view's state.
import Containers
import FuseKit
import LinuxKit
import View

/// The descriptors of a view that outlive the program that serves it.
struct Handover: Sendable {
  /// The environment's variable that says where it is.
  private static let variable = Array("SANDBOXFS_HANDOVER=".utf8)
  private static let limit = 65_536

  /// The container's lock.
  var lock: CInt
  /// Its control socket.
  var control: CInt
  /// The kernel's device.
  var device: CInt
  /// The view's state.
  var state: CInt
  /// The view's configuration, as it was mounted.
  var configuration: CInt
  /// The superblock that the view is.
  var mounted: DeviceNumber
  /// What INIT has agreed on.
  var agreement: InitAgreement

  /// All that is open and stays so, besides what the state speaks of.
  var descriptors: [CInt] {
    [0, 1, 2, Startup.container, lock, control, device, state, configuration]
  }

  /// Another layout of the state is another number here.
  private static var layout: String {
    ViewFileSystem.layout.map { String($0) }.joined(separator: ",")
  }

  private var text: String {
    """
    layout \(Handover.layout)
    lock \(lock)
    control \(control)
    device \(device)
    state \(state)
    configuration \(configuration)
    mounted \(mounted)
    agreement \(agreement.bytes.map { String($0) }.joined(separator: ","))

    """
  }

  /// Reads it.
  static func reading(_ file: CInt) throws(StartError) -> Handover {
    guard let bytes = try? OpenDescriptors.contents(of: file, atMost: limit) else {
      throw StartError("what is handed over cannot be read")
    }
    var fields: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      if words.count == 2 { fields[String(words[0])] = String(words[1]) }
    }
    guard fields["layout"] == layout else {
      throw StartError("it keeps the state of a view in another form")
    }
    func number(_ name: String) -> CInt { fields[name].flatMap { CInt($0) } ?? -1 }
    let handover = Handover(
      lock: number("lock"), control: number("control"), device: number("device"),
      state: number("state"), configuration: number("configuration"),
      mounted: fields["mounted"].flatMap { DeviceNumber($0.utf8) }
        ?? DeviceNumber(major: 0, minor: 0),
      agreement: InitAgreement(
        bytes: (fields["agreement"] ?? "").split(separator: ",").compactMap { UInt8($0) }))
    guard !handover.descriptors.contains(-1), handover.agreement.isThere else {
      throw StartError("what is handed over is not whole")
    }
    return handover
  }

  /// The number of the file that this process was handed over by; nil if it begins a view.
  static var number: CInt? {
    callersEnvironment().first { $0.starts(with: variable) }
      .flatMap { CInt(String(decoding: $0.dropFirst(variable.count), as: UTF8.self)) }
  }

  /// A file with it, which is closed by whoever takes over.
  func file() throws(Errno) -> Descriptor { try Descriptor.memory(holding: Array(text.utf8)) }

  /// The environment of a program that goes on, by such a file.
  static func environment(_ file: borrowing Descriptor) -> [[UInt8]] {
    callersEnvironment().filter { !$0.starts(with: variable) }
      + [variable + Array("\(file.rawValue)".utf8)]
  }

  /// Becomes a program that goes on with the view.
  ///
  /// Only for a process of one thread. Returns why not.
  func become(_ program: String, arguments: [[UInt8]]) -> Errno {
    let file: Descriptor
    do throws(Errno) {
      file = try self.file()
    } catch {
      return error
    }
    let environment = Handover.environment(file)
    let number = file.release()
    let error = DaemonProcess.become(program, arguments: arguments, environment: environment)
    _ = Descriptor(owning: number)
    return error
  }
}
