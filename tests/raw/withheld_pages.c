// withheld_pages.c - a client whose pages never come, beside clients that go on.
//
//   gcc -O2 -pthread -o withheld_pages withheld_pages.c
//   withheld_pages          has many threads of one process get stuck in each way there is, calls a service
//                           meanwhile, and ends that process
//
// A line for each way tells how the others fared. Says so where it may not withhold pages.
#include "client.h"
#include "held_up.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <time.h>

enum { THREADS = 24, CALLS = 400 };
// Clients that call all the time: a request of theirs may come at the very moment at which a thread gets stuck.
enum { CALLERS = 3 };
// As much data as the driver reads straight into its receiver's buffer.
enum { LARGE_PAGES = 4 };

// What lies in pages that never come. Returns have gone to the page before in the last: the driver expects that they will again.
enum withheld { COMMANDS, DATA, LARGE_DATA, OBJECTS, RETURNS, FURTHER_RETURNS, WAYS };
static const char *const names[] = { "commands", "data", "large data", "objects", "returns", "further returns" };

static enum withheld way;
static int device, stuck;
static char *hole;
// The driver has a share of its threads for each process: a first call must not wait behind a thread that is stuck.
static pthread_barrier_t first_calls_are_over;
// How many calls each of the callers has made.
static atomic_long *calls_made;

static void serve(int ready)
{
	int service = open_client();
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	become_manager(service);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready, "", 1) != 1)
		err(1, "write");
	expect(service, &enter, sizeof enter, BR_TRANSACTION, &call);
	for (;;) {
		struct answer answer = answer_to(&call);
		expect(service, &answer, sizeof answer, BR_TRANSACTION, &call);
	}
}

static void ignore(int signal)
{
	(void)signal;
}

// Has a call answered to a page that is there, and gives the page up.
static void read_into(char *page)
{
	struct send call = { .command = BC_TRANSACTION };
	struct binder_write_read request = request_of(&call, sizeof call, page, 4096);
	struct binder_transaction_data reply;
	deliver(page, 4096);
	do {
		request.read_consumed = 0;
		CHECK(ioctl(device, BINDER_WRITE_READ, &request) == 0);
	} while (find(BR_REPLY, (uint8_t *)page, request.read_consumed, &reply) != BR_REPLY);
	CHECK(madvise(page, 4096, MADV_DONTNEED) == 0);
}

static void *get_stuck(void *number)
{
	char *pages = hole + ((intptr_t)number + 1) * 4096;
	uint8_t returns[256];
	binder_size_t offset = 0;
	struct send call = { .command = BC_TRANSACTION };
	if (way == DATA || way == LARGE_DATA || way == OBJECTS) {
		call.transaction.data_size = way == LARGE_DATA ? LARGE_PAGES * 4096 : 64;
		call.transaction.data.ptr.buffer = (uintptr_t)pages;
	}
	if (way == OBJECTS) {
		call.transaction.offsets_size = sizeof offset;
		call.transaction.data.ptr.offsets = (uintptr_t)&offset;
	}
	struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
	if (way == COMMANDS)
		request.write_buffer = (uintptr_t)pages;
	if (way == RETURNS || way == FURTHER_RETURNS)
		request.read_buffer = (uintptr_t)pages;
	if (way == FURTHER_RETURNS) {
		read_into(pages);
		pthread_barrier_wait(&first_calls_are_over);
	}
	if (write(stuck, "", 1) != 1)
		err(1, "write");
	int result = ioctl(device, BINDER_WRITE_READ, &request);
	if (result < 0 && errno == EINTR && request.write_consumed == 0)
		exit(0);
	errx(1, "a call came back: %d, errno %d", result, errno);
}

static void get_stuck_in_many_threads(int count)
{
	struct sigaction action = { .sa_handler = ignore };
	sigaction(SIGUSR1, &action, NULL);
	device = open_client();
	hole = withhold((THREADS + LARGE_PAGES) * 4096);
	pthread_barrier_init(&first_calls_are_over, NULL, (unsigned)count);
	for (intptr_t i = 0; i < count; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, get_stuck, (void *)i) != 0)
			errx(1, "pthread_create");
		if (count == 1) {
			// Until it sleeps, and then some more.
			usleep(200000);
			pthread_kill(thread, SIGUSR1);
		}
	}
	for (;;)
		pause();
}

static pid_t start_stuck(int count)
{
	int ends[2];
	char byte;
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		stuck = ends[1];
		get_stuck_in_many_threads(count);
	}
	close(ends[1]);
	for (int i = 0; i < count; i++)
		CHECK(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	return child;
}

// The median and the longest of many calls, in microseconds.
static void call_service(int own, long *median, long *longest)
{
	static long times[CALLS];
	for (int i = 0; i < CALLS; i++) {
		struct send call = { .command = BC_TRANSACTION };
		times[i] = time_call(own, &call, sizeof call);
	}
	qsort(times, CALLS, sizeof times[0], by_time);
	*median = times[CALLS / 2];
	*longest = times[CALLS - 1];
}

static pid_t start_caller(int number)
{
	pid_t child = fork();
	CHECK(child >= 0);
	if (child != 0)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int own = open_client();
	struct send call = { .command = BC_TRANSACTION };
	for (;; calls_made[number]++)
		time_call(own, &call, sizeof call);
}

// Until each of the callers has made more calls.
static void await_callers(void)
{
	for (int i = 0; i < CALLERS; i++)
		for (long before = calls_made[i]; calls_made[i] < before + 2;)
			usleep(1000);
}

int main(void)
{
	begin_or_skip();
	pid_t service = start_service(serve);
	pid_t callers[CALLERS];
	calls_made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(calls_made != MAP_FAILED);
	for (int i = 0; i < CALLERS; i++)
		callers[i] = start_caller(i);
	int own = open_client();
	long calm, longest, median;
	await_callers();
	call_service(own, &calm, &longest);
	for (way = 0; way < WAYS; way++) {
		int status;
		pid_t child = start_stuck(THREADS);
		call_service(own, &median, &longest);
		await_callers();
		if (getenv("SHOW_TIMES"))
			fprintf(stderr, "%s: %ld us, %ld at most; %ld in calm\n", names[way], median, longest, calm);
		tell_served(names[way], median, calm);
		kill(child, SIGKILL);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		// The last of it goes when the pages are given up.
		while (is_known(child))
			usleep(1000);
		puts(", gone");
	}
	for (way = COMMANDS; way <= LARGE_DATA; way++) {
		int status;
		pid_t child = start_stuck(1);
		CHECK(waitpid(child, &status, 0) == child);
		printf("%s: %s\n", names[way], WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "interrupted" : "not");
	}
	call_service(own, &median, &longest);
	for (int i = 0; i < CALLERS; i++)
		kill(callers[i], SIGKILL);
	kill(service, SIGKILL);
	return 0;
}
