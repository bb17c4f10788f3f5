// A shell among mounts, processes and a register of uids of its own, with an app that is installed.

import TestSupport
import Testing

/// Has a script see no view of the host's, in its own mount namespace: what others mount at this
/// time is none of a test's business.
let hidingViews = "umount --all --lazy --internal-only --types fuse.sandboxfs 2> /dev/null"

/// What a script has besides the programs: `$APP`, installed in `$SANDBOXFS_STORE` from
/// `Notes.app`; `$C`, its container; the directories `view` and `second`, to mount at;
/// `eventually COMMAND`, which repeats it for at most 10 s until it succeeds; `end_daemons`, which
/// kills all who serve or watch, at once: each would put another in the place of one that dies
/// alone.
private let prelude = """
  set -u
  \(hidingViews)
  mount -t tmpfs none /run && mount -t tmpfs none /var/lib && cd "$PLACE" || exit
  APP=com.example.Notes
  C=$SANDBOXFS_STORE/containers/$APP
  eventually() {
    for _ in $(seq 500); do "$@" > /dev/null 2>&1 && return; sleep 0.02; done
    echo "never: $*"
  }
  end_daemons() {
    for signal in STOP KILL; do kill -$signal $(pgrep '^sandboxfs-(view|work)$'); done
  }
  mkdir view second
  sandboxfs install Notes.app > /dev/null

  """

/// Runs a script of bash, and returns what it says, errors in between, without its place's name.
///
/// All that it mounts or starts ends with it.
func shell(_ script: String) throws -> String {
  try withTemporaryDirectory { place in
    _ = try SampleBundle.flat(in: place)
    var environment = standardEnvironment
    environment["PATH"] = BuiltPrograms.directory + ":" + (environment["PATH"] ?? "")
    environment["SANDBOXFS_STORE"] = place + "/store"
    environment["SANDBOXFS_SETTINGS"] = place + "/settings"
    environment["PLACE"] = place
    let outcome = try run(
      "unshare",
      [
        "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
        "exec 2>&1; . /dev/stdin",
      ],
      environment: environment, input: Array((prelude + script).utf8))
    return outcome.text.replacing(place, with: "PLACE")
  }
}
