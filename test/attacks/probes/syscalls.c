// Asks the kernel for each thing that a guest must not get, one child process per attempt, and prints what it said:
// "<attempt> <OK | error name | SIG<number>>". To be run inside a sandbox only. Attempts that name no target use
// arguments that do no harm where they succeed, since the same program is the positive control.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define BAD ((void *)8) /* an address that nobody has: the kernel says EFAULT if it gets as far as reading it */
#define NR_fchmodat2 452
#define NR_open_tree_attr 467

static long probe_clone(void) {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid;
}
static long probe_clone_high_bits(void) {
  long pid = syscall(SYS_clone, (1UL << 40) | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid;
}
static long probe_clone3(void) {
  uint64_t args[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
  long pid = syscall(SYS_clone3, args, sizeof args);
  if (pid == 0) _exit(0);
  return pid;
}
static long probe_unshare_user(void) { return syscall(SYS_unshare, CLONE_NEWUSER); }
static long probe_unshare_all(void) {
  return syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                                  CLONE_NEWCGROUP | 0x80);
}
static long probe_setns(void) { return syscall(SYS_setns, -1, 0); }
static long probe_personality(void) { return syscall(SYS_personality, 0x0400000); }

static long probe_ptrace(void) { return syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0); }
static long vm_self(long call) {
  char from = 1, to = 2;
  struct iovec a = {&to, 1}, b = {&from, 1};
  return syscall(call, getpid(), &a, 1, &b, 1, 0);
}
static long probe_process_vm_readv(void) { return vm_self(SYS_process_vm_readv); }
static long probe_process_vm_writev(void) { return vm_self(SYS_process_vm_writev); }
static long probe_kcmp(void) { return syscall(SYS_kcmp, getpid(), getpid(), 0, 1, 1); }
static long probe_pidfd_getfd(void) {
  long self = syscall(SYS_pidfd_open, getpid(), 0);
  if (self < 0) exit(250);
  return syscall(SYS_pidfd_getfd, self, 1, 0);
}

static long probe_mount(void) { return syscall(SYS_mount, BAD, BAD, BAD, 0, 0); }
static long probe_umount2(void) { return syscall(SYS_umount2, "/tmp", 0x7fffffff); }
static long probe_open_tree(void) { return syscall(SYS_open_tree, -1, BAD, 0); }
static long probe_open_tree_attr(void) { return syscall(NR_open_tree_attr, -1, BAD, 0, 0, 0); }
static long probe_move_mount(void) { return syscall(SYS_move_mount, -1, BAD, -1, BAD, 0); }
static long probe_fsopen(void) { return syscall(SYS_fsopen, BAD, 0); }
static long probe_fsconfig(void) { return syscall(SYS_fsconfig, -1, 0, 0, 0, 0); }
static long probe_fsmount(void) { return syscall(SYS_fsmount, -1, 0, 0); }
static long probe_fspick(void) { return syscall(SYS_fspick, -1, BAD, 0); }
static long probe_mount_setattr(void) { return syscall(SYS_mount_setattr, -1, BAD, 0xffffffff, 0, 0); }
static long probe_pivot_root(void) { return syscall(SYS_pivot_root, BAD, BAD); }
static long probe_chroot(void) { return syscall(SYS_chroot, BAD); }
static long probe_open_by_handle_at(void) { return syscall(SYS_open_by_handle_at, -1, BAD, 0); }

static long probe_keyctl(void) { return syscall(SYS_keyctl, 0, -2, 1); }
static long probe_add_key(void) { return syscall(SYS_add_key, "user", "glovebox", "x", 1, -2); }
static long probe_request_key(void) { return syscall(SYS_request_key, "user", "glovebox-none", 0, 0); }
static long probe_io_uring_setup(void) {
  struct io_uring_params params = {0};
  return syscall(SYS_io_uring_setup, 1, &params);
}
static long probe_io_uring_enter(void) { return syscall(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0); }
static long probe_io_uring_register(void) { return syscall(SYS_io_uring_register, -1, 0, 0, 0); }

