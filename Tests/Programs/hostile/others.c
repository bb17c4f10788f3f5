// Others on the host: by sockets, shared memory, terminals and control groups.
#include "hostile.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connect_to(int family, const void *address, socklen_t length) {
  int connection = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int result = connect(connection, address, length);
  int error = errno;
  close(connection);
  errno = error;
  return result;
}

// By a name that is a path, or an abstract one behind an `@`.
static int connect_local(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strnlen(name, sizeof address.sun_path - 1);
  memcpy(address.sun_path, name, length);
  if (*name == '@') address.sun_path[0] = 0;
  return connect_to(AF_UNIX, &address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

static int connect_inet(in_addr_t host, int port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(host)}};
  return connect_to(AF_INET, &address, sizeof address);
}

void reach_others(void) {
  report("socket: D-Bus", connect_local("/run/dbus/system_bus_socket"));
  report("socket: X", connect_local("/tmp/.X11-unix/X0"));
  report("socket: X, abstract", connect_local("@/tmp/.X11-unix/X0"));
  report("socket: abstract", connect_local("@sandboxfs-test"));
  report("socket: the container's control", connect_local(host("control")));
  report("socket: the host's loopback", connect_inet(INADDR_LOOPBACK, atoi(host("port"))));
  report("socket: the network", connect_inet(0xC0000201 /* 192.0.2.1 */, 80));
  report("memory: shared by key", shmget(atoi(host("memory")), 0, 0));
  report("terminal: the controlling one", opened("/dev/tty", O_RDWR));
  report("terminal: another's", opened("/dev/pts/0", O_RDWR));
  report("cgroup: the tree", opened("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
  report("cgroup: mount it", mount("none", "/home/app/Documents", "cgroup2", 0, NULL));
}
