// Writing the binary form, `bplist00`: the objects, a table of their offsets, and a trailer.
//
// Written here and not by Foundation, which cannot write the references of a keyed archive. The
// form is that of Core Foundation's CFBinaryPList.c, which is public.

extension PropertyList {
  /// The list in the binary form, with equal texts stored once.
  public var binary: [UInt8] {
    var writer = BinaryWriter()
    return writer.write(self)
  }
}

/// Writes one binary list.
private struct BinaryWriter {
  /// An object as it will be written: references are still numbers of objects.
  private enum Object {
    case leaf([UInt8])
    case container(marker: UInt8, count: Int, references: [Int])
  }

  private var objects: [Object] = []
  private var texts: [[UInt8]: Int] = [:]

  mutating func write(_ list: PropertyList) -> [UInt8] {
    let top = add(list)
    let referenceWidth = width(of: UInt64(objects.count))
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      switch object {
      case .leaf(let content): bytes += content
      case .container(let marker, let count, let references):
        bytes += head(marker, count)
        for reference in references { bytes += bigEndian(UInt64(reference), referenceWidth) }
      }
    }
    let table = bytes.count
    let offsetWidth = width(of: UInt64(table))
    for offset in offsets { bytes += bigEndian(UInt64(offset), offsetWidth) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetWidth), UInt8(referenceWidth)]
    for number in [objects.count, top, table] { bytes += bigEndian(UInt64(number), 8) }
    return bytes
  }

  /// Adds an object with all below it; its number.
  private mutating func add(_ list: PropertyList) -> Int {
    if case .string(let text) = list { return add(text: text) }
    let number = objects.count
    objects.append(.leaf(leaf(list)))
    switch list {
    case .array(let values):
      let references = values.map { add($0) }
      objects[number] = .container(marker: 0xa0, count: values.count, references: references)
    case .dictionary(let dictionary):
      let keys = dictionary.entries.map { add(text: $0.key) }
      let values = dictionary.entries.map { add($0.value) }
      objects[number] = .container(
        marker: 0xd0, count: dictionary.count, references: keys + values)
    default: break
    }
    return number
  }

  private mutating func add(text: [UInt8]) -> Int {
    if let known = texts[text] { return known }
    texts[text] = objects.count
    objects.append(.leaf(string(text)))
    return objects.count - 1
  }

  private func leaf(_ list: PropertyList) -> [UInt8] {
    let secondsTo2001 = 978_307_200.0
    switch list {
    case .data(let bytes): return head(0x40, bytes.count) + bytes
    case .integer(let number): return integer(number)
    case .real(let number): return [0x23] + bigEndian(number.bitPattern, 8)
    case .boolean(let truth): return [truth ? 0x09 : 0x08]
    case .date(let seconds):
      return [0x33] + bigEndian((seconds - secondsTo2001).bitPattern, 8)
    case .uid(let number):
      let width = width(of: number)
      return [0x80 | UInt8(width - 1)] + bigEndian(number, width)
    case .string, .array, .dictionary: return []
    }
  }

  /// ASCII where that is enough, else UTF-16; what is no UTF-8 is repaired.
  private func string(_ text: [UInt8]) -> [UInt8] {
    if text.allSatisfy({ $0 < 0x80 }) { return head(0x50, text.count) + text }
    let units = Array(String(decoding: text, as: UTF8.self).utf16)
    return head(0x60, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
  }

  /// One, two and four bytes are unsigned, eight and sixteen signed.
  private func integer(_ number: Int128) -> [UInt8] {
    if let small = UInt32(exactly: number) {
      let width = width(of: UInt64(small))
      return [0x10 | UInt8(width.trailingZeroBitCount)] + bigEndian(UInt64(small), width)
    }
    if let signed = Int64(exactly: number) {
      return [0x13] + bigEndian(UInt64(bitPattern: signed), 8)
    }
    let bits = UInt128(bitPattern: number)
    return [0x14] + bigEndian(UInt64(truncatingIfNeeded: bits >> 64), 8)
      + bigEndian(UInt64(truncatingIfNeeded: bits), 8)
  }

  private func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 0xf] + integer(Int128(count))
  }

  /// The least of 1, 2, 4 and 8 bytes that hold a number.
  private func width(of number: UInt64) -> Int {
    if number <= UInt8.max { return 1 }
    if number <= UInt16.max { return 2 }
    return number <= UInt32.max ? 4 : 8
  }

  private func bigEndian(_ number: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (width - 1 - $0))) }
  }
}
