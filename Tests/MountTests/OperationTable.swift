// What each operation says in each kind of zone: the table, as people read it.
//
// The columns are places, each of a zone of its own:
//
//   ro  read only           no  neither read nor write     on  a name that only= does not allow
//   rw  read and write      ap  append                     ok  a name that it allows
//   bk  as rw, no backup    hd  a hidden name              bu  in the bundle
//   wo  write only          bl  below a hidden directory
//
// A letter says what comes of it. Capitals are the daemon's and in the log, ENOENT excepted; small
// ones are the kernel's, which does not ask it, and in no log:
//
//   .  done    A a  EACCES    P p  EPERM    R r  EROFS    X x  EXDEV    N  ENOENT
//   b  EBUSY   d    ENODEV    e  EEXIST     t    ENOTTY
//   s  EROFS; EACCES for a stranger, whom the modes of the bundle stop first

/// The rules that make the places.
let operationRules = """
  @include ios
  /Documents/ro    -write
  /Documents/bk    -backup purge=restore
  /Documents/wo    -read
  /Documents/no    -read -write
  /Documents/ap    append
  /Documents/bl    hidden
  *.hid            hidden
  /Documents/only  only=*.txt
  """

/// The places in the order of the columns: a directory, and what its entries' names end in.
let operationPlaces: [(name: Substring, directory: String, ending: String)] = [
  ("ro", "/Documents/ro", ""), ("rw", "/Documents/rw", ""), ("bk", "/Documents/bk", ""),
  ("wo", "/Documents/wo", ""), ("no", "/Documents/no", ""), ("ap", "/Documents/ap", ""),
  ("hd", "/Documents/rw", ".hid"), ("bl", "/Documents/bl", ""), ("on", "/Documents/only", ""),
  ("ok", "/Documents/only", ".txt"), ("bu", "/Notes.app", ""),
]

/// One path: the operation; what it is done to; by whom; what the policy is asked, in this order;
/// the answers.
let onePathTable = """
  |              |         |            |               | ro rw bk wo no ap hd bl on ok bu
  | stat         | file    | all        | lookup        | .  .  .  .  .  .  N  N  .  .  .
  | access       | file    | all        | stat          | .  .  .  .  .  .  N  N  .  .  .
  | statfs       | file    | all        | lookup        | .  .  .  .  .  .  N  N  .  .  .
  | open path    | file    | all        | lookup        | .  .  .  .  .  .  N  N  .  .  .
  | chdir        | folder  | all        | lookup        | .  .  .  .  .  .  N  N  .  .  .
  | listxattr    | file    | all        | stat          | .  .  .  .  .  .  N  N  .  .  .
  | readlink     | symlink | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | open r       | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | readdir      | folder  | all        | list          | .  .  .  A  A  .  N  N  .  .  .
  | getxattr     | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | lseek        | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | flock        | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | fcntl        | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | fsync        | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | ioctl        | file    | all        | read          | t  t  t  A  A  t  N  N  t  t  t
  | mmap r       | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | mmap x       | file    | all        | read          | p  p  p  A  A  p  N  N  p  p  .
  | copy from    | file    | all        | read          | .  .  .  A  A  .  N  N  .  .  .
  | execve       | file    | all        | exec          | a  a  a  a  a  a  N  N  a  a  .
  | open w       | file    | all        | append        | A  .  .  .  A  .  N  N  .  .  s
  | open rw      | file    | all        | read append   | A  .  .  A  A  .  N  N  .  .  s
  | open a       | file    | all        | append        | A  .  .  .  A  .  N  N  .  .  s
  | open creat   | file    | all        | append        | A  .  .  .  A  .  A  N  .  .  s
  | open trunc   | file    | all        | write         | A  .  .  .  A  P  N  N  .  .  r
  | write over   | file    | all        | append write  | A  .  .  .  A  P  N  N  .  .  s
  | write end    | file    | all        | append        | A  .  .  .  A  .  N  N  .  .  s
  | truncate     | file    | all        | write         | A  .  .  .  A  P  N  N  .  .  s
  | ftruncate    | file    | all        | append write  | A  .  .  .  A  P  N  N  .  .  s
  | fallocate    | file    | all        | append        | A  .  .  .  A  .  N  N  .  .  s
  | punch        | file    | all        | append write  | A  .  .  .  A  P  N  N  .  .  s
  | zero range   | file    | all        | append write  | A  .  .  .  A  P  N  N  .  .  s
  | copy over    | file    | all        | append write  | A  .  .  .  A  P  N  N  .  .  s
  | copy end     | file    | all        | append        | A  .  .  .  A  .  N  N  .  .  s
  | mmap w       | file    | all        | read append   | A  .  .  A  A  d  N  N  .  .  s
  | create       | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | mkdir        | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | symlink      | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | mknod file   | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | mknod fifo   | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | mknod socket | nothing | all        | create        | A  .  .  .  A  .  A  N  A  .  r
  | mknod device | nothing | root       | create        | P  P  P  P  P  P  A  N  P  P  r
  | mknod device | nothing | owner other | create       | p  p  p  p  p  p  p  N  p  p  r
  | unlink       | file    | all        | remove        | A  .  .  .  A  P  N  N  .  .  r
  | unlink       | symlink | all        | remove        | A  .  .  .  A  P  N  N  .  .  r
  | rmdir        | folder  | all        | remove        | A  .  .  .  A  P  N  N  .  .  r
  | chmod        | file    | owner root | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | chmod        | folder  | owner root | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | chmod        | file    | other      | setattr       | p  p  p  p  p  p  N  N  p  p  r
  | chown        | file    | owner root | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | chown        | file    | other      | setattr       | p  p  p  p  p  p  N  N  p  p  r
  | utimes       | file    | owner root | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | utimes       | file    | other      | setattr       | p  p  p  p  p  p  N  N  p  p  r
  | touch        | file    | all        | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | setxattr     | file    | all        | setattr       | A  .  .  .  A  .  N  N  .  .  r
  | removexattr  | file    | all        | setattr       | A  .  .  .  A  .  N  N  .  .  r
  """

