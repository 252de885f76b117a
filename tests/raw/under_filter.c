// under_filter.c - runs a program under a filter of system calls, as containers and services do.
//
//   gcc -O2 -o under_filter under_filter.c
//   under_filter refuse CALL,CALL,... PROGRAM ARGUMENT...   these calls fail with EPERM
//   under_filter end CALL,CALL,... PROGRAM ARGUMENT...      these end the program
//   under_filter only CALL,CALL,... PROGRAM ARGUMENT...     all others end the program
#include <err.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define NAMED(call) { #call, SYS_##call }
static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	NAMED(brk), NAMED(clock_gettime), NAMED(clone), NAMED(clone3), NAMED(close), NAMED(dup3), NAMED(execve),
	NAMED(exit), NAMED(exit_group), NAMED(faccessat), NAMED(fcntl), NAMED(fstat), NAMED(fstatfs), NAMED(ftruncate),
	NAMED(futex), NAMED(getcpu), NAMED(getpid), NAMED(getppid), NAMED(getrandom), NAMED(gettid), NAMED(ioctl),
	NAMED(lseek), NAMED(madvise), NAMED(memfd_create), NAMED(mmap), NAMED(mprotect), NAMED(mremap), NAMED(munmap), NAMED(nanosleep),
	NAMED(clock_nanosleep), NAMED(openat), NAMED(pipe2), NAMED(ppoll), NAMED(prctl), NAMED(pread64), NAMED(prlimit64),
	NAMED(read), NAMED(readlinkat), NAMED(reboot), NAMED(recvmsg), NAMED(rseq), NAMED(rt_sigaction),
	NAMED(rt_sigprocmask), NAMED(rt_sigreturn), NAMED(set_robust_list), NAMED(set_tid_address), NAMED(setitimer), NAMED(sigaltstack),
	NAMED(socketpair), NAMED(statfs), NAMED(statx), NAMED(wait4), NAMED(write), NAMED(newfstatat), NAMED(kill),
#if defined __x86_64__
	NAMED(access), NAMED(alarm), NAMED(arch_prctl), NAMED(dup2), NAMED(open), NAMED(pause),
#else
	// Here newer calls do what these do elsewhere.
	{ "access", -1 }, { "alarm", -1 }, { "arch_prctl", -1 }, { "dup2", -1 }, { "open", -1 }, { "pause", -1 },
#endif
	// Older headers lack them; they have these numbers everywhere.
	{ "faccessat2", 439 }, { "futex_waitv", 449 }, { "pidfd_getfd", 438 },
};

static unsigned int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].number;
	errx(2, "no system call is named %s", name);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(2, "usage: under_filter refuse|end|only CALL,CALL,... PROGRAM ARGUMENT...");
	unsigned int named = SECCOMP_RET_KILL_PROCESS, others = SECCOMP_RET_ALLOW;
	if (!strcmp(argv[1], "refuse")) {
		named = SECCOMP_RET_ERRNO | EPERM;
	} else if (!strcmp(argv[1], "only")) {
		named = SECCOMP_RET_ALLOW;
		others = SECCOMP_RET_KILL_PROCESS;
	} else if (strcmp(argv[1], "end")) {
		errx(2, "unknown: %s", argv[1]);
	}
	struct sock_filter program[256] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short len = 4;
	for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
		if (len > 250)
			errx(2, "too many calls");
		program[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number_of(name), 0, 1);
		program[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, named);
	}
	program[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	struct sock_fprog filter = { len, program };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		err(1, "installing the filter");
	execvp(argv[3], argv + 3);
	err(1, "%s", argv[3]);
}
