// Cuts a file system off from its disk, as a loss of power does: nothing more reaches it, the
// journal neither.
//
// powerloss DIRECTORY
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

int main(int count, char **words) {
  if (count != 2) return 2;
  int directory = open(words[1], O_RDONLY | O_DIRECTORY);
  uint32_t without_journal = 2;
  // EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN are one number.
  if (directory < 0 || ioctl(directory, _IOR('X', 125, uint32_t), &without_journal) != 0) {
    perror(words[1]);
    return 1;
  }
  return 0;
}
