// The environment of a program in a container: which variables there are, and where they point.
//
// It is built from nothing: what is not in the table does not exist inside.

/// The rules by which an environment is made, one a line.
public struct EnvironmentTable: Equatable, Sendable {
  /// What one line says about one variable.
  enum Rule: Equatable, Sendable {
    /// `NAME=VALUE`: always this.
    case set([UInt8])
    /// `NAME`: the caller's, if there is one.
    case pass
    /// `NAME?=VALUE`: the caller's, else this.
    case passOr([UInt8])
  }

  /// The shipped table.
  public static let shipped = """
    # NAME=VALUE   the variable has this value
    # NAME         the variable is passed on, if whoever starts the program has it
    # NAME?=VALUE  the variable is passed on; who does not have it gets this value
    #
    # ${home} is the container's home directory. A line with only `mkdir PATH` names a directory
    # below it that is made, mode 0700, before the program starts.

    # Who and where.
    HOME=${home}
    USER=app
    LOGNAME=app
    SHELL=/bin/sh
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games

    # Language, time and terminal are the person's.
    LANG?=C.UTF-8
    LANGUAGE
    LC_ALL
    LC_ADDRESS
    LC_COLLATE
    LC_CTYPE
    LC_IDENTIFICATION
    LC_MEASUREMENT
    LC_MESSAGES
    LC_MONETARY
    LC_NAME
    LC_NUMERIC
    LC_PAPER
    LC_TELEPHONE
    LC_TIME
    TZ
    TERM
    COLORTERM
    NO_COLOR

    # Temporary files: POSIX programs and Swift read TMPDIR; GNUstep reads TEMP.
    TMPDIR=${home}/tmp
    TEMP=${home}/tmp
    TMP=${home}/tmp

    # XDG programs.
    XDG_CACHE_HOME=${home}/Library/Caches
    XDG_CONFIG_HOME=${home}/Library/Preferences
    XDG_DATA_HOME=${home}/Library/Application Support
    XDG_STATE_HOME=${home}/Library/Application Support/State
    XDG_RUNTIME_DIR=${home}/tmp/run
    mkdir Library/Application Support/State
    mkdir tmp/run

    # Swift Foundation and GNUstep.
    CFFIXED_USER_HOME=${home}
    GNUSTEP_CONFIG_FILE=/etc/GNUstep/GNUstep.conf

    # Programs that ignore XDG, and what they do read.
    GIT_CONFIG_GLOBAL=${home}/Library/Preferences/gitconfig
    GNUPGHOME=${home}/Library/Application Support/GnuPG
    mkdir Library/Application Support/GnuPG
    HISTFILE=${home}/Library/Application Support/State/shell_history
    INPUTRC=${home}/Library/Preferences/inputrc
    JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=${home}/tmp -Duser.home=${home}
    LESSHISTFILE=${home}/Library/Application Support/State/less_history
    NODE_REPL_HISTORY=${home}/Library/Application Support/State/node_history
    NPM_CONFIG_USERCONFIG=${home}/Library/Preferences/npmrc
    npm_config_cache=${home}/Library/Caches/npm
    PSQL_HISTORY=${home}/Library/Application Support/State/psql_history
    PYTHONUSERBASE=${home}/Library/Application Support/Python
    PYTHON_HISTORY=${home}/Library/Application Support/State/python_history
    SQLITE_HISTORY=${home}/Library/Application Support/State/sqlite_history
    CARGO_HOME=${home}/Library/Application Support/Cargo
    GOPATH=${home}/Library/Application Support/Go
    """

  /// The variables, in the order of the table.
  let rules: [(name: [UInt8], rule: Rule)]
  /// The directories below the home that must exist, parents first.
  public let directories: [[UInt8]]

  /// Reads a table; throws the first line that is none of the forms.
  public init(_ text: String) throws(EnvironmentTableError) {
    var rules: [(name: [UInt8], rule: Rule)] = []
    var directories: [[UInt8]] = []
    let lines = Array(text.utf8).split(separator: newline, omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = trimmed(line)
      if words.isEmpty || words[0] == UInt8(ascii: "#") { continue }
      if words.starts(with: mkdirWord) {
        directories.append(Array(words.dropFirst(mkdirWord.count)))
      } else if let rule = Self.rule(words) {
        rules.append(rule)
      } else {
        throw EnvironmentTableError(line: index + 1, text: String(decoding: words, as: UTF8.self))
      }
    }
    self.rules = rules
    self.directories = directories
  }

  /// The environment as `NAME=VALUE`, for the home directory and what the caller has.
  public func environment(home: [UInt8], caller: [[UInt8]]) -> [[UInt8]] {
    rules.compactMap { name, rule in
      let prefix = name + [equalsSign]
      let passed = caller.first { $0.starts(with: prefix) }
      return switch rule {
      case .set(let value): prefix + expanded(value, home: home)
      case .pass: passed
      case .passOr(let value): passed ?? prefix + expanded(value, home: home)
      }
    }
  }

  private static func rule(_ words: [UInt8]) -> (name: [UInt8], rule: Rule)? {
    let end = words.firstIndex { !isNameByte($0) } ?? words.count
    let name = Array(words[..<end])
    guard !name.isEmpty else { return nil }
    let rest = words[end...]
    if rest.isEmpty { return (name, .pass) }
    if rest.starts(with: [equalsSign]) { return (name, .set(Array(rest.dropFirst()))) }
    if rest.starts(with: [UInt8(ascii: "?"), equalsSign]) {
      return (name, .passOr(Array(rest.dropFirst(2))))
    }
    return nil
  }

  /// Two tables are the same if they have the same rules in the same order.
  public static func == (left: Self, right: Self) -> Bool {
    left.directories == right.directories
      && left.rules.elementsEqual(right.rules) { $0.name == $1.name && $0.rule == $1.rule }
  }
}

/// A line of a table that is none of its forms.
public struct EnvironmentTableError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The number of the line, from 1.
  public let line: Int
  /// What stands there.
  public let text: String

  /// One line for people.
  public var description: String {
    "line \(line): '\(text)': expected NAME=VALUE, NAME?=VALUE, NAME or mkdir PATH"
  }
}

private let newline = UInt8(ascii: "\n")
private let equalsSign = UInt8(ascii: "=")
private let mkdirWord = Array("mkdir ".utf8)

private func trimmed(_ line: ArraySlice<UInt8>) -> [UInt8] {
  func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
  let start = line.firstIndex { !isBlank($0) } ?? line.endIndex
  let end = line.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
  return Array(line[start..<max(start, end)])
}

private func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
    true
  default: false
  }
}

private func expanded(_ value: [UInt8], home: [UInt8]) -> [UInt8] {
  let placeholder = Array("${home}".utf8)
  var result: [UInt8] = []
  var rest = value[...]
  while let byte = rest.first {
    if rest.starts(with: placeholder) {
      result += home
      rest = rest.dropFirst(placeholder.count)
    } else {
      result.append(byte)
      rest = rest.dropFirst()
    }
  }
  return result
}
