// Where Swift's Foundation says that an app's things belong, and whether it can put them there.
//
// Prints NAME=VALUE lines; a test compiles it into a bundle and compares them with the layout.
import Foundation

let files = FileManager.default

func directory(_ kind: FileManager.SearchPathDirectory) -> String {
  files.urls(for: kind, in: .userDomainMask).first?.path ?? "(none)"
}

func show(_ name: String, _ value: String) { print("\(name)=\(value)") }

func show(_ name: String, _ done: Bool) { show(name, done ? "yes" : "no") }

/// Whether there is a directory, if need be a new one.
func ensureDirectory(_ path: String) -> Bool {
  var isDirectory: ObjCBool = false
  if files.fileExists(atPath: path, isDirectory: &isDirectory) { return isDirectory.boolValue }
  return (try? files.createDirectory(atPath: path, withIntermediateDirectories: true)) != nil
}

func write(_ path: String) -> Bool {
  (try? Data("text".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)) != nil
}

let home = NSHomeDirectory()
// The library directory is in no list on Linux; everything else in it is.
let preferences = home + "/Library/Preferences"
show("home", home)
show("home directory", files.homeDirectoryForCurrentUser.path)
show("applications", URL(fileURLWithPath: Bundle.main.bundlePath).deletingLastPathComponent().path)
show("documents", directory(.documentDirectory))
show("preferences", preferences)
show("caches", directory(.cachesDirectory))
show("support", directory(.applicationSupportDirectory))
show("temporary", NSTemporaryDirectory())

let notes = directory(.documentDirectory) + "/Notes/2024"
show("ensured", ensureDirectory(notes))
show("ensured again", ensureDirectory(notes))
show("wrote document", write(notes + "/b.txt"))
show("wrote temporary", write(NSTemporaryDirectory() + "b.txt"))
show("wrote bundle", write(Bundle.main.bundlePath + "/b.txt"))

let launches = UserDefaults.standard.integer(forKey: "launches") + 1
UserDefaults.standard.set(launches, forKey: "launches")
show("synchronized", UserDefaults.standard.synchronize())
show("launches", "\(launches)")
show(
  "saved", files.fileExists(atPath: "\(preferences)/\(Bundle.main.bundleIdentifier ?? "").plist"))

show("bundle", Bundle.main.bundlePath)
show("identifier", Bundle.main.bundleIdentifier ?? "(none)")
