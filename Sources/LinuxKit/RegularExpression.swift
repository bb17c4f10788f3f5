// POSIX extended regular expressions (regcomp(3)), over bytes.
internal import Glibc

/// A compiled pattern.
///
/// The C library's matcher locks it, so that threads may share it and yet gain nothing by it.
public final class RegularExpression: @unchecked Sendable {
  private let compiled: UnsafeMutablePointer<regex_t>

  /// Compiles a pattern; nil if it is none, or has a NUL in it.
  ///
  /// The C library takes time and memory without bounds for some patterns: whoever has one from a
  /// stranger looks at it first.
  public convenience init?(_ pattern: [UInt8]) {
    guard let compiled = Self.compile(pattern) else { return nil }
    self.init(owning: compiled)
  }

  private init(owning compiled: UnsafeMutablePointer<regex_t>) { self.compiled = compiled }

  /// What was compiled, to be freed; nothing is left of what is no pattern.
  private static func compile(_ pattern: [UInt8]) -> UnsafeMutablePointer<regex_t>? {
    if pattern.contains(0) { return nil }
    let compiled = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
    let status = (pattern + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        regcomp(compiled, $0.baseAddress, REG_EXTENDED | REG_NOSUB)
      }
    }
    if status == 0 { return compiled }
    compiled.deallocate()
    return nil
  }

  deinit {
    regfree(compiled)
    compiled.deallocate()
  }

  /// Whether the pattern is found anywhere in a text without NUL.
  public func matches(_ text: [UInt8]) -> Bool {
    precondition(!text.contains(0), "a name has no NUL")
    return (text + [0]).withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) {
        regexec(compiled, $0.baseAddress, 0, nil, 0) == 0
      }
    }
  }
}
