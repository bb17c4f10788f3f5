// Mounting what a store holds: by the words that a person or fstab uses for it.
internal import Containers
internal import LinuxKit
internal import Paths
public import Store

extension ViewMounts {
  /// The container that a source names: an app's identifier, or a container's directory.
  ///
  /// `store` is the store's path, which must be absolute; nil for the usual one.
  public static func container(
    _ source: [UInt8], in store: [UInt8]? = nil
  ) throws(MountError) -> Container {
    let slash = UInt8(ascii: "/")
    if let store, store.first != slash {
      throw MountError(.usage, "the store '\(store.printable)' is not an absolute path")
    }
    do throws(StoreError) {
      let location = try StoreLocation.standard(explicit: store)
      if source.contains(slash) { return try Container.open(path: source, location: location) }
      if let identifier = BundleIdentifier(bytes: source) {
        return try Store.open(location).container(identifier)
      }
    } catch {
      throw MountError(error)
    }
    throw MountError(
      .usage,
      "'\(source.printable)' is neither an identifier, such as com.example.Notes, nor the path "
        + "of a container")
  }

  /// Mounts a container of a store, after a store that was copied in was given uids of this host.
  ///
  /// If the container is changed meanwhile it is mounted anew. See `mount(_:_:at:_:)`.
  @discardableResult
  public static func mount(
    _ container: Container, at target: [UInt8], _ settings: MountSettings = MountSettings()
  ) throws(MountError) -> MountedView {
    for _ in 0..<2 {
      let ready = try prepared(container)
      var view = try mount(ready.directory.descriptor, configuration(ready), at: target, settings)
      if ready.isCurrent() {
        view.sealWarning = ready.sealWarning()
        return view
      }
      try unmount(view.target)
    }
    throw MountError(
      .failed, "\(container.identifier) was changed twice while it was being mounted; try again")
  }

  private static func prepared(_ container: Container) throws(MountError) -> Container {
    do throws(StoreError) {
      return try container.store.preparedContainer(container.identifier)
    } catch {
      throw MountError(error)
    }
  }

  /// Finds out whether `mount` could begin, and changes nothing.
  public static func check(
    _ container: Container, at target: [UInt8], _ settings: MountSettings = MountSettings()
  ) throws(MountError) {
    try check(container.directory.descriptor, configuration(container), at: target, settings)
  }

  /// What mounting sets is empty in it.
  private static func configuration(
    _ container: Container
  ) throws(MountError) -> ViewConfiguration {
    do throws(StoreError) {
      return try container.viewConfiguration(
        target: [], source: [], transport: .kernel, mountFlags: 0)
    } catch {
      throw MountError(error)
    }
  }
}

extension MountError {
  /// What the store says, with the exit status that mount(8) has for it.
  init(_ cause: StoreError) {
    self.init(cause.kind == .usage ? .usage : .failed, cause.message)
  }
}
