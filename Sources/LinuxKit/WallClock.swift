// The time of day, for records that people read.
internal import CLinux
internal import Glibc

/// A moment, as people date it.
public struct WallTime: Equatable, Sendable {
  /// Seconds since 1970.
  public let seconds: Int64
  /// Nanoseconds of the second.
  public let nanoseconds: Int64

  /// A moment by its numbers.
  public init(seconds: Int64, nanoseconds: Int64) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The present.
  public static var now: WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  /// As in RFC 3339, in UTC, to the millisecond.
  public var formatted: [UInt8] {
    var text = [CChar](repeating: 0, count: 32)
    let count = clinux_format_time(seconds, nanoseconds, &text)
    return text.prefix(Int(count)).map { UInt8(bitPattern: $0) }
  }
  /// As in RFC 3164, in local time, to the second.
  public var syslogFormatted: [UInt8] {
    var text = [CChar](repeating: 0, count: 32)
    let count = clinux_format_syslog_time(seconds, &text)
    return text.prefix(Int(count)).map { UInt8(bitPattern: $0) }
  }
}
