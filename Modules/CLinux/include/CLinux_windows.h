// Windows: a file's bytes where the kernel keeps them, without a copy.
#pragma once
#include <stddef.h>
#include <sys/types.h>

/// Maps a part of a file for this thread, which has one window at a time, and touches its pages.
///
/// What has gone from the file by then or goes later reads as zeros. NULL and errno where the file
/// can't be mapped.
const void *clinux_window_open(int descriptor, off_t offset, size_t count);

/// Unmaps the window of this thread. 0 if a page of it had gone, else 1.
int clinux_window_close(const void *start, size_t count);
