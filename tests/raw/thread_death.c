// thread_death.c - threads of a service that end while they serve a call, and do not say so.
//
//   gcc -O2 -pthread -o thread_death thread_death.c
//   thread_death            calls a service three times: two of its threads, one of them the first of
//                           all, end instead of answering; the third answers
//
// A line for each call tells what came back; slow ones, beyond a second, say so.
#include "client.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

static int service_device;
static atomic_int turn;

// Waits for its turn, takes a call, and ends, or answers if it is the last.
static void *serve(void *number)
{
	int own = (int)(intptr_t)number;
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	while (atomic_load(&turn) != own)
		usleep(1000);
	expect(service_device, &enter, sizeof enter, BR_TRANSACTION, &call);
	atomic_store(&turn, own + 1);
	if (own < 2)
		syscall(SYS_exit, 0); // this thread alone, and not by way of the C library
	struct send reply = { .command = BC_REPLY };
	converse(service_device, &reply, sizeof reply, BR_TRANSACTION_COMPLETE, &call);
	pause();
	return NULL;
}

static void start_threads(int ready)
{
	pthread_t thread;
	service_device = open_client();
	become_manager(service_device);
	if (pthread_create(&thread, NULL, serve, (void *)0) != 0 ||
	    pthread_create(&thread, NULL, serve, (void *)2) != 0)
		errx(1, "pthread_create");
	if (write(ready, "", 1) != 1)
		err(1, "write");
	serve((void *)1);
}

int main(void)
{
	pid_t service = start_service(start_threads);
	int device = open_client();
	for (int i = 0; i < 3; i++) {
		struct binder_transaction_data answer;
		struct send call = { .command = BC_TRANSACTION };
		struct timespec before, after;
		clock_gettime(CLOCK_MONOTONIC, &before);
		uint32_t got = converse(device, &call, sizeof call, BR_REPLY, &answer);
		clock_gettime(CLOCK_MONOTONIC, &after);
		long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
		printf("%s%s\n", got == BR_REPLY ? "answered" : got == BR_DEAD_REPLY ? "dead" : "failed",
		       ms > 1000 ? ", slowly" : "");
		if (getenv("SHOW_TIMES"))
			fprintf(stderr, "%ld ms\n", ms);
	}
	end_service(service);
	return 0;
}
