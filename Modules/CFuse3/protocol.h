// The parts of the kernel's protocol that are read and written here; layouts as in
// include/uapi/linux/fuse.h, which promises never to change them.
#pragma once
#include <stdint.h>

struct in_header {
  uint32_t length, opcode;
  uint64_t unique, node;
  uint32_t uid, gid, pid;
  uint16_t extension_length, padding;
};
struct init_in {
  uint32_t major, minor, max_readahead, flags, flags2;
};
struct out_header {
  uint32_t length;
  int32_t error;
  uint64_t unique;
};
struct init_out {
  uint32_t major, minor, max_readahead, flags;
  uint16_t max_background, congestion_threshold;
  uint32_t max_write, time_granularity;
  uint16_t max_pages, map_alignment;
  uint32_t flags2, max_stack_depth;
  uint16_t request_timeout, unused[11];
};
struct attributes_out {
  uint64_t ino, size, blocks, atime, mtime, ctime;
  uint32_t atime_nanoseconds, mtime_nanoseconds, ctime_nanoseconds;
  uint32_t mode, links, uid, gid, device, block_size, flags;
};
struct entry_out {
  uint64_t node, generation, entry_valid, attributes_valid;
  uint32_t entry_valid_nanoseconds, attributes_valid_nanoseconds;
  struct attributes_out attributes;
};
struct setxattr_in {
  uint32_t size, flags, extended_flags, padding;
};
struct open_out {
  uint64_t handle;
  uint32_t flags;
  int32_t backing;
};
_Static_assert(sizeof(struct init_out) == 64, "fuse_init_out");
_Static_assert(sizeof(struct entry_out) == 128, "fuse_entry_out");
_Static_assert(sizeof(struct open_out) == 16, "fuse_open_out");

enum {
  OPCODE_FORGET = 2,
  OPCODE_SYMLINK = 6,
  OPCODE_MKNOD = 8,
  OPCODE_MKDIR = 9,
  OPCODE_UNLINK = 10,
  OPCODE_RMDIR = 11,
  OPCODE_RENAME = 12,
  OPCODE_LINK = 13,
  OPCODE_READ = 15,
  OPCODE_SETXATTR = 21,
  OPCODE_INIT = 26,
  OPCODE_CREATE = 35,
  OPCODE_INTERRUPT = 36,
  OPCODE_FORGET_MANY = 42,
  OPCODE_RENAME2 = 45
};
enum { NOTIFY_INVALID_NODE = 2, NOTIFY_INVALID_NAME = 3, NOTIFY_RESEND = 7 };
#define INIT_EXTENSION (UINT64_C(1) << 30)
/// Beside NOTIFY_INVALID_NAME, from Linux 6.2 on: the name is looked up again before it is used,
/// and nothing that is mounted on it is touched.
enum { EXPIRE_ONLY = 1 };
/// In a request's number: it is sent again.
#define RESENT (UINT64_C(1) << 63)
