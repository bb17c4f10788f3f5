#include "CSQLite.h"

#if SQLITE_VERSION_NUMBER < 3000000 || SQLITE_VERSION_NUMBER >= 4000000
#error "SQLite 3 is libsqlite3.so.0: what is this one?"
#endif

const char *csqlite_load(struct csqlite_functions *functions) {
  static const char *const names[] = {CSQLITE_FUNCTIONS(CLINUX_FUNCTION_NAME)};
  return clinux_load_library("libsqlite3.so.0", names, sizeof names / sizeof *names,
                             (void **)functions);
}
