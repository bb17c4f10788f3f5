// The differences that are meant: what a view answers otherwise than a disk, each with its reason.
// docs/limits.md says the same to people.
#include "acts.h"
#include "fuzzops.h"
#include <linux/falloc.h>

// What no view does, whoever asks: the plain side is left as it is too.
bool is_refused_by_views(const struct operation *operation, const char **reason) {
  if (settings.is_strict) return false;
  const char *name = forms[operation->kind].name;
  const long *a = operation->arguments;
  bool is_unnamed =
      strcmp(name, "open") == 0 && (a[2] & O_TMPFILE) == O_TMPFILE && !(a[2] & O_PATH);
  if (is_unnamed) *reason = "libfuse 3.14 knows no O_TMPFILE";
  bool is_shift = strcmp(name, "fallocate") == 0 &&
                  a[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE |
                          FALLOC_FL_UNSHARE_RANGE);
  if (is_shift) *reason = "the kernel refuses to shift and unshare ranges in FUSE";
  return is_unnamed || is_shift;
}

// What an operation writes: an argument that is a descriptor's slot, or a path.
struct target {
  const char *name;
  int argument;
  bool is_path;
};

static const struct target *target_of(const struct operation *operation) {
  static const struct target targets[] = {
      {"open", 1, true},      {"write", 0, false},    {"pwrite", 0, false},
      {"pwritev2", 0, false}, {"ftruncate", 0, false}, {"truncate", 0, true},
      {"fallocate", 0, false}, {"copy", 2, false},     {"copy-here", 1, false},
      {"sendfile", 2, false}, {"chown", 0, true},     {"lchown", 0, true},
      {"fchown", 0, false},   {NULL, 0, false}};
  for (const struct target *target = targets; target->name; target++)
    if (strcmp(target->name, forms[operation->kind].name) == 0) return target;
  return NULL;
}

// By which path `side` has it.
static void find_target(const struct side *side, const struct operation *operation,
                        const struct target *target, char *path, size_t size) {
  long argument = operation->arguments[target->argument];
  if (target->is_path) snprintf(path, size, "%s", paths[argument]);
  else snprintf(path, size, "/proc/self/fd/%d", side->files[argument]);
}

// Set-id bits that a write or a chown leaves on a disk, for root or for one of the group, a view
// takes away; and overlayfs takes them before it refuses a kind of fallocate(2), where a view keeps
// them. So that the sides stay comparable, both lose them.
void settle(struct side *plain, struct side *view, const struct operation *operation,
            bool has_failed) {
  char path[64], other_path[64];
  struct stat one, other;
  const struct target *target = target_of(operation);
  if (settings.is_strict) return;
  become(0);
  if (!target) return;
  find_target(view, operation, target, other_path, sizeof other_path);
  if (fchdir(view->root) != 0 || stat(other_path, &other) != 0) return;
  bool is_refused = has_failed && strcmp(forms[operation->kind].name, "fallocate") == 0;
  find_target(plain, operation, target, path, sizeof path);
  if (fchdir(plain->root) != 0 || stat(path, &one) != 0) return;
  if (one.st_mode == other.st_mode || S_ISDIR(one.st_mode)) return;
  mode_t cleared = one.st_mode & ~(mode_t)(S_ISUID | S_ISGID);
  if (is_refused && one.st_mode == (other.st_mode & ~(mode_t)(S_ISUID | S_ISGID))) {
    if (fchdir(view->root) != 0 || chmod(other_path, one.st_mode & 07777) != 0) stop(__func__);
  } else if (other.st_mode == cleared && chmod(path, cleared & 07777) != 0)
    stop(__func__);
}
