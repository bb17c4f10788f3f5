// The records of the arena: plain structs, whose primary fields are all that must be right after
// the death of a process, and whose derived fields `rebuild` computes from them.

/// A file, directory or link that the kernel knows.
struct NodeRecord {
  /// Bits of `state`.
  struct State: OptionSet {
    let rawValue: UInt32
    static let live = State(rawValue: 1 << 0)
    /// In the bundle, whose modes and owner are fixed.
    static let bundle = State(rawValue: 1 << 1)
    /// Its name is gone: `descriptor` is the only way to it and is never closed before it ends.
    static let anchored = State(rawValue: 1 << 2)
    /// Its name is gone and it lies in the orphans' directory until its last release.
    static let orphaned = State(rawValue: 1 << 3)
    /// Never freed: the root, the bundle, the orphans' directory.
    static let permanent = State(rawValue: 1 << 4)
    /// No name leads to its inode any more, so that it is not found by its identity.
    static let unhashed = State(rawValue: 1 << 5)
    /// What it is, is what the table of chunks says, whatever inode the store has in its place.
    static let sealed = State(rawValue: 1 << 6)
    /// Open in passthrough, by every handle there is.
    static let passing = State(rawValue: 1 << 7)
    /// `backing` was registered by `descriptor`: it holds nothing open that could write.
    static let lasting = State(rawValue: 1 << 8)
    /// Has no `security.capability`, for which the kernel asks before it writes.
    static let incapable = State(rawValue: 1 << 9)
    /// Was removed, and gives little space back when it ends.
    static let light = State(rawValue: 1 << 10)
  }

  // Primary.
  var state: State
  var generation: UInt32
  /// The directory of the known name; 0 if it has none.
  var parent: UInt32
  /// The known name, in the cells; 0 if it has none.
  var name: UInt32
  /// The backing's device, as the kernel's 32 bits.
  var device: UInt32
  /// The policy's zone, and the epoch in which it was computed.
  var zone: UInt32
  var zoneEpoch: UInt32
  /// An O_PATH descriptor of the backing; -1 if there is none now.
  var descriptor: CInt
  /// The backing's number.
  var inode: UInt64
  /// When the backing's inode was made: numbers are used again, this time is not.
  var birthNanoseconds: UInt64
  /// How many references the kernel holds.
  var lookups: UInt64
  /// The kernel's number of the backing file; 0 if it has none.
  ///
  /// If it is lasting, it outlives the last handle, for the next one, for as long as `descriptor`
  /// is there.
  var backing: Int32
  /// The type, as the S_IFMT bits of a mode.
  var type: UInt32
  /// Its entry in the table of chunks; `SealedBundle.none` if it is not sealed.
  var entry: UInt32

  // Derived.
  /// The account that says what of the books is its; 0 if a look at the file does.
  var account: UInt32
  var nextInBucket: UInt32
  /// How many nodes have this one as their parent.
  var children: UInt32
  /// How many handles are open, and how many of them for writing.
  var opens: UInt32
  var writers: UInt32
  /// How many of the handles could be mapped shared for writing: those that read and write.
  var mappers: UInt32
  /// How many requests use `descriptor` right now.
  var pins: UInt32
  /// Neighbours among the nodes whose descriptor may be closed, most recently used first.
  var moreRecent: UInt32
  var lessRecent: UInt32

  var isDirectory: Bool { type == 0o040000 }

  /// The place of `parent` and `name`, which change at once.
  ///
  /// Not stored: the compiler knows it, and what is stored is asked for whether it is there.
  @inline(__always) static var placeOffset: Int {
    MemoryLayout<NodeRecord>.offset(of: \.parent) ?? 0
  }
}

/// An open file or directory.
struct HandleRecord {
  /// Bits of `state`.
  struct State: OptionSet {
    let rawValue: UInt32
    static let live = State(rawValue: 1 << 0)
    static let writable = State(rawValue: 1 << 1)
    static let directory = State(rawValue: 1 << 2)
    /// Every write begins at the end.
    static let appendOnly = State(rawValue: 1 << 3)
    static let readable = State(rawValue: 1 << 4)
    /// Where it is open in passthrough, its writes come to us all the same.
    static let watched = State(rawValue: 1 << 5)
  }

  // All primary.
  var state: State
  var generation: UInt32
  var node: UInt32
  /// The thread that opened it, for people.
  var process: Int32
  /// An open descriptor of the backing, without O_APPEND: offsets are always given.
  ///
  /// -1 while none is needed: the kernel reads in passthrough by itself.
  var descriptor: CInt
  /// The request that opened it, should the kernel ask again.
  var request: UInt64
}