/// Two paths: the operations, of what, onto what; then a line for each place that it goes from.
let twoPathTable = """
  | rename noreplace | file | nothing
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  A  A  A  A  A  A  N  A  A  x
                                                  | rw | A  .  .  .  A  .  A  N  A  .  x
                                                  | bk | A  .  .  .  A  .  A  N  A  .  x
                                                  | wo | A  A  A  .  A  A  A  N  A  A  x
                                                  | no | A  A  A  A  A  A  A  N  A  A  x
                                                  | ap | P  P  P  P  P  P  P  N  P  P  x
                                                  | hd | N  N  N  N  N  N  N  N  N  N  x
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  .  .  .  A  .  A  N  A  .  x
                                                  | ok | A  .  .  .  A  .  A  N  A  .  x
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  | rename | file | file
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  A  A  A  A  A  A  N  A  A  x
                                                  | rw | A  .  .  .  A  P  A  N  A  .  x
                                                  | bk | A  .  .  .  A  P  A  N  A  .  x
                                                  | wo | A  A  A  .  A  P  A  N  A  A  x
                                                  | no | A  A  A  A  A  A  A  N  A  A  x
                                                  | ap | P  P  P  P  P  P  P  N  P  P  x
                                                  | hd | N  N  N  N  N  N  N  N  N  N  x
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  .  .  .  A  P  A  N  A  .  x
                                                  | ok | A  .  .  .  A  P  A  N  A  .  x
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  | rename | folder | nothing
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  A  A  A  A  A  A  N  A  A  x
                                                  | rw | A  .  .  X  A  X  A  N  A  X  x
                                                  | bk | A  .  .  X  A  X  A  N  A  X  x
                                                  | wo | A  X  X  .  A  X  A  N  A  X  x
                                                  | no | A  A  A  A  A  A  A  N  A  A  x
                                                  | ap | P  P  P  P  P  P  P  N  P  P  x
                                                  | hd | N  N  N  N  N  N  N  N  N  N  x
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  X  X  X  A  X  A  N  A  .  x
                                                  | ok | A  X  X  X  A  X  A  N  A  .  x
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  | exchange | file | file
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  A  A  A  A  A  N  N  A  A  x
                                                  | rw | A  .  A  A  A  P  N  N  A  A  x
                                                  | bk | A  A  .  A  A  P  N  N  A  A  x
                                                  | wo | A  A  A  .  A  P  N  N  A  A  x
                                                  | no | A  A  A  A  A  A  N  N  A  A  x
                                                  | ap | P  P  P  P  P  P  N  N  P  P  x
                                                  | hd | N  N  N  N  N  N  N  N  N  N  x
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  A  A  A  A  P  N  N  .  .  x
                                                  | ok | A  A  A  A  A  P  N  N  .  .  x
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  | exchange | folder | folder
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  A  A  A  A  A  N  N  A  A  x
                                                  | rw | A  .  A  A  A  P  N  N  A  A  x
                                                  | bk | A  A  .  A  A  P  N  N  A  A  x
                                                  | wo | A  A  A  .  A  P  N  N  A  A  x
                                                  | no | A  A  A  A  A  A  N  N  A  A  x
                                                  | ap | P  P  P  P  P  P  N  N  P  P  x
                                                  | hd | N  N  N  N  N  N  N  N  N  N  x
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  A  A  A  A  P  N  N  .  .  x
                                                  | ok | A  A  A  A  A  P  N  N  .  .  x
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  | link | file | nothing
                                                  |    | ro rw bk wo no ap hd bl on ok bu
                                                  | ro | A  X  X  X  A  X  A  N  A  X  r
                                                  | rw | A  .  X  X  A  X  A  N  A  X  r
                                                  | bk | A  X  .  X  A  X  A  N  A  X  r
                                                  | wo | A  X  X  .  A  X  A  N  A  X  r
                                                  | no | A  X  X  X  A  X  A  N  A  X  r
                                                  | ap | A  X  X  X  A  .  A  N  A  X  r
                                                  | hd | N  N  N  N  N  N  N  N  N  N  N
                                                  | bl | N  N  N  N  N  N  N  N  N  N  N
                                                  | on | A  X  X  X  A  X  A  N  A  .  r
                                                  | ok | A  X  X  X  A  X  A  N  A  .  r
                                                  | bu | x  x  x  x  x  x  x  N  x  x  r
  """

