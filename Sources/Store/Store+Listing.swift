// What is installed.
public import Containers
internal import LinuxKit
public import Paths

/// A line of the list.
public struct ListedContainer: Equatable, Sendable {
  /// Its key.
  public var identifier: BundleIdentifier
  /// The name that people see; the identifier if the record is broken.
  public var name: String
  /// The version that people see.
  public var version: String
  /// What the seal says, in the record's words; `broken` if the record can't be read.
  public var state: String
  /// What its record requires of the seal, whatever the host does; nil if that can't be read.
  public var requirement: SealRequirement?
  /// Whether a daemon serves it now.
  public var isMounted: Bool
  /// Why the record can't be read; nil if it can.
  public var problem: String?
}

extension Store {
  /// Every container, in the order of identifiers.
  ///
  /// One with a broken record is in the list, and says what is wrong.
  public func list() throws(StoreError) -> [ListedContainer] {
    let names: [[UInt8]]
    do throws(Errno) {
      names = try directory.enter(Self.containersName.utf8).entries().map(\.name)
    } catch {
      if error == .noEntry { return [] }
      throw StoreError("\(path.printable)/\(Self.containersName)", error)
    }
    return names.compactMap(BundleIdentifier.init(bytes:)).sorted().compactMap(listed)
  }

  /// One line; nil if it was uninstalled meanwhile.
  private func listed(_ identifier: BundleIdentifier) -> ListedContainer? {
    do throws(StoreError) {
      guard let container = try containerIfPresent(identifier) else { return nil }
      return ListedContainer(
        identifier: identifier, name: container.record.displayName,
        version: container.record.version, state: container.sealStatus().state.rawValue,
        requirement: container.record.requirement, isMounted: container.isMounted, problem: nil)
    } catch {
      return ListedContainer(
        identifier: identifier, name: identifier.description, version: "", state: "broken",
        requirement: nil, isMounted: false, problem: error.message)
    }
  }
}
