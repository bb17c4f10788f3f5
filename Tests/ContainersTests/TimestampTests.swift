// Dates are computed here, without a library: the days on which that goes wrong are rows.
import Containers
import Testing

@Suite struct TimestampTests {
  @Test(
    "a moment is shown in UTC",
    arguments: [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
      (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (951_868_800, "2000-03-01T00:00:00Z"), (1_709_210_096, "2024-02-29T12:34:56Z"),
      (4_107_542_400, "2100-03-01T00:00:00Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
      (2_147_483_648, "2038-01-19T03:14:08Z"), (-2_208_988_800, "1900-01-01T00:00:00Z"),
      (253_402_300_799, "9999-12-31T23:59:59Z"),
      (.max, "292277026596-12-04T15:30:07Z"), (.min, "-292277022657-01-27T08:29:52Z"),
    ] as [(Int64, String)])
  func shows(_ seconds: Int64, _ want: String) {
    #expect(timestamp(seconds) == want)
  }
}
