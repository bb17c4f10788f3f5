// What follows from an option list: who asks, what comes of each word, what is said of the others.

import Arguments
import Testing

@Suite struct MountOptionsTests {
  struct Row: CustomTestStringConvertible {
    let list: String
    var by: MountRequester = .root
    var on: Set<MountSwitch> = []
    var store: String?
    var isRemount = false
    var testDescription: String { list }
  }

  @Test(
    "a list is followed",
    arguments: [
      Row(list: ""),
      Row(list: ",,rw,,"),
      Row(list: "ro", on: [.readOnly]),
      Row(list: "ro,rw"),
      Row(list: "rw,ro", on: [.readOnly]),
      Row(list: "noatime,nodiratime", on: [.noAccessTime, .noDirectoryAccessTime]),
      Row(list: "noatime,strictatime,relatime"),
      Row(list: "sync,dirsync,async", on: [.synchronousDirectories]),
      Row(list: "supervisor,nosupervisor", on: [.unsupervised]),
      Row(list: "nosupervisor,supervisor", on: []),
      Row(list: "xattr=off,writeback=off", on: [.noExtendedAttributes, .noWriteback]),
      Row(list: "xattr=off,xattr=on,writeback=on", on: []),
      Row(list: "nosymfollow,lazytime", on: [.noSymlinkFollowing, .lazyTimes]),
      Row(list: "noexec,nosuid,nodev,users", on: [.noExec]),
      Row(list: "rw,nosuid,nodev,,user,exec,store=/srv/My Apps", store: "/srv/My Apps"),
      Row(list: "exec,noexec", on: [.noExec]),
      Row(list: "nofail,_netdev,auto,noauto,user=ann,owner,group,comment=a=b"),
      Row(list: #"x-systemd.automount,X-mount.mkdir=0755,x-foo="a,b",ro"#, on: [.readOnly]),
      Row(
        list: "rw,nosuid,nodev,noexec,relatime,remount,noatime,user_id=0,group_id=0,"
          + "default_permissions,allow_other,fsname=a,subtype=b,rootmode=40000,blksize=4096",
        on: [.noExec, .noAccessTime], isRemount: true),
      Row(list: "remount,user,exec,ro", on: [.readOnly], isRemount: true),
      Row(list: "user,exec,noatime,ro", by: .user, on: [.noAccessTime, .readOnly]),
      Row(list: "exec", by: .user),
      Row(list: #"store=/a\,b\\c\d"#, store: #"/a,b\c\d"#),
      Row(list: #"store="/a,b",ro"#, on: [.readOnly], store: "/a,b"),
      Row(list: #"store="/a\"b=c"# + "\"", store: #"/a"b=c"#),
      Row(list: "store=/a,store=/b", store: "/b"),
      Row(list: "store=", store: ""),
    ])
  func followed(_ row: Row) throws {
    let options = try MountOptions([Array(row.list.utf8)], by: row.by)
    #expect(options.switches == row.on)
    #expect(options.store == row.store.map { Array($0.utf8) })
    #expect(options.isRemount == row.isRemount)
  }

  struct Refusal: CustomTestStringConvertible {
    let list: String
    var by: MountRequester = .root
    var isSloppy = false
    let message: String
    var testDescription: String { list }
  }

  @Test(
    "a word that cannot be followed is named, with what to do",
    arguments: [
      Refusal(list: "suid", message: "option 'suid': views are always nosuid; leave it out"),
      Refusal(list: "ro,dev", message: "option 'dev': views are always nodev; leave it out"),
      Refusal(
        list: "exec",
        message:
          "option 'exec': root's views are noexec but for the bundle, which is executable without "
          + "it; leave it out"),
      Refusal(
        list: "uid=1000",
        message:
          "option 'uid': what a container holds belongs to its own user; 'sandboxfs install "
          + "--owner USER' chooses whose"),
      Refusal(
        list: "umask=022", isSloppy: true,
        message: "option 'umask': modes are shown as they are stored; use chmod in the view"),
      Refusal(list: "noatme", message: "option 'noatme' is not known; did you mean 'noatime'?"),
      Refusal(
        list: "frobnicate=1",
        message: "option 'frobnicate' is not known; 'man mount.sandboxfs' lists those that are"),
      Refusal(list: "ro=1", message: "option 'ro': it takes no value"),
      Refusal(
        list: "xattr=no",
        message: "option 'xattr': it is 'xattr=on', as without it, or 'xattr=off'"),
      Refusal(list: "store", message: "option 'store': it needs a value: 'store=...'"),
      Refusal(
        list: "=1", message: "option '' is not known; 'man mount.sandboxfs' lists those that are"),
      Refusal(
        list: #"store="/a,ro"#,
        message: #"options 'store="/a,ro': a double quote is never closed"#),
      Refusal(
        list: "nosymfollow", by: .user,
        message:
          "option 'nosymfollow': only root's mounts can have it: fusermount3 cannot give it"),
      Refusal(
        list: #"context="a,b""#,
        message: "option 'context': a view takes no security label at its mount; leave it out"),
    ])
  func refused(_ row: Refusal) {
    do throws(MountOptionError) {
      _ = try MountOptions([Array(row.list.utf8)], by: row.by, isSloppy: row.isSloppy)
      Issue.record("'\(row.list)' was taken")
    } catch {
      #expect(error.message == row.message)
    }
  }

  struct Remount: CustomTestStringConvertible {
    let list: String
    let now: String
    var change: String?
    var testDescription: String { "\(list) of \(now)" }
  }

  @Test(
    "a remount finds what differs from the mount, beside ro and rw",
    arguments: [
      Remount(list: "remount,ro", now: "rw,nosuid,nodev,noexec,relatime"),
      Remount(
        list: "ro,nosuid,nodev,noexec,relatime,remount,user_id=0",
        now: "rw,nosuid,nodev,noexec,relatime,rw,user_id=0"),
      Remount(list: "remount,rw,defaults,nofail", now: "ro,nosuid,nodev,noexec,relatime"),
      Remount(list: "remount,ro,noatime", now: "rw,noexec,relatime", change: "noatime"),
      Remount(list: "remount,ro,noatime", now: "rw,noexec,noatime"),
      Remount(list: "remount,ro,async", now: "rw,noexec,relatime,sync", change: "async"),
      Remount(list: "remount,relatime", now: "rw,noexec,noatime", change: "relatime"),
      Remount(list: "remount,strictatime", now: "rw,noexec"),
      Remount(
        list: "rw,nosuid,nodev,relatime,remount,user_id=0", now: "rw,nosuid,nodev,noexec,relatime",
        change: "exec"),
      Remount(
        list: "rw,nodev,noexec,relatime,remount,user_id=0", now: "rw,nosuid,nodev,noexec,relatime",
        change: "suid"),
      Remount(list: "remount,user,exec,ro", now: "rw,nosuid,nodev,noexec,relatime"),
    ])
  func remounts(_ row: Remount) throws {
    let options = try MountOptions([Array(row.list.utf8)], by: .root)
    #expect(
      options.change(from: row.now.split(separator: ",").map { Array($0.utf8) }) == row.change)
  }

  @Test("with -s what is not known is passed over")
  func sloppy() throws {
    let options = try MountOptions(
      [Array("frobnicate=1,noatme,ro".utf8)], by: .root, isSloppy: true)
    #expect(options.switches == [.readOnly])
  }

  @Test("several lists are one list")
  func lists() throws {
    let options = try MountOptions([Array("ro".utf8), Array("rw,sync".utf8)], by: .root)
    #expect(options.switches == [.synchronous])
  }

  @Test("no word is in the table twice")
  func unique() {
    let names = MountOption.all.map(\.name)
    #expect(names.count == Set(names).count)
  }
}
