// Names in error lines and listings, where the long way to say it would hide the line.

extension Sequence<UInt8> {
  /// The bytes as `Presentation.escaped` shows them.
  public var printable: String { Presentation.escaped(self) }
}
