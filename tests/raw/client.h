// client.h - what the programs here share: a client's way to the driver, and to the end of a program that cannot go on.
//
// Included first: it asks for all of the C library. hello_binder.c, the example, and the benchmarks do without it.
#pragma once

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// So long a program waits for what must come, in seconds: enough for a machine that does much else. It makes a failure of
// what hangs, and nothing else.
enum { HANG_TIMEOUT_S = 120 };

#define CHECK(fact) \
	do { \
		if (!(fact)) \
			err(1, "line %d: %s", __LINE__, #fact); \
	} while (0)

// A call or a reply.
struct send {
	uint32_t command;
	struct binder_transaction_data transaction;
} __attribute__((packed));

// A reply of one who is done with the call.
struct answer {
	uint32_t free_command;
	binder_uintptr_t buffer;
	struct send reply;
} __attribute__((packed));

static inline struct answer answer_to(const struct binder_transaction_data *call)
{
	return (struct answer){
		.free_command = BC_FREE_BUFFER,
		.buffer = call->data.ptr.buffer,
		.reply.command = BC_REPLY,
	};
}

#define COOKIE 0x1234567887654321ull

// A call or a reply that brings one descriptor.
struct parcel {
	struct send send;
	struct binder_fd_object object;
	binder_size_t offset;
};

static inline void pack(struct parcel *parcel, uint32_t command, int fd)
{
	memset(parcel, 0, sizeof *parcel);
	parcel->object.hdr.type = BINDER_TYPE_FD;
	parcel->object.fd = fd;
	parcel->object.cookie = COOKIE;
	parcel->send.command = command;
	parcel->send.transaction.flags = TF_ACCEPT_FDS;
	parcel->send.transaction.data_size = sizeof parcel->object;
	parcel->send.transaction.offsets_size = sizeof parcel->offset;
	parcel->send.transaction.data.ptr.buffer = (uintptr_t)&parcel->object;
	parcel->send.transaction.data.ptr.offsets = (uintptr_t)&parcel->offset;
}

// The descriptor that came with a call or a reply.
static inline int unpack(const struct binder_transaction_data *got)
{
	struct binder_fd_object object;
	memcpy(&object, (void *)(uintptr_t)got->data.ptr.buffer, sizeof object);
	if (object.hdr.type != BINDER_TYPE_FD || object.cookie != COOKIE ||
	    fcntl(object.fd, F_GETFD) != FD_CLOEXEC)
		errx(1, "what came is no descriptor");
	return object.fd;
}

// The lowest number that is free.
static inline int lowest_number(void)
{
	int lowest = dup(STDERR_FILENO);
	CHECK(lowest >= 0 && close(lowest) == 0);
	return lowest;
}

static inline int open_device_at(const char *path)
{
	int device = open(path, O_RDWR | O_CLOEXEC);
	if (device < 0)
		err(1, "%s", path);
	return device;
}

static inline int open_device(void)
{
	return open_device_at("/dev/binder");
}

// Where the program has mapped devices, of the first ones.
static struct {
	char *start, *end;
} mapped[8];

static inline char *map(int device, size_t size)
{
	char *buffer = mmap(NULL, size, PROT_READ, MAP_PRIVATE, device, 0);
	if (buffer == MAP_FAILED)
		err(1, "mmap");
	for (size_t at = 0; at < sizeof mapped / sizeof *mapped; at++) {
		if (!mapped[at].start) {
			mapped[at].start = buffer;
			mapped[at].end = buffer + size;
			break;
		}
	}
	return buffer;
}

// Ends the program if what it has received lies elsewhere than where it has mapped devices.
static inline void check_place(const struct binder_transaction_data *got)
{
	char *start = (char *)(uintptr_t)got->data.ptr.buffer, *end = start + got->data_size;
	size_t at = 0;
	while (at < sizeof mapped / sizeof *mapped && mapped[at].start) {
		if (start >= mapped[at].start && end <= mapped[at].end)
			return;
		at++;
	}
	// It may have mapped others.
	if (at > 0 && at < sizeof mapped / sizeof *mapped)
		errx(1, "what has come lies at %p, in no receive buffer", (void *)start);
}

static inline int open_client_at(const char *path)
{
	int device = open_device_at(path);
	map(device, 128 << 10);
	return device;
}

static inline int open_client(void)
{
	return open_client_at("/dev/binder");
}

static inline void become_manager(int device)
{
	int unused = 0;
	if (ioctl(device, BINDER_SET_CONTEXT_MGR, &unused) < 0)
		err(1, "BINDER_SET_CONTEXT_MGR");
}

// The same, with an object that has `flags`.
static inline void become_manager_with(int device, uint32_t flags)
{
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_BINDER, .flags = flags };
	if (ioctl(device, BINDER_SET_CONTEXT_MGR_EXT, &self) < 0)
		err(1, "BINDER_SET_CONTEXT_MGR_EXT");
}

