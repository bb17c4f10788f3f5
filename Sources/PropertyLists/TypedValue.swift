// GNUstep's typed values: what stands between `<*` and `>`.

/// Reads the content of a typed value.
enum TypedValue {
  /// The value of a type's letter and its content; nil for what is none.
  static func value(of kind: UInt8, _ content: [UInt8]) -> PropertyList? {
    guard let text = String(validating: content, as: UTF8.self) else { return nil }
    switch kind {
    case UInt8(ascii: "I"):
      return integer(text).map(PropertyList.integer)
    case UInt8(ascii: "R"):
      return Double(text).map(PropertyList.real)
    case UInt8(ascii: "B"):
      return ["Y": true, "N": false][text].map(PropertyList.boolean)
    case UInt8(ascii: "D"):
      return date(text).map(PropertyList.date)
    default:
      return nil
    }
  }

  /// What a 64-bit number can be, signed or not.
  private static func integer(_ text: String) -> Int128? {
    guard let number = Int128(text), number >= Int128(Int64.min), number <= Int128(UInt64.max)
    else { return nil }
    return number
  }

  /// `2003-11-30 12:00:00 +0000`, in seconds since 1970.
  private static func date(_ text: String) -> Double? {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let day = fields(parts[0], by: "-"),
      let time = fields(parts[1], by: ":"),
      let days = days(day), time[0] < 24, time[1] < 60, time[2] <= 60, let zone = zone(parts[2])
    else { return nil }
    return Double(((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2] - zone)
  }

  private static func fields(_ text: Substring, by separator: Character) -> [Int]? {
    let fields = text.split(separator: separator, omittingEmptySubsequences: false)
    guard fields.count == 3 else { return nil }
    var numbers: [Int] = []
    for field in fields {
      guard (1...4).contains(field.utf8.count), field.utf8.allSatisfy({ (48...57).contains($0) }),
        let number = Int(field)
      else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  /// `+0130`, in seconds.
  private static func zone(_ text: Substring) -> Int? {
    guard text.utf8.count == 5, let sign = ["+": 1, "-": -1][text.prefix(1)],
      text.utf8.dropFirst().allSatisfy({ (48...57).contains($0) }),
      let number = Int(text.dropFirst()),
      number % 100 < 60
    else { return nil }
    return sign * (number / 100 * 60 + number % 100) * 60
  }

  /// Days from 1970-01-01 in the Gregorian calendar, by counting from 1 March so that a leap day is
  /// a year's last.
  private static func days(_ date: [Int]) -> Int? {
    let (year, month, day) = (date[0], date[1], date[2])
    guard year > 0, (1...12).contains(month), (1...31).contains(day) else { return nil }
    let shifted = month > 2 ? year : year - 1
    let monthFromMarch = (month + 9) % 12
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
