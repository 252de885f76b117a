// who_calls.c - who the driver says that a caller is, in the receiver's own namespaces.
//
//   gcc -O2 -o who_calls who_calls.c
//   who_calls serve COUNT    answers COUNT calls, printing "PID UID" of each caller as the driver tells it
//   who_calls call [COUNT]   prints "PID UID" of itself, then makes a call, or so many
#include "client.h"

static void serve(int device, int count)
{
	uint32_t enter = BC_ENTER_LOOPER;
	become_manager(device);
	puts("serving");
	fflush(stdout);
	write_commands(device, &enter, sizeof enter);
	while (count-- > 0) {
		struct binder_transaction_data call;
		expect(device, NULL, 0, BR_TRANSACTION, &call);
		struct answer answer = answer_to(&call);
		printf("heard %d %d\n", call.sender_pid, (int)call.sender_euid);
		fflush(stdout);
		write_commands(device, &answer, sizeof answer);
	}
}

int main(int argc, char **argv)
{
	struct send call = { .command = BC_TRANSACTION };
	struct binder_transaction_data answer;
	int device = open_client();
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		serve(device, atoi(argv[2]));
		return 0;
	}
	printf("am %d %d\n", getpid(), geteuid());
	fflush(stdout);
	for (int left = argc == 3 ? atoi(argv[2]) : 1; left > 0; left--) {
		expect(device, &call, sizeof call, BR_REPLY, &answer);
		let_go(device, &answer);
	}
	return 0;
}
