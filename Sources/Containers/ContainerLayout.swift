// The names of things inside a container's directory and inside a view.

/// What a container's directory holds, and what of it a view always shows.
public enum ContainerLayout {
  /// The record.
  public static let record = "container.plist"
  /// What the daemon locks while it serves.
  public static let lock = "lock"
  /// The daemon's socket.
  public static let control = "control"
  /// The root of what the app writes.
  public static let data = "data"
  /// The directory whose one entry is the bundle.
  public static let bundle = "bundle"
  /// Files that were unlinked while open, beyond the budget of descriptors.
  public static let orphans = "orphans"
  /// The audit log.
  public static let log = "log"
  /// What was the audit log before it was full.
  public static let olderLog = "log.1"
  /// The first line of each kind of request, which no number of later ones pushes out.
  public static let firstLog = "log.first"
  /// What is known of the bundle since it was installed.
  public static let seal = "seal"
  /// In it, the table of the bundle's chunks.
  public static let chunks = "chunks"
  /// In it, what was found to differ from the table; absent while nothing was.
  public static let modified = "modified"
  /// The container's own rules.
  public static let profile = "profile"
  /// A new version of the bundle that waits for the next mount.
  public static let next = "next"

  /// A structural entry of a view.
  public struct Entry: Sendable {
    /// The path below the view's root, without a leading slash.
    public let path: String
    /// What a symbolic link points to; nil for a directory.
    public let linkTarget: String?
    /// The mode of a directory.
    public let mode: UInt32
  }

  /// The entries of every view but the bundle, parents first: they always exist, and nobody can
  /// remove, rename, replace or re-type them through the view.
  public static let structuralEntries: [Entry] = [
    Entry(path: "Documents", linkTarget: nil, mode: 0o700),
    Entry(path: "Library", linkTarget: nil, mode: 0o700),
    Entry(path: "Library/Application Support", linkTarget: nil, mode: 0o700),
    Entry(path: "Library/ApplicationSupport", linkTarget: "Application Support", mode: 0o777),
    Entry(path: "Library/Caches", linkTarget: nil, mode: 0o700),
    Entry(path: "Library/Preferences", linkTarget: nil, mode: 0o700),
    Entry(path: "tmp", linkTarget: nil, mode: 0o700),
  ]
}
