// confined.c - a client that allows itself few system calls, before its first call or after some.
//
//   gcc -O2 -pthread -o confined confined.c
//   confined CALLS    says how many of 20 calls were answered once it was confined, after so many before
#include "echo.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

// From here on a system call that is not allowed ends the process.
static void confine(int by_prctl)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(ioctl),
		ALLOW(write),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof steps / sizeof *steps, steps };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (by_prctl)
		CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	else
		CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	// Its service is confined by nothing.
	pid_t service = start_service(serve);
	for (int by_prctl = 0; by_prctl < 2; by_prctl++) {
		pid_t client = fork();
		if (client == 0) {
			int device = open_client();
			for (int call = 0; call < atoi(argv[1]); call++)
				CHECK(ask(device, ECHO, call) == (uint32_t)call);
			confine(by_prctl);
			int answered = 0;
			for (uint32_t word = 0; word < 20; word++)
				answered += ask(device, ECHO, word) == word;
			char told[32];
			CHECK(write(1, told, snprintf(told, sizeof told, "%d answered\n", answered)) > 0);
			_exit(0);
		}
		int status;
		CHECK(waitpid(client, &status, 0) == client);
		if (status)
			printf("it ended with %#x\n", status);
	}
	end_service(service);
	return 0;
}
