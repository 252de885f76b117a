// own_files.c - offers a receiver files of the driver's own file system, and says what becomes of them.
//
//   gcc -O2 -o own_files own_files.c
//   own_files DEVICE FILE...     a child becomes the manager of DEVICE and reads nothing. Tells what becomes of
//                                one-ways to it, with the sender's descriptor of the device and with one of each
//                                FILE, and how the wait for an answer that never comes ends
#include "client.h"

#include <signal.h>

static const char *path;

static void serve(int ready)
{
	int device = open_client_at(path);
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	CHECK(write(ready, "", 1) == 1);
	pause();
}

static void offer(int device, const char *name, int fd)
{
	struct parcel parcel;
	uint32_t unused;
	pack(&parcel, BC_TRANSACTION, fd);
	parcel.send.transaction.flags |= TF_ONE_WAY;
	uint32_t got = converse(device, &parcel.send, sizeof parcel.send, BR_TRANSACTION_COMPLETE, &unused);
	printf("%s: %s\n", name, got == BR_TRANSACTION_COMPLETE ? "taken" : "refused");
}

int main(int argc, char **argv)
{
	CHECK(argc > 1);
	path = argv[1];
	pid_t service = start_service(serve);
	int device = open_client_at(path);
	offer(device, "the device", device);
	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);
		CHECK(fd >= 0);
		offer(device, strrchr(argv[i], '/') + 1, fd);
	}
	puts("waiting");
	fflush(stdout);
	uint8_t returns[256];
	struct send call = { .command = BC_TRANSACTION };
	struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
	while (ioctl(device, BINDER_WRITE_READ, &request) == 0)
		request.read_consumed = 0;
	printf("answer: %s\n", strerror(errno));
	kill(service, SIGKILL);
	return 0;
}
