// Everything in which a view differs from a plain directory on the same file system, each with its
// reason. docs/limits.md says the same to people.

/// One difference that is meant.
struct Difference: Sendable {
  /// What a line of a view may be where a plain directory says `plain`.
  enum Change: Sendable {
    /// The results themselves.
    case result(plain: String, view: String)
    /// The view's mode has no set-id bits where the plain one's has some.
    case clearedSetID
    /// Any result: what an earlier line of the case does not do shows in later ones.
    case any
  }

  let reason: String
  /// Whether it is there only where the kernel does not do the I/O itself: without passthrough.
  var isOfCaching = false
  let name: String
  let actors: Set<String>
  /// The step, or nil for each of the case.
  let step: String?
  let change: Change

  init(
    _ reason: String, in name: String, as actors: Set<String> = [""], _ step: String?,
    _ change: Change
  ) {
    self.reason = reason
    self.name = name
    self.actors = actors
    self.step = step
    self.change = change
  }

  /// The same, as one that passthrough does away with.
  var ofCaching: Difference {
    var copy = self
    copy.isOfCaching = true
    return copy
  }

  /// Whether this is the difference between two lines.
  func explains(_ plain: PosixCases.Line, _ view: PosixCases.Line) -> Bool {
    guard plain.step == view.step, plain.actor == view.actor, actors.contains(plain.actor),
      step == nil || step == plain.step
    else { return false }
    switch change {
    case .any: return true
    case .result(let wantPlain, let wantView):
      return plain.result == wantPlain && view.result == wantView
    case .clearedSetID:
      return view.result == withoutSetID(plain.result)
    }
  }

  /// A result such as `6755` or `file 2644, 1 links` with the mode's set-id bits cleared.
  private func withoutSetID(_ result: String) -> String {
    guard let place = result.firstMatch(of: /\b[0-7]{4}\b/),
      let mode = UInt32(place.output, radix: 8)
    else { return result }
    let cleared = String(mode & 0o1777, radix: 8)
    let padded = String(repeating: "0", count: 4 - cleared.count) + cleared
    return result.replacing(place.output, with: padded, maxReplacements: 1)
  }
}

/// What the policy makes, and root's writes.
private let ours: [Difference] =
  [
    "mknod(\"character\", S_IFCHR | 0600, makedev(1, 3))",
    "mknod(\"block\", S_IFBLK | 0600, makedev(7, 0))",
    "mknod(\"whiteout\", S_IFCHR | 0600, 0)",
  ].map {
    Difference(
      "no view holds device nodes", in: "make device nodes", $0,
      .result(plain: "done", view: "EPERM"))
  } + [
    Difference(
      "no view holds device nodes", in: "make device nodes as a user", as: ["owner"],
      "mknod(\"whiteout\", S_IFCHR | 0600, 0)", .result(plain: "done", view: "EPERM")),
    Difference(
      "a whiteout is a device node", in: "rename with RENAME_WHITEOUT",
      "with(RENAME_WHITEOUT, \"f\", \"g\")", .result(plain: "done", view: "EINVAL")),
    Difference("a whiteout is a device node", in: "rename with RENAME_WHITEOUT", "f", .any),
    Difference("a whiteout is a device node", in: "rename with RENAME_WHITEOUT", "g", .any),
    Difference(
      "root's writes clear set-id bits too", in: "set-id bits are cleared by writers",
      as: ["root"], nil, .clearedSetID),
    Difference(
      "writes clear set-id bits as for one who is not in the group",
      in: "a set-group-id bit without execution", as: ["root", "owner", "member"], nil,
      .clearedSetID),
    Difference(
      "chown clears set-id bits as for one who is not in the group",
      in: "set-id bits are cleared by chown", as: ["owner"], "group", .clearedSetID),
  ]
  + [
    "ioctl(f, FS_IOC_GETFLAGS, &bits)", "ioctl(f, FS_IOC_SETFLAGS, &bits)",
    "ioctl(d, FS_IOC_GETFLAGS, &bits)",
  ].map {
    Difference(
      "files of a view have no flags", in: "flags of files", $0,
      .result(plain: "done", view: "ENOTTY"))
  }

/// What the kernel does not hand to a FUSE file system, or libfuse does not know.
private let theirs: [Difference] =
  [
    Difference(
      "libfuse 3.14 knows no O_TMPFILE", in: "open with O_TMPFILE",
      "opens(\".\", O_TMPFILE | O_RDWR, 0600)", .result(plain: "done", view: "EOPNOTSUPP")),
    Difference(
      "the kernel does not ask about a chown to nobody", in: "chown", as: ["member", "other"],
      "chown(\"s\", (uid_t)-1, (gid_t)-1)", .result(plain: "EPERM", view: "done")),
    Difference(
      "the kernel does not know the largest file of the store", in: "read and write at positions",
      "lseek(f, INT64_MAX, SEEK_SET)",
      .result(plain: "EINVAL", view: "9223372036854775807")),
    Difference(
      "the kernel refuses to shift ranges in FUSE", in: "fallocate that shifts", nil, .any),
    Difference(
      "the kernel knows no extents in FUSE", in: "extents of files",
      "ioctl(f, FS_IOC_FIEMAP, &map)", .result(plain: "done", view: "EOPNOTSUPP")),
  ]
  + [
    ("pwrite(f, bytes, 100, 0)", "100"), ("pwrite(f, bytes, 512, 100)", "512"),
  ].map { step, count in
    Difference(
      "O_DIRECT needs no alignment", in: "open with O_DIRECT and unaligned buffers", step,
      .result(plain: "EINVAL", view: count)
    ).ofCaching
  }
  + ["read again", "read beyond the end", "read a link again"].map {
    Difference(
      "what the kernel has in its cache is read without the store",
      in: "what moves the time of access", $0, .result(plain: "moves", view: "stays")
    ).ofCaching
  }

/// What the kernel answers by itself while it keeps what is written: in a user's view.
private let kept: [Difference] =
  ["holes", "fallocate"].flatMap { name in
    [
      ("lseek(f, 0, SEEK_HOLE)", name == "holes" ? ("4096", "2097152") : ("4096", "16384")),
      ("lseek(f, 65536, SEEK_DATA)", ("1048576", "65536")),
      ("lseek(f, 1 << 20, SEEK_HOLE)", ("1052672", "2097152")),
      ("lseek(f, (1 << 20) + 65536, SEEK_DATA)", ("ENXIO", "1114112")),
      ("lseek(f, (2 << 20) - 1, SEEK_HOLE)", ("2097151", "2097152")),
    ].map { step, results in
      Difference(
        "the daemon does not know yet where data is: all of a file is", in: name, step,
        .result(plain: results.0, view: results.1)
      ).ofCaching
    }
  } + [
    Difference(
      "blocks are counted when they are written", in: "holes", "blocks",
      .result(plain: "16", view: "0")
    ).ofCaching,
    Difference(
      "what the store can't take is known when it is written", in: "read and write at positions",
      "pwrite(f, \"x\", 1, INT64_MAX - 1)", .result(plain: "EFBIG", view: "1")
    ).ofCaching,
    Difference(
      "what the store can't take is known when it is written", in: "read and write at positions",
      "all", .any
    ).ofCaching,
    Difference(
      "the kernel moves the time of change", in: "extended attributes move times",
      "setxattr of the same", .result(plain: "- -", view: "- status")
    ).ofCaching,
  ]

/// All differences.
let differences = ours + theirs + kept
