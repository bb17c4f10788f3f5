// Prints when its first instruction ran, in nanoseconds of CLOCK_MONOTONIC, for scripts/bench-run.
#include <stdio.h>
#include <time.h>

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return printf("%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec) < 0;
}
