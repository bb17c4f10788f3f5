// How a subcommand gets at the store, and at the container of an app that was named.

internal import Arguments
internal import Containers
internal import Paths
internal import Store

/// The places that the command line and the environment say.
func location(_ arguments: ParsedArguments) throws(StoreError) -> StoreLocation {
  try StoreLocation.standard(explicit: arguments.value(storeOption))
}

/// The store; nil if there is none yet, which is a store without apps.
func storeIfPresent(_ arguments: ParsedArguments) throws(StoreError) -> Store? {
  do throws(StoreError) {
    return try Store.open(try location(arguments))
  } catch {
    if error.kind == .notFound { return nil }
    throw error
  }
}

/// The container of the app that an argument names.
func container(
  _ word: [UInt8], _ arguments: ParsedArguments
) throws -> Container {
  let identifier = try identifier(word)
  return try Store.open(try location(arguments)).container(identifier)
}

/// The container of the app that an argument names, ready to be mounted.
func preparedContainer(
  _ word: [UInt8], _ arguments: ParsedArguments
) throws -> Container {
  let identifier = try identifier(word)
  return try Store.open(try location(arguments)).preparedContainer(identifier)
}

/// Throws if one of these arguments names no app: none of those that were seen by the caller, and
/// none that is installed.
func requireApps(
  _ words: [[UInt8]], seen: some Sequence<[UInt8]>, _ arguments: ParsedArguments
) throws {
  let seen = Set(seen)
  for word in words where !seen.contains(word) { _ = try container(word, arguments) }
}

/// What the daemon of a container's view is started with; Mounting fills in where and how.
func configuration(of container: Container) throws(StoreError) -> ViewConfiguration {
  try container.viewConfiguration(
    target: [], source: container.identifier.bytes, transport: .kernel, mountFlags: 0)
}

/// The identifier that an argument is.
func identifier(_ word: [UInt8]) throws(Failure) -> BundleIdentifier {
  if let identifier = BundleIdentifier(bytes: word) { return identifier }
  throw Failure(
    "'\(word.printable)' is no app's identifier, such as com.example.Notes; see 'sandboxfs list'",
    isUsage: true)
}

extension String {
  /// The text with what would steer a terminal escaped.
  ///
  /// Names and versions come from a bundle, which anyone may have written.
  var shown: String { Array(utf8).printable }
}
