// SQLite: the table of files of a backup; loaded when it is needed.
#pragma once
#include "CLinux_library.h"
#include <sqlite3.h>

#define CSQLITE_FUNCTIONS(each) \
  each(sqlite3_bind_blob) each(sqlite3_bind_int64) each(sqlite3_bind_null) \
  each(sqlite3_bind_text) each(sqlite3_close) each(sqlite3_column_blob) \
  each(sqlite3_column_bytes) each(sqlite3_column_int64) each(sqlite3_column_type) \
  each(sqlite3_errmsg) each(sqlite3_errstr) each(sqlite3_exec) each(sqlite3_finalize) \
  each(sqlite3_limit) each(sqlite3_open_v2) each(sqlite3_prepare_v3) \
  each(sqlite3_progress_handler) each(sqlite3_reset) each(sqlite3_step)

/// The functions of SQLite that are called.
struct csqlite_functions { CSQLITE_FUNCTIONS(CLINUX_FUNCTION) };

/// Finds them. Null, or what is wrong in words.
const char *_Nullable csqlite_load(struct csqlite_functions *_Nonnull functions);
