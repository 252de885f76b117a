// send_files.c - a file goes with a call, another comes back with the reply.
//
//   gcc -O2 -o send_files send_files.c
//   send_files              prints what came through them
//
// Two processes, one file: the child becomes the context manager of /dev/binder and answers one
// call, which brings it the writing end of a pipe; its reply brings the parent a file in memory.
#include "client.h"

static void serve(int ready)
{
	struct binder_transaction_data asked;
	uint32_t enter = BC_ENTER_LOOPER;
	struct parcel reply;
	int device = open_client();
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	if (write(ready, "", 1) != 1)
		err(1, "write");
	expect(device, &enter, sizeof enter, BR_TRANSACTION, &asked);
	int pipe_end = unpack(&asked);
	if (write(pipe_end, "there through a pipe", 20) != 20)
		err(1, "write to the pipe");
	close(pipe_end);
	int memory = memfd_create("reply", MFD_CLOEXEC);
	if (memory < 0 || write(memory, "back in a file", 14) != 14)
		err(1, "memfd_create");
	pack(&reply, BC_REPLY, memory);
	expect(device, &reply.send, sizeof reply.send, BR_TRANSACTION_COMPLETE, &asked);
}

int main(void)
{
	struct binder_transaction_data answer;
	int ends[2], status;
	char there[64], back[64];
	struct parcel call;
	pid_t service = start_service(serve);
	if (pipe2(ends, O_CLOEXEC) < 0)
		err(1, "pipe2");
	pack(&call, BC_TRANSACTION, ends[1]);
	expect(open_client(), &call.send, sizeof call.send, BR_REPLY, &answer);
	close(ends[1]);
	// It ends when the other end is closed everywhere: here, in the service and in the driver.
	ssize_t first = 0, more;
	while ((more = read(ends[0], there + first, sizeof there - first)) > 0)
		first += more;
	ssize_t second = pread(unpack(&answer), back, sizeof back, 0);
	if (first < 0 || second < 0)
		err(1, "read");
	printf("%.*s, %.*s\n", (int)first, there, (int)second, back);
	if (waitpid(service, &status, 0) < 0 || status != 0)
		errx(1, "the service ended badly");
	return 0;
}
