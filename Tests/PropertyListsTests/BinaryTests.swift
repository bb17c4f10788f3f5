// The binary form, as others write it and as an attacker would.
import Foundation
import PropertyLists
import Testing

/// A list of these objects, each as its bytes, with one byte per offset and reference.
private func binary(_ objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
  var bytes = Array("bplist00".utf8)
  var offsets: [UInt8] = []
  for object in objects {
    offsets.append(UInt8(bytes.count))
    bytes += object
  }
  let table = UInt8(bytes.count)
  let zeros = [UInt8](repeating: 0, count: 7)
  return bytes + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + zeros + [UInt8(objects.count)] + zeros + [top]
    + zeros + [table]
}

@Suite struct BinaryTests {
  @Test("What Foundation writes is read")
  func foundation() throws {
    let long = String(repeating: "long ", count: 100)
    let object: [String: Any] = [
      "text": "a", "wide": "\u{20ac}\u{1f600}", "long": long, "yes": true, "no": false, "five": 5,
      "minus": -5, "big": UInt64.max, "small": Int64.min, "half": 0.5, "data": Data([1, 2]),
      "date": Date(timeIntervalSince1970: 1_000_000_000), "list": [1, "x", [String: Int]()],
    ]
    let data = try PropertyListSerialization.data(
      fromPropertyList: object, format: .binary, options: 0)
    let list = try PropertyList.binary([UInt8](data))
    #expect(list["text"] == .string("a"))
    #expect(list["wide"]?.string == "\u{20ac}\u{1f600}")
    #expect(list["long"]?.string == long)
    #expect(list["yes"] == .boolean(true))
    #expect(list["no"] == .boolean(false))
    #expect(list["five"] == .integer(5))
    #expect(list["minus"] == .integer(-5))
    #expect(list["big"] == .integer(Int128(UInt64.max)))
    #expect(list["small"] == .integer(Int128(Int64.min)))
    #expect(list["half"] == .real(0.5))
    #expect(list["data"] == .data([1, 2]))
    #expect(list["date"] == .date(1_000_000_000))
    #expect(list["list"] == .array([.integer(1), .string("x"), .dictionary(PropertyDictionary())]))
  }

  @Test("Cut short, or with any byte changed, a list gives a value or an error")
  func damage() throws {
    let whole = binary([
      [0xd1, 1, 2], [0x51, 0x61], [0xa2, 3, 4], [0x10, 7], [0x61, 0x20, 0xac],
    ])
    #expect(try PropertyList.binary(whole)["a"]?.array?.count == 2)
    for position in whole.indices {
      _ = try? PropertyList.binary(Array(whole.prefix(position)))
      for byte in UInt8.min...UInt8.max {
        var damaged = whole
        damaged[position] = byte
        _ = try? PropertyList.binary(damaged)
      }
    }
  }

  @Test("Offsets and references of eight bytes may be any number")
  func wideNumbers() {
    let head = Array("bplist00".utf8) + [0xa1]
    for offset in [UInt64.max, 1 << 63, 1 << 62, 9, 8] {
      for reference in [UInt64.max, 1 << 63, 1] {
        let body = head + big(reference)
        let table = big(8) + big(offset)
        let trailer = [0, 0, 0, 0, 0, 0, 8, 8] + big(2) + big(0) + big(UInt64(body.count))
        _ = try? PropertyList.binary(body + table + trailer)
      }
    }
    for number in [UInt64.max, 1 << 63, 1 << 55, 1 << 40] {
      for field in 0..<3 {
        let fields = (0..<3).flatMap { big($0 == field ? number : 8) }
        #expect(throws: PropertyListError.self) {
          try PropertyList.binary(head + [0, 0, 0, 0, 0, 0, 1, 1] + fields)
        }
      }
    }
  }

  private func big(_ number: UInt64) -> [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  @Test(
    "A list that is endless, too deep or too wide is an error, and soon",
    arguments: [
      ("a list in itself", binary([[0xa1, 0]])),
      ("two in each other", binary([[0xa1, 1], [0xd1, 2, 0], [0x51, 0x61]])),
      ("2^60 elements", binary((1...60).map { [0xa2, $0, $0] } + [[0x50]])),
      ("a key that is a list", binary([[0xd1, 1, 1], [0xa0]])),
      ("null", binary([[0x00]])),
      ("a number of 2^15 bytes", binary([[0x1f]])),
      ("a length that is negative", binary([[0x4f, 0x13] + [UInt8](repeating: 0xff, count: 8)])),
      ("nothing", []),
      ("a head alone", Array("bplist00".utf8)),
    ])
  func hostile(_ label: String, _ bytes: [UInt8]) {
    #expect(throws: PropertyListError.self, "\(label)") { try PropertyList.binary(bytes) }
  }
}
