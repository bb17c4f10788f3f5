// Length-prefixed fields in a run of bytes: what the daemon's messages are made of.

/// Appends fields to a message.
struct ByteWriter {
  var bytes: [UInt8]

  mutating func integer<Value: FixedWidthInteger>(_ value: Value) {
    for shift in stride(from: 0, to: Value.bitWidth, by: 8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  mutating func bytes(_ field: [UInt8]) {
    integer(UInt32(field.count))
    bytes.append(contentsOf: field)
  }
}

/// Takes fields from a message; nil where one is cut short.
struct ByteReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ message: ArraySlice<UInt8>) { rest = message }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func integer<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    let width = Value.bitWidth / 8
    guard rest.count >= width else { return nil }
    var value: Value = 0
    for byte in rest.prefix(width).reversed() {
      value = (value << 8) | Value(truncatingIfNeeded: byte)
    }
    rest = rest.dropFirst(width)
    return value
  }

  mutating func bytes() -> [UInt8]? {
    guard let count = integer(UInt32.self), rest.count >= Int(count) else { return nil }
    let field = Array(rest.prefix(Int(count)))
    rest = rest.dropFirst(Int(count))
    return field
  }
}
