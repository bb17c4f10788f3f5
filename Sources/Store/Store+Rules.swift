// Changing a container's own rules: its `profile` is replaced as a whole, and is put back if who
// serves the container will not have it.
internal import Containers
internal import LinuxKit
public import Paths

extension Store {
  /// The most bytes that a container's own rules may have.
  public static let maximumProfileByteCount = Profiles.maximumByteCount

  /// Gives a container other rules of its own, or none, and then runs `announce`.
  ///
  /// What is in the rules is for the caller to judge. If `announce` throws, the rules are what they
  /// were. Nobody else changes the store meanwhile.
  public func replaceProfile<Result>(
    of identifier: BundleIdentifier, with text: [UInt8]?,
    announce: (Container) throws -> Result
  ) throws -> Result {
    try withRules(of: identifier) { container in
      let former = try container.ownProfile()
      try container.writeProfile(text)
      do {
        return try announce(container)
      } catch {
        try container.writeProfile(former)
        throw error
      }
    }
  }

  /// Runs `body` with a container whose rules and bundle nobody else changes meanwhile.
  public func withRules<Result>(
    of identifier: BundleIdentifier, _ body: (Container) throws -> Result
  ) throws -> Result {
    try changing { () throws(StoreError) -> Swift.Result<Result, any Error> in
      let container = try self.container(identifier)
      return Swift.Result { try body(container) }
    }.get()
  }
}

extension Container {
  fileprivate func writeProfile(_ text: [UInt8]?) throws(StoreError) {
    let name = ContainerLayout.profile.utf8
    try saying("writing the profile of \(identifier)") { () throws(Errno) in
      if let text { return try directory.replaceFile(name, contents: text, mode: 0o600) }
      do throws(Errno) {
        try directory.removeFile(name)
      } catch {
        if error != .noEntry { throw error }
      }
      try directory.synchronize()
    }
  }
}
