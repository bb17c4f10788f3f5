// The container's own passwd, group and hosts: libraries that ignore HOME ask passwd for the home.

/// The accounts that exist inside: the app's, and the one that stands for everyone else.
struct Accounts {
  /// The app's uid.
  let uid: UInt32
  /// The app's gid.
  let gid: UInt32
  /// The app's home directory.
  let home: [UInt8]

  private static let nobody: UInt32 = 65534

  /// `/etc/passwd`.
  var passwd: [UInt8] {
    var text = Array("app:x:\(uid):\(gid):App:".utf8) + home + Array(":/bin/sh\n".utf8)
    // The owner of whatever is not the app's; the kernel shows each id that is not mapped as this.
    if uid != Self.nobody {
      text += Array("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n".utf8)
    }
    return text
  }

  /// `/etc/group`.
  var group: [UInt8] {
    var text = Array("app:x:\(gid):\n".utf8)
    if gid != Self.nobody { text += Array("nogroup:x:65534:\n".utf8) }
    return text
  }

  /// `/etc/hosts`, for the host name that every container has.
  static let hosts = Array("127.0.0.1\tlocalhost app\n::1\tlocalhost\n".utf8)
}