static long probe_bpf(void) { return syscall(SYS_bpf, 0xffff, BAD, 8); }
static long probe_perf_event_open(void) { return syscall(SYS_perf_event_open, BAD, 0, -1, -1, 0); }
static long probe_userfaultfd(void) { return syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */); }
static long probe_kexec_load(void) { return syscall(SYS_kexec_load, 0, 0, 0, 0xffffffff); }
static long probe_kexec_file_load(void) { return syscall(SYS_kexec_file_load, -1, -1, 0, 0, 0xffffffff); }
static long probe_init_module(void) { return syscall(SYS_init_module, BAD, 0, BAD); }
static long probe_finit_module(void) { return syscall(SYS_finit_module, -1, BAD, 0); }
static long probe_delete_module(void) { return syscall(SYS_delete_module, BAD, 0); }

static long probe_swapon(void) { return syscall(SYS_swapon, BAD, 0xffffffff); }
static long probe_swapoff(void) { return syscall(SYS_swapoff, BAD); }
static long probe_reboot(void) { return syscall(SYS_reboot, 0, 0, 0, 0); }
static long probe_acct(void) { return syscall(SYS_acct, BAD); }
static long probe_quotactl(void) { return syscall(SYS_quotactl, 0xffffffff, BAD, 0, BAD); }
static long probe_quotactl_fd(void) { return syscall(SYS_quotactl_fd, -1, 0, 0, BAD); }
static long probe_syslog(void) { return syscall(SYS_syslog, 99, 0, 0); }
static long probe_settimeofday(void) { return syscall(SYS_settimeofday, BAD, 0); }
static long probe_clock_settime(void) { return syscall(SYS_clock_settime, 99, BAD); }
static long probe_clock_adjtime(void) {
  struct timex time = {0};
  return syscall(SYS_clock_adjtime, 0, &time);
}
static long probe_adjtimex(void) {
  struct timex time = {0};
  return syscall(SYS_adjtimex, &time);
}
static long probe_vhangup(void) { return syscall(SYS_vhangup); }
static long probe_sethostname(void) { return syscall(SYS_sethostname, BAD, -1); }
static long probe_setdomainname(void) { return syscall(SYS_setdomainname, BAD, -1); }
static long probe_nfsservctl(void) { return syscall(SYS_nfsservctl, 0, 0, 0); }
static long probe_newer_call(void) { return syscall(470, 0, 0, 0, 0); }

static int new_file(void) {
  int fd = open("file", O_CREAT | O_RDWR, 0644);
  if (fd < 0) exit(250);
  return fd;
}
static long probe_fchmod(void) { return syscall(SYS_fchmod, new_file(), 04755); }
static long probe_fchmod_group(void) { return syscall(SYS_fchmod, new_file(), 02755); }
static long probe_fchmod_high_bits(void) { return syscall(SYS_fchmod, new_file(), (7UL << 32) | 04755); }
static long probe_fchmod_plain(void) { return syscall(SYS_fchmod, new_file(), 01755); }
static long probe_fchmodat(void) { return new_file(), syscall(SYS_fchmodat, AT_FDCWD, "file", 04755); }
static long probe_fchmodat2(void) { return new_file(), syscall(NR_fchmodat2, AT_FDCWD, "file", 04755, 0); }
static long probe_openat(void) { return syscall(SYS_openat, AT_FDCWD, "new1", O_CREAT | O_WRONLY, 04755); }
static long probe_openat_tmpfile(void) { return syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_WRONLY, 04755); }
static long probe_openat_plain(void) { return syscall(SYS_openat, AT_FDCWD, "new2", O_CREAT | O_WRONLY, 0755); }
static long probe_openat_no_create(void) { return new_file(), syscall(SYS_openat, AT_FDCWD, "file", O_RDONLY, 04755); }
static long probe_openat2(void) {
  uint64_t how[3] = {O_CREAT | O_WRONLY, 04755, 0};
  return syscall(SYS_openat2, AT_FDCWD, "new3", how, sizeof how);
}
static long probe_mknodat_set_id(void) { return syscall(SYS_mknodat, AT_FDCWD, "new4", S_IFREG | 04755, 0); }
/* Device 0:0 is the one that the kernel lets an ordinary user make. */
static long probe_mknodat_device(void) { return syscall(SYS_mknodat, AT_FDCWD, "new5", S_IFCHR | 0600, 0); }
static long probe_mknodat_block(void) { return syscall(SYS_mknodat, AT_FDCWD, "new6", S_IFBLK | 0600, 0x801); }
static long probe_mknodat_fifo(void) { return syscall(SYS_mknodat, AT_FDCWD, "new7", S_IFIFO | 0600, 0); }
static long probe_mkdirat_makes_no_set_id(void) {
  struct stat made;
  if (syscall(SYS_mkdirat, AT_FDCWD, "new8", 06777) < 0 || stat("new8", &made) < 0) return -1;
  errno = EEXIST;
  return (made.st_mode & 06000) == 0 ? 0 : -1;
}

