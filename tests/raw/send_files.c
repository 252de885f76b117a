// send_files.c - a file goes with a call, another comes back with the reply.
//
//   gcc -O2 -o send_files send_files.c
//   send_files              prints what came through them
//
// Two processes, one file: the child becomes the context manager of /dev/binder and answers one
// call, which brings it the writing end of a pipe; its reply brings the parent a file in memory.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAP_BYTES (128 * 1024)
#define CODE_HELLO 1
#define COOKIE 0x1234567887654321ull

static void die(const char *what)
{
	fprintf(stderr, "send_files[%d]: %s: %s\n", getpid(), what, strerror(errno));
	exit(1);
}

static int open_binder(void)
{
	struct binder_version version = { 0 };
	int fd = open("/dev/binder", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/binder");
	if (ioctl(fd, BINDER_VERSION, &version) < 0)
		die("BINDER_VERSION");
	if (version.protocol_version != BINDER_CURRENT_PROTOCOL_VERSION) {
		errno = EPROTO;
		die("BINDER_VERSION");
	}
	if (mmap(NULL, MAP_BYTES, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die("mmap");
	return fd;
}

// Sends `size` bytes of commands and waits for a BR_ command that is not mere housekeeping.
// A transaction or reply that comes in is stored in `got`; its payload lies in the mapping.
static uint32_t converse(int fd, const void *commands, size_t size, uint32_t awaited,
			 struct binder_transaction_data *got)
{
	char in[256];
	struct binder_write_read bwr = {
		.write_size = size,
		.write_buffer = (uintptr_t)commands,
		.read_size = sizeof in,
		.read_buffer = (uintptr_t)in,
	};
	for (;;) {
		if (ioctl(fd, BINDER_WRITE_READ, &bwr) < 0 && errno != EINTR)
			die("BINDER_WRITE_READ");
		for (size_t at = 0; at < bwr.read_consumed;) {
			uint32_t command;
			memcpy(&command, in + at, sizeof command);
			at += sizeof command;
			if (command == BR_TRANSACTION || command == BR_REPLY)
				memcpy(got, in + at, sizeof *got);
			if (command == awaited)
				return command;
			if (command == BR_DEAD_REPLY || command == BR_FAILED_REPLY)
				return command;
			at += _IOC_SIZE(command);
		}
		bwr.read_consumed = 0;
	}
}

struct __attribute__((packed)) call {
	uint32_t command;
	struct binder_transaction_data data;
};

// A call or a reply that brings one descriptor.
struct parcel {
	struct call call;
	struct binder_fd_object object;
	binder_size_t offset;
};

static void pack(struct parcel *parcel, uint32_t command, int fd)
{
	memset(parcel, 0, sizeof *parcel);
	parcel->object.hdr.type = BINDER_TYPE_FD;
	parcel->object.fd = fd;
	parcel->object.cookie = COOKIE;
	parcel->call.command = command;
	parcel->call.data.code = CODE_HELLO;
	parcel->call.data.flags = TF_ACCEPT_FDS;
	parcel->call.data.data_size = sizeof parcel->object;
	parcel->call.data.offsets_size = sizeof parcel->offset;
	parcel->call.data.data.ptr.buffer = (uintptr_t)&parcel->object;
	parcel->call.data.data.ptr.offsets = (uintptr_t)&parcel->offset;
}

static int unpack(const struct binder_transaction_data *got)
{
	struct binder_fd_object object;
	memcpy(&object, (void *)(uintptr_t)got->data.ptr.buffer, sizeof object);
	if (object.hdr.type != BINDER_TYPE_FD || object.cookie != COOKIE ||
	    fcntl(object.fd, F_GETFD) != FD_CLOEXEC) {
		errno = EPROTO;
		die("what came is no descriptor");
	}
	return object.fd;
}

static void serve(int ready)
{
	struct flat_binder_object self = {
		.hdr.type = BINDER_TYPE_BINDER,
		.flags = FLAT_BINDER_FLAG_ACCEPTS_FDS,
	};
	struct binder_transaction_data asked;
	uint32_t enter = BC_ENTER_LOOPER;
	struct parcel reply;
	int fd = open_binder();
	if (ioctl(fd, BINDER_SET_CONTEXT_MGR_EXT, &self) < 0)
		die("BINDER_SET_CONTEXT_MGR_EXT");
	if (write(ready, "", 1) != 1)
		die("write");
	converse(fd, &enter, sizeof enter, BR_TRANSACTION, &asked);
	int pipe_end = unpack(&asked);
	if (write(pipe_end, "there through a pipe", 20) != 20)
		die("write to the pipe");
	close(pipe_end);
	int memory = memfd_create("reply", MFD_CLOEXEC);
	if (memory < 0 || write(memory, "back in a file", 14) != 14)
		die("memfd_create");
	pack(&reply, BC_REPLY, memory);
	converse(fd, &reply.call, sizeof reply.call, BR_TRANSACTION_COMPLETE, &asked);
}

int main(void)
{
	struct binder_transaction_data answer;
	int ready[2], ends[2], status;
	char there[64], back[64];
	struct parcel call;
	char byte;
	if (pipe(ready) < 0)
		die("pipe");
	pid_t service = fork();
	if (service < 0)
		die("fork");
	if (service == 0) {
		close(ready[0]);
		serve(ready[1]);
		return 0;
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "send_files: the service did not start\n");
		return 1;
	}
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe2");
	pack(&call, BC_TRANSACTION, ends[1]);
	int fd = open_binder();
	if (converse(fd, &call.call, sizeof call.call, BR_REPLY, &answer) != BR_REPLY) {
		fprintf(stderr, "send_files: the call failed\n");
		return 1;
	}
	close(ends[1]);
	// It ends when nobody has the other end any more: neither we, nor the service, nor the driver.
	ssize_t first = 0, more;
	while ((more = read(ends[0], there + first, sizeof there - first)) > 0)
		first += more;
	ssize_t second = pread(unpack(&answer), back, sizeof back, 0);
	if (first < 0 || second < 0)
		die("read");
	printf("%.*s, %.*s\n", (int)first, there, (int)second, back);
	if (waitpid(service, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "send_files: the service ended badly\n");
		return 1;
	}
	return 0;
}
