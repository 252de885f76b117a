// hello_binder.c - the smallest pair of Binder programs: a service on handle 0, and a caller.
//
//   gcc -O2 -o hello_binder hello_binder.c
//   hello_binder            prints what the service answered, and to whom
//   hello_binder serve      is the service alone, and says when it is ready
//   hello_binder call       is the caller alone
//
// Two processes, one file: the child becomes the context manager of /dev/binder and answers one
// call; the parent makes it. Nothing here is specific to any implementation of the driver.
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

static void die(const char *what)
{
	fprintf(stderr, "hello_binder[%d]: %s: %s\n", getpid(), what, strerror(errno));
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

static struct call make_call(uint32_t command, const char *text)
{
	struct call call = { .command = command };
	call.data.code = CODE_HELLO;
	call.data.data_size = strlen(text) + 1;
	call.data.data.ptr.buffer = (uintptr_t)text;
	return call;
}

static void serve(int ready)
{
	struct binder_transaction_data asked;
	uint32_t enter = BC_ENTER_LOOPER;
	char answer[128];
	int manager = 0;
	int fd = open_binder();
	if (ioctl(fd, BINDER_SET_CONTEXT_MGR, &manager) < 0)
		die("BINDER_SET_CONTEXT_MGR");
	if (write(ready, "ready\n", 6) != 6)
		die("write");
	converse(fd, &enter, sizeof enter, BR_TRANSACTION, &asked);
	snprintf(answer, sizeof answer, "hello, %s; you are %s", (char *)(uintptr_t)asked.data.ptr.buffer,
		 asked.sender_pid == getppid() && asked.sender_euid == getuid() ? "my parent" : "a stranger");
	struct call reply = make_call(BC_REPLY, answer);
	converse(fd, &reply, sizeof reply, BR_TRANSACTION_COMPLETE, &asked);
}

static int call(void)
{
	struct binder_transaction_data answer;
	struct call call = make_call(BC_TRANSACTION, "world");
	int fd = open_binder();
	if (converse(fd, &call, sizeof call, BR_REPLY, &answer) != BR_REPLY) {
		fprintf(stderr, "hello_binder: the call failed\n");
		return 1;
	}
	printf("%.*s\n", (int)answer.data_size, (char *)(uintptr_t)answer.data.ptr.buffer);
	return 0;
}

int main(int argc, char **argv)
{
	int ready[2], status;
	char byte;
	if (argc > 1 && strcmp(argv[1], "call") == 0)
		return call();
	if (argc > 1 && strcmp(argv[1], "serve") == 0) {
		serve(STDOUT_FILENO);
		return 0;
	}
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
		fprintf(stderr, "hello_binder: the service did not start\n");
		return 1;
	}
	if (call() != 0)
		return 1;
	if (waitpid(service, &status, 0) < 0 || status != 0) {
		fprintf(stderr, "hello_binder: the service ended badly\n");
		return 1;
	}
	return 0;
}
