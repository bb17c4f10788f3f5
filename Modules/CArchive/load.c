#include "CArchive.h"

#if ARCHIVE_VERSION_NUMBER < 3000000 || ARCHIVE_VERSION_NUMBER >= 4000000
#error "libarchive 3 is libarchive.so.13: what is this one?"
#endif

const char *carchive_load(struct carchive_functions *functions) {
  static const char *const names[] = {CARCHIVE_FUNCTIONS(CLINUX_FUNCTION_NAME)};
  return clinux_load_library("libarchive.so.13", names, sizeof names / sizeof *names,
                             (void **)functions);
}
