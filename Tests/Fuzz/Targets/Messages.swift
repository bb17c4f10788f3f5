// What the programs of a view tell each other, and what mount(8) hands on.

import Arguments
import Containers

extension FuzzTarget {
  /// What is a message is exactly what is written for it.
  static let viewConfiguration = FuzzTarget(name: "view-configuration") { bytes in
    guard let configuration = ViewConfiguration(decoding: bytes) else { return nil }
    return configuration.encoded() == bytes ? nil : "it is written otherwise"
  }

  /// Any bytes survive as a member's value, and what is no object is none.
  static let flatObject = FuzzTarget(name: "flat-object") { bytes in
    _ = Containers.flatObject(bytes)
    var writer = FlatObjectWriter()
    writer.add("before", 1)
    writer.add("text", bytes)
    writer.add("behind", bytes.prefix(3))
    // Bytes are the characters of the same number.
    let want = bytes.flatMap { Array(String(Unicode.Scalar($0)).utf8) }
    guard let members = Containers.flatObject(writer.line) else { return "it can't be read again" }
    return members["text"] == want && members.count == 3 ? nil : "it is read otherwise"
  }

  /// The first byte says who asks; commas part the words.
  static let mountOptions = FuzzTarget(name: "mount-options") { bytes in
    guard let first = bytes.first else { return nil }
    let lists = bytes.dropFirst().split(separator: 0, omittingEmptySubsequences: false)
    do throws(MountOptionError) {
      let options = try MountOptions(lists.map { Array($0) }, by: first & 1 == 0 ? .root : .user)
      _ = options.change(from: lists.map { Array($0) })
      return nil
    } catch {
      let isShown = error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{7F}" }
      return isShown ? nil : "the mistake cannot be shown"
    }
  }
}
