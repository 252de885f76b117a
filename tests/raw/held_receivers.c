// held_receivers.c - receivers of files that are held up amid delivery, beside others that go on.
//
//   gcc -O2 -pthread -o held_receivers held_receivers.c
//   held_receivers          has many threads of one process be held up in each way there is while files are on
//                           their way to them, sends files to another process meanwhile, and ends the first
//
// A line for each way tells how the others fared, and whether all the files came back. Says so where it may not
// withhold pages.
#include "client.h"
#include "held_up.h"

#include <pthread.h>
#include <sys/prctl.h>

enum { THREADS = 24, CALLS = 200 };

// What lies in pages that never come, or that the process is stopped.
enum way { RETURNS, REQUEST, STOPPED, WAYS };
static const char *const names[] = { "returns", "request", "stopped" };
static const char *const brisk_device = "/dev/hwbinder";

static enum way way;
static int device, told;
static char *hole;
static pthread_barrier_t all_have_one;

static void tell(void)
{
	if (write(told, "", 1) != 1)
		err(1, "write");
}

static void hear(int from, int count)
{
	char byte;
	for (int i = 0; i < count; i++)
		CHECK(read(from, &byte, 1) == 1);
}

// Takes a file and answers, again and again; closes what it has got.
static void serve_briskly(int ready)
{
	int service = open_client_at(brisk_device);
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become_manager_with(service, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	if (write(ready, "", 1) != 1)
		err(1, "write");
	expect(service, &enter, sizeof enter, BR_TRANSACTION, &call);
	for (;;) {
		close(unpack(&call));
		struct answer answer = answer_to(&call);
		expect(service, &answer, sizeof answer, BR_TRANSACTION, &call);
	}
}

static void answer(const struct binder_transaction_data *call)
{
	struct answer answer = answer_to(call);
	struct binder_transaction_data none;
	unpack(call);
	expect(device, &answer, sizeof answer, BR_TRANSACTION_COMPLETE, &none);
}

static void *be_held_up(void *number)
{
	uint32_t enter = BC_ENTER_LOOPER;
	uint8_t own[256];
	struct binder_transaction_data call;
	// The first file shows the driver how others may come.
	expect(device, &enter, sizeof enter, BR_TRANSACTION, &call);
	answer(&call);
	pthread_barrier_wait(&all_have_one);
	char *page = way == STOPPED ? NULL : hole + (intptr_t)number * 4096;
	struct binder_write_read on_stack, *request = way == REQUEST ? (void *)page : &on_stack;
	*request = request_of(NULL, 0, way == RETURNS ? page : (void *)own, sizeof own);
	tell();
	int ended;
	do
		ended = ioctl(device, BINDER_WRITE_READ, request);
	while (ended < 0 && errno == EINTR && way == STOPPED);
	if (ended < 0)
		err(1, "a read came back");
	if (way != STOPPED)
		errx(1, "a read came back");
	CHECK(find(BR_TRANSACTION, own, request->read_consumed, &call) == BR_TRANSACTION);
	answer(&call);
	pause();
	return NULL;
}

static void hold_up_many_threads(void)
{
	device = open_client();
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	CHECK(pthread_barrier_init(&all_have_one, NULL, THREADS) == 0);
	if (way != STOPPED)
		hole = withhold(THREADS * 4096);
	if (way == REQUEST)
		deliver(hole, THREADS * 4096);
	tell();
	for (intptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, be_held_up, (void *)i) != 0)
			errx(1, "pthread_create");
	}
	// All have called by then, and sleep.
	usleep(500000);
	if (way == REQUEST)
		CHECK(madvise(hole, THREADS * 4096, MADV_DONTNEED) == 0);
	tell();
	for (;;)
		pause();
}

// Sends a file to the receiver that is held up; the status tells the driver's answer.
static pid_t send_to_held(int file)
{
	pid_t child = fork();
	CHECK(child >= 0);
	if (child > 0)
		return child;
	struct parcel call;
	struct binder_transaction_data reply;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pack(&call, BC_TRANSACTION, file);
	exit(converse(open_client(), &call.send, sizeof call.send, BR_REPLY, &reply) == BR_REPLY ? 0 : 1);
}

// Waits until all have been answered, or have heard that they will not be.
static void await_answers(const pid_t *senders, int expected)
{
	for (int i = 0; i < THREADS; i++) {
		int status;
		CHECK(waitpid(senders[i], &status, 0) == senders[i]);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != expected)
			errx(1, "a sender ended with %d", status);
	}
}

// The median of many calls with files, in microseconds.
static long send_files(int own, int file)
{
	static long times[CALLS];
	for (int i = 0; i < CALLS; i++) {
		struct parcel call;
		pack(&call, BC_TRANSACTION, file);
		times[i] = time_call(own, &call.send, sizeof call.send);
	}
	qsort(times, CALLS, sizeof times[0], by_time);
	return times[CALLS / 2];
}

int main(void)
{
	begin_or_skip();
	int own_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t brisk = start_service(serve_briskly);
	int own = open_client_at(brisk_device);
	long calm = send_files(own, own_file);
	for (way = 0; way < WAYS; way++) {
		pid_t senders[THREADS];
		int from_held[2], ends[2], status;
		char byte;
		CHECK(pipe2(from_held, O_CLOEXEC) == 0 && pipe2(ends, O_CLOEXEC) == 0);
		pid_t held = fork();
		CHECK(held >= 0);
		if (held == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(ends[1]);
			told = from_held[1];
			hold_up_many_threads();
		}
		hear(from_held[0], 1);
		for (int i = 0; i < THREADS; i++)
			senders[i] = send_to_held(own_file);
		await_answers(senders, 0);
		hear(from_held[0], THREADS + 1);
		if (way == STOPPED) {
			kill(held, SIGSTOP);
			CHECK(waitpid(held, &status, WUNTRACED) == held && WIFSTOPPED(status));
		}
		for (int i = 0; i < THREADS; i++)
			senders[i] = send_to_held(ends[1]);
		long median = send_files(own, own_file);
		if (getenv("SHOW_TIMES"))
			fprintf(stderr, "%s: %ld us; %ld in calm\n", names[way], median, calm);
		tell_served(names[way], median, calm);
		if (way == STOPPED) {
			kill(held, SIGCONT);
			await_answers(senders, 0);
		}
		kill(held, SIGKILL);
		CHECK(waitpid(held, &status, 0) == held);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		if (way != STOPPED)
			await_answers(senders, 1);
		while (is_known(held))
			usleep(1000);
		printf(", gone");
		// It ends when the other end is closed everywhere: here and in the driver.
		close(ends[1]);
		CHECK(read(ends[0], &byte, 1) == 0);
		puts(", its files as well");
		close(ends[0]);
		close(from_held[0]);
		close(from_held[1]);
	}
	kill(brisk, SIGKILL);
	return 0;
}
