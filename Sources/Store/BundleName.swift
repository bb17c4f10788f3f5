// The name of a bundle's directory: an entry in the view's root.

/// What a bundle's directory may be called.
enum BundleName {
  private static let maximumByteCount = 255

  /// Why a name is not acceptable; nil if it is.
  ///
  /// It must match the profile's `/*.app`, never be hidden, and be one line where people see it.
  static func mistake(in name: [UInt8]) -> String? {
    let suffix = Array(".app".utf8)
    if name.count <= suffix.count || !name.reversed().starts(with: suffix.reversed()) {
      return "its name must end in .app"
    }
    if name.count > maximumByteCount { return "its name is longer than \(maximumByteCount) bytes" }
    if name.first == UInt8(ascii: ".") { return "its name must not begin with a dot" }
    if name.contains(where: { $0 < 32 || $0 == 127 }) {
      return "its name must not have control characters"
    }
    if name.contains(UInt8(ascii: "/")) { return "its name must not have a slash" }
    return nil
  }
}
