// disturbed.c - a client whose threads call while signals, jumps, forks, stops and closes disturb them, all at once.
//
//   gcc -O2 -pthread -o disturbed disturbed.c
//   disturbed SECONDS [SERVER]    fails if an echo is another's, or if a call never ends
//
// SERVER is a program that serves them in its place, called as `SERVER server`.
#include "another_server.h"
#include "echo.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>

enum { CALLERS = 4, JUMPERS = 2, HANDLER_STACK = 64 << 10 };

// The device of all threads, and the one by which handlers call.
static int device, handlers_device;
static atomic_int is_over;
static atomic_long calls, handler_calls, jumps, children;
static pthread_t callers[CALLERS], jumpers[JUMPERS];

static __thread uint32_t state;
static __thread sigjmp_buf start_again;
static __thread volatile sig_atomic_t may_jump, is_in_handler;

static uint32_t below(uint32_t bound)
{
	state = state * 1103515245u + 12345u;
	return (state >> 8) % bound;
}

static void call(int by, uint32_t word)
{
	uint32_t echo = ask(by, ECHO, word);
	if (echo != word)
		errx(1, "the echo of %#x is %#x", word, echo);
}

static void do_nothing(int signal)
{
	(void)signal;
}

static void call_in_handler(int signal)
{
	(void)signal;
	int before = errno;
	if (!is_in_handler) {
		is_in_handler = 1;
		call(handlers_device, 1 << 30 | below(1 << 20));
		handler_calls++;
		is_in_handler = 0;
	}
	errno = before;
}

static void jump_out(int signal)
{
	(void)signal;
	if (may_jump) {
		may_jump = 0;
		siglongjmp(start_again, 1);
	}
}

static void *call_on(void *number)
{
	state = (uintptr_t)number;
	stack_t stack = { .ss_sp = malloc(HANDLER_STACK), .ss_size = HANDLER_STACK };
	CHECK(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
	for (uint32_t word = (uintptr_t)number << 24; !is_over; word++) {
		call(device, word);
		calls++;
	}
	return NULL;
}

// Its state in the driver is lost by a jump, so the next calls go by another device.
static void *call_until_jump(void *number)
{
	state = (uintptr_t)number;
	while (!is_over) {
		int own = open_client();
		check_calls(own, "before a jump");
		if (sigsetjmp(start_again, 1) == 0) {
			may_jump = 1;
			for (uint32_t word = 0; !is_over; word++)
				call(own, word);
			may_jump = 0;
		} else {
			jumps++;
		}
		close(own);
	}
	return NULL;
}

static void *call_once(void *word)
{
	call(device, (uintptr_t)word);
	return NULL;
}

static void *make_threads(void *unused)
{
	for (uintptr_t word = 0; !is_over; word++) {
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, call_once, (void *)word) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return unused;
}

static void *make_children(void *unused)
{
	while (!is_over) {
		int status;
		pid_t child = children % 2 ? vfork() : fork();
		CHECK(child >= 0);
		if (child == 0)
			_exit(0);
		while (waitpid(child, &status, 0) < 0)
			CHECK(errno == EINTR);
		CHECK(status == 0);
		children++;
		usleep(1000);
	}
	return unused;
}

static void *change_numbers(void *unused)
{
	for (uint32_t word = 0; !is_over; word++) {
		int doubled = dup(device);
		call(doubled, word);
		close(doubled);
		close(open("/dev/null", O_RDONLY));
	}
	return unused;
}

static void *send_signals(void *unused)
{
	int signals[] = { SIGUSR1, SIGHUP, SIGWINCH, SIGRTMIN, SIGRTMIN + 1 };
	state = 7;
	while (!is_over) {
		pthread_kill(callers[below(CALLERS)], signals[below(5)]);
		if (below(4) == 0)
			pthread_kill(jumpers[below(JUMPERS)], SIGUSR2);
		usleep(below(400));
	}
	return unused;
}

// Starts a process that stops this one again and again, for so long. It has it continue before it ends.
static pid_t start_stopper(int seconds)
{
	pid_t disturbed = getpid(), stopper = fork();
	CHECK(stopper >= 0);
	if (stopper != 0)
		return stopper;
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	for (int left = seconds * 50; left > 0; left--) {
		usleep(18000);
		kill(disturbed, SIGSTOP);
		usleep(2000);
		kill(disturbed, SIGCONT);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct {
		int signal;
		void (*handler)(int);
		int flags;
	} handlers[] = { { SIGUSR1, do_nothing, 0 },	   { SIGHUP, do_nothing, SA_RESTART },
			 { SIGWINCH, do_nothing, SA_ONSTACK }, { SIGRTMIN, call_in_handler, 0 },
			 { SIGUSR2, jump_out, 0 },	   { SIGRTMIN + 1, call_in_handler, SA_ONSTACK | SA_RESTART } };
	void *(*others[])(void *) = { make_threads, make_children, change_numbers, send_signals };
	enum { OTHERS = sizeof others / sizeof *others };
	if (argc != 2 && argc != 3)
		errx(2, "usage: disturbed SECONDS [SERVER]");
	alarm(HANG_TIMEOUT_S);
	server = argv[2];
	pid_t service = start_service(server ? serve_by_another : serve);
	device = open_client();
	handlers_device = open_client();
	for (size_t at = 0; at < sizeof handlers / sizeof *handlers; at++) {
		struct sigaction action = { .sa_handler = handlers[at].handler, .sa_flags = handlers[at].flags };
		CHECK(sigaction(handlers[at].signal, &action, NULL) == 0);
	}
	pid_t stopper = start_stopper(atoi(argv[1]));
	pthread_t threads[OTHERS];
	for (uintptr_t at = 0; at < CALLERS; at++)
		CHECK(pthread_create(&callers[at], NULL, call_on, (void *)(at + 1)) == 0);
	for (uintptr_t at = 0; at < JUMPERS; at++)
		CHECK(pthread_create(&jumpers[at], NULL, call_until_jump, (void *)(at + 1)) == 0);
	for (size_t at = 0; at < OTHERS; at++)
		CHECK(pthread_create(&threads[at], NULL, others[at], NULL) == 0);
	CHECK(waitpid(stopper, NULL, 0) == stopper);
	// On a busy machine that may have been too short for one of them.
	for (int wait = 0; wait < 200 && !(calls && handler_calls && jumps && children); wait++)
		usleep(100000);
	is_over = 1;
	for (size_t at = 0; at < OTHERS; at++)
		CHECK(pthread_join(threads[at], NULL) == 0);
	for (size_t at = 0; at < CALLERS; at++)
		CHECK(pthread_join(callers[at], NULL) == 0);
	for (size_t at = 0; at < JUMPERS; at++)
		CHECK(pthread_join(jumpers[at], NULL) == 0);
	CHECK(kill(service, SIGKILL) == 0);
	fprintf(stderr, "%ld calls, %ld in handlers, %ld jumps, %ld children\n", (long)calls, (long)handler_calls,
		(long)jumps, (long)children);
	puts(calls && handler_calls && jumps && children ? "all echoes were right" : "too little went on");
	return 0;
}
