// Property lists: every bundle that is installed brings one.

import PropertyLists

extension FuzzTarget {
  /// What was read can be written, and reads the same again.
  static let openStep = FuzzTarget(name: "openstep") { bytes in
    do throws(PropertyListError) {
      let list = try PropertyList.openStep(bytes)
      guard let text = openStepText(list) else { return nil }
      let again = try? PropertyList.openStep(text)
      return again == list ? nil : "written and read it is another"
    } catch {
      guard case .text(let line, let column) = error.place else { return "a mistake without place" }
      return line >= 1 && column >= 1 ? nil : "a mistake nowhere"
    }
  }

  /// A mistake is in the bytes, and what was read can be written in the OpenStep form.
  static let binaryPropertyList = FuzzTarget(name: "binary-plist") { bytes in
    do throws(PropertyListError) {
      let list = try PropertyList.binary(bytes)
      guard let text = openStepText(list) else { return nil }
      let again = try? PropertyList.openStep(text)
      return again == list ? nil : "written and read it is another"
    } catch {
      guard case .byte(let offset) = error.place else { return "a mistake without place" }
      return (0...bytes.count).contains(offset) ? nil : "a mistake at \(offset)"
    }
  }
}

/// A list in the OpenStep form; nil if it has a fraction or a date, which are not kept to the bit,
/// or is too large to be worth it.
private func openStepText(_ list: PropertyList) -> [UInt8]? {
  var writer = OpenStepWriter()
  guard writer.write(list) else { return nil }
  return writer.bytes
}

private struct OpenStepWriter {
  private(set) var bytes: [UInt8] = []

  private static let maximumByteCount = 1 << 16

  /// False if it can't be written.
  mutating func write(_ list: PropertyList) -> Bool {
    guard bytes.count < Self.maximumByteCount else { return false }
    switch list {
    case .string(let text): write(text)
    case .data(let data): bytes += Array("<\(data.map(hexadecimal).joined())>".utf8)
    case .integer(let number):
      guard number >= Int128(Int64.min), number <= Int128(UInt64.max) else { return false }
      bytes += Array("<*I\(number)>".utf8)
    case .boolean(let value): bytes += Array((value ? "<*BY>" : "<*BN>").utf8)
    case .real, .date, .uid: return false
    case .array(let values):
      bytes += Array("(".utf8)
      for value in values {
        guard write(value) else { return false }
        bytes += Array(", ".utf8)
      }
      bytes += Array(")".utf8)
    case .dictionary(let dictionary):
      bytes += Array("{ ".utf8)
      for entry in dictionary.entries {
        write(entry.key)
        bytes += Array(" = ".utf8)
        guard write(entry.value) else { return false }
        bytes += Array("; ".utf8)
      }
      bytes += Array("}".utf8)
    }
    return true
  }

  private mutating func write(_ text: [UInt8]) {
    bytes += Array("\"".utf8)
    for byte in text {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        bytes.append(UInt8(ascii: "\\"))
      }
      bytes.append(byte)
    }
    bytes += Array("\"".utf8)
  }
}

private func hexadecimal(_ byte: UInt8) -> String {
  let digits = String(byte, radix: 16)
  return digits.count == 1 ? "0" + digits : digits
}
