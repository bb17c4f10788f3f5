// The mark that keeps a file or a directory out of backups, as iOS sets it.

/// The names of the mark, an extended attribute.
public enum BackupMark {
  /// The namespace that Linux file systems want before a name of a program's own.
  public static let namespace: StaticString = "user."
  /// What names of Apple's begin with; on its systems there are no namespaces.
  public static let applePrefix: StaticString = "com.apple."
  /// The name as iOS has it.
  public static let appleName: StaticString = "com.apple.metadata:com_apple_backup_excludeItem"
  /// The name as a Linux file system keeps it.
  public static let storedName: StaticString =
    "user.com.apple.metadata:com_apple_backup_excludeItem"
}
