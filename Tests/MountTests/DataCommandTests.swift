// What the commands about data say of mistakes, and that they change nothing by them.

import TestSupport
import Testing

@Suite struct DataCommandTests {
  @Test("a question about a backup is answered in JSON too, and what is not there ends with 1")
  func questions() throws {
    let said = try shell(
      """
      echo x > $C/data/Documents/f; echo t > $C/data/tmp/t
      sandboxfs backup --explain Documents/f --json $APP
      sandboxfs backup --explain /tmp/t --json $APP | grep -c '"isBackedUp": false'
      sandboxfs backup --explain Documents/none $APP; echo $?
      sandboxfs backup --explain tmp/none $APP; echo $?
      sandboxfs backup --exclude-list --json $APP | grep -c /data/tmp
      sandboxfs backup --explain '' $APP; sandboxfs backup --dry-run; echo $?
      sandboxfs backup $APP; sandboxfs backup ./d; sandboxfs backup --dry-run --exclude-list $APP
      sandboxfs backup; echo $?
      """)
    #expect(
      said == """
        [
          {
            "app": "com.example.Notes",
            "path": "Documents/f",
            "isThere": true,
            "isBackedUp": true,
            "why": null
          }
        ]
        1
        sandboxfs backup make: com.example.Notes: Documents/none is not there
        1
        sandboxfs backup make: com.example.Notes: tmp/none is not there
        1
        1
        sandboxfs backup make: --explain: a path is empty: name a path below the app's data, such \
        as Documents/a
        sandboxfs backup make: --dry-run is about an APP, or --all: name it
        2
        sandboxfs backup make: nothing but 'com.example.Notes' is named: name a DIRECTORY behind it
        sandboxfs backup make: nothing but './d' is named: name an APP before it, or say --all
        sandboxfs backup make: --dry-run and --exclude-list contradict each other
        sandboxfs backup make: say which APP is backed up, or --all, and into which DIRECTORY; try \
        'sandboxfs backup make --help'
        2

        """, "\(said)")
  }

  @Test("marks are set on all paths or on none, and not on the bundle")
  func marks() throws {
    let said = try shell(
      """
      cd $C/data/Documents; : > a; mkdir d; ln -s a l
      marks() { getfattr -Rhd -m . . 2> /dev/null | grep -c exclude; }
      sandboxfs exclude $APP Documents/a Documents/none; echo $?; marks
      sandboxfs exclude $APP Documents/a /Documents/d; marks
      sandboxfs include $APP Documents/a Documents/l; echo $?; marks
      sandboxfs include $APP Documents/a Documents/d; marks
      for path in ../x '' / Notes.app Notes.app/Info.plist; do
        sandboxfs exclude $APP "$path"; echo $?
      done
      getfattr -d $C/data/Notes.app
      """)
    #expect(
      said == """
        sandboxfs exclude: Documents/none: No such file or directory
        1
        0
        2
        sandboxfs include: Documents/l: only files and directories can be marked
        1
        2
        0
        sandboxfs exclude: '../x' has '.' or '..' in it: name a path below the app's data, such as \
        Documents/a
        2
        sandboxfs exclude: a path is empty: name a path below the app's data, such as Documents/a
        2
        sandboxfs exclude: '/' is all of the app's data: name a path below the app's data, such as \
        Documents/a
        2
        sandboxfs exclude: Notes.app is the bundle, which no backup has: it is installed again
        2
        sandboxfs exclude: Notes.app/Info.plist is the bundle, which no backup has: it is \
        installed again
        2

        """, "\(said)")
  }

  @Test("a word that is no size, a second app that is not there, and an empty path are named")
  func words() throws {
    let said = try shell(
      """
      sandboxfs quota --set lots $APP; echo $?; sandboxfs quota --files 1.5 $APP; echo $?
      echo c > $C/data/Library/Caches/c; sandboxfs purge $APP com.no.App; echo $?
      sandboxfs du --html - $APP | head -n 1; sandboxfs du --html - --json $APP; echo $?
      for words in 'export APP' 'import' 'backup APP' 'backup list' 'restore' 'du --html' 'quota'
      do sandboxfs ${words/APP/$APP} ''; echo $?; done
      ls
      """)
    #expect(
      said == """
        sandboxfs quota: --set 'lots': expected a size such as 500M or 2G, or none
        2
        sandboxfs quota: --files '1.5': expected a number of files, or none
        2
        com.example.Notes: removed 1 file (4096 B)
        sandboxfs purge: com.no.App is not installed in PLACE/store: see 'sandboxfs list'
        1
        <!doctype html>
        sandboxfs du: --html - and --json contradict each other
        2
        sandboxfs export: FILE is empty
        2
        sandboxfs import: FILE is empty
        2
        sandboxfs backup: DIRECTORY is empty
        2
        sandboxfs backup list: DIRECTORY is empty
        2
        sandboxfs restore: APP is missing; try 'sandboxfs restore --help'
        2
        sandboxfs du: option '--html' needs a value: FILE, not nothing
        2
        sandboxfs quota: APP is empty
        2
        Notes.app
        second
        settings
        store
        view

        """, "\(said)")
  }

  @Test("a dry purge changes no mode, and says what it could not look into")
  func dryPurge() throws {
    let said = try shell(
      """
      cd $C/data/Library/Caches; mkdir d; echo x > d/x; chmod 0 d
      sandboxfs purge --dry-run $APP | tail -n 1; stat -c %a d
      cd "$PLACE"; cat > dry.sh <<'END'
      export SANDBOXFS_STORE=$1/own SANDBOXFS_SETTINGS=$1/settings HOME=$1
      sandboxfs install "$2" > /dev/null; cd $1/own/containers/com.example.Notes/data/Library/Caches
      mkdir d; echo x > d/x; chmod 0 d
      sandboxfs purge --dry-run com.example.Notes; echo $?; stat -c %a d
      sandboxfs purge com.example.Notes; echo $?; ls -d d
      END
      mkdir "$PLACE/user"; chown 1000:1000 "$PLACE/user"; chmod 755 "$PLACE"
      setpriv --reuid 1000 --regid 1000 --clear-groups sh "$PLACE/dry.sh" "$PLACE/user" "$PLACE/Notes.app"
      """)
    #expect(
      said == """
        1 file, 4096 B, would go
        0
        0 files, 0 B, would go
        sandboxfs purge: com.example.Notes: 1 directory could not be looked into: a purge opens \
        them, --dry-run does not
        1
        0
        com.example.Notes: removed 1 file (4096 B)
        0
        ls: cannot access 'd': No such file or directory

        """, "\(said)")
  }

  @Test("an exported container can become another app's, without the bundle")
  func otherIdentifier() throws {
    let said = try shell(
      """
      echo text > $C/data/Documents/f; sandboxfs export $APP a.tar.zst
      sandboxfs import --as com.example.Other a.tar.zst; echo $?
      O=$SANDBOXFS_STORE/containers/com.example.Other
      cat $O/data/Documents/f; ls $O/bundle; sandboxfs list
      sandboxfs import --as com.example.Other a.tar.zst; echo $?
      sandboxfs import --as x/y nowhere.tar.zst; echo $?
      sandboxfs import --as com.example.Other --app $APP --from /etc=Documents; echo $?
      sandboxfs import --app $APP a.tar.zst; echo $?
      """)
    #expect(
      said.contains("imported com.example.Other:") && said.contains("\n0\ntext\n")
        && said.contains("data only"), "\(said)")
    #expect(said.contains("com.example.Other is installed already"), "\(said)")
    for line in [
      "'x/y' is no app's identifier", "--as is for a FILE: name one, or leave it out\n2",
      "--app and FILE contradict each other: try --as\n2",
    ] { #expect(said.contains(line), "\(line): \(said)") }
  }

  @Test("nothing is imported to where the app has no files, or over one that it has")
  func places() throws {
    let said = try shell(
      """
      mkdir -p from/d; echo x > from/d/f; echo y > from/g
      printf '/Documents/secret hidden\n' > rules; sandboxfs policy set $APP rules > /dev/null
      for place in Notes.app /etc '' / Documents/secret Documents/../x; do
        sandboxfs import --app $APP --from from=$place; echo $?
      done
      mkdir -p $C/data/Documents/d; echo mine > $C/data/Documents/d/f
      sandboxfs import --app $APP --from from=Documents; echo $?
      ls $C/data $C/data/Documents; cat $C/data/Documents/d/f
      """)
    #expect(
      said == """
        sandboxfs import: /Notes.app is in the bundle: name another place
        2
        sandboxfs import: the app may not write to /etc: name another place, such as \
        Documents
        2
        sandboxfs import: --from: a path is empty: name a path below the app's data, such as \
        Documents/a
        2
        sandboxfs import: --from: '/' is all of the app's data: name a path below the app's data, \
        such as Documents/a
        2
        sandboxfs import: /Documents/secret is hidden from the app \
        (com.example.Notes/profile:1): name another place
        2
        sandboxfs import: --from: 'Documents/../x' has '.' or '..' in it: name a path below the \
        app's data, such as Documents/a
        2
        sandboxfs import: com.example.Notes has /Documents/d/f already, and from has it too: \
        nothing was imported
        1
        PLACE/store/containers/com.example.Notes/data:
        Documents
        Library
        Notes.app
        tmp

        PLACE/store/containers/com.example.Notes/data/Documents:
        d
        mine

        """, "\(said)")
  }

  @Test("who can write where a backup is made leads it to no other file")
  func planted() throws {
    let said = try shell(
      """
      sandboxfs backup $APP first > /dev/null; device=$(ls first | head -n 1)
      mkdir -p second/$device.new; ln -s "$PLACE/victim" second/$device.new/Manifest.db
      chown -hR 1000:1000 second/$device.new
      sandboxfs backup $APP second > /dev/null; ls victim; sandboxfs backup verify second
      """)
    #expect(
      said.hasPrefix("ls: cannot access 'victim': No such file or directory\n"), "\(said)")
    #expect(!said.contains("symbolic"), "\(said)")
  }

  @Test("lists of what the host's users may do stay behind at an import")
  func accessLists() throws {
    let said = try shell(
      """
      mkdir -p from/d; echo x > from/f
      setfacl -m u:1234:rwx from/f from/d 2> /dev/null || echo unsupported
      sandboxfs import --app $APP --from from=Documents > /dev/null
      getfacl -Rcp $C/data/Documents | grep -c 1234
      """)
    #expect(said == "0\n" || said.hasPrefix("unsupported"), "\(said)")
  }

  @Test("a tree that an app has built too deep is left out, and the rest is saved")
  func deep() throws {
    let said = try shell(
      """
      cd $C/data/Documents; echo x > f
      python3 -c "
      import os
      for _ in range(1100): os.mkdir('n'); os.chdir('n')"
      chown -R $(stat -c %u .) f; cd "$PLACE"
      sandboxfs backup $APP backups > /dev/null; echo $?; sandboxfs export $APP a.tar.zst
      sandboxfs uninstall --yes $APP > /dev/null; sandboxfs import a.tar.zst > /dev/null; echo $?
      cat $C/data/Documents/f; sandboxfs uninstall --yes $APP > /dev/null
      """)
    #expect(said.contains("…: it lies too deep in other directories\n1\n"), "\(said)")
    #expect(said.contains("sandboxfs export: what is below data/Documents/n/n/"), "\(said)")
    #expect(said.hasSuffix("it lies too deep\n0\nx\n"), "\(said)")
  }
}
