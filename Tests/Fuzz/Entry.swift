// The fuzzer's way in: built by scripts/fuzz, with libFuzzer around it, for the target that
// $SANDBOXFS_FUZZ names.

import Glibc

private let target: FuzzTarget = {
  let name = getenv("SANDBOXFS_FUZZ").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget.named(name) else {
    fatalError("SANDBOXFS_FUZZ is one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
  }
  return target
}()

/// What libFuzzer calls with each input that it invents.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = [UInt8](UnsafeBufferPointer(start: start, count: count))
  if let complaint = target.check(bytes) { fatalError("\(target.name): \(complaint)") }
  return 0
}
