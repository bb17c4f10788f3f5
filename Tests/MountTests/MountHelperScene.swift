// A mount namespace whose /sbin has the helpers, and a container in a store with an awkward name.

import Store
import TestSupport
import Testing

/// What a script sees: `$T`, the directory where it is; `$T/m` and `$T/n`, to mount at; `$O`, the
/// option that names the store, and `$FSTAB`, the same as fstab wants it; `$C`, the container.
///
/// `try` runs a command, says what it said with names made short, and how it ended; `views` says
/// what is mounted, and how. `as` runs a command as the store's owner; `fstab` makes a file of it.
private func prelude(_ directory: String, owner: UInt32?) -> String {
  #"""
  set -u
  T=\#(directory)
  cd $T
  \#(hidingViews)
  mount -t tmpfs t over
  S="$T/a store, mine"
  C="$S/containers/com.example.Notes"
  export SANDBOXFS_SETTINGS=$T/settings
  O='store="\#(directory)/a store, mine"'
  FSTAB="store=$T/a\\040store\\,\\040mine"
  # Where root's key is looked for, if nothing is in the environment.
  mkdir over/upper3 over/work3
  mount -t overlay -o lowerdir=/etc,upperdir=over/upper3,workdir=over/work3 o /etc
  mkdir -p /etc/sandboxfs; cp -p settings/store.key /etc/sandboxfs
  # mount(8) wants to know an ordinary user by name.
  { cat /etc/passwd; echo "ann:x:\#(owner ?? 1234):\#(owner ?? 1234)::/:/bin/sh"; } > over/passwd
  mount --bind over/passwd /etc/passwd
  mkdir over/upper over/work
  mount -t overlay -o lowerdir=/usr/sbin,upperdir=over/upper,workdir=over/work o /usr/sbin
  mkdir over/upper2 over/work2
  mount -t overlay -o lowerdir=/var/lib,upperdir=over/upper2,workdir=over/work2 o /var/lib
  for link in mount.sandboxfs mount.fuse.sandboxfs umount.sandboxfs umount.fuse.sandboxfs; do
    ln -s $T/bin/mount.sandboxfs /usr/sbin/$link
  done
  short() { sed -e "s|$T/||g" -e 's/[0-9][0-9]* (/PID (/g'; }
  try() { "$@" 2>&1 | short; echo "= ${PIPESTATUS[0]}"; }
  views() {
    sed -n 's/^[0-9]* [0-9]* [0-9:]* [^ ]* \([^ ]*\) \([^ ]*\) .*- fuse.sandboxfs .*/\1 \2/p' \
      /proc/self/mountinfo | grep "^$T/" |
      sed -e 's/,nosuid,nodev//' -e 's/,relatime//' -e 's/,noatime//' -e 's/\\040/ /' | short
  }
  daemons() {
    for daemon in $(pgrep -x sandboxfs-view) $(pgrep -x sandboxfs-work); do
      [ "$(readlink /proc/$daemon/fd/3)" != "$C" ] || echo $daemon
    done
  }
  # Each of them would put another in the place of one that is killed, if it could.
  dies() {
    for _ in 1 2 3; do for daemon in $(daemons); do kill -STOP $daemon; done; done
    for daemon in $(daemons); do kill -9 $daemon; done
    for _ in $(seq 500); do as stat $1 > /dev/null 2>&1 || return 0; sleep 0.01; done
    echo "$1 lives on"
  }
  is() { for _ in $(seq 500); do [ "$(cat /proc/$1/comm)" != $2 ] || return 0; sleep 0.01; done; }
  printf '#!/bin/sh\nexec setpriv --reuid \#(owner ?? 0) --regid \#(owner ?? 0) --clear-groups "$@"\n' \
    > over/as
  chmod 755 over/as
  PATH=$T/over:$PATH
  fstab() {
    printf '%s %s sandboxfs %s 0 0\n' com.example.Notes $T/m "$1,$FSTAB" \
      com.example.Notes $T/n "$1,$FSTAB" > fstab
    mount --bind fstab /etc/fstab
  }

  """#
}

/// Runs `body` with a function that runs a script among the helpers, and returns what it said.
func withHelpers(owner: UInt32?, _ body: ((String) throws -> String) throws -> Void) throws {
  try withTemporaryDirectory { directory in
    let made = try run(
      "sh",
      [
        "-ec",
        """
        cd \(directory)
        umask 022
        mkdir -p bin over m n Notes.app
        touch fstab
        cp \(BuiltPrograms.path("mount.sandboxfs")) \(BuiltPrograms.path("sandboxfs-view")) bin
        cp \(BuiltPrograms.path("sandboxfs")) bin
        cp /bin/true Notes.app/Notes
        cat > Notes.app/Info.plist <<END
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0"><dict>
        <key>CFBundleIdentifier</key><string>com.example.Notes</string>
        <key>CFBundleExecutable</key><string>Notes</string>
        </dict></plist>
        END
        """,
      ])
    try #require(made.status == 0, "\(made.errorText)")
    try install(in: directory, owner: owner)
    try body { script in
      let outcome = try run(
        "unshare",
        [
          "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc",
          "bash",
        ],
        input: Array((prelude(directory, owner: owner) + script).utf8))
      #expect(outcome.errorText == "")
      return outcome.text
    }
  }
}

/// Installs the app into a store that is made for it, and gives it to its owner.
private func install(in directory: String, owner: UInt32?) throws {
  let place = directory + "/a store, mine"
  var location = StoreLocation(store: Array(place.utf8))
  // The host's register is none of a test's business; the helpers find one of their own.
  location.uidRegister = Array((directory + "/uids").utf8)
  location.settings = [Array((directory + "/settings").utf8)]
  let store = try Store.openOrCreate(location)
  _ = try store.install(from: Array((directory + "/Notes.app").utf8))
  guard let owner else { return }
  // As if that user had installed it.
  let given = try run(
    "sh",
    [
      "-ec",
      """
      cd '\(place)'
      sed -i -E '/owner[UG]ID/{n;s/[0-9]+/\(owner)/}' containers/*/container.plist
      chown -hR \(owner):\(owner) . ../m ../n ../settings
      """,
    ])
  try #require(given.status == 0, "\(given.errorText)")
}
