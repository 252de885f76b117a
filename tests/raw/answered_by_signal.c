// answered_by_signal.c - a server that answers a call by a signal, which is to end the call's read.
//
//   gcc -O2 -o answered_by_signal answered_by_signal.c
//   answered_by_signal ROUNDS    prints how many reads a signal has ended, by the flags of its handler
//
// The signal is caused by the call, so it comes when that has begun: a kernel's driver ends the read, whenever its handler
// runs. The server replies once the caller says that its read has ended, or after a time that is no answer's.
#include "client.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>

// A read that has not ended by then waits for the reply.
enum { PATIENCE_MS = 20000 };

static int ended[2];
static volatile sig_atomic_t handled;

static void serve(int ready)
{
	int device = open_client();
	become_manager(device);
	uint32_t enter = BC_ENTER_LOOPER;
	write_commands(device, &enter, sizeof enter);
	if (write(ready, "!", 1) != 1)
		err(1, "write");
	struct binder_transaction_data call;
	expect(device, NULL, 0, BR_TRANSACTION, &call);
	for (;;) {
		CHECK(kill(call.sender_pid, SIGUSR1) == 0);
		struct pollfd polled = { .fd = ended[0], .events = POLLIN };
		char byte;
		if (poll(&polled, 1, PATIENCE_MS) == 1)
			CHECK(read(ended[0], &byte, 1) == 1);
		struct answer answer = answer_to(&call);
		expect(device, &answer, sizeof answer, BR_TRANSACTION, &call);
	}
}

static void count(int signal)
{
	(void)signal;
	handled++;
}

// Calls once; says whether a signal has ended the read.
static int call_once(int device)
{
	struct send send = { .command = BC_TRANSACTION };
	struct binder_transaction_data reply;
	uint8_t returns[256];
	struct binder_write_read request = request_of(&send, sizeof send, returns, sizeof returns);
	int has_ended = 0, before = handled;
	uint32_t found;
	do {
		request.read_consumed = 0;
		if (ioctl(device, BINDER_WRITE_READ, &request) < 0) {
			CHECK(errno == EINTR && handled == before + 1 && !has_ended);
			has_ended = 1;
			CHECK(write(ended[1], "!", 1) == 1);
		}
		found = find(BR_REPLY, returns, request.read_consumed, &reply);
	} while (!found);
	CHECK(found == BR_REPLY && handled == before + 1);
	struct answer give_back = answer_to(&reply);
	write_commands(device, &give_back, sizeof give_back.free_command + sizeof give_back.buffer);
	return has_ended;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "how many rounds?");
	int rounds = atoi(argv[1]);
	CHECK(pipe(ended) == 0);
	pid_t service = start_service(serve);
	// A process that this one wakes runs at once in its place, where all run on one processor.
	CHECK(sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }) == 0);
	int device = open_client();
	// The first read of a thread may return at once, but not after another call.
	struct binder_version version;
	CHECK(ioctl(device, BINDER_VERSION, &version) == 0);
	int flags[] = { 0, SA_RESTART };
	for (int kind = 0; kind < 2; kind++) {
		struct sigaction action = { .sa_handler = count, .sa_flags = flags[kind] };
		CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
		int count_ended = 0, count_lost = 0;
		// One that is not ended takes its time.
		for (int round = 0; round < rounds && !count_lost; round++)
			call_once(device) ? count_ended++ : count_lost++;
		printf("%s: %d ended, %d not\n", kind ? "SA_RESTART" : "no flags", count_ended, count_lost);
		fflush(stdout);
	}
	end_service(service);
	return 0;
}
