// A host tool at the data of an app: by way of the view, mounted for the time if it is not, so that
// its rules hold and the kernel's memory of it stays true.
public import Containers
public import LinuxKit
internal import Mounting

extension Launch {
  /// Lends the root of a container's view to `body`, which acts as the caller.
  ///
  /// Blocks HUP, INT and TERM meanwhile. Of `options` the environment and the usual store count.
  /// Throws `LaunchError.outdated` as `run` does. Returns what could not be tidied up too, a line
  /// each.
  public static func withView<Result>(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, _ options: RunOptions, isCurrent: () -> Bool,
    _ body: (borrowing Walker) throws -> Result
  ) throws -> (result: Result, remarks: [String]) {
    try withLease(container, record, configuration, options, isCurrent: isCurrent) { path in
      try body(Walker.open(path: path))
    }
  }

  /// The same with the path of the view.
  static func withLease<Result>(
    _ container: borrowing Descriptor, _ record: ContainerRecord,
    _ configuration: ViewConfiguration, _ options: RunOptions, isCurrent: () -> Bool,
    _ body: ([UInt8]) throws -> Result
  ) throws -> (result: Result, remarks: [String]) {
    let signals = try watchedSignals()
    let directory = try RunDirectory(environment: options.environment)
    directory.sweep()
    let expected = try ExpectedView(
      of: container, named: viewName(of: container, record, options), in: directory, signals)
    let lease = try ViewLease(
      expected, of: container, configuration, in: directory, isCurrent: isCurrent)
    let path = lease.path
    let outcome = Swift.Result { try body(path) }
    let remarks = lease.end(in: directory)
    return (try outcome.get(), remarks)
  }
}
