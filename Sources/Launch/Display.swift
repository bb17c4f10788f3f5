// The X server that an app was allowed to talk to: its number, its socket, its key.
//
// Any client of an X server can watch and drive all its others: that is what this allows.

/// A local X display, as `DISPLAY` names it.
struct Display: Equatable, Sendable {
  /// The server's number: 77 of `:77.1`.
  let number: UInt32
  /// The screen's number: 1 of `:77.1`.
  let screen: UInt32

  /// The directory in the view's `tmp`, and so in `/tmp`, on which the socket's is mounted.
  ///
  /// libxcb looks nowhere else: only newer ones take the path of a socket in `DISPLAY`.
  static let directoryName = Array(".X11-unix".utf8)
  /// The path inside of the file with the key.
  static let keyPath = Array("/etc/Xauthority".utf8)

  /// Reads `:N`, `:N.S` or `unix:N`; nil for a server elsewhere and for anything else.
  init?(_ text: [UInt8]) {
    guard let colon = text.lastIndex(of: UInt8(ascii: ":")) else { return nil }
    guard colon == 0 || text[..<colon].elementsEqual("unix".utf8) else { return nil }
    let parts = text[(colon + 1)...].split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let number = parts.first.flatMap(Self.number) else { return nil }
    guard let screen = parts.count == 2 ? Self.number(parts[1]) : 0 else { return nil }
    self.number = number
    self.screen = screen
  }

  /// The socket's name.
  var socketName: [UInt8] { Array("X\(number)".utf8) }

  /// The socket outside.
  var socket: [UInt8] { Array("/tmp/.X11-unix/".utf8) + socketName }

  /// `DISPLAY` inside.
  var valueInside: [UInt8] { Array(":\(number).\(screen)".utf8) }

  private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return UInt32(String(decoding: digits, as: UTF8.self))
  }
}

/// The keys in a file such as `~/.Xauthority`.
enum DisplayKeys {
  /// One key of the file.
  private struct Key {
    let family: Int
    let number: [UInt8]
    let name: [UInt8]
    let data: [UInt8]
  }

  private static let localFamily = 256
  private static let wildFamily = 65535

  /// A file with the one key for a display, which then holds for any host and any display: inside,
  /// the host has another name and the display another number.
  ///
  /// Empty if the file has no key for it, or is damaged before it.
  static func file(for display: Display, from file: [UInt8]) -> [UInt8] {
    let number = Array(String(display.number).utf8)
    let key = keys(in: file).first { key in
      [localFamily, wildFamily].contains(key.family)
        && (key.number.isEmpty || key.number == number)
    }
    guard let key else { return [] }
    return bigEndian(wildFamily) + field([]) + field([]) + field(key.name) + field(key.data)
  }

  private static func keys(in file: [UInt8]) -> [Key] {
    var keys: [Key] = []
    var rest = file[...]
    while let family = takeNumber(&rest), takeField(&rest) != nil,
      let number = takeField(&rest), let name = takeField(&rest), let data = takeField(&rest)
    {
      keys.append(Key(family: family, number: number, name: name, data: data))
    }
    return keys
  }

  private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Int? {
    guard rest.count >= 2, let high = rest.popFirst(), let low = rest.popFirst() else { return nil }
    return Int(high) << 8 | Int(low)
  }

  private static func takeField(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
    guard let count = takeNumber(&rest), rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  private static func bigEndian(_ number: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  private static func field(_ bytes: [UInt8]) -> [UInt8] { bigEndian(bytes.count) + bytes }
}
