// What of an entry the system says: its attributes, and the name of its blob.
internal import BackupFormat
internal import Crypto
internal import LinuxKit

extension BackupEntry {
  /// An entry as statx(2) describes it, without what is read from the file itself.
  init(domain: String, path: [UInt8], kind: Kind, _ status: FileStatus) {
    self.init(domain: domain, path: path, kind: kind)
    adopt(status)
  }

  /// Takes over what statx(2) says.
  mutating func adopt(_ status: FileStatus) {
    permissions = status.permissions & 0o777
    byteCount = kind == .file ? status.byteCount : 0
    modifiedNanoseconds = status.modified.nanoseconds
    changedNanoseconds = status.changed.nanoseconds
    bornNanoseconds = status.bornNanoseconds
    inode = status.identity.inode
  }

  /// The name of its row and of its blob: the SHA-1 of domain, `-` and path, as 40 digits.
  var fileID: [UInt8] {
    get throws(BackupError) { try Self.fileID(domain: domain, relativePath: relativePath) }
  }

  /// The SHA-1 of domain, `-` and path, as 40 digits.
  static func fileID(domain: String, relativePath: [UInt8]) throws(BackupError) -> [UInt8] {
    do throws(CryptoError) {
      return hexadecimal(try SHA1.digest(of: Array("\(domain)-".utf8) + relativePath))
    } catch {
      throw BackupError("OpenSSL has no SHA-1 here")
    }
  }
}
