// The mount helper as people meet it: through the real mount(8), umount(8) and findmnt(8).
//
// Each row runs in a mount namespace of its own, where the helpers lie in /sbin.

import Glibc
import TestSupport
import Testing

@Suite(.serialized) struct MountHelperTests {
  struct Row: CustomTestStringConvertible {
    let label: String
    let script: String
    let said: String
    var testDescription: String { label }

    init(_ label: String, _ script: String, said: String) {
      self.label = label
      self.script = script
      self.said = said
    }
  }

  @Test("root mounts and unmounts with mount(8) and umount(8)", arguments: rootRows)
  func root(_ row: Row) throws {
    try withHelpers(owner: nil) { (said) throws in
      let lines = try said(row.script)
      #expect(lines == row.said)
    }
  }

  @Test(
    "an ordinary user mounts and unmounts what fstab lets them",
    .enabled(if: FuseDevice.obstacle == nil, "\(FuseDevice.obstacle ?? "")"), arguments: userRows)
  func user(_ row: Row) throws {
    try FuseDevice.withOpenToUsers {
      try withHelpers(owner: 1234) { (said) throws in
        let lines = try said(row.script)
        #expect(lines == row.said)
      }
    }
  }

  @Test("the units of systemd-fstab-generator mount what fstab says")
  func systemd() throws {
    let generator = "/usr/lib/systemd/system-generators/systemd-fstab-generator"
    try #require(access(generator, X_OK) == 0, "package systemd is missing")
    try withHelpers(owner: nil) { (said) throws in
      let script = """
        mkdir units
        cat > fstab <<END
        com.example.Notes $T/m sandboxfs defaults,nofail,x-systemd.automount,$FSTAB 0 0
        END
        SYSTEMD_FSTAB=$T/fstab SYSTEMD_PROC_CMDLINE= \(generator) units units units
        unit=$(ls units/*.mount)
        systemd-analyze verify $unit units/*.automount
        value() { sed -n "s/^$1=//p" $unit; }
        # As systemd runs it: by these words, with no environment.
        try env -i /bin/mount "$(value What)" "$(value Where)" -t "$(value Type)" -o "$(value Options)"
        views
        try env -i /bin/umount "$(value Where)" -c
        views
        """
      let lines = try said(script)
      #expect(lines == "= 0\nm rw,noexec\nm/Notes.app ro\n= 0\n")
    }
  }

  @Test("a service with a user of its own works in the view that fstab mounts for it")
  func service() throws {
    try withHelpers(owner: nil) { (said) throws in
      let script = """
        cp -r Notes.app Server.app
        sed -i s/example.Notes/example.Server/ Server.app/Info.plist
        sandboxfs() { bin/sandboxfs --store "$S" "$@"; }
        sandboxfs install --owner ann Server.app > installed
        echo "com.example.Server $T/m sandboxfs nofail,$FSTAB 0 0" > fstab
        mount --bind fstab /etc/fstab
        cat > server.service <<END
        [Unit]
        RequiresMountsFor=$T/m
        [Service]
        User=ann
        WorkingDirectory=$T/m/Documents
        ExecStart=/bin/true
        END
        try systemd-analyze verify --man=no ./server.service
        try mount m
        # As the service's processes: the user's uid, and no capability.
        service() { (cd m/Documents && setpriv --reuid $1 --regid $1 --clear-groups sh -c "$2"); }
        service 1234 'echo data > state && stat -c "%u %a" state && touch ../new 2> /dev/null || echo refused'
        service 1235 'cat state' 2> /dev/null || echo others: refused
        umount m
        stat -c %u "$S/containers/com.example.Server/data/Documents/state"
        """
      let lines = try said(script)
      #expect(lines == "= 0\n= 0\n1234 644\nrefused\nothers: refused\n1234\n")
    }
  }

