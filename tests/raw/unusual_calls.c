// unusual_calls.c - what programs do with a device that a library between them and the driver must not spoil.
//
//   gcc -O2 -pthread -o unusual_calls unusual_calls.c
//   unusual_calls SCENE    prints what becomes of calls; the same by every way to the driver
//
// pointers: wrong addresses in each place. numbers: descriptors that are closed, reused, doubled. processes: fork, vfork
// and threads of children. threads: more than one counts on, that end and are cancelled. signals: handlers that call, and that
// jump out of a call. modes: O_NONBLOCK. users: a caller that changes its user. way: whether calls need system calls.
#include "echo.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

static void *pages(int count, int protection)
{
	void *start = mmap(NULL, count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(start != MAP_FAILED);
	return start;
}

static void tell(const char *what, int result, const struct binder_write_read *request)
{
	printf("%s: %s", what, result < 0 ? strerror(errno) : "done");
	if (request)
		printf(", written %llu, read %llu", request->write_consumed, request->read_consumed);
	printf("\n");
}

static void try(const char *what, int device, struct binder_write_read *request)
{
	tell(what, ioctl(device, BINDER_WRITE_READ, request), NULL);
}

static void pointers(void)
{
	int device = open_client();
	uint8_t returns[256];
	uint32_t word = 7;
	check_calls(device, "before");

	char *hidden = pages(1, PROT_NONE);
	char *constant = pages(1, PROT_READ);
	char *two = pages(2, PROT_READ | PROT_WRITE);
	char *half = pages(2, PROT_READ | PROT_WRITE);
	CHECK(mprotect(half + PAGE, PAGE, PROT_NONE) == 0);

	try("no struct", device, NULL);
	try("a struct nowhere", device, (void *)16);
	try("a struct in the kernel", device, (void *)-PAGE);
	try("a struct beyond all", device, (void *)(1ull << 60));
	try("a hidden struct", device, (void *)hidden);
	try("a constant struct", device, (void *)constant);
	try("half a struct", device, (void *)(half + PAGE - 24));

	// Memory that is mapped, but at odd places.
	struct binder_write_read *across = (void *)(two + PAGE - 21);
	struct send echo = call_of(ECHO, &word, sizeof word);
	*across = request_of(&echo, sizeof echo, returns, sizeof returns);
	tell("a struct across pages", ioctl(device, BINDER_WRITE_READ, across), NULL);
	printf("written %llu\n", across->write_consumed);
	struct binder_transaction_data reply;
	if (!find(BR_REPLY, returns, across->read_consumed, &reply))
		expect(device, NULL, 0, BR_REPLY, &reply);
	let_go(device, &reply);

	struct {
		const char *what;
		void *at;
	} places[] = {
		{ "nowhere", (void *)16 },     { "in the kernel", (void *)-PAGE },
		{ "hidden", hidden },	       { "half there", half + PAGE - 2 },
		{ "below the stack", (char *)__builtin_frame_address(0) - (64 << 20) },
	};
	for (size_t at = 0; at < sizeof places / sizeof *places; at++) {
		printf("%s\n", places[at].what);
		struct binder_write_read request = request_of(places[at].at, sizeof echo, NULL, 0);
		tell("  commands", ioctl(device, BINDER_WRITE_READ, &request), &request);

		struct send call = call_of(ECHO, places[at].at, 100);
		struct binder_transaction_data unused;
		uint32_t found = converse(device, &call, sizeof call, BR_REPLY, &unused);
		printf("  data: %s\n", found == BR_FAILED_REPLY ? "failed" : "?");

		call = call_of(ECHO, &word, sizeof word);
		call.transaction.data.ptr.offsets = (uintptr_t)places[at].at;
		call.transaction.offsets_size = 80;
		found = converse(device, &call, sizeof call, BR_REPLY, &unused);
		printf("  offsets: %s\n", found == BR_FAILED_REPLY ? "failed" : "?");

		uint32_t command = BC_ENTER_LOOPER;
		request = request_of(&command, sizeof command, places[at].at, 256);
		tell("  returns", ioctl(device, BINDER_WRITE_READ, &request), &request);
	}
	uint32_t command = BC_ENTER_LOOPER;
	struct binder_write_read request = request_of(&command, sizeof command, constant, 256);
	tell("constant returns", ioctl(device, BINDER_WRITE_READ, &request), &request);

	// Pages that were there in calls before are gone.
	void *once = pages(1, PROT_READ | PROT_WRITE);
	memcpy(once, &echo, sizeof echo);
	CHECK(converse(device, once, sizeof echo, BR_REPLY, &reply) == BR_REPLY);
	let_go(device, &reply);
	CHECK(munmap(once, PAGE) == 0);
	request = request_of(once, sizeof echo, NULL, 0);
	tell("commands that were there", ioctl(device, BINDER_WRITE_READ, &request), &request);
	request = request_of(NULL, 0, once, 256);
	tell("returns that were there", ioctl(device, BINDER_WRITE_READ, &request), &request);

	check_calls(device, "after");
	printf("calls go on\n");
}

static int count_descriptors(void)
{
	int count = 0;
	for (int fd = 0; fd < 200; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int pass_on(int fd)
{
	int ends[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	char byte = 0;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof control };
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	CHECK(sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
	close(ends[0]);
	close(ends[1]);
	return fd;
}

static void numbers(void)
{
	int before = count_descriptors();
	int device = open_client();
	check_calls(device, "at first");
	printf("one open, %d more descriptor\n", count_descriptors() - before);

	int doubled = dup(device);
	check_calls(doubled, "dup");
	int far = fcntl(device, F_DUPFD_CLOEXEC, 150);
	check_calls(far, "F_DUPFD");
	int third = dup3(device, 120, O_CLOEXEC);
	check_calls(third, "dup3");
	int passed = pass_on(device);
	check_calls(passed, "SCM_RIGHTS");
	CHECK(close(device) == 0);
	check_calls(doubled, "after a close");
	printf("its doubles call\n");

	// The number comes to mean another file.
	char name[] = "/tmp/unusual-XXXXXX";
	int other = mkstemp(name);
	unlink(name);
	CHECK(other == device);
	struct binder_write_read request = request_of(NULL, 0, NULL, 0);
	tell("a file at its number", ioctl(device, BINDER_WRITE_READ, &request), &request);
	CHECK(lseek(device, 0, SEEK_CUR) == 0);
	CHECK(dup2(doubled, device) == device);
	check_calls(device, "dup2");
	CHECK(close(device) == 0);
	tell("nothing at its number", ioctl(device, BINDER_WRITE_READ, &request), &request);
	close(far), close(third), close(passed), close(doubled);

	// Another device comes to the number, again and again.
	for (int time = 0; time < 50; time++) {
		CHECK(open_client() == device);
		check_calls(device, "once more");
		int beside = open_client();
		check_calls(beside, "beside it");
		if (time % 3) {
			close(device);
			CHECK(dup2(beside, device) == device);
		}
		check_calls(device, "in its place");
		close(beside);
		close(device);
	}
	int open_ones[40];
	for (int at = 0; at < 40; at++)
		check_calls(open_ones[at] = open_client(), "one of many");
	for (int at = 0; at < 40; at++)
		check_calls(open_ones[at], "again, one of many");
	for (int at = 0; at < 40; at++)
		close(open_ones[at]);
	device = open_client();
	check_calls(device, "after many");
	if (syscall(SYS_close_range, device, ~0u, 0) < 0)
		for (int fd = device; fd < 200; fd++)
			close(fd);
	check_calls(open_client(), "after all were closed");
	printf("devices follow each other\n");
}

static void await_child(pid_t child)
{
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		errx(1, "a child ended with %#x", status);
}

static void *call_in_thread(void *device)
{
	check_calls((int)(intptr_t)device, "a thread");
	return NULL;
}

static void run_thread(int device)
{
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, call_in_thread, (void *)(intptr_t)device) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void processes(void)
{
	int device = open_client();
	check_calls(device, "the parent");
	for (int time = 0; time < 3; time++) {
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			// The device serves its opener; what a child is told is the driver's to say.
			struct binder_write_read request = request_of(NULL, 0, NULL, 0);
			uint32_t enter = BC_ENTER_LOOPER;
			tell("a child, nothing", ioctl(device, BINDER_WRITE_READ, &request), NULL);
			request = request_of(&enter, sizeof enter, NULL, 0);
			tell("a child, a command", ioctl(device, BINDER_WRITE_READ, &request), &request);
			int own = open_client();
			check_calls(own, "a child by its own");
			run_thread(own);
			pid_t grandchild = fork();
			if (grandchild == 0) {
				check_calls(open_client(), "a grandchild");
				_exit(0);
			}
			await_child(grandchild);
			check_calls(own, "a child with a child");
			fflush(stdout);
			_exit(0);
		}
		await_child(child);
		check_calls(device, "the parent of a child");
	}
	for (int time = 0; time < 3; time++) {
		struct binder_write_read request = request_of(NULL, 0, NULL, 0);
		int volatile result = 0, error = 0;
		pid_t child = vfork();
		if (child == 0) {
			result = ioctl(device, BINDER_WRITE_READ, &request);
			error = errno;
			_exit(0);
		}
		await_child(child);
		errno = error;
		tell("a child of vfork", result, NULL);
		check_calls(device, "the parent of a child of vfork");
	}
	char *const arguments[] = { "true", NULL };
	pid_t child;
	CHECK(posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0);
	await_child(child);
	check_calls(device, "the parent of a program");
	run_thread(device);
	printf("parents call\n");
}

static pthread_barrier_t barrier;
static int shared_device;

static void *call_at_once(void *word)
{
	pthread_barrier_wait(&barrier);
	for (int time = 0; time < 50; time++)
		if (ask(shared_device, ECHO, (uintptr_t)word + time) != (uintptr_t)word + time)
			errx(1, "the echo of another");
	pthread_barrier_wait(&barrier);
	return NULL;
}

static volatile int about_to_read;

static void *read_for_ever(void *unused)
{
	(void)unused;
	uint8_t returns[256];
	uint32_t enter = BC_ENTER_LOOPER;
	write_commands(shared_device, &enter, sizeof enter);
	struct binder_write_read request = request_of(NULL, 0, returns, sizeof returns);
	about_to_read = 1;
	ioctl(shared_device, BINDER_WRITE_READ, &request);
	return NULL;
}

static void *read_and_be_cancelled_anywhere(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	return read_for_ever(unused);
}

static void nap(int milliseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000 }, NULL);
}

static void threads(void)
{
	enum { AT_ONCE = 40 };
	shared_device = open_client();
	check_calls(shared_device, "the first thread");
	pthread_t all[AT_ONCE];
	CHECK(pthread_barrier_init(&barrier, NULL, AT_ONCE) == 0);
	for (uintptr_t at = 0; at < AT_ONCE; at++)
		CHECK(pthread_create(&all[at], NULL, call_at_once, (void *)(at * 1000)) == 0);
	for (int at = 0; at < AT_ONCE; at++)
		CHECK(pthread_join(all[at], NULL) == 0);
	printf("all at once\n");
	for (int time = 0; time < 200; time++)
		run_thread(shared_device);
	printf("one after the other\n");
	for (int time = 0; time < 4; time++) {
		pthread_t thread;
		about_to_read = 0;
		CHECK(pthread_create(&thread, NULL, read_and_be_cancelled_anywhere, NULL) == 0);
		while (!about_to_read)
			nap(1);
		nap(time % 2 ? 60 : 5);
		CHECK(pthread_cancel(thread) == 0);
		void *result;
		CHECK(pthread_join(thread, &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
		check_calls(shared_device, "beside one that was cancelled");
	}
	printf("cancelled\n");
	// It is no point of cancellation, so this one stays.
	pthread_t thread;
	about_to_read = 0;
	CHECK(pthread_create(&thread, NULL, read_for_ever, NULL) == 0);
	while (!about_to_read)
		nap(1);
	nap(5);
	CHECK(pthread_cancel(thread) == 0);
#ifdef __GLIBC__
	enum { MAX_NAPS = 1 };
#else
	// In musl the signal by which it is done interrupts the read, however busy the machine is.
	enum { MAX_NAPS = 200 };
#endif
	bool is_there = true;
	for (int naps = 0; is_there && naps < MAX_NAPS; naps++) {
		nap(30);
		is_there = pthread_tryjoin_np(thread, NULL) == EBUSY;
	}
	printf("the reader is %s\n", is_there ? "there" : "gone");
}

static sigjmp_buf landing;
static volatile int handled;
// The next signal comes some time after each handler. By a period of its own they could follow each other so closely,
// where handlers take long, that the program does not get on.
static volatile int comes_again;

static void alarm_soon(void)
{
	struct itimerval timer = { .it_value.tv_usec = 300 };
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void count(int signal)
{
	(void)signal;
	handled++;
	if (comes_again)
		alarm_soon();
}

static void call_meanwhile(int signal)
{
	(void)signal;
	check_calls(shared_device, "a handler");
	handled++;
}

// What a thread may do whose own call is under way.
static void send_meanwhile(int signal)
{
	(void)signal;
	struct send call = call_of(ECHO, NULL, 0);
	call.transaction.flags = TF_ONE_WAY;
	write_commands(shared_device, &call, sizeof call);
	handled++;
	if (comes_again)
		alarm_soon();
}

static void jump(int signal)
{
	(void)signal;
	siglongjmp(landing, 1);
}

static void on_alarm(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
}

// Once more after some time: one that comes while a call begins may be over before the call waits.
static void alarm_after(int milliseconds)
{
	struct itimerval timer = { .it_value.tv_usec = milliseconds * 1000 };
	timer.it_interval.tv_usec = milliseconds ? 200000 : 0;
	CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void signals(void)
{
	// At once, while a thread waits where calls end soon, and where it waits for long.
	int waits[] = { 2, 10, 15, 25, 60 };
	char *alternate = pages(16, PROT_READ | PROT_WRITE);
	stack_t stack = { .ss_sp = alternate, .ss_size = 16 * PAGE };
	CHECK(sigaltstack(&stack, NULL) == 0);
	shared_device = open_client();
	check_calls(shared_device, "before");
	for (int kind = 0; kind < 4; kind++) {
		int flags = (kind & 1 ? SA_RESTART : 0) | (kind & 2 ? SA_ONSTACK : 0);
		for (size_t at = 0; at < sizeof waits / sizeof *waits; at++) {
			struct binder_write_read request;
			uint8_t returns[256];
			handled = 0;
			on_alarm(count, flags);
			request = request_of(NULL, 0, returns, sizeof returns);
			alarm_after(waits[at]);
			int result = ioctl(shared_device, BINDER_WRITE_READ, &request), error = errno;
			alarm_after(0);
			errno = error;
			if (result != -1 || errno != EINTR || handled < 1)
				errx(1, "%d after %d: %d, %d handled", kind, waits[at], result, handled);
			handled = 0;
			on_alarm(call_meanwhile, flags);
			request = request_of(NULL, 0, returns, sizeof returns);
			alarm_after(waits[at]);
			result = ioctl(shared_device, BINDER_WRITE_READ, &request), error = errno;
			alarm_after(0);
			errno = error;
			if (result != -1 || errno != EINTR || handled < 1)
				errx(1, "calls, %d after %d: %d, %d", kind, waits[at], result, handled);
			check_calls(shared_device, "after a handler");
		}
	}
	printf("reads are interrupted, and handlers call\n");

	// Signals at any moment of calls that are not idle.
	on_alarm(count, SA_RESTART);
	handled = 0;
	comes_again = 1;
	alarm_soon();
	for (uint32_t word = 0; word < 3000; word++)
		if (ask(shared_device, ECHO, word) != word)
			errx(1, "no echo among signals");
	on_alarm(send_meanwhile, SA_RESTART);
	for (uint32_t word = 0; word < 3000; word++)
		if (ask(shared_device, ECHO, word) != word)
			errx(1, "no echo among handlers that send");
	comes_again = 0;
	alarm_after(0);
	printf("calls go on among signals\n");

	// With nothing left to read.
	shared_device = open_client();
	check_calls(shared_device, "before a jump");
	on_alarm(jump, SA_NODEFER);
	for (size_t at = 0; at < sizeof waits / sizeof *waits; at++) {
		if (sigsetjmp(landing, 1) == 0) {
			uint8_t returns[256];
			alarm_after(waits[at]);
			write_read(shared_device, NULL, 0, returns, sizeof returns);
			errx(1, "nothing came, but the read returned");
		}
		alarm_after(0);
		check_calls(shared_device, "after a jump");
	}
	run_thread(shared_device);
	printf("reads are left by a jump\n");
}

static void modes(void)
{
	int devices[] = { open_client(), open_device() };
	CHECK(fcntl(devices[0], F_SETFL, O_NONBLOCK) == 0);
	close(devices[1]);
	devices[1] = open("/dev/binder", O_RDWR | O_NONBLOCK);
	CHECK(devices[1] >= 0);
	map(devices[1], 128 << 10);
	for (int at = 0; at < 2; at++) {
		uint8_t returns[256];
		uint32_t enter = BC_ENTER_LOOPER, exit = BC_EXIT_LOOPER;
		write_commands(devices[at], &enter, sizeof enter);
		for (int time = 0; time < 3; time++) {
			struct binder_write_read request = request_of(NULL, 0, returns, sizeof returns);
			tell("a read", ioctl(devices[at], BINDER_WRITE_READ, &request), NULL);
		}
		write_commands(devices[at], &exit, sizeof exit);
		struct pollfd polled = { .fd = devices[at], .events = POLLIN };
		CHECK(poll(&polled, 1, 0) == 0);
		uint32_t word = 5;
		struct send call = call_of(ECHO, &word, sizeof word);
		write_commands(devices[at], &call, sizeof call);
		struct binder_transaction_data reply;
		uint32_t found = 0;
		while (!found) {
			CHECK(poll(&polled, 1, 10000) == 1);
			struct binder_write_read request = request_of(NULL, 0, returns, sizeof returns);
			if (ioctl(devices[at], BINDER_WRITE_READ, &request) < 0)
				CHECK(errno == EAGAIN);
			else
				found = find(BR_REPLY, returns, request.read_consumed, &reply);
		}
		CHECK(found == BR_REPLY);
		let_go(devices[at], &reply);
		printf("a reply\n");
	}
}

static void users(void)
{
	int device = open_client();
	check_calls(device, "before");
	printf("%u", ask(device, WHO, 0));
	CHECK(seteuid(1000) == 0);
	printf(", %u", ask(device, WHO, 0));
	CHECK(seteuid(0) == 0);
	printf(", %u", ask(device, WHO, 0));
	CHECK(setresuid(1234, 1234, 1234) == 0);
	printf(", %u\n", ask(device, WHO, 0));
}

static int count_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;
	while (fgets(line, sizeof line, maps))
		count += strstr(line, "binder-ring") != NULL;
	fclose(maps);
	return count;
}

static void way(void)
{
	check_calls(open_client(), "before");
	printf("%s\n", count_rings() ? "by a ring" : "by ioctls");
}

static void *call_first(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&barrier);
	for (int time = 0; time < 8; time++) {
		struct binder_write_read request = request_of(NULL, 0, NULL, 0);
		CHECK(ioctl(shared_device, BINDER_WRITE_READ, &request) == 0);
	}
	return NULL;
}

// As `way`, for many devices: the threads of a process make the first calls of each at once.
static void ways(void)
{
	enum { PROCESSES = 40, DEVICES = 10, AT_ONCE = 8 };
	int by_ring = 0;
	for (int process = 0; process < PROCESSES; process++) {
		pid_t child = fork();
		for (int device = 0; child == 0 && device < DEVICES; device++) {
			pthread_t all[AT_ONCE];
			shared_device = open_client();
			CHECK(pthread_barrier_init(&barrier, NULL, AT_ONCE) == 0);
			for (int at = 0; at < AT_ONCE; at++)
				CHECK(pthread_create(&all[at], NULL, call_first, NULL) == 0);
			for (int at = 0; at < AT_ONCE; at++)
				CHECK(pthread_join(all[at], NULL) == 0);
		}
		if (child == 0)
			_exit(count_rings());
		int status;
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
		by_ring += WEXITSTATUS(status);
	}
	printf("%d of %d by a ring\n", by_ring, PROCESSES * DEVICES);
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		void (*play)(void);
	} scenes[] = { { "pointers", pointers }, { "numbers", numbers }, { "processes", processes },
		       { "threads", threads },   { "signals", signals }, { "modes", modes },
		       { "users", users },	 { "way", way },	   { "ways", ways } };
	if (argc != 2)
		errx(2, "which scene?");
	setvbuf(stdout, NULL, _IOLBF, 0);
	pid_t service = start_service(serve);
	int has_played = 0;
	for (size_t at = 0; at < sizeof scenes / sizeof *scenes; at++)
		if (!strcmp(scenes[at].name, argv[1]))
			scenes[at].play(), has_played = 1;
	end_service(service);
	return has_played ? 0 : 2;
}
