// The data of a container, for what works on it beside its view while nobody can mount it.
internal import Containers
public import LinuxKit

extension Container {
  /// Runs `body` with the container's data while nobody can mount it; nil if somebody has it
  /// mounted, or works on it in the same way.
  ///
  /// What marks the caches as such is there again afterwards.
  public func whileUnmounted<Result>(
    _ body: (borrowing Walker) throws -> Result
  ) throws -> Result? {
    guard let lock = try lockIfUnmounted() else { return nil }
    defer { _ = lock }
    let result = try body(try Skeleton.data(of: directory))
    try Skeleton(owner: Owner(uid: record.ownerUID, gid: record.ownerGID)).tagCaches(in: directory)
    return result
  }

  /// The lock of whoever serves the container; nil if somebody does.
  func lockIfUnmounted() throws(StoreError) -> Descriptor? {
    do throws(StoreError) {
      return try lockAgainstMounting()
    } catch {
      if error.kind == .inUse { return nil }
      throw error
    }
  }

  /// The container's data, for who only looks.
  public func data() throws(StoreError) -> Walker { try Skeleton.data(of: directory) }
}
