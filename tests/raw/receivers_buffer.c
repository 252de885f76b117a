// receivers_buffer.c - a client that sends from the receiver's own buffer, which it inherited, where nothing was delivered.
//
//   gcc -O2 -o receivers_buffer receivers_buffer.c
//   receivers_buffer        prints what the receiver gets
//
// The process that delivers that page may be the one that waits for it.
#include "client.h"

enum { BUFFER = 1 << 20, PAYLOAD = 64 };

static void send_from(int receiver)
{
	struct send send = { .command = BC_TRANSACTION };
	int own = open_device();
	map(own, BUFFER);
	send.transaction.flags = TF_ONE_WAY;
	send.transaction.data_size = PAYLOAD;
	send.transaction.data.ptr.buffer = (uintptr_t)map(receiver, BUFFER) + BUFFER / 2;
	write_commands(own, &send, sizeof send);
}

int main(void)
{
	int device = open_device();
	uint8_t returns[256];
	map(device, BUFFER);
	become_manager(device);
	pid_t child = fork();
	if (child == 0) {
		send_from(device);
		return 0;
	}
	int status;
	waitpid(child, &status, 0);
	if (status != 0)
		return 1;
	for (;;) {
		uint32_t last;
		struct binder_transaction_data call;
		size_t got = write_read(device, NULL, 0, returns, sizeof returns);
		if (got < sizeof call + sizeof last)
			continue;
		memcpy(&last, returns + got - sizeof call - sizeof last, sizeof last);
		memcpy(&call, returns + got - sizeof call, sizeof call);
		if (last != BR_TRANSACTION)
			continue;
		printf("%d bytes, the first %d\n", (int)call.data_size,
		       *(const char *)(uintptr_t)call.data.ptr.buffer);
		return 0;
	}
}
