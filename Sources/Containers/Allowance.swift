// What an app may be allowed to reach outside of its container, by name.

/// Something outside of its container that an app is allowed to reach, by name.
public enum Allowance: String, Sendable, CaseIterable, Comparable {
  /// The person's sound server, with what it lets its clients do: to record too.
  case audio
  /// The person's session bus, through a proxy, under the app's own name.
  case dbus
  /// The render nodes of graphics devices.
  case gpu
  /// The host's network, and its names.
  case network
  /// User namespaces of its own, in which it can mount file systems of its own: for programs that
  /// bring a sandbox with them.
  ///
  /// What such a program writes there can be executed; everything else holds.
  case userns
  /// The person's Wayland compositor.
  case wayland
  /// The X server: every client of it can watch and drive all the others.
  case x11

  /// By name.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
