// Tries to live on after its parent, its exec and its host have ended: forks twice, leaves the session, asks for no
// signal at a parent's death, ignores every signal that can be ignored, holds no stream, and leaves a beat in a file.
// With "init" it first makes the first process of the namespace, through its memory, forget its own parent's death.
// To be run inside a sandbox only. It ends by itself after a minute, whatever happens.
//   outlive <file for the beats> [init | stay]
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// prctl(PR_SET_PDEATHSIG, 0), then wait for ever.
#if defined(__x86_64__)
static const unsigned char forget[] = {0xb8, 0x9d, 0, 0, 0, 0xbf, 1, 0, 0, 0, 0x31, 0xf6, 0x0f, 0x05,
                                       0xb8, 0x22, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};
#else
static const uint32_t forget[] = {0xd28014e8, 0xd2800020, 0xd2800001, 0xd4000001, 0xd2800000, 0xd2800001, 0xd2800002,
                                  0xd2800003, 0xd2800004, 0xd2800928, 0xd4000001, 0x17fffff9};
#endif

// Where the first process goes on when it wakes. While it runs, the kernel says so instead; 0 if that lasts.
static unsigned long counter_of_init(void) {
  struct timespec pause = {0, 1000 * 1000};
  for (int i = 0; i < 10000; i++) {
    char line[512] = {0};
    int file = open("/proc/1/syscall", O_RDONLY);
    if (file < 0 || read(file, line, sizeof line - 1) <= 0) return 0;
    close(file);
    char *last = strrchr(line, ' ');
    if (last != NULL) return strtoul(last + 1, NULL, 16);
    nanosleep(&pause, NULL);
  }
  return 0;
}

static int rewrite_init(const char *memory) {
  unsigned long counter = counter_of_init();
  if (counter == 0) return -1;
  int target = open(memory, O_WRONLY);
  if (target < 0) return -1;
  if (pwrite(target, forget, sizeof forget, (off_t)counter) != (ssize_t)sizeof forget) return -1;
  // The first process wakes when it has a child to bury, and goes on in the new code.
  pid_t middle = fork();
  if (middle == 0) {
    if (fork() == 0) _exit(0);
    _exit(0);
  }
  waitpid(middle, NULL, 0);
  return 0;
}

static void beat(const char *path) {
  struct timespec pause = {0, 50 * 1000 * 1000};
  for (int i = 0; i < 1200; i++) {
    int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0644);
    if (file >= 0) {
      if (write(file, ".", 1) != 1) _exit(1);
      close(file);
    }
    nanosleep(&pause, NULL);
  }
}

int main(int count, char **words) {
  if (count < 2) return 2;
  const char *how = count > 2 ? words[2] : "";
  if (strcmp(how, "init") == 0) {
    const char *ways[] = {"/proc/1/mem", "/proc/1/task/1/mem"};
    for (int i = 0; i < 2; i++)
      printf("%s %s\n", ways[i], rewrite_init(ways[i]) == 0 ? "WRITTEN" : strerrorname_np(errno));
    fflush(stdout);
  }
  if (strcmp(how, "stay") != 0) {
    if (fork() > 0) return 0;
    setsid();
    if (fork() > 0) return 0;
    for (int fd = 0; fd < 64; fd++) close(fd);
  }
  prctl(PR_SET_PDEATHSIG, 0);
  for (int number = 1; number < 64; number++) signal(number, SIG_IGN);
  beat(words[1]);
  return 0;
}
