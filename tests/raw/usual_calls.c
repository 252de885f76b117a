// usual_calls.c - ways in which programs use a device that all of them may.
//
//   gcc -O2 -pthread -o usual_calls usual_calls.c
//   usual_calls SCENE    prints what becomes of calls; the same by every way to the driver
//
// rooms: reads with little room. polls: client and service poll before each read. epolls: threads with an epoll each.
// wrappers: ioctls by a pointer, and without the C library. sigwait: a daemon that waits for its signals. exec: a program that
// inherits a device from the one before. closing: a device that is closed while others read from it. rights: a service and a
// client that give up their rights once they have the device. stacks: files that come to a signal handler on a small stack.
#include "echo.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void write_call(int device, const uint32_t *word)
{
	struct send call = call_of(ECHO, word, sizeof *word);
	write_commands(device, &call, sizeof call);
}

// Takes a reply out of what was read. Says whether it was there.
static int take_echo(int device, const uint8_t *returns, size_t got, uint32_t word)
{
	struct binder_transaction_data reply;
	uint32_t found = find(BR_REPLY, returns, got, &reply);
	if (!found)
		return 0;
	uint32_t echo;
	CHECK(found == BR_REPLY && reply.data_size == sizeof echo);
	memcpy(&echo, (void *)(uintptr_t)reply.data.ptr.buffer, sizeof echo);
	CHECK(echo == word);
	let_go(device, &reply);
	return 1;
}

static void rooms(void)
{
	int device = open_client();
	// With less nothing is read: the driver wants room for a call with a label.
	size_t rooms[] = { 80, 84, 128, 256, 4096 };
	for (size_t at = 0; at < sizeof rooms / sizeof *rooms; at++) {
		uint8_t returns[4096];
		int reads = 0;
		for (uint32_t word = 0; word < 50; word++) {
			struct send call = call_of(ECHO, &word, sizeof word);
			struct binder_write_read request = request_of(&call, sizeof call, returns, rooms[at]);
			do {
				request.read_consumed = 0;
				CHECK(ioctl(device, BINDER_WRITE_READ, &request) == 0);
				CHECK(request.write_consumed == sizeof call);
				reads++;
			} while (!take_echo(device, returns, request.read_consumed, word));
		}
		// (By how many reads depends on how soon the reply is there.)
		printf("room for %zu: %s\n", rooms[at], reads >= 50 && reads <= 100 ? "all there" : "?");
	}
}

static void serve_by_polls(int ready)
{
	int device = open_client();
	become_manager(device);
	uint32_t enter = BC_ENTER_LOOPER;
	write_commands(device, &enter, sizeof enter);
	CHECK(write(ready, "!", 1) == 1);
	for (;;) {
		struct pollfd polled = { .fd = device, .events = POLLIN };
		CHECK(poll(&polled, 1, HANG_TIMEOUT_S * 1000) == 1);
		CHECK(polled.revents == POLLIN);
		uint8_t returns[256];
		size_t got = write_read(device, NULL, 0, returns, sizeof returns);
		struct binder_transaction_data call;
		if (find(BR_TRANSACTION, returns, got, &call) != BR_TRANSACTION)
			continue;
		struct answer answer = answer_to(&call);
		answer.reply.transaction.data_size = call.data_size;
		answer.reply.transaction.data.ptr.buffer = call.data.ptr.buffer;
		// The reply is a copy of the buffer that is given back, so that goes last.
		write_commands(device, &answer.reply, sizeof answer.reply);
		write_commands(device, &answer, 12);
	}
}

static void polls(void)
{
	int device = open_client();
	for (uint32_t word = 0; word < 200; word++) {
		write_call(device, &word);
		uint8_t returns[256];
		size_t got;
		do {
			struct pollfd polled = { .fd = device, .events = POLLIN };
			CHECK(poll(&polled, 1, HANG_TIMEOUT_S * 1000) == 1);
			got = write_read(device, NULL, 0, returns, sizeof returns);
		} while (!take_echo(device, returns, got, word));
	}
	struct pollfd polled = { .fd = device, .events = POLLIN };
	printf("200 replies, then %d ready\n", poll(&polled, 1, 0));
}

static int shared_device;

static void *call_by_epoll(void *unused)
{
	int waiter = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	CHECK(waiter >= 0 && epoll_ctl(waiter, EPOLL_CTL_ADD, shared_device, &event) == 0);
	for (uint32_t word = 0; word < 100; word++) {
		write_call(shared_device, &word);
		uint8_t returns[256];
		struct binder_write_read request;
		do {
			CHECK(epoll_wait(waiter, &event, 1, HANG_TIMEOUT_S * 1000) == 1);
			request = request_of(NULL, 0, returns, sizeof returns);
			// What made it ready may be another thread's.
			if (ioctl(shared_device, BINDER_WRITE_READ, &request) < 0)
				CHECK(errno == EAGAIN);
		} while (!take_echo(shared_device, returns, request.read_consumed, word));
	}
	close(waiter);
	return unused;
}

