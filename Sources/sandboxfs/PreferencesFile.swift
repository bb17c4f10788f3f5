// The preferences of one domain: a property list in Library/Preferences of a view, changed so that
// nothing is lost that the app, or another command, changes at the same time.
//
// What is there was put there by the app: it may be anything, a link or a pipe or no property list,
// and a name that is taken may be let go at any moment.

internal import Containers
internal import Glibc
internal import Launch
internal import LinuxKit
internal import Paths
internal import PropertyLists
internal import Store

/// The file of a domain.
struct PreferencesFile: ~Copyable {
  /// Its name, `DOMAIN.plist`.
  let name: [UInt8]
  private let directory: Walker
  private let container: Container
  /// Whether the app is one of GNUstep's, whose programs lock their preferences.
  private let isGNUstep: Bool

  /// The most bytes that are read of it.
  static let maximumByteCount = 16 << 20

  /// The file of a domain, else of the app's own, which need not be there.
  ///
  /// GNUstep calls the app's own domain by the program, and Foundation by the identifier.
  init(
    of domain: [UInt8]?, _ container: Container, in view: borrowing VisitedView
  ) throws {
    let isGNUstep = Self.isGNUstep(view)
    name = Self.domain(domain, container.record, isGNUstep) + Array(".plist".utf8)
    self.container = container
    self.isGNUstep = isGNUstep
    do throws(Errno) {
      directory = try view.root.enter(path: ["Library", "Preferences"].map { Array($0.utf8) })
    } catch {
      throw Failure("Library/Preferences: \(error.message)")
    }
  }

  private static func isGNUstep(_ view: borrowing VisitedView) -> Bool {
    let resources = try? view.bundle?.enter(Array("Resources".utf8))
    return (try? resources?.status(of: Array("Info-gnustep.plist".utf8)).kind) == .regular
  }

  /// What the framework of the app calls a domain.
  private static func domain(
    _ wanted: [UInt8]?, _ record: ContainerRecord, _ isGNUstep: Bool
  ) -> [UInt8] {
    guard let wanted else { return isGNUstep ? record.executable : record.identifier.bytes }
    if !isGNUstep, wanted.elementsEqual("NSGlobalDomain".utf8) {
      return Array(".GlobalPreferences".utf8)
    }
    return wanted
  }

  /// What it says; nil if it is not there.
  func read() throws -> PropertyDictionary? {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try directory.openRegularFile(name).readToEnd(atMost: Self.maximumByteCount)
    } catch {
      switch error {
      case .noEntry: return nil
      case .tooManyLinks, .invalid: throw failure("it is no file, and is not followed")
      case .fileTooLarge:
        throw failure("it is larger than \(Self.maximumByteCount >> 20) MiB, and is not read")
      default: throw failure(error.message)
      }
    }
    let list: PropertyList
    do throws(PropertyListError) {
      // Some programs make the file before they write it.
      list = bytes.isEmpty ? .dictionary(PropertyDictionary()) : try .read(bytes)
    } catch {
      throw failure("it is no property list: \(error)")
    }
    guard let dictionary = list.dictionary else { throw failure("it holds no dictionary") }
    return dictionary
  }

  /// Replaces it by what `body` makes of it, or of nothing; by nothing if `body` says nil.
  func change(
    in view: borrowing VisitedView,
    _ body: (PropertyDictionary?) throws -> PropertyDictionary?
  ) throws {
    do throws(Errno) {
      try view.takeTurn()
    } catch {
      throw Failure(
        error == .busy
          ? "another command has the preferences of \(container.identifier) for its own; try again"
          : "locking \(container.identifier): \(error.message)")
    }
    guard isGNUstep else { return try replace(with: body(read())) }
    let lock = try GNUstepLock.take(in: directory)
    defer { lock.release() }
    try replace(with: body(read()))
  }

  private func replace(with dictionary: PropertyDictionary?) throws {
    let status = try? directory.status(of: name)
    do throws(Errno) {
      guard let dictionary else {
        do throws(Errno) {
          return try directory.removeFile(name)
        } catch .noEntry {
          return
        }
      }
      guard let contents = PropertyList.dictionary(dictionary).xml else { throw .invalid }
      let mode = status?.kind == .regular ? (status?.permissions ?? 0o600) & 0o777 : 0o600
      // As mkstemp(3) would name it: rules that allow property lists alone allow this too.
      let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
      let random = (0..<6).map { _ in letters[Int.random(in: letters.indices)] }
      try directory.replaceFile(
        name, contents: contents, mode: mode, temporary: name + random)
    } catch {
      let isRule = error == .accessDenied || error == .notPermitted
      throw failure(
        error.message + (isRule ? "; 'sandboxfs log \(container.identifier)' says which rule" : ""))
    }
  }

  private func failure(_ message: String) -> Failure {
    Failure("Library/Preferences/\(name.printable): \(message)")
  }
}

/// The lock by which GNUstep's programs take turns with their preferences: a directory.
private struct GNUstepLock: ~Copyable {
  private static let name = Array(".GNUstepDefaults.lck".utf8)
  /// How old a lock is that GNUstep takes for one of a program that has died.
  private static let lifetimeSeconds: Int64 = 5
  private static let patienceMilliseconds: Int64 = 12_000

  private let directory: Walker

  /// Waits for its turn.
  static func take(in preferences: borrowing Walker) throws -> GNUstepLock {
    let lock = GNUstepLock(directory: try directory(in: preferences))
    try lock.take()
    return lock
  }

  private static func directory(in preferences: borrowing Walker) throws -> Walker {
    do throws(Errno) {
      return try preferences.enterOrCreate(Array(".lck".utf8), mode: 0o755)
    } catch {
      throw Failure("Library/Preferences/.lck: \(error.message)")
    }
  }

  private func take() throws {
    let deadline = monotonicMilliseconds() + Self.patienceMilliseconds
    while true {
      do throws(Errno) {
        _ = try directory.createDirectory(Self.name, mode: 0o755)
        return
      } catch {
        guard error == .exists || error == .noEntry else {
          throw Failure("locking the preferences: \(error.message)")
        }
      }
      breakOldLock()
      guard monotonicMilliseconds() < deadline else {
        throw Failure(
          "the app keeps Library/Preferences/.lck locked: try again when it has ended"
        )
      }
      pauseMilliseconds(50)
    }
  }

  private func breakOldLock() {
    guard let status = try? directory.status(of: Self.name) else { return }
    let age = WallTime.now.seconds - Int64(status.modified.tv_sec)
    if age > Self.lifetimeSeconds { try? directory.removeDirectory(Self.name) }
  }

  func release() { try? directory.removeDirectory(Self.name) }
}
