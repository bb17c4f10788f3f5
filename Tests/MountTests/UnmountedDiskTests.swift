// What is unmounted is on the disk, as for a disk.

import Glibc
import Testing

@Suite(
  "An unmounted view",
  .enabled(if: geteuid() == 0 && access("/dev/loop-control", F_OK) == 0, "needs loop devices"))
struct UnmountedDiskTests {
  @Test(
    "has all that was written on the disk, though nobody called fsync, when the command returns",
    arguments: ["umount_sandboxfs", "sandboxfs unmount"])
  func synchronized(_ command: String) throws {
    // The ioctl is EXT4_IOC_SHUTDOWN: nothing more reaches the disk, the journal neither.
    let said = try shell(
      #"""
      umount_sandboxfs() (exec -a umount.sandboxfs "$(command -v mount.sandboxfs)" "$@")
      truncate -s 64M image && mkfs.ext4 -q -F image && mkdir disk && mount -o loop image disk
      export SANDBOXFS_STORE=$PLACE/disk
      sandboxfs install Notes.app > /dev/null && sync -f disk
      sandboxfs mount $APP view
      seq 100000 > view/Documents/numbers
      \#(command) view
      python3 -c 'import fcntl, os, struct
      fcntl.ioctl(os.open("disk", os.O_RDONLY), 0x8004587d, struct.pack("I", 2))'
      umount disk && mount -o loop image disk
      seq 100000 | cmp - disk/containers/$APP/data/Documents/numbers && echo the same
      umount disk
      """#.replacing("\n      fcntl", with: "\nfcntl"))
    #expect(said == "the same\n")
  }
}
