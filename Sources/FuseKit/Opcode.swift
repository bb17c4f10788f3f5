// What the kernel's requests are called, for people.

/// The numbers of requests, as in the kernel's include/uapi/linux/fuse.h.
enum Opcode {
  private static let names: [UInt32: String] = [
    1: "lookup", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod", 9: "mkdir",
    10: "unlink", 11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read", 16: "write",
    17: "statfs", 18: "release", 20: "fsync", 21: "setxattr", 22: "getxattr", 23: "listxattr",
    24: "removexattr", 25: "flush", 27: "opendir", 28: "readdir", 29: "releasedir", 30: "fsyncdir",
    35: "create", 43: "fallocate", 44: "readdirplus", 45: "rename", 46: "lseek",
    47: "copy_file_range",
  ]

  /// What a request is called.
  static func name(_ number: UInt32) -> String { names[number] ?? "request \(number)" }
}
