// labelled.c - a context manager asks for the security contexts of its callers.
//
//   gcc -O2 -o labelled labelled.c
//   labelled    prints the label of a caller, which is a child of its own
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

struct send {
	uint32_t command;
	struct binder_transaction_data transaction;
} __attribute__((packed));

static int device;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void enter(void)
{
	device = open("/dev/binder", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/binder");
	if (mmap(NULL, 1 << 16, PROT_READ, MAP_PRIVATE, device, 0) == MAP_FAILED)
		fail("mmap");
}

// Writes `commands` and reads once, or until `wanted` comes if it is not 0; returns what comes with it.
static struct binder_transaction_data_secctx exchange(void *commands, size_t size, uint32_t wanted)
{
	struct binder_transaction_data_secctx payload = { 0 };
	struct binder_write_read request = { 0 };
	uint8_t returns[256];
	request.write_buffer = (uintptr_t)commands;
	request.write_size = size;
	request.read_buffer = (uintptr_t)returns;
	for (;;) {
		request.read_size = wanted ? sizeof returns : 0;
		request.read_consumed = 0;
		if (ioctl(device, BINDER_WRITE_READ, &request) < 0)
			fail("BINDER_WRITE_READ");
		if (!wanted)
			return payload;
		for (size_t at = 0; at < request.read_consumed;) {
			uint32_t code;
			memcpy(&code, returns + at, sizeof code);
			if (code == wanted) {
				memcpy(&payload, returns + at + sizeof code, _IOC_SIZE(code));
				return payload;
			}
			if (code == BR_FAILED_REPLY || code == BR_DEAD_REPLY) {
				fprintf(stderr, "the call failed: 0x%x\n", code);
				exit(1);
			}
			at += sizeof code + _IOC_SIZE(code);
		}
	}
}

int main(void)
{
	int status;
	enter();
	struct flat_binder_object manager = { .flags = FLAT_BINDER_FLAG_TXN_SECURITY_CTX };
	manager.hdr.type = BINDER_TYPE_BINDER;
	if (ioctl(device, BINDER_SET_CONTEXT_MGR_EXT, &manager) < 0)
		fail("BINDER_SET_CONTEXT_MGR_EXT");
	uint32_t enter_looper = BC_ENTER_LOOPER;
	exchange(&enter_looper, sizeof enter_looper, 0);

	pid_t child = fork();
	if (child == 0) {
		struct send call = { .command = BC_TRANSACTION };
		close(device);
		enter();
		exchange(&call, sizeof call, BR_REPLY);
		_exit(0);
	}
	struct binder_transaction_data_secctx call = exchange(NULL, 0, BR_TRANSACTION_SEC_CTX);
	puts((const char *)(uintptr_t)call.secctx);
	struct send reply = { .command = BC_REPLY };
	exchange(&reply, sizeof reply, 0);
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
