// A moment as text, in UTC: the same for everyone who reads it, and sorted as text is.

/// A moment, such as `2026-03-01T12:30:00Z`.
///
/// The Gregorian calendar counts in eras of 400 years, which all have the same number of days; its
/// year is taken to begin in March, so that the leap day is its last.
public func timestamp(_ seconds: Int64) -> String {
  let secondsPerDay: Int64 = 86_400
  let (day, second) = floored(seconds, by: secondsPerDay)
  let daysFromMarchOfYear0ToEpoch: Int64 = 719_468
  let (era, dayOfEra) = floored(day + daysFromMarchOfYear0ToEpoch, by: 146_097)
  let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let monthFromMarch = (5 * dayOfYear + 2) / 153
  let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
  let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(dayOfMonth, 2))"
  let clock = [second / 3_600, second / 60 % 60, second % 60].map { digits($0, 2) }
  return "\(date)T\(clock.joined(separator: ":"))Z"
}

private func floored(_ value: Int64, by unit: Int64) -> (quotient: Int64, rest: Int64) {
  // Never `value - rest`: it may be below the smallest number.
  let (quotient, rest) = value.quotientAndRemainder(dividingBy: unit)
  return rest < 0 ? (quotient - 1, rest + unit) : (quotient, rest)
}

private func digits(_ number: Int64, _ width: Int) -> String {
  let text = String(number)
  return String(repeating: "0", count: max(0, width - text.count)) + text
}
