// pool_files.c - files go to threads that are not the first of their process, as those of a pool.
//
//   gcc -O2 -pthread -o pool_files pool_files.c
//   pool_files serve DEVICE CALLS [alone]    becomes the manager of DEVICE, and has another thread say so and answer
//                                            CALLS calls. Each brings a pipe, and its reply a file
//   pool_files call DEVICE [alone]           has another thread call the manager, and prints what came through both
//
// "alone": the first thread ends before.
#include "client.h"

#include <pthread.h>
#include <stdbool.h>

static int device;
static int calls;

static void *answer(void *unused)
{
	struct binder_transaction_data asked;
	struct {
		struct answer head;
		struct parcel body;
	} reply;
	uint32_t done, enter = BC_ENTER_LOOPER;
	write_commands(device, &enter, sizeof enter);
	puts("serving");
	fflush(stdout);
	while (calls-- > 0) {
		expect(device, NULL, 0, BR_TRANSACTION, &asked);
		int pipe_end = unpack(&asked);
		CHECK(write(pipe_end, "there", 5) == 5);
		close(pipe_end);
		int memory = memfd_create("reply", MFD_CLOEXEC);
		CHECK(memory >= 0 && write(memory, "back", 4) == 4);
		reply.head = answer_to(&asked);
		pack(&reply.body, BC_REPLY, memory);
		reply.head.reply = reply.body.send;
		expect(device, &reply.head, sizeof reply.head, BR_TRANSACTION_COMPLETE, &done);
		close(memory);
	}
	exit(0);
	return unused;
}

static void *call(void *unused)
{
	struct binder_transaction_data answer;
	struct parcel call;
	char there[8] = "", back[8] = "";
	int ends[2];
	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	pack(&call, BC_TRANSACTION, ends[1]);
	expect(device, &call.send, sizeof call.send, BR_REPLY, &answer);
	CHECK(read(ends[0], there, sizeof there - 1) > 0);
	CHECK(pread(unpack(&answer), back, sizeof back - 1, 0) > 0);
	printf("%s, %s\n", there, back);
	exit(0);
	return unused;
}

int main(int argc, char **argv)
{
	CHECK(argc > 2);
	bool serves = strcmp(argv[1], "serve") == 0;
	device = open_client_at(argv[2]);
	if (serves) {
		CHECK(argc > 3);
		calls = atoi(argv[3]);
		become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	}
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, serves ? answer : call, NULL) == 0);
	if (strcmp(argv[argc - 1], "alone") == 0)
		pthread_exit(NULL);
	pthread_join(thread, NULL);
	return 0;
}