static int own_terminal(void) {
  int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), number = 0, unlock = 0;
  char name[64];
  if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0 || ioctl(master, TIOCGPTN, &number) < 0) exit(250);
  setsid();
  snprintf(name, sizeof name, "/dev/pts/%d", number);
  int slave = open(name, O_RDWR);
  if (slave < 0) exit(250);
  return slave;
}
static long probe_tiocsti(void) { return syscall(SYS_ioctl, own_terminal(), 0x5412UL, "x"); }
static long probe_tiocsti_high_bits(void) { return syscall(SYS_ioctl, own_terminal(), 0x100005412UL, "x"); }
static long probe_tioclinux(void) { return syscall(SYS_ioctl, own_terminal(), 0x541cUL, "\3"); }
static long probe_tiocsetd(void) {
  int discipline = 0; /* N_TTY, which it already has */
  return syscall(SYS_ioctl, own_terminal(), 0x5423UL, &discipline);
}
static long probe_tcgets(void) {
  struct termios settings;
  return ioctl(own_terminal(), TCGETS, &settings);
}

static long probe_socket_packet(void) { return socket(AF_PACKET, SOCK_RAW, 0); }
static long probe_socket_vsock(void) { return socket(AF_VSOCK, SOCK_STREAM, 0); }
static long probe_socket_alg(void) { return socket(AF_ALG, SOCK_SEQPACKET, 0); }
static long probe_socket_netlink_netfilter(void) { return socket(AF_NETLINK, SOCK_RAW, 12); }
static long probe_socket_netlink_generic(void) { return socket(AF_NETLINK, SOCK_RAW, 16); }
static long probe_socket_netlink_route(void) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0); }
static long probe_socket_raw(void) { return socket(AF_INET, SOCK_RAW, 1); }
static long probe_socket_raw6(void) { return socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58); }
static long probe_socket_inet_packet(void) { return socket(AF_INET, SOCK_PACKET, 3); }
static long probe_socket_seqpacket(void) { return socket(AF_INET, SOCK_SEQPACKET, 0); }
static long probe_socket_udplite(void) { return socket(AF_INET, SOCK_DGRAM, 136); }
static long probe_socket_mptcp(void) { return socket(AF_INET, SOCK_STREAM, 262); }
static long probe_socket_tcp(void) { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6); }
static long probe_socket_udp6(void) { return socket(AF_INET6, SOCK_DGRAM, 0); }
static long probe_socketpair_inet(void) {
  int pair[2];
  return socketpair(AF_INET, SOCK_STREAM, 0, pair);
}
static long probe_socketpair_unix(void) {
  int pair[2];
  return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

#ifdef __x86_64__
static long probe_i386_getpid(void) {
  long result = 20;
  __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result;
}
static long probe_x32_getpid(void) { return syscall(0x40000000 + SYS_getpid); }
static long probe_chmod(void) { return new_file(), syscall(SYS_chmod, "file", 04755); }
static long probe_open(void) { return syscall(SYS_open, "new10", O_CREAT | O_WRONLY, 04755); }
static long probe_creat(void) { return syscall(SYS_creat, "new11", 04755); }
static long probe_mknod_set_id(void) { return syscall(SYS_mknod, "new12", S_IFREG | 02755, 0); }
static long probe_mknod_device(void) { return syscall(SYS_mknod, "new13", S_IFCHR | 0600, 0); }
static long probe_iopl(void) { return syscall(SYS_iopl, 0); }
static long probe_ioperm(void) { return syscall(SYS_ioperm, 0, 1, 0); }
static long probe_modify_ldt(void) {
  char table[64];
  return syscall(SYS_modify_ldt, 0, table, sizeof table);
}
static long probe_sysfs(void) { return syscall(SYS_sysfs, 3); }
#endif

#define ATTEMPT(name) {#name, probe_##name}
static const struct {
  const char *name;
  long (*run)(void);
} attempts[] = {
    ATTEMPT(clone), ATTEMPT(clone_high_bits), ATTEMPT(clone3), ATTEMPT(unshare_user), ATTEMPT(unshare_all),
    ATTEMPT(setns), ATTEMPT(personality), ATTEMPT(ptrace), ATTEMPT(process_vm_readv), ATTEMPT(process_vm_writev),
    ATTEMPT(kcmp), ATTEMPT(pidfd_getfd), ATTEMPT(mount), ATTEMPT(umount2), ATTEMPT(open_tree),
    ATTEMPT(open_tree_attr), ATTEMPT(move_mount), ATTEMPT(fsopen), ATTEMPT(fsconfig), ATTEMPT(fsmount),
    ATTEMPT(fspick), ATTEMPT(mount_setattr), ATTEMPT(pivot_root), ATTEMPT(chroot), ATTEMPT(open_by_handle_at),
    ATTEMPT(keyctl), ATTEMPT(add_key), ATTEMPT(request_key), ATTEMPT(io_uring_setup), ATTEMPT(io_uring_enter),
    ATTEMPT(io_uring_register), ATTEMPT(bpf), ATTEMPT(perf_event_open), ATTEMPT(userfaultfd), ATTEMPT(kexec_load),
    ATTEMPT(kexec_file_load), ATTEMPT(init_module), ATTEMPT(finit_module), ATTEMPT(delete_module), ATTEMPT(swapon),
    ATTEMPT(swapoff), ATTEMPT(reboot), ATTEMPT(acct), ATTEMPT(quotactl), ATTEMPT(quotactl_fd), ATTEMPT(syslog),
    ATTEMPT(settimeofday), ATTEMPT(clock_settime), ATTEMPT(clock_adjtime), ATTEMPT(adjtimex), ATTEMPT(vhangup),
    ATTEMPT(sethostname), ATTEMPT(setdomainname), ATTEMPT(nfsservctl), ATTEMPT(newer_call), ATTEMPT(fchmod),
    ATTEMPT(fchmod_group), ATTEMPT(fchmod_high_bits), ATTEMPT(fchmod_plain), ATTEMPT(fchmodat), ATTEMPT(fchmodat2),
    ATTEMPT(openat), ATTEMPT(openat_tmpfile), ATTEMPT(openat_plain), ATTEMPT(openat_no_create), ATTEMPT(openat2),
    ATTEMPT(mknodat_set_id), ATTEMPT(mknodat_device), ATTEMPT(mknodat_block), ATTEMPT(mknodat_fifo),
    ATTEMPT(mkdirat_makes_no_set_id), ATTEMPT(tiocsti), ATTEMPT(tiocsti_high_bits), ATTEMPT(tioclinux),
    ATTEMPT(tiocsetd), ATTEMPT(tcgets), ATTEMPT(socket_packet), ATTEMPT(socket_vsock), ATTEMPT(socket_alg),
    ATTEMPT(socket_netlink_netfilter), ATTEMPT(socket_netlink_generic), ATTEMPT(socket_netlink_route),
    ATTEMPT(socket_raw), ATTEMPT(socket_raw6), ATTEMPT(socket_inet_packet), ATTEMPT(socket_seqpacket),
    ATTEMPT(socket_udplite), ATTEMPT(socket_mptcp), ATTEMPT(socket_tcp), ATTEMPT(socket_udp6),
    ATTEMPT(socketpair_inet), ATTEMPT(socketpair_unix),
#ifdef __x86_64__
    ATTEMPT(i386_getpid), ATTEMPT(x32_getpid), ATTEMPT(chmod), ATTEMPT(open), ATTEMPT(creat), ATTEMPT(mknod_set_id),
    ATTEMPT(mknod_device), ATTEMPT(iopl), ATTEMPT(ioperm), ATTEMPT(modify_ldt), ATTEMPT(sysfs),
#endif
};

int main(void) {
  umask(0);
  for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) _exit(attempts[i].run() >= 0 ? 0 : errno);
    int status;
    if (waitpid(child, &status, 0) != child) return 1;
    if (WIFSIGNALED(status)) printf("%s SIG%s\n", attempts[i].name, sigabbrev_np(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == 0) printf("%s OK\n", attempts[i].name);
    else if (WEXITSTATUS(status) == 250) printf("%s UNPREPARED\n", attempts[i].name);
    else printf("%s %s\n", attempts[i].name, strerrorname_np(WEXITSTATUS(status)));
  }
  return 0;
}
