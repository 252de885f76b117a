// undelivered.c - calls with a descriptor that do not reach their receiver.
//
//   gcc -O2 -o undelivered undelivered.c
//   undelivered full      the receiver has no room for descriptors
//   undelivered traced    it is traced, as by strace(1)
//
// Tells what the call comes to.
#include "client.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int is_traced;

static void serve(int ready)
{
	int device = open_client();
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	int next = dup(device);
	struct rlimit room = { next, next };
	CHECK(next >= 0 && close(next) == 0);
	CHECK(is_traced ? ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 : setrlimit(RLIMIT_NOFILE, &room) == 0);
	CHECK(write(ready, "", 1) == 1);
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	converse(device, &enter, sizeof enter, BR_TRANSACTION, &call);
	errx(1, "what could not be delivered was read");
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	is_traced = !strcmp(argv[1], "traced");
	pid_t service = start_service(serve);
	struct parcel parcel;
	struct binder_transaction_data answer;
	pack(&parcel, BC_TRANSACTION, 0);
	uint32_t got = converse(open_client(), &parcel.send, sizeof parcel.send, BR_REPLY, &answer);
	puts(got == BR_FAILED_REPLY ? "failed" : "not failed");
	// The next one is to be the context manager.
	CHECK(kill(service, SIGKILL) == 0);
	while (waitpid(service, 0, 0) != service)
		;
	return 0;
}
