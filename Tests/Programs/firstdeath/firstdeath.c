// Runs a command that starts a daemon, and kills that as soon as it has a child of its own.
//
// firstdeath COMMAND [ARG...] ends with the status of COMMAND.
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// The first child of a process; 0 if it has none.
static int child_of(int process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
  FILE *file = fopen(path, "r");
  int child = 0;
  if (!file) return 0;
  if (fscanf(file, "%d", &child) != 1) child = 0;
  fclose(file);
  return child;
}

int main(int count, char **words) {
  if (count < 2) return 2;
  int command = fork();
  if (command == 0) {
    execvp(words[1], words + 1);
    _exit(127);
  }
  int daemon = 0, status;
  while (!daemon || !child_of(daemon)) {
    if (!daemon) daemon = child_of(command);
    if (waitpid(command, &status, WNOHANG) == command) return WEXITSTATUS(status);
  }
  kill(daemon, SIGKILL);
  waitpid(command, &status, 0);
  return WEXITSTATUS(status);
}
