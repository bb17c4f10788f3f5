// libarchive: the entries of a zip or a tar, one after the other; loaded when it is needed.
#pragma once
#include "CLinux_library.h"
#include <archive.h>
#include <archive_entry.h>

#define CARCHIVE_FUNCTIONS(each) \
  each(archive_entry_filetype) each(archive_entry_free) each(archive_entry_hardlink) \
  each(archive_entry_hardlink_utf8) each(archive_entry_mtime) each(archive_entry_mtime_nsec) \
  each(archive_entry_new) each(archive_entry_pathname) each(archive_entry_pathname_utf8) \
  each(archive_entry_perm) each(archive_entry_set_filetype) each(archive_entry_set_hardlink) \
  each(archive_entry_set_mtime) each(archive_entry_set_pathname) each(archive_entry_set_perm) \
  each(archive_entry_set_size) each(archive_entry_set_symlink) each(archive_entry_size) \
  each(archive_entry_size_is_set) each(archive_entry_sparse_add_entry) \
  each(archive_entry_symlink) each(archive_entry_symlink_utf8) \
  each(archive_entry_xattr_add_entry) each(archive_entry_xattr_next) \
  each(archive_entry_xattr_reset) each(archive_error_string) each(archive_read_data) \
  each(archive_read_data_block) each(archive_read_free) each(archive_read_new) \
  each(archive_read_next_header) each(archive_read_open_fd) \
  each(archive_read_support_filter_gzip) each(archive_read_support_filter_zstd) \
  each(archive_read_support_format_tar) each(archive_read_support_format_zip_seekable) \
  each(archive_write_add_filter_zstd) each(archive_write_close) each(archive_write_data) \
  each(archive_write_free) each(archive_write_header) each(archive_write_new) \
  each(archive_write_open_fd) each(archive_write_set_bytes_in_last_block) \
  each(archive_write_set_format_pax) each(archive_write_set_format_zip)

/// The functions of libarchive that are called.
struct carchive_functions { CARCHIVE_FUNCTIONS(CLINUX_FUNCTION) };

/// Finds them. Null, or what is wrong in words.
const char *_Nullable carchive_load(struct carchive_functions *_Nonnull functions);
