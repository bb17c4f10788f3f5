// Shared libraries that are loaded by whoever needs them first.
internal import CLinux

/// The functions of a library, as a structure of C function pointers that `load` fills in.
///
/// `load` returns what is wrong in words. Then one line says so and the process ends, as it would
/// have before its first instruction if the library were linked.
public func loadedFunctions<Functions>(
  by load: (UnsafeMutablePointer<Functions>) -> UnsafePointer<CChar>?
) -> Functions {
  withUnsafeTemporaryAllocation(of: Functions.self, capacity: 1) { place in
    let functions = place.baseAddress.unsafelyUnwrapped
    if let mistake = load(functions) {
      let program = CommandLine.arguments.first?.split(separator: "/").last ?? "sandboxfs"
      DaemonProcess.complain(
        "\(program): a library is missing, install it: \(String(cString: mistake))")
      DaemonProcess.exit(1)
    }
    return functions.pointee
  }
}
