// lane_client.c - a client whose calls pass the driver by, of which it knows nothing.
//
//   gcc -O2 -pthread -o lane_client lane_client.c
//   lane_client SERVER        plays all scenes, with ANYBINDER_LANES=4 and a service: `SERVER server` of lane_checks
//   lane_client SERVER way [ROUNDS]   says which way the calls of the last of many threads go, after so many rounds of them
//
// How many calls the driver has seen is what its statistics say, so nothing else may use it meanwhile.
#include "another_server.h"
#include "echo.h"
#include "passes_by.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

// The second is the one by which handlers call and wait.
static int device, handlers_device;

// How many calls the driver has refused to send on, of the last ones.
static int refused(void)
{
	FILE *file = fopen("/dev/binderfs/binder_logs/failed_transaction_log", "re");
	int lines = 0, c;
	CHECK(file);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void warm_up(void)
{
	if (!passes_by(device))
		errx(1, "calls do not pass the driver by");
}

enum { OTHERS = 16 };
static pthread_barrier_t have_called;

static void *call_once(void *unused)
{
	CHECK(ask(device, ECHO, 5) == 5);
	pthread_barrier_wait(&have_called);
	pause();
	return unused;
}

static void *tell_way(void *rounds)
{
	puts(passes_by_within(*(int *)rounds, device) ? "by a lane" : "by the driver");
	return NULL;
}

static int open_large(void)
{
	int opened = open_device();
	map(opened, 1 << 20);
	return opened;
}

// The bytes of a call, and what the reply before it took, are given in one.
static void sizes(void)
{
	static uint8_t data[200000];
	struct {
		uint32_t free_command;
		binder_uintptr_t buffer;
		struct send send;
	} __attribute__((packed)) next = { .free_command = BC_FREE_BUFFER };
	size_t large[] = { 4096, 16384, 16385, 65536, 73536, 73537, 200000 };
	struct binder_transaction_data reply;
	for (size_t at = 0; at < 307; at++) {
		size_t size = at < 300 ? at : large[at - 300];
		for (size_t place = 0; place < size; place++)
			data[place] = place * 7 + size;
		next.send = call_of(ECHO, data, size);
		if (at == 0)
			expect(device, &next.send, sizeof next.send, BR_REPLY, &reply);
		else
			expect(device, &next, sizeof next, BR_REPLY, &reply);
		next.buffer = reply.data.ptr.buffer;
		CHECK(reply.data_size == size);
		check_place(&reply);
		CHECK(memcmp((void *)(uintptr_t)next.buffer, data, size) == 0);
		CHECK(reply.sender_pid == 0);
	}
	let_go(device, &reply);
}

// A thread that makes long calls has room for them, and keeps it when it makes others in between.
static void long_calls(void)
{
	size_t lengths[] = { 16385, 65536, 4, 73536 };
	for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++)
		if (!bytes_pass_by_within(MAX_ROUNDS, device, lengths[at]))
			errx(1, "calls of %zu bytes do not pass the driver by", lengths[at]);
	unsigned long before = sent();
	for (uint32_t word = 0; word < 2 * WARM_UP; word++)
		echo_bytes(device, lengths[word % 4], word);
	CHECK(sent() - before < WARM_UP);
}

static struct binder_transaction_data kept[5];

static void *free_kept(void *unused)
{
	for (int at = 0; at < 5; at++)
		let_go(device, &kept[at]);
	return unused;
}

