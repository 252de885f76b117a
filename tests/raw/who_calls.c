// who_calls.c - who the driver says that a caller is, in the receiver's own namespaces.
//
//   gcc -O2 -o who_calls who_calls.c
//   who_calls serve COUNT    answers COUNT calls, printing "PID UID" of each caller as the driver tells it
//   who_calls call           prints "PID UID" of itself, then makes a call
#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int device;

struct reply {
	uint32_t free_command;
	binder_uintptr_t buffer;
	uint32_t reply_command;
	struct binder_transaction_data reply;
} __attribute__((packed));

struct call {
	uint32_t command;
	struct binder_transaction_data call;
} __attribute__((packed));

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static size_t write_read(void *commands, size_t size, uint8_t *returns, size_t room)
{
	struct binder_write_read request = { 0 };
	request.write_buffer = (uintptr_t)commands;
	request.write_size = size;
	request.read_buffer = (uintptr_t)returns;
	request.read_size = room;
	if (ioctl(device, BINDER_WRITE_READ, &request) < 0)
		fail("BINDER_WRITE_READ");
	return request.read_consumed;
}

// Reads until `wanted` comes; fails on what says that it will not.
static struct binder_transaction_data await(uint32_t wanted)
{
	uint8_t returns[256];
	for (;;) {
		size_t got = write_read(NULL, 0, returns, sizeof returns);
		for (size_t at = 0; at < got;) {
			uint32_t code;
			struct binder_transaction_data transaction;
			memcpy(&code, returns + at, sizeof code);
			if (code == BR_FAILED_REPLY || code == BR_DEAD_REPLY) {
				fprintf(stderr, "the call failed: 0x%x\n", code);
				exit(1);
			}
			if (code == wanted) {
				memcpy(&transaction, returns + at + sizeof code, sizeof transaction);
				return transaction;
			}
			at += sizeof code + _IOC_SIZE(code);
		}
	}
}

static void serve(int count)
{
	int unused = 0;
	uint32_t enter = BC_ENTER_LOOPER;
	if (ioctl(device, BINDER_SET_CONTEXT_MGR, &unused) < 0)
		fail("BINDER_SET_CONTEXT_MGR");
	puts("serving");
	fflush(stdout);
	write_read(&enter, sizeof enter, NULL, 0);
	while (count-- > 0) {
		struct binder_transaction_data call = await(BR_TRANSACTION);
		struct reply answer = {
			.free_command = BC_FREE_BUFFER,
			.buffer = call.data.ptr.buffer,
			.reply_command = BC_REPLY,
		};
		printf("heard %d %d\n", call.sender_pid, (int)call.sender_euid);
		fflush(stdout);
		write_read(&answer, sizeof answer, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	struct call call = { .command = BC_TRANSACTION };
	device = open("/dev/binder", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/binder");
	if (mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE, device, 0) == MAP_FAILED)
		fail("mmap");
	if (argc == 3 && !strcmp(argv[1], "serve")) {
		serve(atoi(argv[2]));
		return 0;
	}
	printf("am %d %d\n", getpid(), geteuid());
	fflush(stdout);
	write_read(&call, sizeof call, NULL, 0);
	await(BR_REPLY);
	return 0;
}
