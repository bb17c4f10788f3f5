// A restore into a container whose view is mounted: programs see old files or new ones, and what
// can't be brought back changes nothing.

import Glibc
import Testing

@Suite("A restore into a mounted container", .enabled(if: geteuid() == 0, "needs root"))
struct RestoreMountedTests {
  /// A backup with some files, which are changed afterwards.
  private static let prelude = """
    cd $C/data; mkdir -p Documents/d/e; echo one > Documents/f; echo two > Documents/d/e/g
    ln -s f Documents/l; chmod 640 Documents/f; setfattr -n user.note -v value Documents/f
    touch -d 2001-02-03T04:05:06 Documents/f; echo gone > Documents/gone
    chown -hR $(stat -c %u Documents) Documents
    cd "$PLACE"; sandboxfs backup $APP backups > /dev/null
    cd $C/data; echo changed > Documents/f; rm -r Documents/d Documents/gone; echo n > Documents/new
    mkdir -p Library/Caches/c; echo c > Library/Caches/c/x; cd "$PLACE"
    sandboxfs mount $APP view; cat view/Documents/f > /dev/null; ls -R view > /dev/null
    of_app() {
      find $C/data -name '.*.new'
      stat -c %u $C/data $C/data/Documents/{f,l,gone} | uniq | wc -l
    }

    """

  @Test("merges, through the view, and leaves what is open and what is new")
  func merge() throws {
    let said = try shell(
      Self.prelude + """
        exec 5< view/Documents/f; exec 6> view/tmp/used
        sandboxfs restore backups $APP
        cat view/Documents/f view/Documents/d/e/g view/Documents/gone view/Documents/new <&5
        cat <&5; readlink view/Documents/l
        getfattr --only-values -n user.note view/Documents/f; echo
        stat -c '%a %y' view/Documents/f | cut -c 1-23
        ls view/Library/Caches view/tmp; of_app
        sandboxfs quota --json $APP > /dev/null; sandboxfs check $APP | tail -n 1
        exec 5<&- 6>&-; sandboxfs unmount view; ls "$SANDBOXFS_STORE/staging"
        """)
    #expect(
      said == """
        restored 11 entries of com.example.Notes (13 B)
        one
        two
        gone
        n
        changed
        f
        value
        640 2001-02-03 04:05:06
        view/Library/Caches:
        CACHEDIR.TAG
        c

        view/tmp:
        used
        1
        everything is right

        """, "\(said)")
  }

  @Test("brings back single paths and nothing else")
  func single() throws {
    let said = try shell(
      Self.prelude + """
        sandboxfs restore backups $APP Documents/d /Documents/gone
        cat view/Documents/f view/Documents/d/e/g view/Documents/gone; ls view/Library/Caches
        sandboxfs restore --replace backups $APP; echo $?; of_app
        sandboxfs restore backups $APP Documents/none; echo $?
        sandboxfs unmount view
        """)
    #expect(
      said
        == """
        restored 4 entries of com.example.Notes (9 B)
        changed
        two
        gone
        CACHEDIR.TAG
        c
        sandboxfs restore: com.example.Notes is mounted, and --replace exchanges all that it has: \
        unmount it first
        1
        1
        sandboxfs restore: backups/UDID: it holds no Documents/none of the app
        1

        """.replacing("UDID", with: udid(in: said)), "\(said)")
  }

  private func udid(in said: String) -> String {
    said.split(separator: "backups/").last.map { String($0.prefix { $0 != ":" }) } ?? ""
  }

  @Test("changes nothing where rules or limits refuse a file, and leaves out what is in the way")
  func refused() throws {
    let said = try shell(
      Self.prelude + """
        printf '/Documents/d -write\n' > rules; sandboxfs policy set $APP rules > /dev/null
        sandboxfs restore backups $APP; echo $?; cat view/Documents/f; ls view/Documents
        sandboxfs policy unset $APP > /dev/null
        # More than are there, and less than come.
        sandboxfs quota --files 7 $APP > /dev/null; sandboxfs restore backups $APP; echo $?
        cat view/Documents/f; ls -A view/Documents; sandboxfs quota --files none $APP > /dev/null
        sandboxfs quota --set 48K $APP > /dev/null
        sandboxfs restore backups $APP 2>&1 | sed 's/[0-9.]* KiB/N KiB/g'
        cat view/Documents/f; sandboxfs quota --set none $APP > /dev/null
        rm view/Documents/f view/Documents/l; mkdir view/Documents/f; echo x > view/Documents/d
        ln -s /etc view/Documents/l
        sandboxfs restore backups $APP; echo $?; ls -F view/Documents; readlink view/Documents/l
        cat view/Documents/gone; sandboxfs check $APP > /dev/null && echo sound; of_app
        sandboxfs unmount view
        """)
    #expect(
      said == """
        sandboxfs restore: com.example.Notes is mounted, and its rules \
        (com.example.Notes/profile:1) do not let /Documents/d be changed: unmount it first
        1
        changed
        f
        l
        new
        sandboxfs restore: com.example.Notes may need room for 6 files meanwhile, and has it \
        for 1: unmount it first
        1
        changed
        f
        l
        new
        sandboxfs restore: com.example.Notes may need N KiB meanwhile, and has N KiB free: \
        unmount it first
        changed
        sandboxfs restore: Documents/f: a directory is in its place
        sandboxfs restore: Documents/d: what is there is no directory
        restored 9 entries of com.example.Notes (13 B)
        1
        d
        f/
        gone
        l@
        new
        f
        gone
        sound
        3

        """, "\(said)")
  }

  @Test("puts back what was there when a file can't be replaced")
  func undone() throws {
    let said = try shell(
      """
      cd $C/data/Documents; for n in 0 1 2 3 4 5 6 7 8 9; do echo old > $n; done
      mkdir d s; echo d > d/f; echo s > s/f; chown -R $(stat -c %u .) .
      cd "$PLACE"; sandboxfs backup $APP backups > /dev/null
      cd $C/data/Documents; for n in *[0-9]; do echo new > $n; done; rm -r d
      echo new > s/f; chattr +i s 2> /dev/null || echo unsupported
      cd "$PLACE"; sandboxfs mount $APP view
      sandboxfs quota --set 1G $APP > /dev/null
      sandboxfs restore backups $APP; echo $?; cat view/Documents/[0-9] view/Documents/s/f
      ls view/Documents
      sandboxfs check $APP | tail -n 1
      chattr -i $C/data/Documents/s 2> /dev/null
      sandboxfs restore backups $APP; cat view/Documents/[0-9] | uniq; cat view/Documents/d/f
      sandboxfs check $APP | tail -n 1; sandboxfs unmount view
      """)
    if said.hasPrefix("unsupported") { return }
    #expect(
      said == """
        sandboxfs restore: com.example.Notes: Operation not permitted; what was there before was \
        put back
        1
        \(String(repeating: "new\n", count: 11))0
        1
        2
        3
        4
        5
        6
        7
        8
        9
        s
        everything is right
        restored 19 entries of com.example.Notes (44 B)
        old
        d
        everything is right

        """, "\(said)")
  }
}
