// Listings that are read in parts, while the directory changes.
//
// As long as it does not, both sides say the same. Afterwards each side is asked for what every
// file system owes: what was there all the time is read once. Whether a new name is read, or an old
// one still, is up to it.
#include "acts.h"
#include <dirent.h>
#include <sys/syscall.h>

struct entry64 {
  uint64_t inode;
  int64_t next;
  unsigned short size;
  unsigned char type;
  char name[];
};

static uint64_t name_digest(const char *name) { return digest(1, name, strlen(name)); }

// Notes what is there.
static void begin(struct listing *listing) {
  listing->cookie_count = listing->name_count = 0;
  listing->is_sought = listing->is_changed = false;
  listing->changed_paths = listing->removed_of_crowd = 0;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", listing->file);
  DIR *directory = listing->file < 0 ? NULL : opendir(path);
  struct dirent *entry;
  while (directory && (entry = readdir(directory)) && listing->name_count < LISTED)
    listing->names[listing->name_count++] =
        (struct listed){name_digest(entry->d_name), entry->d_ino, 0};
  if (directory) closedir(directory);
}

void act_list(struct side *side, const long *a, struct answer *answer) {
  struct listing *listing = &side->listings[a[0]];
  if (listing->file >= 0) close(listing->file);
  listing->file = open(paths[a[1]], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DONE(listing->file);
  become(0);
  begin(listing);
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Whether a name that was there at the beginning may be read twice or never.
static bool is_changed(const struct listing *listing, const char *name) {
  int number;
  if (sscanf(name, "crowd-%d", &number) == 1 && number < CROWD)
    return listing->removed_of_crowd >> number & 1;
  for (int index = 0; index < PATHS; index++)
    if (listing->changed_paths >> index & 1 && strcmp(last_part(paths[index]), name) == 0)
      return true;
  return false;
}

// How many of the names that were there all the time were not read exactly once.
static int wrong_names(const struct listing *listing) {
  int wrong = 0;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", listing->file);
  DIR *directory = opendir(path);
  struct dirent *entry;
  while (directory && (entry = readdir(directory)))
    for (int index = 0; index < listing->name_count; index++) {
      const struct listed *listed = &listing->names[index];
      bool is_it = listed->name == name_digest(entry->d_name) && listed->inode == entry->d_ino;
      if (is_it && listed->times != 1 && !is_changed(listing, entry->d_name)) wrong++;
    }
  if (directory) closedir(directory);
  return wrong;
}

static void read_entry(struct listing *listing, const struct entry64 *entry,
                       struct answer *answer) {
  uint64_t name = name_digest(entry->name);
  answer->digest = (answer->digest + name) * 31 + entry->type;
  answer->value++;
  // One side may read more than the other then, and both are to return to the same places.
  if (!listing->is_changed && listing->cookie_count < COOKIES)
    listing->cookies[listing->cookie_count++] = entry->next;
  for (int index = 0; index < listing->name_count; index++)
    listing->names[index].times += listing->names[index].name == name;
}

// A few entries.
void act_entries(struct side *side, const long *a, struct answer *answer) {
  struct listing *listing = &side->listings[a[0]];
  if (is_out_of_reach(listing->file)) return;
  long count = syscall(SYS_getdents64, listing->file, block, 64 + a[1] * 16);
  answer->error = count < 0 ? errno : 0;
  for (long place = 0; place < count;) {
    const struct entry64 *entry = (const void *)(block + place);
    read_entry(listing, entry, answer);
    place += entry->size;
  }
  if (listing->is_changed) *answer = (struct answer){.error = answer->error};
  become(0);
  if (count == 0 && !listing->is_sought) answer->value = 1000 * wrong_names(listing);
}

void act_return(struct side *side, const long *a, struct answer *answer) {
  struct listing *listing = &side->listings[a[0]];
  if (is_out_of_reach(listing->file)) return;
  int count = listing->cookie_count;
  int place = count ? (int)(a[1] % (count + 1)) - 1 : -1;
  // A directory that is gone may refuse this, which is of no use to anyone: the next read fails.
  lseek(listing->file, place < 0 ? 0 : listing->cookies[place], SEEK_SET);
  answer->error = 0;
  become(0);
  if (place < 0) begin(listing);
  else listing->is_sought = true;
}

void note_change(struct side *side, const struct operation *operation) {
  const struct form *form = &forms[operation->kind];
  static const char *const kinds[] = {"open",   "link",  "link-file", "symlink", "rename", "unlink",
                                      "rmdir",  "mkdir", "mkfifo",    "socket",  "crowd",
                                      "uncrowd"};
  bool is_change = false;
  for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++)
    is_change |= strcmp(kinds[index], form->name) == 0;
  is_change &= strcmp(form->name, "open") != 0 || operation->arguments[2] & O_CREAT;
  for (int slot = 0; slot < LISTINGS && is_change; slot++) {
    struct listing *listing = &side->listings[slot];
    listing->is_changed = true;
    for (int index = 0; form->letters[index]; index++)
      if (form->letters[index] == 'p')
        listing->changed_paths |= UINT64_C(1) << operation->arguments[index];
    bool removes = strcmp(form->name, "uncrowd") == 0;
    for (long number = operation->arguments[1] % 3; removes && number < CROWD; number += 2)
      listing->removed_of_crowd |= UINT64_C(1) << number;
  }
}
