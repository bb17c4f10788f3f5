// A real app with windows: TextEdit of GNUstep, under an X server, in a container.

import Foundation
import TestSupport
import Testing

@Suite("An app with windows", .enabled(if: geteuid() == 0, "needs root"))
struct RunDisplayTests {
  private static let textEdit = "/usr/lib/GNUstep/Applications/TextEdit.app"
  private static let missing =
    ["Xvfb", "xwininfo", "import"].filter { !isInstalled($0) }
    + (FileManager.default.fileExists(atPath: textEdit) ? [] : ["textedit.app"])

  /// Where pictures are kept for whoever looks at the tests; git does not know it.
  private static let artefacts = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "artefacts")
    .path(percentEncoded: false)

  @Test(
    "shows its window to the X server that it was allowed",
    .enabled(if: missing.isEmpty, "not installed: \(missing)"),
    arguments: RunScene.Person.allCases)
  func window(_ person: RunScene.Person) throws {
    try withRunScene(person) { scene in
      try scene.install(Self.textEdit)
      try FileManager.default.createDirectory(
        atPath: Self.artefacts, withIntermediateDirectories: true)
      let picture = Self.artefacts + "/TextEdit-\(person).png"
      try? FileManager.default.removeItem(atPath: picture)
      let app = scene.words([scene.program, "run", "--allow", "x11", "org.gnustep.TextEdit"])
      let outcome = try run(
        "bash", ["-c", Self.script, "bash", scene.path, picture] + app,
        environment: scene.environment)
      #expect(outcome.status == 0, "\(outcome.errorText)")
      #expect(outcome.text == "refused without the key\nwindow seen\nended with 0\n")
      #expect(FileManager.default.fileExists(atPath: picture))
      let caches = scene.data("org.gnustep.TextEdit", "Library/Caches/fontconfig")
      #expect(FileManager.default.fileExists(atPath: caches))
    }
  }

  /// Starts an X server that asks for a key, and the app; takes a picture when its window is there.
  ///
  /// The key is for this host's name, as a session's is, so it has to be rewritten for the inside.
  private static let script = #"""
    scene=$1 picture=$2; shift 2
    set -u
    field() { printf '\0'"\\x$(printf %x "${#1}")"'%s' "$1"; }
    start_server() {
      exec 7>"$scene/number"
      Xvfb -displayfd 7 -screen 0 800x600x24 -auth "$scene/keys" -nolisten tcp >/dev/null 2>&1 &
      server=$!
      exec 7>&-
      for _ in $(seq 200); do [ -s "$scene/number" ] && break; sleep 0.05; done
      export DISPLAY=:$(cat "$scene/number")
    }
    write_key() {
      { printf '\1\0'; field "$(uname -n)"; field "$1"; field MIT-MAGIC-COOKIE-1
        printf '\0\020%s' 0123456789abcdef; } >"$scene/keys"
      chmod 644 "$scene/keys"
    }
    write_key 0
    start_server
    trap 'kill "$server" 2>/dev/null' EXIT
    # The server takes any of its keys; its number is known only now.
    write_key "${DISPLAY#:}"
    export XAUTHORITY=$scene/none
    "$@" -- xwininfo -root >/dev/null 2>&1 || echo refused without the key
    export XAUTHORITY=$scene/keys
    "$@" >"$scene/log" 2>&1 &
    app=$!
    for _ in $(seq 400); do
      xwininfo -root -tree | grep -q '"Untitled-1": ("TextEdit"' && { echo window seen; break; }
      sleep 0.05
    done
    sleep 1
    import -window root "$picture" || cat "$scene/log" >&2
    kill -TERM "$app"
    wait "$app"
    echo "ended with $?"
    """#
}
