// left_alone.c - waits for the driver in an ioctl and in poll(2), and says how both end when the driver does.

#include "client.h"

#include <poll.h>
#include <pthread.h>

// Makes the calling thread one that takes calls, and waits for them.
static int become_looper(int device)
{
	uint32_t looper = BC_ENTER_LOOPER;
	char returns[256];
	struct binder_write_read exchange = {
		.write_size = sizeof(looper),
		.write_buffer = (binder_uintptr_t)&looper,
		.read_size = sizeof(returns),
		.read_buffer = (binder_uintptr_t)returns,
	};
	return ioctl(device, BINDER_WRITE_READ, &exchange);
}

static void *wait_in_poll(void *device)
{
	// The first call of a thread returns at once, with nothing to do.
	CHECK(!become_looper(*(int *)device));
	struct pollfd wanted = { .fd = *(int *)device, .events = POLLIN };
	CHECK(poll(&wanted, 1, -1) == 1);
	printf("poll: %s\n", wanted.revents & POLLERR ? "error" : "no error");
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	int device = open(argv[1], O_RDWR | O_CLOEXEC);
	CHECK(device >= 0);
	map(device, 1 << 20);
	pthread_t thread;
	CHECK(!pthread_create(&thread, NULL, wait_in_poll, &device));

	CHECK(!become_looper(device));
	puts("waiting");
	fflush(stdout);
	int outcome;
	do
		outcome = become_looper(device);
	while (!outcome);
	int why = errno;
	pthread_join(thread, NULL);
	printf("wait: %s\n", strerror(why));
	outcome = become_looper(device);
	printf("again: %s\n", outcome ? strerror(errno) : "works");
	return 0;
}
