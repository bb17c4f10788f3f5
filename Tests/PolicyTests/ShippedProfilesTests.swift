// The shipped profiles give the layout that the design promises.

import Policy
import Testing

private struct Row: Sendable, CustomTestStringConvertible {
  let operation: Operation
  let path: String
  let ios: String
  let standard: String

  init(_ operation: Operation, _ path: String, ios: String, standard: String? = nil) {
    self.operation = operation
    self.path = path
    self.ios = ios
    self.standard = standard ?? ios
  }

  var testDescription: String { "\(operation.name) \(path)" }
}

private let rows = [
  Row(.list, "/", ios: "ok"),
  Row(.create, "/x", ios: "EACCES"),
  Row(.create, "/.x", ios: "EACCES", standard: "ok"),
  Row(.exec, "/.x", ios: "EACCES"),
  Row(.create, "/.x.app", ios: "EACCES", standard: "ok"),
  Row(.exec, "/.x.app/x", ios: "ok", standard: "EACCES"),
  Row(.remove, "/.x", ios: "EACCES", standard: "ok"),
  Row(.setattr, "/", ios: "EACCES"),
  Row(.create, "/Documents/x", ios: "ok"),
  Row(.exec, "/Documents/x", ios: "EACCES"),
  Row(.remove, "/Documents", ios: "EPERM"),
  Row(.setattr, "/Documents", ios: "ok"),
  Row(.remove, "/Library/ApplicationSupport", ios: "EPERM"),
  Row(.remove, "/Library/Caches", ios: "EPERM"),
  Row(.remove, "/Library/Caches/a", ios: "ok"),
  Row(.create, "/Library/a", ios: "ok"),
  Row(.create, "/Library/Preferences/a.plist", ios: "ok"),
  Row(.create, "/Library/Preferences/a.plistAb3xYz", ios: "ok"),
  Row(.create, "/Library/Preferences/a.plistAb3xY", ios: "EACCES", standard: "ok"),
  Row(.create, "/Library/Preferences/.lck", ios: "ok"),
  Row(.create, "/Library/Preferences/.lck/.GNUstepDefaults.lck", ios: "ok"),
  Row(.create, "/Library/Preferences/a", ios: "EACCES", standard: "ok"),
  Row(.write, "/Library/Preferences/a", ios: "ok"),
  Row(.create, "/tmp/a", ios: "ok"),
  Row(.read, "/Notes.app/a", ios: "ok"),
  Row(.exec, "/Notes.app/a", ios: "ok"),
  Row(.write, "/Notes.app/a", ios: "EROFS"),
  Row(.append, "/Notes.app/a", ios: "EROFS"),
  Row(.create, "/Notes.app/a", ios: "EROFS"),
  Row(.remove, "/Notes.app/a", ios: "EROFS"),
  Row(.setattr, "/Notes.app/a", ios: "EROFS"),
  Row(.setattr, "/Notes.app", ios: "EROFS"),
  Row(.remove, "/Notes.app", ios: "EPERM"),
  Row(.create, "/Other.app", ios: "EACCES"),
]

struct ShippedProfilesTests {
  private let ios: PolicyEngine
  private let standard: PolicyEngine

  init() throws {
    ios = try PolicyEngine([ShippedProfiles.ios])
    standard = try PolicyEngine([ShippedProfiles.standard])
  }

  @Test(arguments: rows)
  private func `each operation answers as the design says`(_ row: Row) {
    #expect(answer(ios, row) == row.ios)
    #expect(answer(standard, row) == row.standard)
  }

  private func answer(_ engine: PolicyEngine, _ row: Row) -> String {
    let zone = engine.zone(at: row.path)
    guard row.operation == .create else {
      return written(engine.decide(row.operation, in: zone, kind: .file))
    }
    return written(engine.decideCreate(named: lastName(row.path).span, in: zone, kind: .file))
  }

  @Test func `a file is saved by renaming a temporary one from tmp onto it`() {
    for engine in [ios, standard] {
      let entry = RenamedEntry(
        zone: engine.zone(at: "/tmp/a"), kind: .file, isOpen: true, isOpenForWriting: true)
      let target = RenameTarget(zone: engine.zone(at: "/Documents/a"), existing: .file)
      let verdict = engine.decideRename(
        from: entry, to: target, named: Array("a".utf8).span)
      #expect(written(verdict) == "ok")
    }
  }
}
