// nice.c - how nice a server is while it serves a caller that is nicer.
//
//   gcc -O2 -o nice nice.c
//   nice         prints the server's nice value during the call and after it
//   nice stays   the same, of one that is not expected to change
//
// The kernel's driver changes it, within RLIMIT_NICE; ours does if that is asked for.
#include "client.h"

#include <sys/resource.h>
#include <time.h>

static int stays;

// The nice value of this process once it is `expected`, or what it is when that does not come.
static int nice_value(int expected)
{
	int value = 0;
	for (int i = 0; i < (stays ? 50 : HANG_TIMEOUT_S * 100); i++) {
		value = getpriority(PRIO_PROCESS, 0);
		if (value == expected)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	return value;
}

int main(int argc, char **argv)
{
	int status;
	stays = argc > 1 && strcmp(argv[1], "stays") == 0;
	struct rlimit limit = { .rlim_cur = 40, .rlim_max = 40 };
	int is_allowed = setrlimit(RLIMIT_NICE, &limit) == 0;
	// Privilege is as good as a limit.
	is_allowed |= setpriority(PRIO_PROCESS, 0, 1) == 0 && setpriority(PRIO_PROCESS, 0, 0) == 0;
	if (!is_allowed || getpriority(PRIO_PROCESS, 0) != 0) {
		puts("not allowed here");
		return 0;
	}
	uint32_t enter_looper = BC_ENTER_LOOPER;
	int device = open_client();
	// Those who serve it may be as nice as can be.
	become_manager_with(device, 19);
	write_commands(device, &enter_looper, sizeof enter_looper);

	struct binder_transaction_data got;
	pid_t child = fork();
	if (child == 0) {
		struct send call = { .command = BC_TRANSACTION };
		close(device);
		setpriority(PRIO_PROCESS, 0, 7);
		expect(open_client(), &call, sizeof call, BR_REPLY, &got);
		_exit(0);
	}
	expect(device, NULL, 0, BR_TRANSACTION, &got);
	printf("serving: %d\n", nice_value(7));
	struct send reply = { .command = BC_REPLY };
	write_commands(device, &reply, sizeof reply);
	printf("served: %d\n", nice_value(0));
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
