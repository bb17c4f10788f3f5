// What commands have said to be done is so after a crash of the machine, and what they were in the
// middle of is there as a whole or not at all.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite(
  "After a crash of the machine",
  .enabled(
    if: geteuid() == 0 && access("/dev/loop-control", F_OK) == 0, "needs loop devices"))
struct PowerLossTests {
  /// How often the power fails twice, one time after the other.
  private static let rounds =
    ProcessInfo.processInfo.environment["SANDBOXFS_SOAK_CRASHES"].flatMap(Int.init) ?? 1

  @Test(
    "records, rules, grants, limits and backups are those that were said to be done",
    arguments: ["mkfs.ext4 -q -F", "mkfs.xfs -q"])
  func crash(make: String) throws {
    try withTemporaryDirectory { tools in
      try compileC("powerloss", to: tools + "/powerloss")
      for _ in 0..<Self.rounds {
        let script = Self.scene.replacing("MAKE", with: make).replacing("TOOLS", with: tools)
        let said = try shell(script)
        #expect(said == "", "\(said)")
      }
    }
  }

  /// Says what is not as it has to be.
  private static let scene = #"""
    export SANDBOXFS_STORE=$PWD/disk/store
    C=$SANDBOXFS_STORE/containers/$APP
    truncate -s 400M image && MAKE image && mkdir disk
    # What is lent is not in /tmp, which is the container's own.
    mount -t tmpfs none /mnt
    attach() { mount -o loop image disk || echo "the disk cannot be mounted"; }
    attach; sandboxfs install Notes.app > /dev/null; sandboxfs mount $APP view
    # What was done last of each kind: what is on its way comes before, in `begun`.
    did() { echo "$2" > done/$1; }
    # Nothing says that it was done after the power has failed, when nobody is there to say it: xfs
    # says of a directory that it is on the disk then, though it was cut off before.
    has_power() { touch disk/power; }
    step() {
      local kind=$1 n=$2
      shift 2
      echo $n > begun/$kind
      "$@" &> errors && has_power &>> errors && did $kind $n
    }
    rules() { echo "/Documents/n$1 hidden" | sandboxfs policy set $APP -; }
    lend() { mkdir -p /mnt/$1 && sandboxfs grant $APP /mnt/$1; }
    fill() { head -c 30000 /dev/urandom > view/Documents/f$1 && sync view/Documents/f$1; }
    work() {
      local n
      for n in $(seq $1 $(($1 + 999))); do
        step quota $n sandboxfs quota --set ${n}G $APP || return
        step rules $n rules $n || return
        step grants $n lend $n || return
        step files $n fill $n || return
        step backup $n sandboxfs backup $APP disk/backups || return
      done
    }
    number() { [ -e $1 ] && cat $1 || echo 0; }
    # A number that is there: the last that was done, or the one that was begun.
    whole() {
      [ "$2" = $(number done/$1) ] || [ "$2" = $(number begun/$1) ] ||
        echo "$1: $2, and not $(number done/$1) or $(number begun/$1)"
    }
    look() {
      sandboxfs list > /dev/null || echo 'the store cannot be read'
      whole quota $(sandboxfs quota --json $APP |
        sed -n 's/.*"byteLimit": \([0-9]*\).*/\1/p' | head -n 1 | sed 's/^$/0/' |
        awk '{ print $1 / 1073741824 }')
      whole rules $(sed -n 's,^/Documents/n\([0-9]*\) hidden$,\1,p' $C/profile 2> /dev/null |
        tail -n 1 | grep . || echo 0)
      whole grants $(sandboxfs grants $APP | grep -o '/mnt/[0-9]*' | sed 's,/mnt/,,' |
        sort -n | tail -n 1 | grep . || echo 0)
      whole files $(cd $C/data/Documents && ls | sed 's/f//' | sort -n | tail -n 1 | grep . ||
        echo 0)
      if [ $(number done/backup) -gt 0 ]; then
        sandboxfs backup verify disk/backups > lines 2>&1 || { echo 'the backup is not whole'
          tail -n 3 lines; }
      fi
    }
    mkdir done begun
    for round in 1 2; do
      work $((round * 1000)) & worker=$!
      eventually [ -e done/backup ]
      sleep $((RANDOM % 3)).$((RANDOM % 10))
      TOOLS/powerloss disk
      wait $worker
      umount -l view; eventually umount disk; attach
      look
      sandboxfs mount $APP view || echo 'the view cannot be mounted'
      sandboxfs check $APP > lines || { echo 'the books are wrong'; cat lines; }
      sandboxfs backup $APP disk/backups > lines 2>&1 || { echo 'no backup any more'; cat lines; }
      sandboxfs backup verify disk/backups > lines 2>&1 || { echo 'nor a whole one'; cat lines; }
      ls -A disk/backups | grep -v '^[0-9a-f]*\(.lock\)*$' && echo 'something is left there'
    done
    sandboxfs unmount view; eventually umount disk
    """#
}
