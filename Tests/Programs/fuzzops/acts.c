// Acting: one operation on one side, as somebody. Files here, names in names.c.
#include "fuzzops.h"
#include "acts.h"
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

// Aligned, for O_DIRECT.
char block[BLOCK] __attribute__((aligned(4096)));

uint64_t digest(uint64_t sum, const void *bytes, size_t count) {
  const unsigned char *next = bytes;
  while (count--) sum = (sum ^ *next++) * 1099511628211u;
  return sum;
}

void fill_block(long value, long count) {
  uint64_t number = (uint64_t)value * 2654435761u + 1;
  for (long index = 0; index < count; index++) {
    if (index % 64 == 0) number = number * 6364136223846793005u + 1442695040888963407u;
    block[index] = (char)('a' + (number >> 40) % 26);
  }
}

// What must not happen has happened, and says nothing about the sides.
_Noreturn void stop(const char *where) {
  fprintf(stderr, "fuzzops: %s: %s\n", where, strerror(errno));
  exit(3);
}

void become(int actor) {
  static int now;
  if (settings.is_user || actor == now) return;
  static const gid_t groups[] = {1001};
  if (seteuid(0) != 0 || setegid(0) != 0 || setgroups(actor == 2, groups) != 0) stop(__func__);
  gid_t group = actor ? (gid_t)(1000 + actor) : 0;
  if (setegid(group) != 0 || seteuid(actor ? (uid_t)(1000 + actor) : 0) != 0) stop(__func__);
  now = actor;
}

// Whoever is not root must come back to it.
void open_root(struct side *side) {
  if (settings.is_user && fchmod(side->root, 0777) != 0) stop(__func__);
}

void act(struct side *side, const struct operation *operation, struct answer *answer) {
  *answer = (struct answer){0};
  become(0);
  if (fchdir(side->root) != 0) stop(__func__);
  become(operation->actor);
  errno = 0;
  forms[operation->kind].act(side, operation->arguments, answer);
  if (answer->error == 0) note_change(side, operation);
  open_root(side);
}

// MARK: Memory that may not be there

static sigjmp_buf back;
static void on_fault(int number) {
  (void)number;
  siglongjmp(back, 1);
}

// Runs `body`; false if it met a page that no file stands behind.
bool touch_memory(void (*body)(void *), void *argument) {
  struct sigaction action = {.sa_handler = on_fault}, old;
  sigaction(SIGBUS, &action, &old);
  bool is_there = sigsetjmp(back, 1) == 0;
  if (is_there) body(argument);
  sigaction(SIGBUS, &old, NULL);
  return is_there;
}

struct page {
  const char *start;
  size_t size;
  uint64_t sum;
};

static void digest_page(void *argument) {
  struct page *page = argument;
  page->sum = digest(page->sum, page->start, page->size);
}

uint64_t digest_mapping(const struct mapping *mapping) {
  uint64_t sum = 1;
  for (size_t place = 0; place < mapping->size; place += 4096) {
    struct page page = {mapping->start + place, 4096, sum};
    sum = touch_memory(digest_page, &page) ? page.sum : sum * 31 + 7;
  }
  return sum;
}

// MARK: Descriptors

bool is_out_of_reach(int file) {
  char link[32], path[512];
  if (!settings.is_user) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count < 0) return false;
  path[count] = 0;
  bool is_far = access(path, F_OK) != 0 && errno == EACCES;
  // A directory is opened again for each part of a listing.
  return is_far || (access(link, R_OK) != 0 && fcntl(file, F_GETFL) & O_DIRECTORY);
}

bool is_lost(int file) {
  struct stat status;
  bool is_open = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                 !(fcntl(file, F_GETFL) & O_PATH);
  return !is_open && is_out_of_reach(file);
}

// Where the daemon does the I/O, O_DIRECT needs no alignment, which is meant: so such descriptors
// are given one, and nothing is copied from or to them. Where there are limits, it writes.
static bool is_aligned(void) { return settings.is_cached || settings.is_limited; }

static bool is_direct(const struct side *side, long slot) {
  int flags = fcntl(side->files[slot], F_GETFL);
  return flags >= 0 && (flags & O_DIRECT);
}

static long direct(const struct side *side, long slot, long count) {
  return is_aligned() && is_direct(side, slot) ? count / 4096 * 4096 : count;
}

void act_open(struct side *side, const long *a, struct answer *answer) {
  if (side->files[a[0]] >= 0) close(side->files[a[0]]);
  errno = 0;
  int flags = (int)a[2] | O_CLOEXEC | O_NONBLOCK;
  if (is_aligned() && flags & O_APPEND) flags &= ~O_DIRECT;
  // What may not be read is written at once where else the kernel keeps it, and the time stays.
  bool only_writes = (flags & O_ACCMODE) == O_WRONLY && !(flags & (O_PATH | O_DIRECTORY));
  if (settings.is_kept && only_writes && access(paths[a[1]], R_OK) != 0 && errno == EACCES) return;
  side->files[a[0]] = open(paths[a[1]], flags, (mode_t)a[3]);
  DONE(side->files[a[0]]);
}

