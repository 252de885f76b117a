// interrupted.c - what signals do to a call that sleeps in the driver.
//
//   gcc -O2 -o interrupted interrupted.c
//   interrupted    prints a line for each kind of signal; the same on every driver
//
// Each ends a read with EINTR, whatever was said of its handler, and even SIGSTOP with SIGCONT does. What was
// written has been taken, and the struct says so: used once more, it only reads. A freeze goes on where it was, but
// for a handler without SA_RESTART.
#include "client.h"

#include <signal.h>
#include <time.h>

#define STORM_CALLS 300

// What parent and child tell each other.
struct shared {
	volatile int is_ready;
	volatile int signals;
};

static struct shared *shared;
static int device;

static void enter(void)
{
	device = open_client();
	// The first read of a thread may return at once, but not after another call.
	struct binder_version version;
	if (ioctl(device, BINDER_VERSION, &version) < 0)
		err(1, "BINDER_VERSION");
}

static struct binder_transaction_data await(uint32_t wanted)
{
	struct binder_transaction_data transaction;
	uint8_t returns[256];
	uint32_t found;
	do {
		size_t got = write_read(device, NULL, 0, returns, sizeof returns);
		found = find(wanted, returns, got, &transaction);
	} while (!found);
	CHECK(found == wanted);
	return transaction;
}

static void answer(struct binder_transaction_data call)
{
	struct answer answer = answer_to(&call);
	size_t size = call.flags & TF_ONE_WAY ? 12 : sizeof answer;
	write_commands(device, &answer, size);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

static char state_of(pid_t pid)
{
	char path[64], line[256] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return '?';
	char *read = fgets(line, sizeof line, file);
	fclose(file);
	char *end = read ? strrchr(line, ')') : NULL;
	return end ? end[2] : '?';
}

// Waits until the child, once it has said that it is ready, sleeps in the driver.
static void await_sleep(pid_t child)
{
	int times = 0;
	while (times < 3) {
		nap();
		times = shared->is_ready && state_of(child) == 'S' ? times + 1 : 0;
	}
}

static void count(int signal)
{
	(void)signal;
	shared->signals++;
}

static void handle(int flags)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = flags };
	sigaction(SIGUSR1, &action, NULL);
}

// Makes an ioctl until no signal ends it; how many did is added to `interruptions`.
static int persist(unsigned long request, void *argument, int *interruptions)
{
	int result;
	while ((result = ioctl(device, request, argument)) < 0 && errno == EINTR)
		++*interruptions;
	if (result < 0)
		err(1, "an interrupted ioctl");
	return result;
}

// A call whose request, after an interruption, is used once more as the driver left it.
static int call(void)
{
	struct send send = { .command = BC_TRANSACTION };
	struct binder_transaction_data reply;
	uint8_t returns[256];
	struct binder_write_read request = request_of(&send, sizeof send, returns, sizeof returns);
	int interruptions = 0;
	uint32_t found;
	do {
		request.read_consumed = 0;
		persist(BINDER_WRITE_READ, &request, &interruptions);
		found = find(BR_REPLY, returns, request.read_consumed, &reply);
	} while (!found);
	CHECK(found == BR_REPLY);
	uint32_t command = BC_FREE_BUFFER;
	uint8_t commands[sizeof command + sizeof reply.data.ptr.buffer];
	memcpy(commands, &command, sizeof command);
	memcpy(commands + sizeof command, &reply.data.ptr.buffer, sizeof reply.data.ptr.buffer);
	write_commands(device, commands, sizeof commands);
	return interruptions;
}

static int freeze(pid_t whom)
{
	struct send send = { .command = BC_TRANSACTION, .transaction.flags = TF_ONE_WAY };
	struct binder_freeze_info info = { .pid = whom, .enable = 1, .timeout_ms = 60000 };
	int interruptions = 0;
	write_commands(device, &send, sizeof send);
	shared->is_ready = 1;
	persist(BINDER_FREEZE, &info, &interruptions);
	info.enable = 0;
	persist(BINDER_FREEZE, &info, &interruptions);
	return interruptions;
}

enum deed { CALL, FREEZE, STORM };

// Starts a client that does one thing; its handler of SIGUSR1 has `flags`.
static pid_t client(enum deed deed, int flags)
{
	pid_t parent = getpid();
	shared->is_ready = shared->signals = 0;
	fflush(stdout);
	pid_t child = fork();
	if (child)
		return child;
	close(device);
	enter();
	handle(flags);
	if (deed == FREEZE) {
		printf(" interrupted %d times\n", freeze(parent));
	} else if (deed == CALL) {
		shared->is_ready = 1;
		printf(" interrupted %d times\n", call());
	} else {
		for (int i = 0; i < STORM_CALLS; i++)
			call();
		printf(" all answered\n");
	}
	fflush(stdout);
	_exit(0);
}

static void interrupt(pid_t child)
{
	int before = shared->signals;
	kill(child, SIGUSR1);
	while (shared->signals == before)
		nap();
}

static void stop_and_go(pid_t child)
{
	int status;
	kill(child, SIGSTOP);
	waitpid(child, &status, WUNTRACED);
	kill(child, SIGCONT);
	waitpid(child, &status, WCONTINUED);
}

static void signal_often(pid_t child, int often, void (*signal)(pid_t))
{
	while (often-- > 0) {
		await_sleep(child);
		signal(child);
	}
}

int main(void)
{
	int status;
	uint32_t enter_looper = BC_ENTER_LOOPER;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enter();
	become_manager(device);
	write_commands(device, &enter_looper, sizeof enter_looper);

	struct {
		const char *what;
		enum deed deed;
		int flags, often;
		void (*signal)(pid_t);
	} cases[] = {
		{ "a call, SA_RESTART:", CALL, SA_RESTART, 3, interrupt },
		{ "a call, no SA_RESTART:", CALL, 0, 3, interrupt },
		{ "a call, SIGSTOP and SIGCONT:", CALL, 0, 3, stop_and_go },
		{ "a freeze, SA_RESTART:", FREEZE, SA_RESTART, 3, interrupt },
		{ "a freeze, no SA_RESTART:", FREEZE, 0, 3, interrupt },
		{ "a freeze, SIGSTOP and SIGCONT:", FREEZE, 0, 3, stop_and_go },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		printf("%s", cases[i].what);
		pid_t child = client(cases[i].deed, cases[i].flags);
		struct binder_transaction_data transaction = { 0 };
		// A oneway stays unread, so that the freeze has to wait.
		if (cases[i].deed == CALL)
			transaction = await(BR_TRANSACTION);
		signal_often(child, cases[i].often, cases[i].signal);
		if (cases[i].deed == FREEZE)
			transaction = await(BR_TRANSACTION);
		answer(transaction);
		waitpid(child, &status, 0);
	}

	printf("calls in a storm of signals:");
	pid_t child = client(STORM, SA_RESTART);
	for (int i = 0; i < STORM_CALLS; i++) {
		struct binder_transaction_data call = await(BR_TRANSACTION);
		kill(child, SIGUSR1);
		if (i % 3 == 0)
			nap();
		answer(call);
		kill(child, SIGUSR1);
	}
	waitpid(child, &status, 0);

	child = client(CALL, 0);
	struct binder_transaction_data call = await(BR_TRANSACTION);
	await_sleep(child);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("SIGKILL: %s\n", WIFSIGNALED(status) ? "killed" : "not killed");
	answer(call);
	return 0;
}
