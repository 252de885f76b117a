// held_up.h - what programs share that hold clients up, and see that others go on and nothing stays behind.
#pragma once

#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

// Where pages are waited for.
static int withheld = -1;

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

// By the device for users who may open it; else by the system call, for those with CAP_SYS_PTRACE. -1 for others.
static inline int open_userfaultfd(void)
{
	int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (device < 0)
		return (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	int fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC);
	close(device);
	return fd;
}

// Pages that nobody delivers; 0 if that is forbidden.
static inline char *withhold(size_t size)
{
	int fd = withheld = open_userfaultfd();
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (fd < 0)
		return NULL;
	CHECK(ioctl(fd, UFFDIO_API, &api) == 0);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	range.range.start = (uintptr_t)pages;
	range.range.len = size;
	CHECK(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
	return pages;
}

// Delivers the pages withheld last, all the same.
static inline void deliver(char *pages, size_t size)
{
	struct uffdio_zeropage range = { .range = { .start = (uintptr_t)pages, .len = size } };
	CHECK(ioctl(withheld, UFFDIO_ZEROPAGE, &range) == 0);
}

// How long a call takes, in microseconds; its buffer is given back.
static inline long time_call(int own, const void *call, size_t size)
{
	struct binder_transaction_data reply;
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	expect(own, call, size, BR_REPLY, &reply);
	clock_gettime(CLOCK_MONOTONIC, &after);
	struct {
		uint32_t command;
		binder_uintptr_t buffer;
	} __attribute__((packed)) done = { BC_FREE_BUFFER, reply.data.ptr.buffer };
	write_commands(own, &done, sizeof done);
	return (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
}

static inline int by_time(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

// Whether the driver knows a process still, by its log.
static inline int is_known(pid_t pid)
{
	char line[256], name[32];
	int found = 0;
	FILE *state = fopen("/dev/binderfs/binder_logs/state", "r");
	CHECK(state != NULL);
	snprintf(name, sizeof name, "proc %d\n", (int)pid);
	while (fgets(line, sizeof line, state) != NULL)
		found |= strcmp(line, name) == 0;
	fclose(state);
	return found;
}

// Begins a test, or ends it where pages may not be withheld.
static inline void begin_or_skip(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (withhold(4096) == NULL) {
		puts("SKIPPED: this user may not withhold pages (userfaultfd)");
		exit(0);
	}
	alarm(2 * HANG_TIMEOUT_S);
}

// Tells how others fared beside one who is held up in some way: by the medians of their calls, in microseconds.
static inline void tell_served(const char *way, long median, long calm)
{
	printf("%s: served%s", way, median > 20 * calm + 5000 ? ", slowly" : "");
}
