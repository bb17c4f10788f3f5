// Makes and changes files, and says of each how far it has come once fsync(2) has answered, until
// something fails: what was said must be there after a crash of the machine.
//
// durable DIRECTORY
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

// Writes it all, waits for the disk and closes; 0 on success.
static int store(int directory, const char *name, int flags, const char *text) {
  int file = openat(directory, name, O_WRONLY | O_CREAT | flags, 0644);
  if (file < 0) return -1;
  ssize_t length = (ssize_t)strlen(text);
  int result = write(file, text, (size_t)length) == length && fsync(file) == 0 ? 0 : -1;
  if (close(file) != 0) result = -1;
  return result;
}

int main(int count, char **words) {
  if (count != 2) return 2;
  int directory = open(words[1], O_RDONLY | O_DIRECTORY);
  if (directory < 0) return 2;
  char name[32], next[40], text[32];
  for (int round = 1;; round++) {
    snprintf(name, sizeof name, "file-%d", round);
    snprintf(next, sizeof next, "%s.new", name);
    snprintf(text, sizeof text, "%06d\n", round);
    if (store(directory, next, O_EXCL, text) != 0) break;
    if (renameat(directory, next, directory, name) != 0) break;
    if (store(directory, "lines", O_APPEND, text) != 0) break;
    if (fsync(directory) != 0) break;
    printf("%d\n", round);
    fflush(stdout);
  }
  return 0;
}
