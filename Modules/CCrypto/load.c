#include "CCrypto.h"

#define TEXT(word) #word
#define VERSIONED(name, version) name TEXT(version)

const char *ccrypto_load(struct ccrypto_functions *functions) {
  static const char *const names[] = {CCRYPTO_FUNCTIONS(CLINUX_FUNCTION_NAME)};
  // What it was built with: another version's structures may differ.
  return clinux_load_library(VERSIONED("libcrypto.so.", OPENSSL_SHLIB_VERSION), names,
                             sizeof names / sizeof *names, (void **)functions);
}
