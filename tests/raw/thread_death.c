// thread_death.c - threads of a service that end while they serve a call, and do not say so.
//
//   gcc -O2 -pthread -o thread_death thread_death.c
//   thread_death            calls a service three times: two of its threads, one of them the first of
//                           all, end instead of answering; the third answers
//
// A line for each call tells what came back; slow ones, beyond a second, say so.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int service_fd;
static atomic_int turn;

static void die(const char *what)
{
	fprintf(stderr, "thread_death[%d]: %s: %s\n", getpid(), what, strerror(errno));
	exit(1);
}

static int open_binder(void)
{
	int fd = open("/dev/binder", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("/dev/binder");
	if (mmap(NULL, 128 * 1024, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die("mmap");
	return fd;
}

// Sends commands and waits for one of three returns.
static uint32_t converse(int fd, const void *commands, size_t size, uint32_t awaited)
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
			at += sizeof command + _IOC_SIZE(command);
			if (command == awaited || command == BR_DEAD_REPLY || command == BR_FAILED_REPLY)
				return command;
		}
		bwr.read_consumed = 0;
	}
}

struct __attribute__((packed)) call {
	uint32_t command;
	struct binder_transaction_data data;
};

// Waits for its turn, takes a call, and ends, or answers if it is the last.
static void *serve(void *number)
{
	int own = (int)(intptr_t)number;
	uint32_t enter = BC_ENTER_LOOPER;
	while (atomic_load(&turn) != own)
		usleep(1000);
	if (converse(service_fd, &enter, sizeof enter, BR_TRANSACTION) != BR_TRANSACTION)
		die("no call");
	atomic_store(&turn, own + 1);
	if (own < 2)
		syscall(SYS_exit, 0); // this thread alone, and not by way of the C library
	struct call reply = { .command = BC_REPLY };
	converse(service_fd, &reply, sizeof reply, BR_TRANSACTION_COMPLETE);
	pause();
	return NULL;
}

int main(void)
{
	int ready[2];
	char byte;
	if (pipe(ready) < 0)
		die("pipe");
	pid_t service = fork();
	if (service < 0)
		die("fork");
	if (service == 0) {
		pthread_t thread;
		int manager = 0;
		service_fd = open_binder();
		if (ioctl(service_fd, BINDER_SET_CONTEXT_MGR, &manager) < 0)
			die("BINDER_SET_CONTEXT_MGR");
		if (pthread_create(&thread, NULL, serve, (void *)0) != 0 ||
		    pthread_create(&thread, NULL, serve, (void *)2) != 0)
			die("pthread_create");
		if (write(ready[1], "", 1) != 1)
			die("write");
		serve((void *)1);
	}
	if (read(ready[0], &byte, 1) != 1)
		die("the service did not start");
	int fd = open_binder();
	for (int i = 0; i < 3; i++) {
		struct call call = { .command = BC_TRANSACTION };
		struct timespec before, after;
		clock_gettime(CLOCK_MONOTONIC, &before);
		uint32_t got = converse(fd, &call, sizeof call, BR_REPLY);
		clock_gettime(CLOCK_MONOTONIC, &after);
		long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
		printf("%s%s\n", got == BR_REPLY ? "answered" : got == BR_DEAD_REPLY ? "dead" : "failed",
		       ms > 1000 ? ", slowly" : "");
		if (getenv("SHOW_TIMES"))
			fprintf(stderr, "%ld ms\n", ms);
	}
	kill(service, 9);
	return 0;
}
