// Changing what a container may hold in all: its record is written anew, and put back if who serves
// the container will not have it.
public import Containers
internal import LinuxKit
public import Paths

extension Store {
  /// Gives a container other limits, and then runs `announce` with it.
  ///
  /// If `announce` throws, the limits are what they were. Nobody else changes the store meanwhile.
  public func setLimits<Result>(
    of identifier: BundleIdentifier, to change: (ContainerLimits) -> ContainerLimits,
    announce: (Container) throws -> Result
  ) throws -> Result {
    try withRules(of: identifier) { container in
      var record = container.record
      record.limits = change(record.limits)
      try Container.write(record, into: container.directory)
      do {
        return try announce(try self.container(identifier))
      } catch {
        try Container.write(container.record, into: container.directory)
        throw error
      }
    }
  }
}
