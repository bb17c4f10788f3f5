#include "CMount.h"

const char *cmount_load(struct cmount_functions *functions) {
  static const char *const names[] = {CMOUNT_FUNCTIONS(CLINUX_FUNCTION_NAME)};
  return clinux_load_library("libmount.so.1", names, sizeof names / sizeof *names,
                             (void **)functions);
}
