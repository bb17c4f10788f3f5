// The settings that an app's bundle describes, with their titles in the person's language.

internal import AppContainer
internal import Launch
internal import LinuxKit
internal import Paths
internal import Preferences
internal import PropertyLists

/// The `Settings.bundle` of a bundle.
struct SettingsBundle: ~Copyable {
  private let directory: Walker

  private static let places: [[String]] = [[], ["Resources"], ["Contents", "Resources"]]
  private static let maximumByteCount = 4 << 20
  /// More panes than any app has; panes that lead to each other end here too.
  private static let maximumPaneCount = 64

  /// Throws if the app has none.
  init(of view: borrowing VisitedView) throws {
    directory = try Self.directory(of: view)
  }

  private static func directory(of view: borrowing VisitedView) throws -> Walker {
    for place in places {
      let names = (place + ["Settings.bundle"]).map { Array($0.utf8) }
      if let found = try? view.bundle?.enter(path: names) { return found }
    }
    throw Failure("the app has no Settings.bundle; 'sandboxfs defaults' shows what it has set")
  }

  /// All settings, pane by pane.
  func settings() throws -> [Setting] {
    var settings: [Setting] = []
    var panes = [SettingsPane.Child(file: "Root", section: [])]
    var next = 0
    while next < panes.count {
      let pane = try self.pane(panes[next])
      settings += pane.settings
      panes += pane.children.filter { child in !panes.contains { $0.file == child.file } }
      guard panes.count <= Self.maximumPaneCount else {
        throw Failure("Settings.bundle: it has more than \(Self.maximumPaneCount) panes")
      }
      next += 1
    }
    return settings
  }

  private func pane(_ child: SettingsPane.Child) throws -> SettingsPane {
    let name = Array("\(child.file).plist".utf8)
    let list = try self.list(name)
    let words = translations(list["StringsTable"]?.string ?? "Root")
    do throws(DefaultsMistake) {
      return try SettingsPane(list, section: child.section) { text in
        words.lazy.compactMap { $0[Array(text.utf8)]?.string }.first ?? text
      }
    } catch {
      throw Failure("Settings.bundle/\(name.printable): \(error)")
    }
  }

  /// The tables of a name, the one in the person's language first.
  private func translations(_ table: String) -> [PropertyDictionary] {
    let name = Array("\(table).strings".utf8)
    return AppContainer.languages.compactMap { language in
      guard let place = try? directory.enter(Array("\(language).lproj".utf8)),
        let file = try? place.openRegularFile(name),
        let bytes = try? file.readToEnd(atMost: Self.maximumByteCount)
      else { return nil }
      return (try? PropertyList.read(bytes))?.dictionary
    }
  }

  private func list(_ name: [UInt8]) throws -> PropertyList {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try directory.openRegularFile(name).readToEnd(atMost: Self.maximumByteCount)
    } catch {
      throw Failure("Settings.bundle/\(name.printable): \(error.message)")
    }
    do throws(PropertyListError) {
      return try PropertyList.read(bytes)
    } catch {
      throw Failure("Settings.bundle/\(name.printable) is no property list: \(error)")
    }
  }
}
