// burst.c - clients that each take one large reply, give it up, and stay.
//
//   gcc -O2 -o burst burst.c
//   burst CLIENTS USERS DEVICE...
//
// Each client is a process of its own, of one of so many users (0: our own), with a receive buffer of 4 MiB; each
// device has its share of them. Tells how many replies came, whole, while all who had one before were still there.
#include "client.h"

#include <signal.h>
#include <sys/prctl.h>

enum { REPLY_BYTES = 3900000, FIRST_UID = 2000 };

static const char *path;
static uint8_t reply_bytes[REPLY_BYTES];

static void serve(int ready)
{
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	int device = open_client_at(path), unused = 0;
	// The driver may still have to hear of the end of the manager before.
	while (ioctl(device, BINDER_SET_CONTEXT_MGR, &unused) < 0)
		CHECK(errno == EBUSY && usleep(1000) == 0);
	memset(reply_bytes, 0x5a, sizeof reply_bytes);
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	CHECK(write(ready, "", 1) == 1);
	expect(device, &enter, sizeof enter, BR_TRANSACTION, &call);
	for (;;) {
		struct answer answer = answer_to(&call);
		answer.reply.transaction.data_size = sizeof reply_bytes;
		answer.reply.transaction.data.ptr.buffer = (uintptr_t)reply_bytes;
		size_t size = sizeof answer;
		// A reply that failed is its client's to tell of.
		while (converse(device, &answer, size, BR_TRANSACTION, &call) != BR_TRANSACTION)
			size = 0;
	}
}

// Takes a reply, writes a byte to `told` if it is whole, and stays.
static void take_one(int told, uid_t uid)
{
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	CHECK(uid == 0 || setuid(uid) == 0);
	int device = open_device_at(path);
	map(device, 4 << 20);
	struct send call = { .command = BC_TRANSACTION };
	struct binder_transaction_data reply;
	char outcome = '-';
	if (converse(device, &call, sizeof call, BR_REPLY, &reply) == BR_REPLY && reply.data_size == sizeof reply_bytes) {
		const uint8_t *data = (const uint8_t *)(uintptr_t)reply.data.ptr.buffer;
		size_t at = 0;
		while (at < sizeof reply_bytes && data[at] == 0x5a)
			at++;
		outcome = at == sizeof reply_bytes ? '+' : '-';
		struct {
			uint32_t command;
			binder_uintptr_t buffer;
		} __attribute__((packed)) done = { BC_FREE_BUFFER, reply.data.ptr.buffer };
		write_commands(device, &done, sizeof done);
	}
	CHECK(write(told, &outcome, 1) == 1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	CHECK(argc > 3);
	int clients = atoi(argv[1]), users = atoi(argv[2]), devices = argc - 3, whole = 0;
	for (int device = 0; device < devices; device++) {
		path = argv[3 + device];
		start_service(serve);
	}
	for (int client = 0; client < clients; client++) {
		int told[2];
		CHECK(pipe(told) == 0);
		path = argv[3 + client % devices];
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			take_one(told[1], users ? FIRST_UID + client % users : 0);
		close(told[1]);
		char outcome = '-';
		CHECK(read(told[0], &outcome, 1) >= 0);
		whole += outcome == '+';
	}
	// All others end with us.
	printf("%d of %d\n", whole, clients);
	return 0;
}
