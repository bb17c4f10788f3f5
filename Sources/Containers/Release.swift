// Which release of sandboxfs this is.

/// The release of all programs that were built together.
public enum Release {
  /// Its number.
  public static let number = "0.1.0"
}
