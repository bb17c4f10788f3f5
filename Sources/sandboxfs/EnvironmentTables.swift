// The table of variables as it is on this host: the shipped one, and what `environment.d` says.

internal import Arguments
internal import Launch
internal import Paths
internal import Store

/// The table, and the text that it was read from.
struct EnvironmentTables {
  private(set) var table = EnvironmentTable.standard
  /// All files in their order, each behind a comment with its path.
  private(set) var text = EnvironmentTable.shipped + "\n"

  /// Reads it; throws what is wrong with a file of it.
  init(_ arguments: ParsedArguments) throws {
    for file in try location(arguments).environmentFiles() {
      do throws(EnvironmentTableError) {
        try table.add(file.text)
      } catch {
        throw Failure("\(file.path.printable), \(error)")
      }
      text += "\n# \(file.path.printable)\n\(String(decoding: file.text, as: UTF8.self))"
      if file.text.last != UInt8(ascii: "\n") { text += "\n" }
    }
  }
}
