// Purging what is mounted: the view and the kernel's memory of it stay true, what is open stays,
// and what is not to outlive the last process does not.

import TestSupport
import Testing

@Suite struct PurgeMountedTests {
  @Test("the least recently used of a mounted app goes, through its view, and never what is open")
  func mounted() throws {
    let said = try shell(
      """
      sandboxfs mount $APP view; cd view/Library/Caches
      for n in 1 2 3 4 5; do head -c 100000 /dev/zero > f$n; touch -d 2020-01-0$n f$n; done
      mkdir -m 555 d; echo x > d/x; touch -d 2020-01-06 d/x
      ls -l > /dev/null; cat f2 > /dev/null; exec 7< f1
      sandboxfs purge $APP --to-free 150K; ls
      sandboxfs purge $APP; ls . d; stat f2 2>&1 | head -n 1
      exec 7<&-
      sandboxfs purge $APP; ls
      sandboxfs log $APP | awk '{ $1 = ""; print }'
      sandboxfs status --json | grep purged
      cd ../../..; sandboxfs unmount view
      """)
    #expect(
      said == """
        com.example.Notes: removed 2 files (200.0 KiB), left 1 in use
        CACHEDIR.TAG
        d
        f1
        f2
        f5
        com.example.Notes: removed 3 files (204.0 KiB), left 1 in use
        .:
        CACHEDIR.TAG
        d
        f1

        d:
        stat: cannot statx 'f2': No such file or directory
        com.example.Notes: removed 1 file (100.0 KiB)
        CACHEDIR.TAG
        d
         OPERATION RESULT COUNT PROCESS RULE PATH
         view - - - - a purge has removed 2 files, 204800 bytes
         view - - - - a purge has removed 3 files, 208896 bytes
         view - - - - a purge has removed 1 file, 102400 bytes
            "purgedFiles": 6,
            "purgedBytes": 516096,

        """)
  }

  @Test("a daemon in whose view is written has the store purged when space is short")
  func pressure() throws {
    let said = try shell(
      """
      sed 's/com.example.Notes/com.example.Other/' -i Notes.app/Info.plist
      sandboxfs install Notes.app > /dev/null
      O=$SANDBOXFS_STORE/containers/com.example.Other
      touch $C/data/Library/Caches/mine $O/data/Library/Caches/other $O/data/Documents/kept
      printf '%s\\n' 'purge.low = 100%' 'purge.high = 100%' > settings/sandboxfs.conf
      sandboxfs mount $APP view
      sleep 0.3; ls view/Library/Caches
      echo text > view/Documents/written
      eventually test ! -e $O/data/Library/Caches/other
      ls view/Library/Caches view/Documents $O/data/Library/Caches $O/data/Documents
      sandboxfs log $APP | grep -o 'the store has less than'
      sandboxfs unmount view
      """)
    #expect(
      said == """
        CACHEDIR.TAG
        mine
        PLACE/store/containers/com.example.Other/data/Documents:
        kept

        PLACE/store/containers/com.example.Other/data/Library/Caches:
        CACHEDIR.TAG

        view/Documents:
        written

        view/Library/Caches:
        CACHEDIR.TAG
        the store has less than

        """)
  }

  @Test("what goes at exit goes when the last mount is gone, and at the next mount after a crash")
  func exit() throws {
    let said = try shell(
      """
      sandboxfs mount $APP view; sandboxfs mount $APP second
      mkdir view/tmp/d; echo x > view/tmp/d/f; ln -s ../Documents view/tmp/l
      echo x > view/Documents/f
      sandboxfs unmount view; ls second/tmp; sandboxfs unmount second
      eventually test ! -e $C/data/tmp/d
      ls $C/data/tmp $C/data/Documents
      sandboxfs mount $APP view; echo x > view/tmp/f
      end_daemons; umount -l view/Notes.app 2> /dev/null; umount -l view; ls $C/data/tmp
      eventually sandboxfs mount $APP view; ls view/tmp; sandboxfs unmount view
      """)
    #expect(
      said == """
        d
        l
        PLACE/store/containers/com.example.Notes/data/Documents:
        f

        PLACE/store/containers/com.example.Notes/data/tmp:
        f

        """)
  }

  @Test("where the file system keeps no access times, our own say what was used last")
  func noatime() throws {
    let said = try shell(
      """
      mount -t tmpfs -o noatime none $SANDBOXFS_STORE; chmod 700 $SANDBOXFS_STORE
      sandboxfs install Notes.app > /dev/null; sandboxfs mount $APP view; cd view/Library/Caches
      for n in 1 2; do head -c 100000 /dev/zero > f$n; touch -d 2020-01-0$n f$n; done
      cat f1 > /dev/null
      sandboxfs purge $APP --to-free 50K; ls
      cd ../../..; sandboxfs unmount view
      """)
    #expect(
      said == """
        com.example.Notes: removed 1 file (100.0 KiB)
        CACHEDIR.TAG
        f1

        """)
  }
}