void act_close(struct side *side, const long *a, struct answer *answer) {
  int result = close(side->files[a[0]]);
  side->files[a[0]] = -1;
  DONE(result);
}

void act_read(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[1]);
  if (is_aligned() && is_direct(side, a[0])) count = 0;
  if (count == 0) return;
  READ(read(side->files[a[0]], block, (size_t)count));
}

void act_pread(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[2]);
  if (count == 0) return;
  READ(pread(side->files[a[0]], block, (size_t)count, direct(side, a[0], a[1])));
}

void act_readv(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[2]);
  long half = count / 2 / 4096 * 4096;
  struct iovec parts[] = {{block, (size_t)half}, {block + half, (size_t)(count - half)}};
  if (count == 0) return;
  READ(preadv(side->files[a[0]], parts, 2, direct(side, a[0], a[1])));
}

void act_write(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[1]);
  if (is_aligned() && is_direct(side, a[0])) count = 0;
  fill_block(a[2], count);
  VALUE(write(side->files[a[0]], block, (size_t)count));
}

void act_pwrite(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[2]);
  fill_block(a[3], count);
  VALUE(pwrite(side->files[a[0]], block, (size_t)count, direct(side, a[0], a[1])));
}

void act_pwritev(struct side *side, const long *a, struct answer *answer) {
  long count = direct(side, a[0], a[2]);
  fill_block(a[3], count);
  long half = count / 2 / 4096 * 4096;
  struct iovec parts[] = {{block, (size_t)half}, {block + half, (size_t)(count - half)}};
  int flags = (int)a[4] & (settings.is_user ? ~0 : ~RWF_NOAPPEND);
  if (is_aligned() && is_direct(side, a[0])) flags &= ~RWF_APPEND;
  VALUE(pwritev2(side->files[a[0]], parts, 2, direct(side, a[0], a[1]), flags));
}

// Where the kernel keeps what is written, all of a file is data.
static off_t seek_in_data(int file, off_t size, off_t place, int whence) {
  if (place < 0 || place >= size) return errno = ENXIO, -1;
  return lseek(file, whence == SEEK_HOLE ? size : place, SEEK_SET);
}

void act_seek(struct side *side, const long *a, struct answer *answer) {
  struct stat status;
  // Directories are sought by the kernel, which does not know where the daemon's end.
  if (fstat(side->files[a[0]], &status) == 0 && S_ISDIR(status.st_mode)) return;
  if (settings.is_kept && errno == 0 && (a[2] == SEEK_DATA || a[2] == SEEK_HOLE)) {
    VALUE(seek_in_data(side->files[a[0]], status.st_size, a[1], (int)a[2]));
    return;
  }
  // On tmpfs a hole that was mapped is none, and elsewhere what was allocated and read: the view's
  // mappings and pages are its own.
  bool is_uncertain = settings.is_cached && (!settings.is_user || side->is_allocated);
  // The store's pages, which a view does not give up, are data in what was allocated.
  is_uncertain |= side->is_allocated && side->is_advised;
  if (is_uncertain && (a[2] == SEEK_DATA || a[2] == SEEK_HOLE)) return;
  VALUE(lseek(side->files[a[0]], a[1], (int)a[2]));
}

