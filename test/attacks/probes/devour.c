// Takes what it can get of one thing, until it is stopped or has reached the bound that it is given. To be run inside a
// sandbox only; the bound keeps the control harmless.
//   devour memory <MiB>      touched pages, and says each 16 MiB
//   devour mapped <MiB>      the same in an anonymous file
//   devour processes <n>     children that sleep; says how many it got
//   devour spin <n>          children that spin for ever
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static int memory(long mebibytes, int file) {
  size_t step = 16 << 20;
  for (long taken = 0; taken < mebibytes; taken += 16) {
    if (file >= 0 && ftruncate(file, (taken + 16) << 20) < 0) return 1;
    int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    char *part = mmap(NULL, step, PROT_READ | PROT_WRITE, flags, file, file >= 0 ? taken << 20 : 0);
    if (part == MAP_FAILED) return 1;
    memset(part, 1, step);
  }
  printf("took %ld MiB\n", mebibytes);
  return 0;
}

static int processes(long wanted, int spin) {
  long got = 0;
  for (; got < wanted; got++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, 0);
    signal(SIGTERM, SIG_IGN);
    if (!spin) sleep(20);
    while (spin) {
    }
    _exit(0);
  }
  printf("got %ld\n", got);
  fflush(stdout);
  if (spin) pause();
  kill(0, SIGKILL);
  return 0;
}

int main(int count, char **words) {
  if (count < 3) return 2;
  long bound = atol(words[2]);
  if (strcmp(words[1], "memory") == 0) return memory(bound, -1);
  if (strcmp(words[1], "mapped") == 0) return memory(bound, memfd_create("devour", 0));
  return processes(bound, strcmp(words[1], "spin") == 0);
}
