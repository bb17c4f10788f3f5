// A directory that is gone after the test.

import Glibc

/// Runs `body` with the path of a new, empty directory of mode 0755, and removes it afterwards.
///
/// Nothing may be mounted below it by then: removal stays on its file system.
public func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  var template = Array("/tmp/sandboxfs-test.XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else {
    throw ProgramFailure(description: "/tmp: \(String(cString: strerror(errno)))")
  }
  let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  chmod(path, 0o755)
  defer { _ = try? run("rm", ["-rf", "--one-file-system", "--", path]) }
  return try body(path)
}
