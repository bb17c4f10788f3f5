// The profiles that hold for a container, read as bytes in the order of the layers.
//
// The administrator's layer is `profiles/IDENTIFIER.profile` in the settings; `limits.profile` lies
// beside `profiles`. What lies in `profiles` under the name of a shipped profile takes its place.
internal import Containers
internal import LinuxKit
internal import Paths
internal import Policy

/// The profiles on this host.
struct Profiles {
  /// Directories of settings, the first one found winning.
  let settings: [[UInt8]]

  /// The most bytes that a profile may have.
  static let maximumByteCount = 1 << 20
  private static let suffix = ".profile"

  /// Whether a text can be a profile's name: one word, so that it names no other file.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 200 && text.utf8.first != UInt8(ascii: ".")
      && !text.utf8.contains { $0 <= 32 || $0 == 127 || $0 == UInt8(ascii: "/") }
  }

  /// All layers of a container, and what they may include.
  func layers(of container: Container) throws(StoreError) -> [ProfileSource] {
    let own = try container.ownProfile().map { text in
      ProfileSource(
        rank: .container, name: container.identifier.bytes + Array("/profile".utf8), text: text)
    }
    return try layers(of: container, own: own)
  }

  /// The same, with these rules as the container's own.
  func layers(
    of container: Container, own: ProfileSource?
  ) throws(StoreError) -> [ProfileSource] {
    var layers = [try shipped(named: container.record.profileName)]
    if let text = try container.bundleProfile() {
      layers.append(
        ProfileSource(
          rank: .bundle, name: container.record.bundleName + Array("/sandbox.profile".utf8),
          text: text))
    }
    let file = container.identifier.description + Self.suffix
    if let text = try first("profiles", file) {
      layers.append(
        ProfileSource(rank: .administrator, name: Array(file.utf8), text: text))
    }
    if let own { layers.append(own) }
    for directory in settings {
      guard let text = try read(directory, ["limits.profile"]) else { continue }
      layers.append(
        ProfileSource(rank: .limits, name: Array("limits.profile".utf8), text: text))
    }
    return layers + (try library())
  }

  /// The profile that is named, from the settings or as it was shipped.
  func shipped(named name: String) throws(StoreError) -> ProfileSource {
    let file = name + Self.suffix
    if let text = try first("profiles", file) {
      return ProfileSource(rank: .shipped, name: Array(file.utf8), text: text)
    }
    guard let source = ShippedProfiles.named(Array(name.utf8)) else {
      let places = settings.map { ($0 + Array("/profiles".utf8)).printable }
      throw StoreError(
        .notFound,
        "there is no profile '\(name)', neither shipped nor in \(places.joined(separator: " or "))")
    }
    return source
  }

  /// Everything that a profile may include by name.
  func library() throws(StoreError) -> [ProfileSource] {
    var sources: [ProfileSource] = []
    for directory in settings {
      for file in try files(in: directory) where !sources.contains(where: { $0.name == file }) {
        guard let text = try read(directory, ["profiles", String(decoding: file, as: UTF8.self)])
        else { continue }
        sources.append(ProfileSource(rank: .included, name: file, text: text))
      }
    }
    for shipped in ShippedProfiles.all where !sources.contains(where: { $0.name == shipped.name }) {
      sources.append(ProfileSource(rank: .included, name: shipped.name, text: shipped.text))
    }
    return sources
  }

  private func files(in directory: [UInt8]) throws(StoreError) -> [[UInt8]] {
    let path = directory + Array("/profiles".utf8)
    do throws(Errno) {
      return try Walker.open(path: path).entries().map(\.name).filter {
        String(validating: $0, as: UTF8.self).map { Self.isName($0) && $0.hasSuffix(Self.suffix) }
          ?? false
      }.sorted { $0.lexicographicallyPrecedes($1) }
    } catch {
      if error == .noEntry { return [] }
      throw StoreError(path.printable, error)
    }
  }

  private func first(_ folder: String, _ file: String) throws(StoreError) -> [UInt8]? {
    for directory in settings {
      if let text = try read(directory, [folder, file]) { return text }
    }
    return nil
  }

  /// A file of the settings; nil if there is none.
  ///
  /// Links are followed: the settings are the host's.
  private func read(_ directory: [UInt8], _ names: [String]) throws(StoreError) -> [UInt8]? {
    let path = directory + names.flatMap { Array("/\($0)".utf8) }
    do throws(Errno) {
      let file = try path.withCPath { path throws(Errno) in
        try Descriptor.open(path, 0).release()
      }
      return try Descriptor(owning: file).readToEnd(atMost: Self.maximumByteCount)
    } catch {
      if error == .noEntry { return nil }
      throw StoreError(path.printable, error)
    }
  }

  /// A profile inside a container; nil if there is none.
  static func read(
    _ name: String, in directory: borrowing Walker, as label: String
  ) throws(StoreError) -> [UInt8]? {
    do throws(Errno) {
      return try directory.openRegularFile(name.utf8).readToEnd(atMost: maximumByteCount)
    } catch {
      if error == .noEntry { return nil }
      throw StoreError("\(label) can't be read, so its rules can't be kept", error)
    }
  }
}
