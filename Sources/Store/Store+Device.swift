// Which store this is, for backups that hold the apps of several.
internal import Glibc
internal import LinuxKit
internal import Paths

extension Store {
  private static let deviceName = "udid"
  private static let digitCount = 40

  /// Forty hexadecimal digits that no other store has: made once and kept in the store.
  public func deviceIdentifier() throws(StoreError) -> String {
    let what = "\(path.printable)/\(Self.deviceName)"
    let found = try allowing([.noEntry], what) { () throws(Errno) in
      try directory.openRegularFile(Self.deviceName.utf8).readToEnd(atMost: 128)
    }
    if let found {
      let text = String(decoding: found, as: UTF8.self).filter { !$0.isNewline }
      guard text.utf8.count == Self.digitCount, text.allSatisfy({ $0.isHexDigit }) else {
        throw StoreError(.failed, "\(what) is broken: expected \(Self.digitCount) digits")
      }
      return text
    }
    let digits = "0123456789abcdef"
    let text = String((0..<Self.digitCount).compactMap { _ in digits.randomElement() })
    try saying(what) { () throws(Errno) in
      try directory.replaceFile(Self.deviceName.utf8, contents: Array(text.utf8), mode: 0o600)
    }
    return text
  }
}
