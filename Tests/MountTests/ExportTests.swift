// A container in one file comes out as it went in, and a file that anyone wrote does no harm.

import TestSupport
import Testing

@Suite struct ExportTests {
  /// All that there is to know about the files below a directory but their owners.
  private static let describe = """
    describe() {
      (cd $1 && find . -mindepth 1 ! -path './tmp*' ! -path './Notes.app*' \\
        -printf '%p %y %m %n %s %T@ %l\\n' | sort
        find Documents Library -type f ! -name 'CACHEDIR.TAG' -exec sha256sum {} + | sort
        getfattr -R -d . 2> /dev/null; du -s --block-size=1 Documents/sparse)
    }

    """

  @Test("a container goes through a file or a pipe and is the same, bundle and rules included")
  func roundTrip() throws {
    let said = try shell(
      Self.describe + """
        cd $C/data; mkdir -p Documents/d/empty Library/Caches/c; echo text > Documents/f
        chmod 640 Documents/f; ln Documents/f Documents/d/again; ln -s ../f Documents/d/link
        setfattr -n user.note -v value Documents/f; setfattr -n user.d -v '' Documents/d
        truncate -s 10M Documents/sparse
        echo middle | dd of=Documents/sparse bs=1 seek=5000000 conv=notrunc 2> /dev/null
        mkfifo Documents/pipe; echo x > $'Documents/\\xff\\n\\xfe'; echo x > Documents/größe
        : > Documents/0
        echo gone > tmp/gone; touch -d 2001-02-03T04:05:06.789 Documents/f Documents/d
        chown -R $(stat -c %u Documents) Documents Library
        cd "$PLACE"; echo '/Documents/x -backup' > rules
        sandboxfs policy set $APP rules > /dev/null
        describe $C/data > before
        sandboxfs export $APP a.tar.zst; ls -A | grep new; stat -c %a a.tar.zst
        sandboxfs export $APP - | cmp -s - a.tar.zst || zstd -t a.tar.zst 2> /dev/null
        sandboxfs export $APP - | cat > piped; zstd -tq piped || echo padded
        mkfifo fifo; cat fifo > came & sandboxfs export $APP fifo; wait; zstd -tq came || echo cut
        ln -s came link; sandboxfs export $APP link; sandboxfs du --html link $APP | head -n 0
        stat -c 'is a %F' fifo link
        sandboxfs import a.tar.zst; echo $?
        sandboxfs uninstall --yes $APP > /dev/null
        sandboxfs import a.tar.zst; describe $C/data | diff before -; ls $C/data/tmp $C/profile
        sandboxfs verify $APP | head -n 1
        sandboxfs uninstall --yes $APP > /dev/null
        sandboxfs import --rules - < a.tar.zst; describe $C/data | diff before -; cat $C/profile
        owner=$(stat -c %u $C/data)
        stat -c '%u %a' $C/data/Documents/f $C/data/Documents | sed "s/^$owner /owner /"
        sandboxfs uninstall --yes --keep-data $APP > /dev/null; sandboxfs export $APP d.tar.zst
        sandboxfs uninstall --yes $APP > /dev/null; sandboxfs import d.tar.zst
        describe $C/data | diff before -; sandboxfs list | tail -n 1
        """)
    #expect(said.contains("sandboxfs import: com.example.Notes is installed already"), "\(said)")
    let expected = [
      "600", "1", "its own rules are left out", "/Documents/x -backup", "owner 640", "owner 700",
      "data only", "is a fifo", "is a symbolic link",
    ]
    #expect(!said.contains("padded") && !said.contains("cut"), "\(said)")
    for text in expected { #expect(said.contains(text), "\(text): \(said)") }
    #expect(!said.contains("\n< ") && !said.contains("\n> "), "\(said)")
  }

  @Test("a backup with the bundle brings the whole app back, and writes a bundle once")
  func bundle() throws {
    let said = try shell(
      """
      echo text > $C/data/Documents/f
      sandboxfs backup --with-bundle $APP backups > /dev/null; first=$(stat -c %i backups/*.ipa)
      sandboxfs backup --with-bundle $APP backups > /dev/null
      [ "$first" = "$(stat -c %i backups/*.ipa)" ] || echo "written again"
      ls backups | grep -o 'com.example.Notes-1.0-.*ipa' | sed 's/-[0-9a-f]*[.]ipa/-DIGEST.ipa/'
      unzip -l backups/*.ipa | grep -o 'Payload/Notes.app/Notes'
      sandboxfs uninstall --yes $APP > /dev/null; sandboxfs install backups/*.ipa
      sandboxfs restore backups $APP > /dev/null; cat $C/data/Documents/f
      sandboxfs verify $APP; sandboxfs run $APP
      """)
    #expect(
      said == """
        com.example.Notes-1.0-DIGEST.ipa
        Payload/Notes.app/Notes
        installed com.example.Notes (Notes 1.0)
        text
        com.example.Notes: ad hoc
        1.0

        """, "\(said)")
  }