// As for a part of a listing, the daemon opens a directory again to bring it to the disk.
static bool is_shut(int file) {
  char link[32];
  struct stat status;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (!settings.is_user || fstat(file, &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  return is_out_of_reach(file) || access(link, R_OK) != 0;
}

void act_sync(struct side *side, const long *a, struct answer *answer) {
  if (is_shut(side->files[a[0]])) return;
  DONE(a[1] & 1 ? fdatasync(side->files[a[0]]) : fsync(side->files[a[0]]));
}

// Drops clean pages, which must then be read again.
void act_advise(struct side *side, const long *a, struct answer *answer) {
  side->is_advised = true;
  VALUE(posix_fadvise(side->files[a[0]], 0, 0, POSIX_FADV_DONTNEED));
}

void act_resize(struct side *side, const long *a, struct answer *answer) {
  DONE(ftruncate(side->files[a[0]], a[1]));
}

void act_allocate(struct side *side, const long *a, struct answer *answer) {
  struct stat status;
  // What lies beyond the end of a file is paid for by nobody.
  bool keeps_size = a[1] & FALLOC_FL_KEEP_SIZE && !(a[1] & FALLOC_FL_PUNCH_HOLE);
  if (settings.is_limited && keeps_size && fstat(side->files[a[0]], &status) == 0 &&
      a[2] + a[3] > status.st_size)
    return;
  DONE(fallocate(side->files[a[0]], (int)a[1], a[2], a[3]));
}

void act_copy(struct side *side, const long *a, struct answer *answer) {
  off_t from = a[1], to = a[3];
  if (is_direct(side, a[0]) || is_direct(side, a[2])) return;
  int source = side->files[a[0]], target = side->files[a[2]];
  ssize_t count = copy_file_range(source, &from, target, &to, (size_t)a[4], 0);
  VALUE(count);
  if (count >= 0 && (from != a[1] + count || to != a[3] + count)) answer->digest = 1;
}

void act_copy_here(struct side *side, const long *a, struct answer *answer) {
  if (is_direct(side, a[0]) || is_direct(side, a[1])) return;
  VALUE(copy_file_range(side->files[a[0]], NULL, side->files[a[1]], NULL, (size_t)a[2], 0));
}

void act_send(struct side *side, const long *a, struct answer *answer) {
  off_t from = a[1];
  if (settings.is_cached && (is_direct(side, a[0]) || is_direct(side, a[2]))) return;
  VALUE(sendfile(side->files[a[2]], side->files[a[0]], &from, (size_t)a[3]));
}

void act_flags(struct side *side, const long *a, struct answer *answer) {
  // In passthrough the kernel's own descriptor keeps these as they were at its opening.
  int kept = fcntl(side->files[a[0]], F_GETFL) & (O_DIRECT | O_NOATIME | O_APPEND);
  if (settings.is_user) kept &= ~O_APPEND;
  int added = kept & O_DIRECT ? 0 : (int)a[1];
  DONE(fcntl(side->files[a[0]], F_SETFL, added | kept | O_NONBLOCK));
}

// MARK: Locks

void act_flock(struct side *side, const long *a, struct answer *answer) {
  static const int kinds[] = {LOCK_SH, LOCK_EX, LOCK_UN};
  DONE(flock(side->files[a[0]], kinds[a[1] % 3] | LOCK_NB));
}

void act_lock(struct side *side, const long *a, struct answer *answer) {
  static const short kinds[] = {F_RDLCK, F_WRLCK, F_UNLCK};
  struct flock lock = {.l_type = kinds[a[1] % 3], .l_start = a[1] / 3, .l_len = 2};
  DONE(fcntl(side->files[a[0]], F_OFD_SETLK, &lock));
}

// MARK: Mappings

void act_map(struct side *side, const long *a, struct answer *answer) {
  struct mapping *mapping = &side->mappings[a[0]];
  if (mapping->start) munmap(mapping->start, mapping->size), close(mapping->file);
  *mapping = (struct mapping){0};
  int protection = a[2] & 1 ? PROT_READ | PROT_WRITE : PROT_READ;
  int flags = a[2] & 2 ? MAP_PRIVATE : MAP_SHARED;
  size_t size = a[4] > MAPPED ? MAPPED : a[4] ? (size_t)a[4] : 4096;
  size = (size + 4095) / 4096 * 4096;
  off_t offset = a[3] / 4096 * 4096;
  char *start = mmap(NULL, size, protection, flags, side->files[a[1]], offset);
  DONE(start == MAP_FAILED ? -1 : 0);
  if (start == MAP_FAILED) return;
  int file = fcntl(side->files[a[1]], F_DUPFD_CLOEXEC, 0);
  *mapping = (struct mapping){start, size, offset, file, a[2] & 1};
}

void act_unmap(struct side *side, const long *a, struct answer *answer) {
  struct mapping *mapping = &side->mappings[a[0]];
  answer->error = mapping->start ? 0 : EBADF;
  if (mapping->start) munmap(mapping->start, mapping->size), close(mapping->file);
  *mapping = (struct mapping){0};
}

struct store {
  char *target;
  size_t count;
};

static void store_bytes(void *argument) {
  struct store *store = argument;
  memcpy(store->target, block, store->count);
}

// Within one page and the file: so it is done whole or not at all, and leaves nothing behind its
// end, which would be there until the page is written.
void act_store(struct side *side, const long *a, struct answer *answer) {
  struct mapping *mapping = &side->mappings[a[0]];
  struct stat status;
  answer->error = EBADF;
  if (!mapping->start || !mapping->is_writable || (size_t)a[1] >= mapping->size) return;
  if (fstat(mapping->file, &status) != 0) return;
  long room = 4096 - a[1] % 4096, rest = status.st_size - mapping->offset - a[1];
  long count = a[2] < room ? a[2] : room;
  if (rest < count && rest > 0) count = rest;
  // What is stored behind the end of a file, in its last page, may be gone any time.
  if (rest <= 0 && rest + a[1] % 4096 > 0) return;
  struct store store = {mapping->start + a[1], (size_t)count};
  fill_block(a[3], count);
  answer->error = touch_memory(store_bytes, &store) ? 0 : EFAULT;
}

void act_load(struct side *side, const long *a, struct answer *answer) {
  struct mapping *mapping = &side->mappings[a[0]];
  if (!mapping->start) answer->error = EBADF;
  else answer->digest = digest_mapping(mapping);
}

void act_sync_map(struct side *side, const long *a, struct answer *answer) {
  struct mapping *mapping = &side->mappings[a[0]];
  DONE(mapping->start ? msync(mapping->start, mapping->size, MS_SYNC) : 0);
}
