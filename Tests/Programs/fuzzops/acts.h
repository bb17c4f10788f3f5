// What the acts share: how an answer is taken, and what the table names.
#ifndef ACTS_H
#define ACTS_H

#include "fuzzops.h"

extern char block[BLOCK];
void fill_block(long value, long count);

// The value that a call returns, only whether it succeeded, or the bytes that it read into `block`.
#define VALUE(call) (answer->value = (long)(call), answer->error = answer->value < 0 ? errno : 0)
#define DONE(call) (answer->error = (call) < 0 ? errno : 0)
// Nothing is asked for nothing: tmpfs moves the time of access then.
#define READ(call) \
  (VALUE(call), answer->value > 0 ? answer->digest = digest(1, block, (size_t)answer->value) : 0)

// Tells the listings under way what an operation that has succeeded may have done to them.
void note_change(struct side *, const struct operation *);

// Whether an ordinary user's daemon can't come to what is open by its names, since a directory on
// the way may not be searched.
bool is_out_of_reach(int file);
// Whether it has no other way either: it has only regular files open.
bool is_lost(int file);

typedef void deed(struct side *, const long *, struct answer *);
deed act_open, act_close, act_read, act_pread, act_readv, act_write, act_pwrite, act_pwritev,
    act_seek, act_sync, act_advise, act_resize, act_allocate, act_copy, act_copy_here, act_send,
    act_flags, act_flock, act_lock, act_map, act_unmap, act_store, act_load, act_sync_map, act_list,
    act_entries, act_return;
deed act_link, act_link_file, act_symlink, act_rename, act_unlink, act_rmdir, act_mkdir, act_mkfifo,
    act_socket, act_chmod, act_fchmod, act_chown, act_lchown, act_fchown, act_times, act_ftimes,
    act_set_attribute, act_fset_attribute, act_get_attribute, act_list_attributes,
    act_remove_attribute, act_truncate, act_stat, act_access, act_umask, act_forget, act_crowd,
    act_uncrowd, act_readlink, act_look;

#endif