// Replies stay as they are until they are given back, by whichever thread.
static void keeps(void)
{
	for (uint32_t word = 0; word < 5; word++) {
		struct send call = call_of(ECHO, &word, sizeof word);
		expect(device, &call, sizeof call, BR_REPLY, &kept[word]);
	}
	for (uint32_t word = 0; word < 5; word++)
		CHECK(memcmp((void *)(uintptr_t)kept[word].data.ptr.buffer, &word, sizeof word) == 0);
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, free_kept, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

// One-ways, objects and files go by the driver.
static void refusals(void)
{
	struct binder_transaction_data got;
	uint8_t returns[256];
	unsigned long before = sent();
	struct send oneway = call_of(ECHO, NULL, 0);
	oneway.transaction.flags = TF_ONE_WAY;
	write_read(device, &oneway, sizeof oneway, returns, sizeof returns);
	CHECK(sent() == before + 1);
	struct flat_binder_object object = { .hdr.type = BINDER_TYPE_BINDER, .binder = 8, .cookie = 9 };
	binder_size_t offset = 0;
	struct send send = call_of(ECHO, &object, sizeof object);
	send.transaction.offsets_size = sizeof offset;
	send.transaction.data.ptr.offsets = (uintptr_t)&offset;
	expect(device, &send, sizeof send, BR_REPLY, &got);
	let_go(device, &got);
	// The call, and its reply.
	CHECK(sent() == before + 3);
	struct parcel parcel;
	pack(&parcel, BC_TRANSACTION, 0);
	parcel.send.transaction.code = ECHO;
	parcel.send.transaction.data.ptr.buffer = (uintptr_t)&parcel.object;
	// Its owner takes no files.
	int before_files = refused();
	CHECK(converse(device, &parcel.send, sizeof parcel.send, BR_REPLY, &got) == BR_FAILED_REPLY);
	CHECK(refused() == before_files + 1);
}

// Wrong addresses are told as ever.
static void pointers(void)
{
	struct binder_transaction_data got;
	struct send call = call_of(ECHO, (void *)16, 100);
	CHECK(converse(device, &call, sizeof call, BR_REPLY, &got) == BR_FAILED_REPLY);
	warm_up();
	char *constant = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t word = 5;
	call = call_of(ECHO, &word, sizeof word);
	expect(device, &call, sizeof call, BR_REPLY, &got);
	// What is freed with it is free: the next scene has a lane again.
	struct answer next = answer_to(&got);
	next.reply = call_of(ECHO, NULL, 0);
	struct binder_write_read request = request_of(&next, sizeof next, constant, 256);
	CHECK(ioctl(device, BINDER_WRITE_READ, &request) == -1 && errno == EFAULT);
	CHECK(request.write_consumed == sizeof next);
	munmap(constant, PAGE);
	// What was called is answered, all the same.
	expect(device, NULL, 0, BR_REPLY, &got);
	let_go(device, &got);
}

static volatile sig_atomic_t handled;
static volatile uint32_t echo_in_handler;
// How long after a handler the next signal comes; none comes after 0. By a period of its own they could follow each other so
// closely, where handlers take long, that the program does not get on.
static volatile int again_us;

static void alarm_after_us(int us)
{
	struct itimerval timer = { .it_value.tv_usec = us };
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void count(int signal)
{
	(void)signal;
	handled++;
	alarm_after_us(again_us);
}

static void call_in_handler(int signal)
{
	(void)signal;
	int before = errno;
	handled++;
	struct send oneway = call_of(ECHO, NULL, 0);
	oneway.transaction.flags = TF_ONE_WAY;
	write_commands(device, &oneway, sizeof oneway);
	echo_in_handler = ask(handlers_device, ECHO, 77);
	alarm_after_us(again_us);
	errno = before;
}

static void on_alarm(void (*handler)(int), int flags, int first_us, int then_us)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	again_us = then_us;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	alarm_after_us(first_us);
}

// A signal ends a call's read, whatever its handler says; the call goes on, and what was written is not written again.
// Says whether the signal came while the thread waited: on a busy machine it may come before.
static int is_interrupted_by(void (*handler)(int), int flags)
{
	uint32_t word = flags;
	struct send call = call_of(SLOW, &word, sizeof word);
	struct binder_transaction_data reply;
	uint8_t returns[256];
	struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
	handled = 0;
	on_alarm(handler, flags, 8000, 0);
	int result = ioctl(device, BINDER_WRITE_READ, &request);
	int is_interrupted = result == -1;
	CHECK(!is_interrupted || (errno == EINTR && handled == 1 && request.read_consumed == 0));
	CHECK(request.write_consumed == sizeof call);
	uint32_t found = is_interrupted ? 0 : find(BR_REPLY, returns, request.read_consumed, &reply);
	if (!found)
		expect(device, NULL, 0, BR_REPLY, &reply);
	CHECK(memcmp((void *)(uintptr_t)reply.data.ptr.buffer, &word, sizeof word) == 0);
	let_go(device, &reply);
	while (!handled)
		usleep(1000);
	return is_interrupted;
}

static void interrupt_by(void (*handler)(int), int flags)
{
	for (int at = 0; at < 50; at++) {
		warm_up();
		if (is_interrupted_by(handler, flags))
			return;
	}
	errx(1, "signals do not end calls");
}

static void signals(void)
{
	static uint8_t stack[64 << 10];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack };
	CHECK(sigaltstack(&other, NULL) == 0);
	int flags[] = { 0, SA_RESTART, SA_ONSTACK, SA_ONSTACK | SA_RESTART };
	for (int at = 0; at < 4; at++) {
		interrupt_by(count, flags[at]);
		interrupt_by(call_in_handler, flags[at]);
		CHECK(echo_in_handler == 77);
	}
	// At any moment.
	handled = 0;
	on_alarm(count, SA_RESTART, 150, 150);
	for (uint32_t word = 0; handled < 3000; word++)
		CHECK(ask(device, ECHO, word) == word);
	on_alarm(call_in_handler, SA_RESTART, 450, 450);
	for (uint32_t word = 1000; handled < 6000; word++)
		CHECK(ask(device, ECHO, word) == word);
	on_alarm(count, 0, 0, 0);
}

