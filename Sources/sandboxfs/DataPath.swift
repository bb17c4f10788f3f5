// A path of an app's data, as command lines name it.

internal import Arguments
internal import Paths

/// The names of a path below an app's data, whether or not a slash stands before it.
///
/// Throws for one that could be anywhere else, or is all of the data.
func namesBelowData(_ path: [UInt8], _ command: String) throws(UsageError) -> [[UInt8]] {
  func mistake(_ what: String) -> UsageError {
    UsageError(
      "sandboxfs \(command)", "\(what): name a path below the app's data, such as Documents/a")
  }
  if path.isEmpty { throw mistake("a path is empty") }
  let names = path.split(separator: UInt8(ascii: "/")).map(Array.init)
  if names.isEmpty { throw mistake("'\(path.printable)' is all of the app's data") }
  let dots = [Array(".".utf8), Array("..".utf8)]
  if names.contains(where: dots.contains) {
    throw mistake("'\(path.printable)' has '.' or '..' in it")
  }
  return names
}
