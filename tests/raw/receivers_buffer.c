// receivers_buffer.c - a client that sends from the receiver's own buffer, which it inherited, where nothing was delivered.
//
//   gcc -O2 -o receivers_buffer receivers_buffer.c
//   receivers_buffer        prints what the receiver gets
//
// Whoever delivers that page may be the one who is waiting for it.
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

enum { BUFFER = 1 << 20, PAYLOAD = 64 };

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_device(void)
{
	int device = open("/dev/binder", O_RDWR);
	if (device < 0)
		fail("/dev/binder");
	return device;
}

static char *map(int device)
{
	char *buffer = mmap(NULL, BUFFER, PROT_READ, MAP_PRIVATE, device, 0);
	if (buffer == MAP_FAILED)
		fail("mmap");
	return buffer;
}

static void write_read(int device, void *commands, size_t size, void *returns, size_t *room)
{
	struct binder_write_read request = { 0 };
	request.write_buffer = (uintptr_t)commands;
	request.write_size = size;
	request.read_buffer = (uintptr_t)returns;
	request.read_size = *room;
	if (ioctl(device, BINDER_WRITE_READ, &request) < 0)
		fail("BINDER_WRITE_READ");
	*room = request.read_consumed;
}

static void send_from(int receiver)
{
	struct {
		uint32_t command;
		struct binder_transaction_data data;
	} __attribute__((packed)) send = { .command = BC_TRANSACTION };
	size_t none = 0;
	int own = open_device();
	map(own);
	send.data.flags = TF_ONE_WAY;
	send.data.data_size = PAYLOAD;
	send.data.data.ptr.buffer = (uintptr_t)map(receiver) + BUFFER / 2;
	write_read(own, &send, sizeof send, NULL, &none);
}

int main(void)
{
	int unused = 0, device = open_device();
	char *buffer = map(device);
	uint8_t returns[256];
	if (ioctl(device, BINDER_SET_CONTEXT_MGR, &unused) < 0)
		fail("BINDER_SET_CONTEXT_MGR");
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
		size_t got = sizeof returns;
		uint32_t last;
		struct binder_transaction_data call;
		write_read(device, NULL, 0, returns, &got);
		if (got < sizeof call + sizeof last)
			continue;
		memcpy(&last, returns + got - sizeof call - sizeof last, sizeof last);
		memcpy(&call, returns + got - sizeof call, sizeof call);
		if (last != BR_TRANSACTION)
			continue;
		printf("%d bytes, the first %d\n", (int)call.data_size,
		       *(const char *)(uintptr_t)call.data.ptr.buffer);
		return buffer == NULL;
	}
}
