// What was asked for behind -o: from mount(8)'s list of words to what comes of them.

internal import Paths

/// Who asks for a mount.
public enum MountRequester: Sendable {
  /// Root, who mounts by mount(2).
  case root
  /// An ordinary user, who mounts by fusermount3.
  case user
}

/// What an option list asks for.
public struct MountOptions: Equatable, Sendable {
  /// A word that switches something on or off.
  private struct Wish: Equatable {
    let word: String
    let isOn: Bool
  }

  /// The last word about each thing that can be switched.
  private var wishes: [MountSwitch: Wish] = [:]

  /// What is switched on.
  public var switches: Set<MountSwitch> { Set(wishes.filter(\.value.isOn).keys) }

  /// The store's path, if one was named.
  public private(set) var store: [UInt8]?
  /// Whether a mount that is there is to be changed.
  public private(set) var isRemount = false
  /// Whether ordinary users may mount it: then `exec` only takes back what `user` implies.
  private var isForUsers = false
  /// The words that were given.
  private var words: Set<String> = []

  /// Reads option lists, each as it stood behind an `-o`.
  ///
  /// Later words win. Throws what is wrong, and what to do, about the first word that is refused or
  /// not known; words that are not known are passed over if `isSloppy`.
  public init(
    _ lists: [[UInt8]], by requester: MountRequester, isSloppy: Bool = false
  ) throws(MountOptionError) {
    for list in lists {
      // libmount leaves an empty word where it takes one out.
      for word in try splitOptions(list) where word != OptionWord(name: [], value: nil) {
        try take(word, requester, isSloppy)
      }
    }
    if requester == .root, let wish = wishes[.noExec], !wish.isOn {
      // In a line of fstab that users may mount it only takes back what `user` implies.
      guard isForUsers else { throw MountOptionError(Array("exec".utf8), Self.execRemedy) }
      wishes[.noExec] = nil
    }
    // A remount is handed what the mount has; the others it cannot change.
    if isRemount { return }
    if requester == .user {
      for option in MountOption.all where option.isRoots && isOn(option) {
        throw MountOptionError(
          Array(option.name.utf8), "only root's mounts can have it: fusermount3 cannot give it")
      }
    }
  }

  private mutating func take(
    _ word: OptionWord, _ requester: MountRequester, _ isSloppy: Bool
  ) throws(MountOptionError) {
    guard let option = MountOption.all.first(where: { $0.matches(word.name) }) else {
      if isSloppy { return }
      throw MountOptionError(unknown: word.name)
    }
    if case .refused(let remedy) = option.effect { throw MountOptionError(word.name, remedy) }
    switch (option.value, word.value) {
    case (.none, .some): throw MountOptionError(word.name, "it takes no value")
    case (.required, nil):
      throw MountOptionError(word.name, "it needs a value: '\(option.name)=...'")
    default: break
    }
    switch option.effect {
    case .on(let thing): wishes[thing] = Wish(word: option.name, isOn: true)
    case .off(let things):
      for thing in things { wishes[thing] = Wish(word: option.name, isOn: false) }
    case .without(let thing):
      let value = word.value.map { String(decoding: $0, as: UTF8.self) }
      guard let value, value == "on" || value == "off" else {
        throw MountOptionError(
          word.name, "it is '\(option.name)=on', as without it, or '\(option.name)=off'")
      }
      wishes[thing] = Wish(word: option.name, isOn: value == "off")
    case .store: store = word.value
    case .remount: isRemount = true
    case .taken, .refused: break
    }
    words.insert(option.name)
    if Self.makingItForUsers.contains(option.name) { isForUsers = true }
  }

  private static let execRemedy =
    "root's views are noexec but for the bundle, which is executable without it; leave it out"
  private static let makingItForUsers: Set = ["user", "users", "owner", "group"]

  private func isOn(_ option: MountOption) -> Bool {
    if case .on(let thing) = option.effect { switches.contains(thing) } else { false }
  }
}

extension MountOptions {
  /// The first word that asks for something that a mount does not have, beside `ro` and `rw` and
  /// what no mount table shows; nil if there is none.
  ///
  /// `options` are those of the mount table. mount(8) hands on what is there or what fstab says, so
  /// the same again is no change.
  public func change(from options: [[UInt8]]) -> String? {
    let now = Set(options.map { String(decoding: $0, as: UTF8.self) })
    for (thing, wish) in wishes.sorted(by: { $0.value.word < $1.value.word })
    where thing != .readOnly && !thing.isUnseen && wish.isOn != thing.isOn(in: now) {
      return wish.word
    }
    // If all of them came back, one that is missing was taken out by its opposite.
    guard words.contains("user_id") else { return nil }
    let removed = ["noexec", "nosuid", "nodev", "noatime", "nodiratime", "nosymfollow"].first {
      now.contains($0) && !words.contains($0)
    }
    return removed.map { String($0.dropFirst(2)) }
  }
}

extension MountSwitch {
  /// Whether a mount with these options has it.
  fileprivate func isOn(in options: Set<String>) -> Bool {
    switch self {
    case .strictAccessTime: !options.contains("relatime") && !options.contains("noatime")
    default:
      MountOption.all.contains { $0.effect == .on(self) && options.contains($0.name) }
    }
  }
}

/// A word of an option list that cannot be followed.
public struct MountOptionError: Error, Equatable {
  /// What is wrong with it and what to do, such as `option 'suid': views are always nosuid; leave
  /// it out`.
  public let message: String

  init(_ word: [UInt8], _ remedy: String) {
    message = "option '\(word.printable)': \(remedy)"
  }

  init(unknown word: [UInt8]) {
    let names = MountOption.all.map(\.name).filter { !$0.hasSuffix("*") }
    let remedy = advice(word, among: names, otherwise: "'man mount.sandboxfs' lists those that are")
    message = "option '\(word.printable)' is not known; \(remedy)"
  }

  init(unfinished list: [UInt8]) {
    message = "options '\(list.printable)': a double quote is never closed"
  }
}

/// One word of an option list.
struct OptionWord: Equatable {
  let name: [UInt8]
  let value: [UInt8]?
}

/// Splits an option list at its commas, as libmount does.
///
/// Between double quotes a comma is a letter; `\,`, `\\` and `\"` are the letter behind the
/// backslash, and any other backslash is itself.
func splitOptions(_ list: [UInt8]) throws(MountOptionError) -> [OptionWord] {
  var words: [OptionWord] = []
  var name: [UInt8] = []
  var value: [UInt8]?
  var isQuoted = false
  var rest = list[...]
  func add(_ byte: UInt8) {
    if value == nil { name.append(byte) } else { value?.append(byte) }
  }
  while let byte = rest.popFirst() {
    switch byte {
    case UInt8(ascii: "\\"):
      if let next = rest.first, #"\,""#.utf8.contains(next) {
        add(next)
        rest.removeFirst()
      } else {
        add(byte)
      }
    case UInt8(ascii: "\""): isQuoted.toggle()
    case UInt8(ascii: ",") where !isQuoted:
      words.append(OptionWord(name: name, value: value))
      (name, value) = ([], nil)
    case UInt8(ascii: "=") where !isQuoted && value == nil: value = []
    default: add(byte)
    }
  }
  if isQuoted { throw MountOptionError(unfinished: list) }
  return words + [OptionWord(name: name, value: value)]
}
