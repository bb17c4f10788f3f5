// GNUstep.conf: what makes GNUstep's path functions answer with the layout of a container.

/// The container's GNUstep.conf.
enum GNUstepConfiguration {
  /// The lines that place a user's directories.
  ///
  /// An empty value stands for the home directory itself. Debian's library knows the variables of
  /// "strict v2", without the older GNUSTEP_USER_DIR.
  private static let placed = """
    GNUSTEP_USER_DEFAULTS_DIR=Library/Preferences
    GNUSTEP_USER_DIR_APPS=
    GNUSTEP_USER_DIR_ADMIN_APPS=
    GNUSTEP_USER_DIR_WEB_APPS=Library/WebApplications
    GNUSTEP_USER_DIR_TOOLS=Library/Tools
    GNUSTEP_USER_DIR_ADMIN_TOOLS=Library/Tools/Admin
    GNUSTEP_USER_DIR_LIBRARY=Library
    GNUSTEP_USER_DIR_HEADERS=Library/Headers
    GNUSTEP_USER_DIR_LIBRARIES=Library/Libraries
    GNUSTEP_USER_DIR_DOC=Library/Documentation
    GNUSTEP_USER_DIR_DOC_MAN=Library/Documentation/man
    GNUSTEP_USER_DIR_DOC_INFO=Library/Documentation/info

    """

  /// The host's configuration with these lines replaced; without one, GNUstep's own defaults hold
  /// for the rest.
  static func text(host: [UInt8]) -> [UInt8] {
    let keys = placed.utf8.split(separator: newline).map { $0.prefix { $0 != equalsSign } }
    let kept = host.split(separator: newline).filter { line in
      let key = line.drop { $0 == UInt8(ascii: " ") }.prefix { $0 != equalsSign }
      return !keys.contains { $0.elementsEqual(key) }
    }
    return kept.flatMap { $0 + [newline] } + Array(placed.utf8)
  }
}

private let newline = UInt8(ascii: "\n")
private let equalsSign = UInt8(ascii: "=")