static inline struct binder_write_read request_of(const void *commands, size_t size, void *returns, size_t room)
{
	return (struct binder_write_read){
		.write_size = size,
		.write_buffer = (uintptr_t)commands,
		.read_size = room,
		.read_buffer = (uintptr_t)returns,
	};
}

// Writes and reads once; how many bytes came is returned.
static inline size_t write_read(int device, const void *commands, size_t size, void *returns, size_t room)
{
	struct binder_write_read request = request_of(commands, size, returns, room);
	if (ioctl(device, BINDER_WRITE_READ, &request) < 0)
		err(1, "BINDER_WRITE_READ");
	return request.read_consumed;
}

// Writes, whatever signals say: a driver in user space may be cut off by one while it reads what is written.
static inline void write_commands(int device, const void *commands, size_t size)
{
	struct binder_write_read request = request_of(commands, size, NULL, 0);
	while (ioctl(device, BINDER_WRITE_READ, &request) < 0)
		if (errno != EINTR)
			err(1, "BINDER_WRITE_READ");
}

// Finds the return `awaited`, or one that says that it will not come: which is returned, 0 if neither is there.
// What comes with it goes to `payload`.
static inline uint32_t find(uint32_t awaited, const uint8_t *returns, size_t got, void *payload)
{
	for (size_t at = 0; at < got;) {
		uint32_t code;
		memcpy(&code, returns + at, sizeof code);
		at += sizeof code;
		if (code == awaited || code == BR_DEAD_REPLY || code == BR_FAILED_REPLY) {
			memcpy(payload, returns + at, _IOC_SIZE(code));
			return code;
		}
		at += _IOC_SIZE(code);
	}
	return 0;
}

// Writes, and reads until `awaited` comes or will not, whatever signals say; returns as find() does.
static inline uint32_t converse(int device, const void *commands, size_t size, uint32_t awaited, void *payload)
{
	uint8_t returns[256];
	uint32_t found;
	struct binder_write_read request = request_of(commands, size, returns, sizeof returns);
	do {
		request.read_consumed = 0;
		if (ioctl(device, BINDER_WRITE_READ, &request) < 0 && errno != EINTR)
			err(1, "BINDER_WRITE_READ");
		found = find(awaited, returns, request.read_consumed, payload);
	} while (!found);
	return found;
}

// The same where nothing else may come.
static inline void expect(int device, const void *commands, size_t size, uint32_t awaited, void *payload)
{
	uint32_t found = converse(device, commands, size, awaited, payload);
	if (found != awaited)
		errx(1, "the call failed: 0x%x", found);
}

// Starts a child that serves, and waits until it has written a byte to `ready`.
static inline pid_t start_service(void (*serve)(int ready))
{
	int ready[2];
	char byte;
	if (pipe(ready) < 0)
		err(1, "pipe");
	pid_t service = fork();
	if (service < 0)
		err(1, "fork");
	if (service == 0) {
		close(ready[0]);
		serve(ready[1]);
		exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the service did not start");
	close(ready[0]);
	return service;
}

// Kills it and waits for its end: then another may become the context manager. Who has become another user may not kill it.
static inline void end_service(pid_t service)
{
	if (kill(service, SIGKILL) == 0)
		while (waitpid(service, NULL, 0) < 0 && errno == EINTR)
			;
}

// Gives the buffer of a call or a reply back.
static inline void let_go(int device, const struct binder_transaction_data *got)
{
	struct {
		uint32_t command;
		binder_uintptr_t buffer;
	} __attribute__((packed)) give_back = { BC_FREE_BUFFER, got->data.ptr.buffer };
	write_commands(device, &give_back, sizeof give_back);
}
