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

@Suite struct BinaryWriterTests {
  private static let long = String(repeating: "long ", count: 100)

  private static var everything: PropertyList {
    var inner = PropertyDictionary()
    for number in 0..<300 { inner["key \(number)"] = .integer(Int128(number)) }
    var list = PropertyDictionary()
    list["text"] = .string("a")
    list["wide"] = .string("\u{20ac}\u{1f600}")
    list["long"] = .string(long)
    list["numbers"] = .array(
      [
        0, 255, 256, 65_535, 65_536, Int128(UInt32.max), 1 << 40, -1, Int128(Int64.min),
        Int128(UInt64.max),
      ].map(PropertyList.integer))
    list["yes"] = .boolean(true)
    list["no"] = .boolean(false)
    list["half"] = .real(0.5)
    list["date"] = .date(1_000_000_000)
    list["data"] = .data([1, 2])
    list["empty"] = .array([])
    list["inner"] = .dictionary(inner)
    return .dictionary(list)
  }

  @Test("What is written is read back, by us and by Foundation")
  func roundTrip() throws {
    let list = Self.everything
    #expect(try PropertyList.binary(list.binary) == list)
    let object = try PropertyListSerialization.propertyList(from: Data(list.binary), format: nil)
    let dictionary = try #require(object as? [String: Any])
    #expect(dictionary["wide"] as? String == "\u{20ac}\u{1f600}")
    #expect(dictionary["long"] as? String == Self.long)
    #expect(dictionary["date"] as? Date == Date(timeIntervalSince1970: 1_000_000_000))
    #expect(dictionary["data"] as? Data == Data([1, 2]))
    #expect((dictionary["inner"] as? [String: Int])?["key 299"] == 299)
    let numbers = try #require(dictionary["numbers"] as? [NSNumber])
    #expect(numbers.map(\.stringValue).last == "18446744073709551615")
    #expect(numbers[8].int64Value == Int64.min)
  }

  @Test("References of a keyed archive keep their numbers", arguments: [0, 255, 256, 70_000])
  func references(number: UInt64) throws {
    let list = PropertyList.array([.uid(number)])
    #expect(try PropertyList.binary(list.binary) == list)
  }

  @Test("A text alone is the 61 bytes that iOS marks files with")
  func text() {
    let digits = PropertyList.string("com.apple.backupd").binary.map {
      ($0 < 16 ? "0" : "") + String($0, radix: 16)
    }.joined()
    #expect(
      digits
        == "62706c69737430305f1011636f6d2e6170706c652e6261636b75706408"
        + "0000000000000101000000000000000100000000000000000000000000" + "00001c")
  }
}
