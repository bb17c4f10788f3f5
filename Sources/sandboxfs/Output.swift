// What the program says: text on standard output, one clear line on standard error.

internal import LinuxKit

/// Standard output could not take what was written.
struct OutputFailure: Error, CustomStringConvertible {
  let errno: Errno
  var description: String { "can't write to standard output: \(errno.message)" }
}

/// Standard output.
enum Output {
  /// Writes a text as it is.
  static func write(_ text: String) throws(OutputFailure) {
    do throws(Errno) {
      try StandardStream.output.write(Array(text.utf8))
    } catch {
      throw OutputFailure(errno: error)
    }
  }
}

/// Writes one line to standard error.
///
/// If even that fails, the exit status still tells.
func complain(_ line: String) {
  try? StandardStream.error.write(Array((line + "\n").utf8))
}

/// Writes lines to standard error, each behind the command's name, and how many more there are.
///
/// For what an app or a stranger may have made any number of.
func complain(_ lines: [String], _ command: String) {
  let limit = 100
  for line in lines.prefix(limit) { complain("sandboxfs \(command): \(line)") }
  if lines.count > limit { complain("sandboxfs \(command): and \(lines.count - limit) more") }
}
