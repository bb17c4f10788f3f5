// What `sandboxfs policy` is asked about: the rules of an app, or a file of rules.

internal import Arguments
internal import Containers
internal import LinuxKit
internal import Paths
internal import Policy
internal import Store

/// `--as LAYER`: what a file of rules is.
let layerOption = Option(
  "as", value: "LAYER", .oneOf(["whole", "bundle", "administrator", "container", "limits"]),
  summary: "what a FILE is: 'whole', all there is (unless it is called sandbox.profile or "
    + "limits.profile), or this layer over the profile 'default'")

/// `--bundle NAME`: which bundle a file of rules is about.
let bundleOption = Option(
  "bundle", value: "NAME", .free,
  summary: "what the bundle is called where a FILE is asked about; else Name.app")

/// Rules, as an engine, with the texts that they were read from.
struct PolicySubject {
  /// What the command line called it, as it is shown.
  let name: String
  let layers: [ProfileSource]
  let bundleName: [UInt8]
  let engine: PolicyEngine

  /// The rules of an app that is installed: exactly those that its daemon keeps.
  static func app(_ word: [UInt8], _ arguments: ParsedArguments) throws -> PolicySubject {
    let configuration = try configuration(of: container(word, arguments))
    return try PolicySubject(
      word.printable, configuration.layers, bundleName: configuration.bundleName)
  }

  /// The rules of a file, of a profile that is known by its name, or of an app.
  ///
  /// `bundle` is what the bundle is called where the rules are no app's, without `--bundle`.
  static func any(
    _ word: [UInt8], _ arguments: ParsedArguments, bundle: [UInt8]? = nil
  ) throws -> PolicySubject {
    let bundleName = arguments.value(bundleOption) ?? bundle ?? Array("Name.app".utf8)
    if try isFile(word) {
      return try ProfileFile(word, arguments).subject(arguments, bundleName: bundleName)
    }
    if !isApp(word) {
      let profile = try location(arguments).profile(
        named: String(decoding: word, as: UTF8.self))
      let library = try location(arguments).profileLibrary()
      return try PolicySubject(
        word.printable, [profile] + library, bundleName: bundleName)
    }
    return try app(word, arguments)
  }

  /// The rules of two, for the same bundle where one of them is an app.
  static func pair(
    _ words: [[UInt8]], _ arguments: ParsedArguments
  ) throws -> [PolicySubject] {
    let app = try words.first { try !isFile($0) && isApp($0) }
    let bundle = try app.map { try Self.app($0, arguments).bundleName }
    return try words.map { try any($0, arguments, bundle: bundle) }
  }

  /// An identifier has a dot; the name of a profile is a word.
  private static func isApp(_ word: [UInt8]) -> Bool { word.contains(UInt8(ascii: ".")) }

  fileprivate init(
    _ name: String, _ layers: [ProfileSource], bundleName: [UInt8]
  ) throws(ProfileErrors) {
    self.name = name
    self.layers = layers
    self.bundleName = bundleName
    engine = try PolicyEngine(layers: layers, bundleName: bundleName)
  }

  /// What has a slash is a file, and so is `NAME.profile` where there is one.
  private static func isFile(_ word: [UInt8]) throws -> Bool {
    if word.contains(UInt8(ascii: "/")) { return true }
    guard word.suffix(8).elementsEqual(".profile".utf8) else { return false }
    do throws(Errno) {
      _ = try word.withCPath { path throws(Errno) in try Descriptor.open(path, 0).release() }
    } catch {
      return error != .noEntry
    }
    return true
  }
}

/// A file of rules, as a command line names it.
struct ProfileFile {
  let source: ProfileSource

  private static let maximumByteCount = 8 << 20

  /// Reads the file.
  init(_ path: [UInt8], _ arguments: ParsedArguments) throws(Failure) {
    let text: [UInt8]
    do throws(Errno) {
      let file = try path.withCPath { path throws(Errno) in
        try Descriptor.open(path, 0).release()
      }
      text = try Descriptor(owning: file).readToEnd(atMost: Self.maximumByteCount)
    } catch {
      throw Failure("\(path.printable): \(error.message)")
    }
    source = ProfileSource(rank: Self.rank(path, arguments), name: path, text: text)
  }

  private static func rank(_ path: [UInt8], _ arguments: ParsedArguments) -> ProfileSource.Rank {
    let word = arguments.value(layerOption).map { String(decoding: $0, as: UTF8.self) }
    if let word { return ProfileSource.Rank.allCases.first { $0.name == word } ?? .shipped }
    switch path.fileName {
    case "sandbox.profile": return .bundle
    case "limits.profile": return .limits
    default: return .shipped
    }
  }

  /// The file under its name in a directory of profiles, for others to include.
  var included: ProfileSource {
    ProfileSource(rank: .included, name: Array(source.name.fileName.utf8), text: source.text)
  }

  /// The file as rules: alone, or over the profile `default`.
  func subject(_ arguments: ParsedArguments, bundleName: [UInt8]) throws -> PolicySubject {
    var layers = try location(arguments).profileLibrary()
    if source.rank != .shipped { layers.append(try location(arguments).profile(named: "default")) }
    layers.append(source)
    return try PolicySubject(source.name.printable, layers, bundleName: bundleName)
  }
}

extension [UInt8] {
  /// What stands behind the last slash.
  fileprivate var fileName: String {
    String(decoding: split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
  }
}

/// Runs `body`; mistakes in profiles are told each on a line of its own, and end it with status 1.
func tellingMistakes(_ body: () throws -> Int32) throws -> Int32 {
  do {
    return try body()
  } catch let errors as ProfileErrors {
    for error in errors.errors { complain("\(error)") }
    return 1
  }
}

// MARK: - Words

extension PolicyEngine {
  /// A rule for people: where it stands and what it says, or why it is built in.
  func sentence(about rule: RuleID, in layers: [ProfileSource]) -> String {
    if let text = text(of: rule, in: layers) {
      return "\(describe(rule)): \(Presentation.line(text))"
    }
    return "\(describe(rule)): \(builtInReasons[rule] ?? "")"
  }
}

private let builtInReasons: [RuleID: String] = [
  .unset: "no rule says anything", .structural: "this entry always stays as it is",
  .bundle: "the bundle never changes", .device: "there are no device nodes",
  .zones: "the two paths are under different rules",
  .zoneLimit: "the view has more sets of rules than are kept",
  .propertyList: "it is allowed, and noted since it is no property list",
  .unreadPropertyList: "it is allowed, and noted since it was not looked at",
]

extension ProfileSource.Rank {
  /// The layer in words.
  var title: String {
    switch self {
    case .shipped: "the shipped profile"
    case .bundle: "the bundle's own profile"
    case .administrator: "the administrator's profile for the app"
    case .container: "the container's own profile"
    case .limits: "the administrator's limits"
    case .included: "a profile that is included"
    }
  }
}
