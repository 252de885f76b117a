// own_files.c - sends files of the driver's own file system, and says what becomes of them.
//
//   gcc -O2 -o own_files own_files.c
//   own_files unread DEVICE FILE...    a child becomes the manager of DEVICE and reads nothing. Tells what becomes of
//                                      one-ways to it, with the sender's descriptor of the device and with one of
//                                      each FILE, and how the wait for an answer that never comes ends
//   own_files read DEVICE FILE...      the child reads them, and tells whether they are what was sent and serve it
//   own_files flood DEVICE             sends descriptors of the device again and again, says so, and does not end
#include "client.h"

#include <signal.h>
#include <sys/stat.h>

static const char *path;
static int reads, floods;

// What fstat tells of a file, in any process.
static struct stat identity(int fd)
{
	struct stat is;
	CHECK(fstat(fd, &is) == 0);
	return is;
}

// A pipe tells what the files are that come.
static int told[2];

static void done_with(int device, const struct binder_transaction_data *got)
{
	struct {
		uint32_t command;
		binder_uintptr_t buffer;
	} __attribute__((packed)) done = { BC_FREE_BUFFER, got->data.ptr.buffer };
	write_commands(device, &done, sizeof done);
}

static void read_files(int device)
{
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data got;
	struct stat sent;
	write_commands(device, &enter, sizeof enter);
	while (read(told[0], &sent, sizeof sent) == sizeof sent) {
		expect(device, NULL, 0, BR_TRANSACTION, &got);
		int fd = unpack(&got);
		struct stat is = identity(fd);
		int is_same = is.st_dev == sent.st_dev && is.st_ino == sent.st_ino;
		int calls = ioctl(fd, BINDER_WRITE_READ, &(struct binder_write_read){ 0 }) == 0;
		printf("%s, %s\n", is_same ? "the same" : "another", calls ? "serves it" : "does not serve it");
		close(fd);
		done_with(device, &got);
	}
}

static void read_flood(int device)
{
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data got;
	write_commands(device, &enter, sizeof enter);
	for (;;) {
		expect(device, NULL, 0, BR_TRANSACTION, &got);
		close(unpack(&got));
		done_with(device, &got);
	}
}

static void flood(void)
{
	int is_first = fork() > 0 && fork() > 0, device = open_client_at(path);
	for (int sent = 0;; sent++) {
		struct parcel parcel;
		uint32_t unused;
		pack(&parcel, BC_TRANSACTION, device);
		parcel.send.transaction.flags |= TF_ONE_WAY;
		converse(device, &parcel.send, sizeof parcel.send, BR_TRANSACTION_COMPLETE, &unused);
		if (is_first && sent == 10) {
			puts("flooding");
			fflush(stdout);
		}
	}
}

static void serve(int ready)
{
	int device = open_client_at(path);
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	close(told[1]);
	CHECK(write(ready, "", 1) == 1);
	if (reads)
		read_files(device);
	else if (floods)
		read_flood(device);
	else
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
	fflush(stdout);
	struct stat is = identity(fd);
	CHECK(write(told[1], &is, sizeof is) == sizeof is);
}

int main(int argc, char **argv)
{
	CHECK(argc > 2);
	reads = strcmp(argv[1], "read") == 0;
	floods = strcmp(argv[1], "flood") == 0;
	path = argv[2];
	CHECK(pipe(told) == 0);
	pid_t service = start_service(serve);
	if (floods)
		flood();
	int device = open_client_at(path);
	offer(device, "the device", device);
	for (int i = 3; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);
		CHECK(fd >= 0);
		offer(device, strrchr(argv[i], '/') + 1, fd);
	}
	close(told[1]);
	if (reads) {
		int status;
		CHECK(waitpid(service, &status, 0) == service);
		return status != 0;
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
