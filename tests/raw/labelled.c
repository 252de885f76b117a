// labelled.c - a context manager asks for the security contexts of its callers.
//
//   gcc -O2 -o labelled labelled.c
//   labelled    prints the label of a caller, which is a child of its own
#include "client.h"

int main(void)
{
	int status;
	uint32_t enter_looper = BC_ENTER_LOOPER;
	int device = open_client();
	become_manager_with(device, FLAT_BINDER_FLAG_TXN_SECURITY_CTX);
	write_commands(device, &enter_looper, sizeof enter_looper);

	pid_t child = fork();
	if (child == 0) {
		struct send call = { .command = BC_TRANSACTION };
		struct binder_transaction_data answer;
		close(device);
		expect(open_client(), &call, sizeof call, BR_REPLY, &answer);
		_exit(0);
	}
	struct binder_transaction_data_secctx call;
	expect(device, NULL, 0, BR_TRANSACTION_SEC_CTX, &call);
	puts((const char *)(uintptr_t)call.secctx);
	struct send reply = { .command = BC_REPLY };
	write_commands(device, &reply, sizeof reply);
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