  private static let rootRows = [
    Row(
      "plain",
      """
      try mount -t sandboxfs com.example.Notes m -o "$O"
      views
      m/Notes.app/Notes && echo runs
      try umount m
      views
      """, said: "= 0\nm rw,noexec\nm/Notes.app ro\nruns\n= 0\n"),
    Row(
      "by the container's path, with the other type, read-only",
      """
      try mount -t fuse.sandboxfs "$C" "$T/m" -o ro
      views
      findmnt -n -o SOURCE m | short
      try umount m
      """,
      said: "= 0\nm ro,noexec\nm/Notes.app ro\na store, mine/containers/com.example.Notes\n= 0\n"),
    Row(
      "by source",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      try umount com.example.Notes
      views
      """, said: "= 0\n"),
    Row(
      "lazily, by force, with all below",
      """
      for way in -l -f -R '-R -l' '-n -v'; do
        mount -t sandboxfs com.example.Notes m -o "$O"
        try umount $way m
        views
      done
      """, said: "= 0\n= 0\n= 0\n= 0\numount.sandboxfs: m is unmounted\n= 0\n"),
    Row(
      "at the place of the bundle",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      try umount m/Notes.app
      views
      """, said: "= 0\n"),
    Row(
      "by type",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      mount -t sandboxfs com.example.Notes n -o "$O"
      try umount -a -t fuse.sandboxfs
      views
      """, said: "= 0\n"),
    Row(
      "by type, though one of them is dead",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      dies m
      try umount -a -t fuse.sandboxfs
      views
      """, said: "= 0\n"),
    Row(
      "at the place of the bundle of one that is dead, and of one that is silent",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      dies m
      try umount m/Notes.app
      mount -t sandboxfs com.example.Notes m -o "$O"
      for daemon in $(daemons); do kill -STOP $daemon; done
      # umount(8) would look for itself, and wait.
      try umount.sandboxfs $T/m/Notes.app 2>&1 | sed 's/;.*//'
      for daemon in $(daemons); do kill -CONT $daemon; done
      try umount m
      """,
      said:
        "= 0\numount.sandboxfs: m does not answer: its daemon is stopped or waits for the disk\n"
        + "= 32\n= 0\n"),
    Row(
      "busy",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      sleep 60 < m/Notes.app/Notes & user=$!
      try umount m
      try umount -R m
      views
      kill $user; wait $user || true
      (cd m/Documents; exec sleep 60) & user=$!
      is $user sleep
      try umount m
      views
      try umount -r m
      views
      kill $user; wait $user || true
      try umount m
      """,
      said: """
        umount.sandboxfs: m is busy: in use by PID (sleep); end them, or unmount it lazily (-l)
        = 32
        umount.fuse.sandboxfs: m is busy: in use by PID (sleep); end them, or unmount it lazily (-l)
        = 32
        m rw,noexec
        m/Notes.app ro
        umount.sandboxfs: m is busy: in use by PID (sleep); end them, or unmount it lazily (-l)
        = 32
        m rw,noexec
        m/Notes.app ro
        umount.sandboxfs: m is busy: in use by PID (sleep); end them, or unmount it lazily (-l); \
        it is read-only now
        = 32
        m ro,noexec
        m/Notes.app ro
        = 0

        """),
    Row(
      "found by findmnt",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      findmnt -n -r -t fuse.sandboxfs -o SOURCE,FSTYPE,TARGET | grep "$T" | short
      umount m
      """,
      said: """
        com.example.Notes fuse.sandboxfs m
        com.example.Notes[/Notes.app] fuse.sandboxfs m/Notes.app

        """),
    Row(
      "remount",
      """
      mount -t sandboxfs com.example.Notes m -o "$O,noatime"
      try mount -o remount,ro m
      views
      try mount -o remount,rw m
      views
      try mount -o remount,ro,atime m
      try mount -o remount,exec m
      try mount -o remount,suid m
      try mount -o remount,nosymfollow m
      views
      try umount m
      """,
      said: """
        = 0
        m ro,noexec
        m/Notes.app ro
        = 0
        m rw,noexec
        m/Notes.app ro
        mount.fuse.sandboxfs: option 'atime': a remount changes 'ro' and 'rw' only; \
        unmount the view, and mount it again
        = 1
        mount.fuse.sandboxfs: option 'exec': a remount changes 'ro' and 'rw' only; \
        unmount the view, and mount it again
        = 1
        mount.fuse.sandboxfs: option 'suid': a remount changes 'ro' and 'rw' only; \
        unmount the view, and mount it again
        = 1
        mount.fuse.sandboxfs: option 'nosymfollow': a remount changes 'ro' and 'rw' only; \
        unmount the view, and mount it again
        = 1
        m rw,noexec
        m/Notes.app ro
        = 0

        """),
    Row(
      "from fstab, twice, and a second place",
      """
      mkdir "my view"
      cat > fstab <<END
      com.example.Notes $T/m sandboxfs defaults,nofail,_netdev,x-systemd.automount,$FSTAB 0 0
      com.example.Notes $T/my\\040view sandboxfs user,exec,noauto,ro,$FSTAB 0 0
      END
      try mount -a -T fstab
      try mount -a -T fstab
      try mount -T fstab "$T/my view"
      views
      mount --bind fstab /etc/fstab
      try mount -o remount,rw "my view"
      views
      try umount "my view"
      try umount m
      """,
      said: """
        = 0
        = 0
        = 0
        m rw,noexec
        m/Notes.app ro
        my view ro,noexec
        my view/Notes.app ro
        = 0
        m rw,noexec
        m/Notes.app ro
        my view rw,noexec
        my view/Notes.app ro
        = 0
        = 0

        """),
    Row(
      "fake",
      """
      try mount -f -t sandboxfs com.example.Notes m -o "$O"
      try mount -f -t sandboxfs com.example.Nots m -o "$O" | sed 's/:.*//'
      try mount -f -t sandboxfs com.example.Notes fstab -o "$O"
      views
      """,
      said: """
        = 0
        mount.sandboxfs
        = 32
        mount.sandboxfs: mount point fstab: Not a directory
        = 32

        """),
    Row(
      "refused options",
      """
      try mount -t sandboxfs com.example.Notes m -o "$O,noatme"
      try mount -s -t sandboxfs com.example.Notes m -o "$O,noatme"
      try umount m
      try mount -t sandboxfs com.example.Notes m -o "$O,uid=3"
      try mount.sandboxfs com.example.Notes m -o "$O,suid"
      try mount.sandboxfs com.example.Notes m -t ext4
      try mount.sandboxfs com.example.Notes
      """,
      said: """
        mount.sandboxfs: option 'noatme' is not known; did you mean 'noatime'?
        = 1
        = 0
        = 0
        mount.sandboxfs: option 'uid': what a container holds belongs to its own user; \
        'sandboxfs install --owner USER' chooses whose
        = 1
        mount.sandboxfs: option 'suid': views are always nosuid; leave it out
        = 1
        mount.sandboxfs: type 'ext4' is not ours; it is 'sandboxfs' or 'fuse.sandboxfs'
        = 1
        mount.sandboxfs: TARGET is missing; try 'mount.sandboxfs --help'
        = 1

        """),
    Row(
      "in another namespace",
      """
      unshare --mount sleep 60 & other=$!
      is $other sleep
      try mount.sandboxfs com.example.Notes $T/m -N $other -o "$O"
      views
      nsenter --mount=/proc/$other/ns/mnt findmnt -n -o FSTYPE $T/m
      try umount.sandboxfs $T/m -N /proc/$other/ns/mnt
      try umount.sandboxfs m
      kill $other; wait $other || true
      """,
      said: """
        = 0
        fuse.sandboxfs
        = 0
        umount.sandboxfs: no view is mounted at m
        = 32

        """),
    Row(
      "without an environment, and with every descriptor closed",
      """
      try env -i /bin/mount -t sandboxfs com.example.Notes m -o "$O"
      try sh -c 'exec env -i /bin/umount m <&- >&- 2>&-'
      views
      """, said: "= 0\n= 0\n"),
    Row(
      "where nothing can be noted",
      """
      mount -t tmpfs t /run && mkdir -p /run/mount && mount -o remount,ro /run
      try mount -t sandboxfs com.example.Notes m -o "$O"
      views
      try umount -R m
      views
      """,
      said: """
        mount.sandboxfs: m is mounted, but could not be noted for umount(8) in /run/mount/utab, so \
        unmount it with 'umount -R': Permission denied
        = 16
        m rw,noexec
        m/Notes.app ro
        = 0

        """),
    Row(
      "a daemon that was killed",
      """
      mount -t sandboxfs com.example.Notes m -o "$O"
      dies m
      try mount -t sandboxfs com.example.Notes m -o "$O"
      views
      dies m
      try umount m
      views
      """, said: "= 0\nm rw,noexec\nm/Notes.app ro\n= 0\n"),
  ]

  private static let userRows = [
    Row(
      "user,exec",
      """
      fstab user,exec,noauto
      try as mount $T/m
      views
      as m/Notes.app/Notes && echo runs
      as sh -c 'cp /bin/true m/Documents/x && m/Documents/x' 2> /dev/null || echo refused
      try as umount $T/m
      views
      """, said: "= 0\nm rw\nruns\nrefused\n= 0\n"),
    Row(
      "user without exec",
      """
      fstab user,noauto,ro,noatime
      try as mount $T/m
      views
      as m/Notes.app/Notes 2> /dev/null || echo refused
      as touch m/Documents/x 2> /dev/null || echo refused
      try as umount -l $T/m
      views
      """, said: "= 0\nm ro,noexec\nrefused\nrefused\n= 0\n"),
    Row(
      "one place at a time",
      """
      fstab user,exec,noauto
      as mount $T/m
      try as mount $T/n
      try as mount $T/m
      try umount m
      try as mount $T/n
      try as umount $T/n
      """,
      said: """
        mount.sandboxfs: com.example.Notes is already mounted at m, and an ordinary user's view \
        has one place: unmount it first
        = 32
        mount.sandboxfs: com.example.Notes is already mounted at m
        = 32
        = 0
        = 0
        = 0

        """),
    Row(
      "busy",
      """
      fstab user,exec,noauto
      as mount $T/m
      as sh -c "exec sleep 60 < m/Notes.app/Notes" & user=$!
      is $user sleep
      try as umount $T/m
      kill $user; wait $user || true
      try as umount $T/m
      views
      """,
      said: """
        umount.fuse.sandboxfs: fusermount3: failed to unmount m: Device or resource busy
        = 32
        = 0

        """),
    Row(
      "while somebody who can't be seen looks at it for a moment",
      """
      fstab user,exec,noauto
      as mount $T/m
      mkfifo looks
      python3 -c 'import os, time
      place = os.open("m", os.O_PATH)
      open("looks", "w").close()
      time.sleep(0.2)' &
      read -r _ < looks
      try as umount $T/m
      wait
      views
      """, said: "= 0\n"),
    Row(
      "a directory that is another's",
      """
      fstab user,exec,noauto
      chown 0:0 m
      try as mount $T/m
      views
      """,
      said: """
        mount.sandboxfs: cannot mount the view: Operation not permitted (fusermount3: user has no \
        write access to mountpoint m)
        = 32

        """),
    Row(
      "what only root's mounts have",
      """
      fstab user,exec,noauto,nosymfollow
      try as mount $T/m
      """,
      said: """
        mount.sandboxfs: option 'nosymfollow': only root's mounts can have it: fusermount3 cannot \
        give it
        = 1

        """),
    Row(
      "a daemon that was killed",
      """
      fstab user,exec,noauto
      as mount $T/m
      dies m
      try as mount $T/m
      views
      try as umount $T/m
      views
      """, said: "= 0\nm rw\n= 0\n"),
  ]
}
