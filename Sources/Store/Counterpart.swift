// The same place in another tree, for who walks through one tree and asks what the other has there.
internal import LinuxKit

/// The directory of another tree that has the path of the one that a walk is in, if there is one.
///
/// No link in it is followed.
struct Counterpart: ~Copyable {
  private let root: Walker
  private var place: Walker
  /// The path that the walk has come to.
  private(set) var way: [[UInt8]] = []
  /// How many directories of the way the other tree has.
  private var knownDepth = 0

  init(in root: consuming Walker) throws(Errno) {
    place = try root.reopened()
    self.root = root
  }

  /// Whether the other tree has the directory that the walk is in.
  var isThere: Bool { knownDepth == way.count }

  /// What the other tree has under a name there; nil if it has nothing.
  borrowing func status(of name: [UInt8]) throws(Errno) -> FileStatus? {
    guard isThere else { return nil }
    do throws(Errno) {
      return try place.status(of: name)
    } catch {
      if error == .noEntry { return nil }
      throw error
    }
  }

  /// Gives what the other tree has under a name there the same name in a directory.
  borrowing func linkFile(_ name: [UInt8], to directory: borrowing Walker) throws(Errno) {
    try place.linkFile(name, to: directory, as: name)
  }

  /// The walk goes down into a directory.
  mutating func enter(_ name: [UInt8]) throws(Errno) {
    way.append(name)
    guard knownDepth == way.count - 1 else { return }
    do throws(Errno) {
      place = try root.enter(path: way)
      knownDepth += 1
    } catch {
      // The other tree has no directory of that name, or something else.
      if ![.noEntry, .notDirectory, .tooManyLinks].contains(error) { throw error }
    }
  }

  /// The walk comes up again.
  mutating func leave() throws(Errno) {
    way.removeLast()
    guard knownDepth > way.count else { return }
    place = try root.enter(path: way)
    knownDepth = way.count
  }
}