static void *close_soon(void *number)
{
	usleep(5000);
	CHECK(close(*(int *)number) == 0);
	return NULL;
}

static void files(void)
{
	// Another number of the same.
	int other = fcntl(device, F_DUPFD_CLOEXEC, 100);
	CHECK(other >= 0 && passes_by(other));
	// The driver hears of a call by that number, which is closed then.
	CHECK(ask(other, SLOW, 5) == 5);
	close(other);
	warm_up();
	// No child has a lane of its parent, but its own.
	int status;
	pid_t child = fork();
	if (child == 0)
		exit(!passes_by(open_large()));
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	warm_up();
	// A device that is closed while it is called ends the call, and others may have its number.
	for (int at = 0; at < 5; at++) {
		int closed = open_client();
		CHECK(passes_by(closed));
		pthread_t closer;
		uint32_t word = 5;
		struct send call = call_of(SLOW, &word, sizeof word);
		uint8_t returns[256];
		struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
		CHECK(pthread_create(&closer, NULL, close_soon, &closed) == 0);
		(void)!ioctl(closed, BINDER_WRITE_READ, &request);
		CHECK(pthread_join(closer, NULL) == 0);
	}
	// Descriptors are as they were.
	CHECK(lowest_number() == handlers_device + 1);
}

// A read that is not to wait does not.
static void modes(void)
{
	int nonblocking = open("/dev/binder", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	CHECK(nonblocking >= 0);
	map(nonblocking, 128 << 10);
	unsigned long before = sent();
	for (uint32_t word = 0; word < 3 * WARM_UP; word++) {
		struct send call = call_of(ECHO, &word, sizeof word);
		uint8_t returns[256];
		struct binder_transaction_data reply;
		struct binder_write_read request = request_of(&call, sizeof call, returns, sizeof returns);
		do {
			request.read_consumed = 0;
			if (ioctl(nonblocking, BINDER_WRITE_READ, &request) < 0)
				CHECK(errno == EAGAIN);
		} while (find(BR_REPLY, returns, request.read_consumed, &reply) != BR_REPLY);
		let_go(nonblocking, &reply);
	}
	CHECK(sent() - before == 2 * 3 * WARM_UP);
	close(nonblocking);
}

static void threads(void)
{
	call_in_threads(device);
}

static void ends(void)
{
	for (int at = 0; at < 30; at++) {
		pid_t child = fork();
		if (child == 0) {
			int own = open_client();
			for (uint32_t word = 0;; word++)
				CHECK(ask(own, ECHO, word) == word);
		}
		usleep(3000 + at * 997);
		CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
		CHECK(ask(device, ECHO, at) == (uint32_t)at);
	}
	warm_up();
	CHECK(ask(device, END, 0) == BR_DEAD_REPLY);
	CHECK(ask(device, ECHO, 0) == BR_DEAD_REPLY);
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void (*play)(void);
	} scenes[] = { { "sizes", sizes },	 { "long", long_calls }, { "keeps", keeps },   { "refusals", refusals },
		       { "pointers", pointers }, { "signals", signals }, { "files", files },   { "modes", modes },
		       { "threads", threads },	 { "ends", ends } };
	alarm(HANG_TIMEOUT_S);
	CHECK(argc >= 2);
	server = argv[1];
	start_service(serve_by_another);
	device = open_large();
	if (argc >= 3 && !strcmp(argv[2], "way")) {
		pthread_t thread;
		int rounds = argc > 3 ? atoi(argv[3]) : 50;
		CHECK(pthread_barrier_init(&have_called, NULL, OTHERS + 1) == 0);
		for (int other = 0; other < OTHERS; other++)
			CHECK(pthread_create(&thread, NULL, call_once, NULL) == 0);
		pthread_barrier_wait(&have_called);
		CHECK(pthread_create(&thread, NULL, tell_way, &rounds) == 0 && pthread_join(thread, NULL) == 0);
		return 0;
	}
	handlers_device = open_client();
	for (size_t at = 0; at < sizeof scenes / sizeof *scenes; at++) {
		if (scenes[at].play != ends)
			warm_up();
		scenes[at].play();
		printf("%s\n", scenes[at].name);
		fflush(stdout);
	}
}
