// Fifos and sockets by name, and what the file system says of itself.
#include "cases.h"
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>

static void write_fifo(void) {
  int p = (int)MUST(open("p", O_WRONLY));
  MUST(write(p, "through the fifo", 16));
}

static void fifos(void) {
  char text[32] = "";
  MUST(mkfifo("p", 0600));
  DONE(opens("p", O_WRONLY | O_NONBLOCK));
  DONE(opens("p", O_RDONLY | O_NONBLOCK));
  pid_t child = fork();
  if (child == 0) {
    write_fifo();
    _exit(0);
  }
  int p = (int)MUST(open("p", O_RDONLY));
  VALUE(read(p, text, 31));
  say("text", "%s", text);
  VALUE(read(p, text, 31));
  waitpid(child, NULL, 0);
  look("p");
  DONE(rename("p", "q"));
  DONE(opens("q", O_RDONLY | O_NONBLOCK));
  DONE(unlink("q"));
}

static int bind_at(int s, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  return bind(s, (void *)&address, sizeof address);
}

static int connect_to(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int s = socket(AF_UNIX, SOCK_STREAM, 0);
  int result = connect(s, (void *)&address, sizeof address);
  int code = errno;
  close(s);
  errno = code;
  return result;
}

static void connect_as_stranger(void) { DONE(connect_to("moved")); }

static void sockets(void) {
  int s = socket(AF_UNIX, SOCK_STREAM, 0), t = socket(AF_UNIX, SOCK_STREAM, 0);
  DONE(bind_at(s, "s"));
  DONE(bind_at(t, "s"));
  look("s");
  DONE(connect_to("s"));
  DONE(listen(s, 5));
  DONE(connect_to("s"));
  DONE(rename("s", "moved"));
  DONE(connect_to("s"));
  DONE(connect_to("moved"));
  as(&other, connect_as_stranger);
  DONE(chmod("moved", 0777));
  as(&other, connect_as_stranger);
  DONE(opens("moved", O_RDWR));
  DONE(opens("moved", O_PATH));
  DONE(unlink("moved"));
  DONE(connect_to("moved"));
  DONE(bind_at(t, "s"));
  write_file("f", "");
  DONE(connect_to("f"));
}

static void free_space(void) {
  struct statvfs status;
  MUST(statvfs(".", &status));
  say("block size", "%lu %lu", status.f_bsize, status.f_frsize);
  say("blocks, entries", "%llu %llu", (unsigned long long)status.f_blocks,
      (unsigned long long)status.f_files);
  say("longest name", "%lu", status.f_namemax);
  say("free is not more than all", "%d %d", status.f_bfree <= status.f_blocks,
      status.f_ffree <= status.f_files);
  write_file("f", "");
  int f = (int)MUST(open("f", O_RDONLY));
  DONE(fstatvfs(f, &status));
  VALUE(fpathconf(f, _PC_NAME_MAX));
  DONE(statvfs("absent", &status));
}

const struct entry channels[] = {
    {"fifos between processes", fifos},
    {"sockets by name", sockets},
    {"free space", free_space},
    {0},
};