  /// A name of the case, what an archive holds (lines of Python with `add`), and what is said.
  private static let hostile: [(String, String, String)] = [
    ("absolute", "add('/etc/x', b'x')", "leads out of it"),
    ("dots", "add('data/../../x', b'x')", "leads out of it"),
    ("elsewhere", "add('lock', b'x')", "has no place in one"),
    ("device", "add('data/Documents/x', kind=CHRTYPE)", "is a device or a socket"),
    (
      "through a link",
      "add('data/Documents/l', kind=SYMTYPE, to='../tmp'); add('data/Documents/l/x', b'x')",
      "goes through what is no directory"
    ),
    (
      "link out of data", "add('data/Documents/x', kind=LNKTYPE, to='container.plist')",
      "is a link to what is not in its data"
    ),
    ("link to nothing", "add('data/Documents/x', kind=LNKTYPE, to='data/../x')", "leads out of it"),
    ("twice", "add('data/Documents/x', b'x'); add('data/Documents/x', b'y')", "is there twice"),
    ("structural", "add('data/Documents', b'x')", "Not a directory"),
    ("bundle in the way", "add('bundle/Other.app/x', b'x')", ""),
    (
      "link out", "add('data/Documents/x', kind=SYMTYPE, to='/etc/passwd')",
      "is left out: it is a link that leads out of the container"
    ),
    (
      "link out by way of links",
      "add('data/Documents/a', kind=SYMTYPE, to='.'); "
        + "add('data/Documents/x', kind=SYMTYPE, to='a/a/a/../../../..')",
      "Documents/x is left out: it is a link that leads out of the container"
    ),
    ("set-id", "add('data/Documents/x', b'x', mode=0o6755)", "its set-id bits are not taken over"),
  ]

  @Test("what a hostile file wants is refused or made harmless, and one line says so")
  func hostileFiles() throws {
    var script = """
      sandboxfs uninstall --yes --keep-data $APP > /dev/null; sandboxfs export $APP base.tar.zst
      sandboxfs uninstall --yes $APP > /dev/null
      zstd -dq base.tar.zst -o base.tar; tar xf base.tar container.plist
      cat > make.py <<'END'
      import io, sys
      from tarfile import TarFile, TarInfo, PAX_FORMAT, REGTYPE, CHRTYPE, SYMTYPE, LNKTYPE
      out = TarFile.open("h.tar", "w", format=PAX_FORMAT)
      def add(name, data=b"", kind=REGTYPE, to="", mode=0o644):
          info = TarInfo(name); info.type = kind; info.linkname = to; info.mode = mode
          info.size = len(data); out.addfile(info, io.BytesIO(data))
      if sys.argv[1] != "headless": add("container.plist", open("container.plist", "rb").read())
      exec(sys.stdin.read())
      out.close()
      END

      """
    for (name, lines, _) in Self.hostile {
      script += """
        echo "== \(name)"
        python3 make.py x <<'END'
        \(lines)
        END
        sandboxfs import h.tar
        find "$SANDBOXFS_STORE" -perm /6000 -o -type c
        ls "$SANDBOXFS_STORE/staging"; sandboxfs uninstall --yes $APP > /dev/null 2>&1

        """
    }
    script += """
      echo "== what it lends itself"
      sed -i 's|<key>identifier</key>|<key>allow</key><array><string>network</string></array>&|' \\
        container.plist
      echo "add('data/Documents/x', b'x')" | python3 make.py x
      grep -c network container.plist; sandboxfs import h.tar
      grep -c network "$SANDBOXFS_STORE/containers/$APP/container.plist"
      sandboxfs uninstall --yes $APP > /dev/null
      echo "== no record"; echo "add('data/Documents/x', b'x')" | python3 make.py headless
      sandboxfs import h.tar
      echo "== no archive"; sandboxfs import make.py
      echo "== cut short"; head -c 700 h.tar > short.tar; sandboxfs import short.tar
      ls $SANDBOXFS_STORE/containers
      """
    let parts = try shell(script).split(separator: "== ").map(String.init)
    for (name, _, line) in Self.hostile {
      let part = parts.first { $0.hasPrefix(name + "\n") } ?? ""
      #expect(part.contains(line), "\(name): \(part)")
      #expect(part.split(separator: "\n").count <= 3, "one line: \(part)")
    }
    let lent = parts.first { $0.hasPrefix("what it lends itself\n") }?.split(separator: "\n") ?? []
    #expect(lent.dropFirst().first == "1" && lent.last == "0", "\(lent)")
    for name in ["no record", "no archive", "cut short"] {
      let part = parts.first { $0.hasPrefix(name + "\n") } ?? ""
      #expect(part.contains("is no exported container"), "\(part)")
    }
  }

