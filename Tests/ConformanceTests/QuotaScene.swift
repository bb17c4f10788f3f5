// What a view's books say, as tests ask for it.

import Containers
import Glibc
import LinuxKit
import TestSupport
import Testing

/// What a change costs.
struct Cost: Equatable, CustomStringConvertible {
  var bytes = 0
  var entries = 0

  var description: String { "\(bytes) bytes, \(entries) entries" }
}

/// What a book says, and what a count says.
struct BookState {
  let used: Cost
  let counted: Cost
}

extension TestView {
  /// The book of a name; the container's where none is given.
  func book(_ name: String = "container", _ word: String = "count") throws -> BookState {
    let books = try #require(try command(#"{"command":"quota","\#(word)":"1"}"#))
    let book = try #require(books.first { $0["book"] == Array(name.utf8) }, "no book \(name)")
    func number(_ name: String) -> Int {
      book[name].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? -1
    }
    return BookState(
      used: Cost(bytes: number("bytes"), entries: number("entries")),
      counted: Cost(bytes: number("countedBytes"), entries: number("countedEntries")))
  }

  /// What is used, once nothing is on its way out any more: by book and by count.
  func used(_ name: String = "container") throws -> Cost {
    // Where faults are injected, whoever counts may die over it.
    var book: BookState?
    for _ in 0..<2000 where book == nil || book?.used != book?.counted {
      if book != nil { usleep(1000) }
      do {
        book = try self.book(name)
      } catch let error as Errno where error == .brokenPipe || error == .connectionReset {
        continue
      }
    }
    let found = try #require(book)
    #expect(found.used == found.counted)
    return found.used
  }

  func limit(bytes: Int? = nil, entries: Int? = nil, soft: Int? = nil) throws {
    var line = #"{"command":"quota","set":"1""#
    if let bytes { line += #","bytes":"\#(bytes)""# }
    if let entries { line += #","entries":"\#(entries)""# }
    if let soft { line += #","soft":"\#(soft)""# }
    #expect(try command(line + "}") != nil)
  }
}