static void epolls(void)
{
	shared_device = open_client();
	CHECK(fcntl(shared_device, F_SETFL, O_NONBLOCK) == 0);
	pthread_t threads[3];
	for (int at = 0; at < 3; at++)
		CHECK(pthread_create(&threads[at], NULL, call_by_epoll, NULL) == 0);
	for (int at = 0; at < 3; at++)
		CHECK(pthread_join(threads[at], NULL) == 0);
	printf("three threads, each by its own\n");
}

static int by_name(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

static int by_system_call(int fd, unsigned long request, void *argument)
{
	return syscall(SYS_ioctl, fd, request, argument);
}

static void wrappers(void)
{
	int (*volatile by_pointer)(int, unsigned long, ...) = (void *)ioctl;
	int device = open_client();
	check_calls(device, "by the name");
	for (uint32_t word = 0; word < 300; word++) {
		uint8_t returns[256];
		struct send call = call_of(ECHO, &word, sizeof word);
		struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
		// What one way has begun another goes on with.
		for (int way = word % 3;; way = (way + 1) % 3) {
			request.read_consumed = 0;
			int result = way == 0	? by_name(device, BINDER_WRITE_READ, &request)
				     : way == 1 ? by_pointer(device, BINDER_WRITE_READ, &request)
						: by_system_call(device, BINDER_WRITE_READ, &request);
			CHECK(result == 0);
			if (take_echo(device, returns, request.read_consumed, word))
				break;
		}
	}
	printf("by a name, a pointer, a system call\n");
}

static atomic_int reader_tids[32];

// A thread that reads from the device, where nothing comes. Returns what becomes of that.
static void *read_in_vain(void *number)
{
	// So that it is known to the driver.
	uint32_t enter = BC_ENTER_LOOPER;
	for (int time = 0; time < 3; time++)
		write_commands(shared_device, &enter, sizeof enter);
	uint8_t returns[256];
	struct binder_write_read request = request_of(NULL, 0, returns, sizeof returns);
	reader_tids[(intptr_t)number] = syscall(SYS_gettid);
	if (ioctl(shared_device, BINDER_WRITE_READ, &request) < 0)
		return (void *)(intptr_t)-errno;
	return (void *)(intptr_t)request.read_consumed;
}

// Starts one, and waits until it sleeps.
static pthread_t start_reader(int number)
{
	pthread_t reader;
	reader_tids[number] = 0;
	CHECK(pthread_create(&reader, NULL, read_in_vain, (void *)(intptr_t)number) == 0);
	char state = 'R';
	while (state != 'S') {
		usleep(200);
		if (!reader_tids[number])
			continue;
		char path[64];
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", reader_tids[number]);
		FILE *stat = fopen(path, "r");
		CHECK(stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1);
		fclose(stat);
	}
	return reader;
}

static atomic_int signals_taken;

static void *take_signals(void *set)
{
	for (;;) {
		int signal;
		CHECK(sigwait(set, &signal) == 0);
		if (signal == SIGTERM)
			return NULL;
		signals_taken++;
	}
}

static void sigwaits(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	pthread_t taker;
	CHECK(pthread_create(&taker, NULL, take_signals, &set) == 0);
	shared_device = open_client();
	pthread_t reader = start_reader(0);
	int device = open_client();
	for (int time = 0; time < 30; time++) {
		CHECK(kill(getpid(), SIGUSR1) == 0);
		check_calls(device, "among signals");
		while (signals_taken <= time)
			usleep(100);
	}
	CHECK(kill(getpid(), SIGTERM) == 0);
	CHECK(pthread_join(taker, NULL) == 0);
	printf("%d signals, the reader is %s\n", signals_taken,
	       pthread_tryjoin_np(reader, NULL) == EBUSY ? "there" : "gone");
}

static void inherited(int device)
{
	uint32_t enter = BC_ENTER_LOOPER;
	for (int time = 0; time < 10; time++) {
		struct binder_write_read request = request_of(&enter, sizeof enter, NULL, 0);
		int result = ioctl(device, BINDER_WRITE_READ, &request);
		printf("a command: %s\n", result < 0 ? strerror(errno) : "done");
	}
	check_calls(open_client(), "a device of its own");
	check_calls(open_client(), "another");
	printf("own ones call\n");
}

static void exec(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		int device = open_client();
		check_calls(device, "before");
		CHECK(fcntl(device, F_SETFD, 0) == 0);
		char number[16];
		snprintf(number, sizeof number, "%d", device);
		execl("/proc/self/exe", "usual_calls", "inherited", number, NULL);
		err(1, "execl");
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void closing(void)
{
	enum { READERS = 16 };
	int ends[2] = { 0, 0 };
	for (int time = 0; time < 20; time++) {
		// With a mapping the file stays, but for its number.
		shared_device = time % 2 ? open_client() : open_device();
		uint32_t enter = BC_ENTER_LOOPER;
		for (int call = 0; call < 8; call++)
			write_commands(shared_device, &enter, sizeof enter);
		pthread_t readers[READERS];
		for (int at = 0; at < READERS; at++)
			readers[at] = start_reader(at);
		close(shared_device);
		for (int at = 0; at < READERS; at++) {
			void *end;
			CHECK(pthread_join(readers[at], &end) == 0);
			ends[(intptr_t)end != sizeof(uint32_t)]++;
		}
	}
	printf("%d reads end with nothing, %d otherwise\n", ends[0], ends[1]);
}

static void serve_without_rights(int ready)
{
	// It becomes the manager as it is, and then a common user.
	int device = open_client();
	become_manager(device);
	uint32_t enter = BC_ENTER_LOOPER;
	for (int time = 0; time < 8; time++)
		write_commands(device, &enter, sizeof enter);
	if (geteuid() == 0)
		CHECK(setgid(1234) == 0 && setuid(1234) == 0);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(write(ready, "!", 1) == 1);
	struct binder_transaction_data call;
	uint8_t data[PAGE];
	expect(device, NULL, 0, BR_TRANSACTION, &call);
	for (;;) {
		struct answer answer = answer_to(&call);
		memcpy(data, (void *)(uintptr_t)call.data.ptr.buffer, call.data_size);
		answer.reply.transaction.data_size = call.data_size;
		answer.reply.transaction.data.ptr.buffer = (uintptr_t)data;
		expect(device, &answer, sizeof answer, BR_TRANSACTION, &call);
	}
}

static void rights(void)
{
	int device = open_client();
	check_calls(device, "before");
	if (geteuid() == 0)
		CHECK(setgid(4321) == 0 && setuid(4321) == 0);
	check_calls(device, "after");
	int another = open_client();
	check_calls(another, "by another device");
	printf("both serve and call without\n");
}

static void serve_files(int ready)
{
	int device = open_client();
	become_manager(device);
	uint32_t enter = BC_ENTER_LOOPER;
	write_commands(device, &enter, sizeof enter);
	CHECK(write(ready, "!", 1) == 1);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
	struct binder_transaction_data call;
	expect(device, NULL, 0, BR_TRANSACTION, &call);
	for (;;) {
		struct parcel reply;
		pack(&reply, BC_REPLY, file);
		struct answer answer = answer_to(&call);
		answer.reply = reply.send;
		expect(device, &answer, sizeof answer, BR_TRANSACTION, &call);
	}
}

static int take_file(int device)
{
	struct send call = call_of(ECHO, NULL, 0);
	call.transaction.flags = TF_ACCEPT_FDS;
	struct binder_transaction_data reply;
	expect(device, &call, sizeof call, BR_REPLY, &reply);
	int file = unpack(&reply);
	let_go(device, &reply);
	return file;
}

static volatile int file_of_handler;

static void take_file_in_handler(int signal)
{
	(void)signal;
	file_of_handler = take_file(shared_device);
}

static void stacks(void)
{
	// Room for the frame of the signal, and 6 KiB. A page below faults.
	size_t room = (sysconf(_SC_MINSIGSTKSZ) + 6144 + 15) & ~15ul;
	size_t whole = (room + 2 * PAGE - 1) & ~(PAGE - 1ul);
	char *start = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(start != MAP_FAILED && mprotect(start, PAGE, PROT_NONE) == 0);
	stack_t stack = { .ss_sp = start + PAGE, .ss_size = room };
	CHECK(sigaltstack(&stack, NULL) == 0);
	struct sigaction action = { .sa_handler = take_file_in_handler, .sa_flags = SA_ONSTACK };
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	shared_device = open_client();
	int expected = take_file(shared_device);
	close(expected);
	for (int time = 0; time < 20; time++) {
		CHECK(raise(SIGUSR1) == 0);
		CHECK(file_of_handler == expected);
		close(file_of_handler);
	}
	printf("20 files on a small stack\n");
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void (*play)(void);
		void (*serve)(int ready);
	} scenes[] = { { "rooms", rooms, serve },	{ "polls", polls, serve_by_polls },
		       { "epolls", epolls, serve },	{ "wrappers", wrappers, serve },
		       { "sigwait", sigwaits, serve },	{ "exec", exec, serve },
		       { "closing", closing, serve },	{ "rights", rights, serve_without_rights },
		       { "stacks", stacks, serve_files } };
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "inherited")) {
		inherited(atoi(argv[2]));
		return 0;
	}
	if (argc != 2)
		errx(2, "which scene?");
	for (size_t at = 0; at < sizeof scenes / sizeof *scenes; at++)
		if (!strcmp(scenes[at].name, argv[1])) {
			pid_t service = start_service(scenes[at].serve);
			scenes[at].play();
			end_service(service);
			return 0;
		}
	return 2;
}