  @Test("a file of nothing but names does not take the last of the space, nor the screen")
  func many() throws {
    let said = try shell(
      """
      sandboxfs uninstall --yes --keep-data $APP > /dev/null; sandboxfs export $APP base.tar.zst
      sandboxfs uninstall --yes $APP > /dev/null
      zstd -dqc base.tar.zst | tar xf - container.plist
      cat > make.py <<'END'
      import sys, tarfile
      out = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT)
      out.add("container.plist")
      for number in range(int(sys.argv[2])):
          info = tarfile.TarInfo("data/Documents/%d" % number); info.mode = 0o4755
          out.addfile(info)
      out.close()
      END
      python3 make.py some.tar 1200; sandboxfs import some.tar > out 2> lines; wc -l < lines
      tail -n 1 lines; cut -d : -f 1 out
      mkdir small; mount -t tmpfs -o size=8m,nr_inodes=0 none small
      python3 make.py many.tar 5000; sandboxfs --store small/store import many.tar 2>&1 |
        sed 's/[0-9][0-9]*/N/'
      """)
    #expect(
      said == """
        101
        sandboxfs import: and 901 more
        imported com.example.Notes
        sandboxfs import: data/Documents/N: not enough space in the store: free some

        """, "\(said)")
  }

  @Test("the data of a flatpak and of other directories comes to where it belongs, or nothing does")
  func elsewhere() throws {
    let said = try shell(
      """
      export HOME=$PLACE/home; F=$HOME/.var/app/org.example.Old
      mkdir -p $F/data/old/d $F/config $F/cache/tmp $HOME/.notes
      echo d > $F/data/old/d/f; echo c > $F/config/settings; echo k > $F/cache/k
      echo t > $F/cache/tmp/t
      ln -s d/f $F/data/old/l; chmod 4755 $F/config/settings; echo n > $HOME/.notes/n
      echo mine > $C/data/Documents/mine; chown --reference $C/data $C/data/Documents/mine
      sandboxfs import --app $APP --from-flatpak org.example.Old --from $HOME/.notes=Documents/Old
      cd $C/data; find Documents Library -type f -o -type l | sort
      find . -perm /6000; find . ! -user $(stat -c %u .)
      sandboxfs import --app $APP --from $HOME/.notes=Documents/Old; echo $?
      sandboxfs import --app $APP --from-flatpak org.example.None
      sandboxfs import --app $APP --from /tmp=../x
      """)
    #expect(
      said.split(separator: "\n").dropFirst(5).joined(separator: "\n") == """
        Documents/Old/n
        Documents/mine
        Library/Application Support/old/d/f
        Library/Application Support/old/l
        Library/ApplicationSupport
        Library/Caches/CACHEDIR.TAG
        Library/Caches/k
        Library/Preferences/settings
        sandboxfs import: com.example.Notes has /Documents/Old/n already, and PLACE/home/.notes \
        has it too: nothing was imported
        1
        sandboxfs import: PLACE/home/.var/app/org.example.None has nothing of a flatpak's
        sandboxfs import: --from: '../x' has '.' or '..' in it: name a path below the app's data, \
        such as Documents/a
        """, "\(said)")
    #expect(said.contains("/Library/Application Support"), "\(said)")
  }
}
