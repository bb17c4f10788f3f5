// Numbers and dates as text: GNUstep's typed values, between `<*` and `>`, and those of XML.

extension PropertyList {
  /// The whole number that a text writes; nil if it is none of 64 bits, signed or not.
  public static func integer(_ text: String) -> PropertyList? {
    TypedValue.integer(text).map(PropertyList.integer)
  }

  /// The point in time that a text writes, as `2003-11-30T12:00:00Z`, `2003-11-30 12:00:00 +0000`
  /// or `2003-11-30`; nil if it is none.
  public static func date(_ text: String) -> PropertyList? {
    let seconds =
      TypedValue.isoDate(text) ?? TypedValue.date(text)
      ?? TypedValue.isoDate(text + "T00:00:00Z")
    return seconds.map(PropertyList.date)
  }

  /// A point in time as `2003-11-30T12:00:00Z`.
  public static func isoText(_ seconds: Double) -> String { TypedValue.isoText(seconds) }
}

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
  static func integer(_ text: String) -> Int128? {
    guard let number = Int128(text), number >= Int128(Int64.min), number <= Int128(UInt64.max)
    else { return nil }
    return number
  }

  /// `2003-11-30 12:00:00 +0000`, in seconds since 1970.
  static func date(_ text: String) -> Double? {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let seconds = seconds(parts[0], parts[1]), let zone = zone(parts[2])
    else { return nil }
    return Double(seconds - zone)
  }

  /// `2003-11-30T12:00:00Z`, in seconds since 1970.
  static func isoDate(_ text: String) -> Double? {
    let parts = text.split(separator: "T", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].last == "Z" else { return nil }
    return seconds(parts[0], parts[1].dropLast()).map(Double.init)
  }

  /// What `isoDate` reads, without fractions of a second.
  ///
  /// Years are those with four digits; what lies beyond is the first or the last of them.
  static func isoText(_ seconds: Double) -> String {
    let (first, last) = (-62_135_596_800.0, 253_402_300_799.0)
    let whole = Int(Swift.min(Swift.max(seconds.isNaN ? 0 : seconds.rounded(.down), first), last))
    let second = ((whole % 86_400) + 86_400) % 86_400
    let (year, month, day) = date(days: (whole - second) / 86_400)
    let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    let time = [second / 3_600, second / 60 % 60, second % 60].map { digits($0, 2) }
    return "\(date)T\(time.joined(separator: ":"))Z"
  }

  /// What `date` reads, in UTC and without fractions of a second; years as `isoText` has them.
  static func dateText(_ seconds: Double) -> String {
    let text = isoText(seconds)
    return text.dropLast().map { $0 == "T" ? " " : String($0) }.joined() + " +0000"
  }

  private static func digits(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: Swift.max(0, width - text.utf8.count)) + text
  }

  /// A day and a time of day in UTC, in seconds since 1970.
  private static func seconds(_ day: Substring, _ time: Substring) -> Int? {
    guard let day = fields(day, by: "-"), let time = fields(time, by: ":"), let days = days(day),
      time[0] < 24, time[1] < 60, time[2] <= 60
    else { return nil }
    return ((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2]
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
    let days =
      shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    // A month may have fewer days.
    return Self.date(days: days) == (year, month, day) ? days : nil
  }

  /// The inverse of `days`, for years from 1 on: eras of 400 years all have as many days.
  private static func date(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
      yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
      dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
  }
}
