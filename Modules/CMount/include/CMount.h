// libmount: the table in /run/mount/utab, where umount(8) finds who mounted what; loaded when it is
// needed.
#pragma once
#include "CLinux_library.h"
#include <libmount/libmount.h>

#define CMOUNT_FUNCTIONS(each) \
  each(mnt_free_update) each(mnt_fs_set_fstype) each(mnt_fs_set_options) each(mnt_fs_set_root) \
  each(mnt_fs_set_source) each(mnt_fs_set_target) each(mnt_new_fs) each(mnt_new_update) \
  each(mnt_unref_fs) each(mnt_update_set_fs) each(mnt_update_table)

/// The functions of libmount that are called.
struct cmount_functions { CMOUNT_FUNCTIONS(CLINUX_FUNCTION) };

/// Finds them. Null, or what is wrong in words.
const char *_Nullable cmount_load(struct cmount_functions *_Nonnull functions);
