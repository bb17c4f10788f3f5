// The file that tells other programs that a directory can be left out of backups: the Cache
// Directory Tagging Specification.
public import LinuxKit

/// `CACHEDIR.TAG` in `Library/Caches`.
public enum CacheTag {
  /// Where it is below a container's data, a name for each step.
  public static let path = ["Library", "Caches", "CACHEDIR.TAG"].map { Array($0.utf8) }
  /// What it begins with, wherever it is.
  public static let signature = "Signature: 8a477f597d28d172789f06886806bc55"

  private static let contents = """
    \(signature)
    # sandboxfs removes what is here when the disk is full. See https://bford.info/cachedir/

    """

  /// Makes it, below the root of a container's data, where it is missing and nothing else is in its
  /// place; it belongs to an owner then.
  ///
  /// An app may do with it what it likes: where the way to it is no directory, it is not made.
  public static func ensure(
    in data: borrowing Walker, ownerUID: UInt32, ownerGID: UInt32
  ) throws(Errno) {
    do throws(Errno) {
      let caches = try data.enter(path: path.dropLast())
      let file = try caches.createFile(path[2], mode: 0o644)
      do throws(Errno) {
        try file.writeAll(Array(contents.utf8))
        try file.setOwner(uid: ownerUID, gid: ownerGID)
      } catch {
        try? caches.removeFile(path[2])
        throw error
      }
    } catch {
      switch error {
      case .exists, .noEntry, .notDirectory, .tooManyLinks: return
      // Without room it is made another time.
      case .noSpace, .quotaExceeded: return
      default: throw error
      }
    }
  }
}
