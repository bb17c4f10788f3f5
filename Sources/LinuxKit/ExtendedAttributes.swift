// Extended attributes of an open file.
internal import CLinux
internal import Glibc

extension Descriptor {
  /// The names of all attributes that may be seen.
  public borrowing func extendedAttributeNames() throws(Errno) -> [[UInt8]] {
    let raw = rawValue
    let list = try growing { (buffer, count) in
      flistxattr(raw, buffer?.assumingMemoryBound(to: CChar.self), count)
    }
    return list.split(separator: 0).map(Array.init)
  }

  /// The value of an attribute.
  ///
  /// Throws ENODATA if there is none of this name.
  public borrowing func extendedAttribute(
    _ name: some Collection<UInt8>
  ) throws(Errno) -> [UInt8] {
    let raw = rawValue
    return try Array(name).withCPath { (name) throws(Errno) in
      try growing { (buffer, count) in fgetxattr(raw, name, buffer, count) }
    }
  }

  /// Sets an attribute, new or not.
  public borrowing func setExtendedAttribute(
    _ name: some Collection<UInt8>, to value: [UInt8]
  ) throws(Errno) {
    let raw = rawValue
    try Array(name).withCPath { (name) throws(Errno) in
      _ = try retrying {
        value.withUnsafeBytes { fsetxattr(raw, name, $0.baseAddress, value.count, 0) }
      }
    }
  }
}

extension Descriptor {
  /// Removes an attribute.
  ///
  /// Throws ENODATA if there is none of this name.
  public borrowing func removeExtendedAttribute(
    _ name: some Collection<UInt8>
  ) throws(Errno) {
    let raw = rawValue
    try Array(name).withCPath { (name) throws(Errno) in
      _ = try retrying { fremovexattr(raw, name) }
    }
  }
}

/// Asks for the size, then for the bytes, until both agree.
private func growing(
  _ call: (UnsafeMutableRawPointer?, Int) -> Int
) throws(Errno) -> [UInt8] {
  while true {
    let size = try retrying { call(nil, 0) }
    if size == 0 { return [] }
    var buffer = [UInt8](repeating: 0, count: size)
    do {
      let count = try retrying { buffer.withUnsafeMutableBytes { call($0.baseAddress, size) } }
      return Array(buffer.prefix(count))
    } catch Errno(ERANGE) {
      continue
    }
  }
}
