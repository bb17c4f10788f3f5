// How a subcommand gets at the data of an app.

internal import Arguments
internal import Launch
internal import LinuxKit
internal import Store

/// Lends the view of the app that an argument names to `body`, which acts as the app's user.
func visit<Result>(
  _ word: [UInt8], _ arguments: ParsedArguments, called name: String,
  _ body: (Container, borrowing VisitedView) throws -> Result
) throws -> Result {
  let options = RunOptions(
    environment: callersEnvironment(), defaultStore: try StoreLocation.usualStore())
  func visit() throws -> (result: Result, remarks: [String]) {
    let container = try preparedContainer(word, arguments)
    return try Launch.visit(
      container.directory.descriptor, container.record, try configuration(of: container), options,
      isCurrent: container.isCurrent
    ) { try body(container, $0) }
  }
  let outcome: (result: Result, remarks: [String])
  do {
    outcome = try visit()
  } catch let error as LaunchError where error == .outdated {
    outcome = try visit()
  }
  for remark in outcome.remarks { complain("sandboxfs \(name): \(remark)") }
  return outcome.result
}