/// Entries that always stay: the operation, the paths, by whom, what the policy is asked, the
/// answer.
///
/// `file` and `folder` are entries of the row's own in `rw`.
let structuralTable = """
  | rmdir    | /Documents                  |                             | root       | remove   | P
  | rmdir    | /tmp                        |                             | all        | remove   | P
  | rmdir    | /Library/Caches             |                             | all        | remove   | P
  | rmdir    | /Notes.app                  |                             | all        | remove   | b
  | unlink   | /Library/ApplicationSupport |                             | all        | remove   | P
  | rename   | /Documents                  | /tmp/taken                  | all        | rename   | P
  | rename   | /Library/Preferences        | /Library/taken              | all        | rename   | P
  | rename   | /Library/ApplicationSupport | /tmp/taken                  | all        | rename   | P
  | rename   | /Notes.app                  | /tmp/taken                  | owner root | rename   | b
  | rename   | folder                      | /tmp                        | all        | rename   | P
  | rename   | folder                      | /Library/Caches             | all        | rename   | P
  | rename   | file                        | /Library/ApplicationSupport | all        | rename   | P
  | rename   | folder                      | /Notes.app                  | all        | rename   | b
  | exchange | /tmp                        | folder                      | all        | exchange | P
  | exchange | folder                      | /Library/Caches             | all        | exchange | P
  | exchange | folder                      | /Notes.app                  | owner root | exchange | b
  | mkdir    | /tmp                        |                             | all        |          | e
  | mkdir    | /Notes.app                  |                             | all        |          | e
  | symlink  | /Documents                  |                             | all        |          | e
  | chmod    | /Notes.app                  |                             | all        | setattr  | r
  | setxattr | /Notes.app                  |                             | all        | setattr  | r
  | chmod    | /                           |                             | owner root | setattr  | A
  | chmod    | /                           |                             | other      | setattr  | p
  | mkdir    | /new                        |                             | all        | create   | A
  | mkdir    | /new.app                    |                             | all        | create   | A
  | mkdir    | /.new                       |                             | all        | create   | A
  | readdir  | /                           |                             | all        | list     | .
  | readdir  | /Documents                  |                             | all        | list     | .
  | readlink | /Library/ApplicationSupport |                             | all        | read     | .
  | touch    | /Documents                  |                             | all        | setattr  | .
  | touch    | /Library/Caches             |                             | all        | setattr  | .
  """
