// Every parser that reads what strangers wrote, as a function of bytes that says what is wrong with
// its result. The fuzzer calls it with bytes that it invents, and a test with those in the corpus.

/// One parser, with what must hold for it.
public struct FuzzTarget: Sendable {
  /// Its name, and that of its directory in the corpus.
  public let name: String
  /// Parses the bytes; the promise that was broken, or nil.
  public let check: @Sendable ([UInt8]) -> String?

  /// All of them.
  public static let all = [
    profile, glob, openStep, binaryPropertyList, viewConfiguration, flatObject, mountOptions,
    chunkTable,
    xmlPropertyList, codeResources, sealRule, minisign, settingsPane, defaultsWords, backupManifest,
  ]

  /// The one of that name.
  public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}
