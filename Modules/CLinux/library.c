#include "CLinux_library.h"
#include <dlfcn.h>

const char *clinux_load_library(const char *library, const char *const *names, int count,
                                void **functions) {
  // What it calls itself is bound as it is called: most of it never is.
  void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return dlerror();
  for (int index = 0; index < count; index++)
    if (!(functions[index] = dlsym(handle, names[index]))) return dlerror();
  return 0;
}
