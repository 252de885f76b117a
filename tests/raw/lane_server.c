// lane_server.c - a server whose calls pass the driver by, of which it knows nothing.
//
//   gcc -O2 -pthread -o lane_server lane_server.c
//   lane_server                  plays all scenes, with ANYBINDER_LANES=4
//   lane_server server           serves, and says that it is ready on its standard output
//   lane_server "eager server"   the same; it writes a reply, and then reads what comes
//   lane_server client           calls such a server
//
// How many calls the driver has seen is what its statistics say, so nothing else may use it meanwhile.
#include "passes_by.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

// What the service is asked for beside ECHO, SLOW, END, and WHO, to which it answers with the caller's process as well.
enum {
	// To have a signal come a little later, with a handler that has these flags.
	SIGNAL = 5,
	// How often a signal has ended a read.
	INTERRUPTED = 6,
	// To keep the object that the call brings.
	KEEP = 7,
	// What that object answers to the call's bytes.
	NEST = 8,
	// To let another thread serve in the place of this one.
	RELAY = 9,
	// To have a child.
	FORK = 10,
	// To confine its system calls, of which none is refused.
	CONFINE = 11,
	// The lowest number that a new descriptor gets.
	LOWEST = 12,
	// To have its thread leave the driver, and begin anew. The call's word is what the driver has sent on before.
	LEAVE = 13,
	// How many have left a call that had passed the driver by.
	LEFT = 14,
	// To answer by an array of descriptors, which are closed with the buffer of the reply.
	ARRAY = 15,
	// To keep the call's buffer, which may have such an array.
	TAKE = 16,
	// To give that back with the reply.
	GIVE_BACK = 17,
	// To kill the caller, and to reply in a way that takes no lane.
	KILL = 18,
	// How many such replies were complete.
	COMPLETE = 19,
	// To reply by a system call of its own.
	BY_ITSELF = 20,
};
// Longer than a call stays in a lane.
enum { A_WHILE_US = 60000 };
// What a server receives, and sends, at most.
enum { MAX_BYTES = 256 << 10 };

static int served;
static int is_eager;
// Of its own scenes; what calls others finds out that they refuse descriptors.
static int takes_files;
static atomic_uint interruptions;
static atomic_uint left;
static atomic_uint complete;
static volatile sig_atomic_t handled;
static uint32_t kept;
static binder_uintptr_t taken;

static void count(int signal)
{
	(void)signal;
	handled++;
}

// Threads with a stack for handlers are asked for signals on that.
static void have_signal(uint32_t flags)
{
	static uint8_t stack[64 << 10];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof stack, .ss_flags = flags & SA_ONSTACK ? 0 : SS_DISABLE };
	CHECK(sigaltstack(&other, NULL) == 0);
	struct sigaction action = { .sa_handler = count, .sa_flags = flags };
	struct itimerval timer = { .it_value.tv_usec = 5000 };
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void keep(const struct binder_transaction_data *call)
{
	struct flat_binder_object object;
	CHECK(call->offsets_size == sizeof(binder_size_t) && call->data_size == sizeof object);
	memcpy(&object, (void *)(uintptr_t)call->data.ptr.buffer, sizeof object);
	kept = object.handle;
	uint32_t acquire[] = { BC_ACQUIRE, kept };
	write_commands(served, acquire, sizeof acquire);
}

static uint32_t nest(uint32_t word)
{
	struct binder_transaction_data reply;
	struct send call = call_of(ECHO, &word, sizeof word);
	call.transaction.target.handle = kept;
	expect(served, &call, sizeof call, BR_REPLY, &reply);
	memcpy(&word, (void *)(uintptr_t)reply.data.ptr.buffer, sizeof word);
	let_go(served, &reply);
	return word;
}

static void confine(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *serve_calls(void *is_first);

static void answer_word(struct answer *answer, uint8_t *data, uint32_t word)
{
	memcpy(data, &word, sizeof word);
	answer->reply.transaction.data_size = sizeof word;
}

// Reads what comes next, however often signals come before. What is written is written once.
static void next_call(const void *commands, size_t size, struct binder_transaction_data *call)
{
	uint8_t returns[256];
	struct binder_write_read request = request_of(commands, size, returns, sizeof returns);
	for (;;) {
		request.read_consumed = 0;
		if (ioctl(served, BINDER_WRITE_READ, &request) < 0) {
			CHECK(errno == EINTR && request.write_consumed == request.write_size);
			interruptions++;
		} else if (find(BR_TRANSACTION, returns, request.read_consumed, call) == BR_TRANSACTION) {
			return;
		}
	}
}

// What sends an array of two descriptors.
struct send_array {
	uint32_t command;
	struct binder_transaction_data_sg send;
} __attribute__((packed));

static struct send_array array_of(uint32_t command, uint32_t code)
{
	static const int numbers[] = { STDERR_FILENO, STDERR_FILENO };
	static struct {
		struct binder_buffer_object numbers;
		struct binder_fd_array_object array;
	} data;
	static const binder_size_t offsets[] = { 0, sizeof data.numbers };
	data.numbers.hdr.type = BINDER_TYPE_PTR;
	data.numbers.buffer = (uintptr_t)numbers;
	data.numbers.length = sizeof numbers;
	data.array.hdr.type = BINDER_TYPE_FDA;
	data.array.num_fds = 2;
	struct send_array array = { command, { .buffers_size = sizeof numbers } };
	array.send.transaction_data.code = code;
	array.send.transaction_data.data_size = sizeof data;
	array.send.transaction_data.offsets_size = sizeof offsets;
	array.send.transaction_data.data.ptr.buffer = (uintptr_t)&data;
	array.send.transaction_data.data.ptr.offsets = (uintptr_t)offsets;
	return array;
}

// Answers a call by descriptors, and reads the next.
static void answer_array(const struct answer *answer, struct binder_transaction_data *call)
{
	struct {
		uint32_t free_command;
		binder_uintptr_t buffer;
		struct send_array reply;
	} __attribute__((packed)) reply = { answer->free_command, answer->buffer, array_of(BC_REPLY_SG, 0) };
	next_call(&reply, sizeof reply, call);
}

// Answers a call with the buffer that was taken before, and reads the next.
static void give_back(const struct answer *answer, struct binder_transaction_data *call)
{
	struct {
		uint32_t free_command;
		binder_uintptr_t buffer;
		struct answer answer;
	} __attribute__((packed)) both = { BC_FREE_BUFFER, taken, *answer };
	next_call(&both, sizeof both, call);
}

// Leaves the driver, which then knows of the call that this thread serves, if it did not before.
static void leave(uint32_t sent_before)
{
	int unused = 0, passed_by = sent() == sent_before;
	CHECK(ioctl(served, BINDER_THREAD_EXIT, &unused) == 0);
	if (passed_by) {
		CHECK(sent() != sent_before);
		left++;
	}
}

// Kills a caller, and replies once the driver has forgotten it.
static void reply_to_killed(pid_t caller, struct answer *answer)
{
	struct binder_frozen_status_info asked = { .pid = caller };
	uint8_t unused[64];
	CHECK(kill(caller, SIGKILL) == 0);
	while (ioctl(served, BINDER_GET_FROZEN_INFO, &asked) == 0)
		sched_yield();
	CHECK(errno == EINVAL);
	answer->reply.transaction.flags = TF_CLEAR_BUF;
	answer->reply.transaction.data_size = 0;
	expect(served, answer, sizeof *answer, BR_TRANSACTION_COMPLETE, unused);
	complete++;
}

static void reply_by_itself(const struct answer *answer)
{
	struct binder_write_read request = request_of(answer, sizeof *answer, NULL, 0);
	CHECK(syscall(SYS_ioctl, served, BINDER_WRITE_READ, &request) == 0);
}

static void *serve_calls(void *is_first)
{
	uint8_t *data = malloc(MAX_BYTES);
	uint32_t enter = is_first ? BC_ENTER_LOOPER : BC_REGISTER_LOOPER;
	struct binder_transaction_data call;
	CHECK(data);
	next_call(&enter, sizeof enter, &call);
	for (;;) {
		struct answer answer = answer_to(&call);
		pthread_t other;
		int ends = 0;
		pid_t child;
		uint32_t word = 0;
		CHECK(call.data_size <= MAX_BYTES);
		check_place(&call);
		memcpy(data, (void *)(uintptr_t)call.data.ptr.buffer, call.data_size);
		memcpy(&word, data, call.data_size < sizeof word ? call.data_size : sizeof word);
		answer.reply.transaction.data_size = call.data_size;
		switch (call.code) {
		case WHO:
			memcpy(data, (uint32_t[]){ call.sender_pid, call.sender_euid }, 8);
			answer.reply.transaction.data_size = 8;
			break;
		case SLOW:
			usleep(A_WHILE_US);
			break;
		case END:
			exit(0);
		case SIGNAL:
			have_signal(word);
			break;
		case INTERRUPTED:
			answer_word(&answer, data, interruptions);
			break;
		case KEEP:
			keep(&call);
			answer_word(&answer, data, 0);
			break;
		case NEST:
			answer_word(&answer, data, nest(word));
			break;
		case RELAY:
			ends = 1;
			CHECK(pthread_create(&other, NULL, serve_calls, NULL) == 0);
			break;
		case FORK:
			child = fork();
			if (child == 0)
				_exit(0);
			CHECK(child > 0 && waitpid(child, NULL, 0) == child);
			break;
		case CONFINE:
			confine();
			break;
		case LEAVE:
			leave(word);
			answer.reply.command = BC_ENTER_LOOPER;
			next_call(&answer, offsetof(struct answer, reply.transaction), &call);
			continue;
		case ARRAY:
			answer_array(&answer, &call);
			continue;
		case TAKE:
			taken = call.data.ptr.buffer;
			answer.reply.transaction.data_size = 0;
			next_call(&answer.reply, sizeof answer.reply, &call);
			continue;
		case GIVE_BACK:
			answer.reply.transaction.data.ptr.buffer = (uintptr_t)data;
			give_back(&answer, &call);
			continue;
		case BY_ITSELF:
			answer.reply.transaction.data.ptr.buffer = (uintptr_t)data;
			reply_by_itself(&answer);
			next_call(NULL, 0, &call);
			continue;
		case KILL:
			reply_to_killed(call.sender_pid, &answer);
			next_call(NULL, 0, &call);
			continue;
		case COMPLETE:
			answer_word(&answer, data, complete);
			break;
		case LEFT:
			answer_word(&answer, data, left);
			break;
		case LOWEST:
			answer_word(&answer, data, lowest_number());
			break;
		}
		answer.reply.transaction.data.ptr.buffer = (uintptr_t)data;
		size_t size = call.flags & TF_ONE_WAY ? offsetof(struct answer, reply) : sizeof answer;
		if (ends || is_eager)
			write_commands(served, &answer, size);
		if (ends)
			break;
		next_call(&answer, is_eager ? 0 : size, &call);
	}
	free(data);
	return NULL;
}

static void serve_until_killed(int ready)
{
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	served = open_device();
	map(served, 1 << 20);
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_BINDER };
	self.flags = takes_files ? FLAT_BINDER_FLAG_ACCEPTS_FDS : 0;
	// The service before may not be gone yet.
	while (ioctl(served, BINDER_SET_CONTEXT_MGR_EXT, &self) < 0) {
		CHECK(errno == EBUSY);
		usleep(1000);
	}
	uint32_t threads = 2;
	CHECK(ioctl(served, BINDER_SET_MAX_THREADS, &threads) == 0);
	pthread_t first;
	sigset_t alarm_alone;
	CHECK(pthread_create(&first, NULL, serve_calls, &served) == 0);
	// The threads that serve handle it.
	CHECK(sigemptyset(&alarm_alone) == 0 && sigaddset(&alarm_alone, SIGALRM) == 0);
	CHECK(pthread_sigmask(SIG_BLOCK, &alarm_alone, NULL) == 0);
	CHECK(write(ready, "!\n", 2) == 2);
	for (;;)
		pause();
}

static int device;

static void warm_up(void)
{
	if (!passes_by(device))
		errx(1, "calls do not pass the driver by");
}

// A signal that the server handles ends its read, whatever the handler says.
static void signals(void)
{
	uint32_t flags[] = { 0, SA_RESTART, SA_ONSTACK, SA_ONSTACK | SA_RESTART };
	int missed_signals = 0;
	for (int at = 0; at < 120; at++) {
		warm_up();
		uint32_t before = ask(device, INTERRUPTED, 0);
		CHECK(ask(device, SIGNAL, flags[at % 4]) == flags[at % 4]);
		usleep(15000);
		uint32_t times = ask(device, INTERRUPTED, 0) - before;
		// On a busy machine the signal comes before the read, or while the server is asked.
		for (int wait = 0; times == 0 && wait < 2; wait++) {
			usleep(100000);
			times = ask(device, INTERRUPTED, 0) - before;
		}
		missed_signals += times == 0;
		CHECK(times <= 1);
	}
	CHECK(missed_signals <= 20);
}

static void check_who(uint32_t uid)
{
	struct binder_transaction_data reply;
	struct send call = call_of(WHO, NULL, 0);
	uint32_t found[2];
	expect(device, &call, sizeof call, BR_REPLY, &reply);
	CHECK(reply.data_size == sizeof found);
	memcpy(found, (void *)(uintptr_t)reply.data.ptr.buffer, sizeof found);
	let_go(device, &reply);
	CHECK(found[0] == (uint32_t)getpid() && found[1] == uid);
}

// Who calls is who it is at each call.
static void identities(void)
{
	check_who(geteuid());
	if (geteuid() != 0 || seteuid(1) != 0)
		return;
	for (uint32_t at = 0; at < 2000; at++) {
		uint32_t uid = at % 3 + 1;
		CHECK(seteuid(0) == 0 && seteuid(uid) == 0);
		check_who(uid);
	}
	CHECK(seteuid(0) == 0);
	warm_up();
	check_who(0);
}

// A server calls back while it serves, on the thread that waits.
static void nesting(void)
{
	struct binder_transaction_data got;
	struct flat_binder_object object = { .hdr.type = BINDER_TYPE_BINDER, .binder = 8, .cookie = 9 };
	binder_size_t offset = 0;
	struct send send = call_of(KEEP, &object, sizeof object);
	send.transaction.offsets_size = sizeof offset;
	send.transaction.data.ptr.offsets = (uintptr_t)&offset;
	expect(device, &send, sizeof send, BR_REPLY, &got);
	let_go(device, &got);
	for (uint32_t word = 0; word < 300; word++) {
		if (word % 50 == 0)
			warm_up();
		struct send call = call_of(NEST, &word, sizeof word);
		expect(device, &call, sizeof call, BR_TRANSACTION, &got);
		uint32_t answered;
		memcpy(&answered, (void *)(uintptr_t)got.data.ptr.buffer, sizeof answered);
		CHECK(got.target.ptr == 8 && got.cookie == 9 && answered == word);
		struct answer answer = answer_to(&got);
		answered += 1000;
		answer.reply.transaction.data_size = sizeof answered;
		answer.reply.transaction.data.ptr.buffer = (uintptr_t)&answered;
		expect(device, &answer, sizeof answer, BR_REPLY, &got);
		memcpy(&answered, (void *)(uintptr_t)got.data.ptr.buffer, sizeof answered);
		CHECK(answered == word + 1000);
		let_go(device, &got);
	}
}

// Threads end after they have served by lanes, and others take their place.
static void relays(void)
{
	for (uint32_t at = 0; at < 40; at++) {
		if (at % 10 == 0)
			warm_up();
		for (uint32_t word = 0; word < 20; word++)
			CHECK(ask(device, ECHO, word) == word);
		CHECK(ask(device, RELAY, at) == at);
	}
}

// Who leaves the driver while it serves has ended, for its caller, and serves others later.
static void leaves(void)
{
	for (int round = 0; ask(device, LEFT, 0) < 3; round++) {
		CHECK(round < MAX_ROUNDS);
		warm_up();
		CHECK(ask(device, LEAVE, sent()) == BR_DEAD_REPLY);
	}
}

// No library sees what a program does by system calls of its own.
static void by_itself(void)
{
	for (uint32_t word = 0; word < 40; word++) {
		if (word % 10 == 0)
			warm_up();
		CHECK(ask(device, BY_ITSELF, word) == word);
	}
}

// A caller that is killed is answered, however that is done.
static void killed(void)
{
	for (uint32_t round = 1; round <= 5; round++) {
		int status;
		pid_t child = fork();
		if (child == 0) {
			device = open_client();
			warm_up();
			ask(device, KILL, 0);
			_exit(1);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status));
		while (ask(device, COMPLETE, 0) != round)
			usleep(1000);
	}
}

// No child has a lane of its parent, and no descriptor stays of one.
static void files(void)
{
	uint32_t lowest = ask(device, LOWEST, 0);
	for (uint32_t at = 0; at < 20; at++) {
		warm_up();
		CHECK(ask(device, FORK, at) == at);
		CHECK(ask(device, LOWEST, 0) == lowest);
	}
}

// Descriptors are closed though the buffer with them is freed by what makes a call by a lane.
static void arrays(void)
{
	int lowest = lowest_number();
	for (uint32_t round = 0; round < 5; round++) {
		struct binder_transaction_data got;
		uint32_t word = round;
		struct send call = call_of(ARRAY, NULL, 0);
		call.transaction.flags = TF_ACCEPT_FDS;
		expect(device, &call, sizeof call, BR_REPLY, &got);
		CHECK(lowest_number() == lowest + 2);
		warm_up();
		struct answer next = answer_to(&got);
		next.reply = call_of(ECHO, &word, sizeof word);
		expect(device, &next, sizeof next, BR_REPLY, &got);
		let_go(device, &got);
		CHECK(lowest_number() == lowest);
	}
}

// The same of a server that frees the buffer with its reply.
static void taken_arrays(void)
{
	uint32_t lowest = ask(device, LOWEST, 0);
	for (uint32_t round = 0; round < 5; round++) {
		struct binder_transaction_data got;
		struct send_array array = array_of(BC_TRANSACTION_SG, TAKE);
		expect(device, &array, sizeof array, BR_REPLY, &got);
		let_go(device, &got);
		CHECK(ask(device, LOWEST, 0) == lowest + 2);
		warm_up();
		CHECK(ask(device, GIVE_BACK, round) == round);
		CHECK(ask(device, LOWEST, 0) == lowest);
	}
}

static void crowds(void)
{
	call_in_threads(device);
}

// A server that confines itself while it serves answers all the same.
static void confined(void)
{
	warm_up();
	CHECK(ask(device, CONFINE, 5) == 5);
	for (uint32_t word = 0; word < 100; word++)
		CHECK(ask(device, ECHO, word) == word);
}

static void ends(void)
{
	CHECK(ask(device, END, 0) == BR_DEAD_REPLY);
	CHECK(ask(device, ECHO, 0) == BR_DEAD_REPLY);
}

// What lanes need ends the program, as where who has started it knows nothing of them.
static void start_filtered(const char *role)
{
#define END_AT(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		END_AT(futex_waitv),
		END_AT(statx),
		END_AT(mremap),
		END_AT(socketpair),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof steps / sizeof *steps, .filter = steps };
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	execl("/proc/self/exe", "lane_server", role, NULL);
	err(1, "exec");
}

static void serve_filtered(int ready)
{
	CHECK(dup2(ready, STDOUT_FILENO) == STDOUT_FILENO);
	start_filtered("server");
}

static void call_often(void)
{
	for (uint32_t word = 0; word < 500; word++)
		CHECK(ask(device, ECHO, word) == word);
}

// Programs that were started under a filter go by the driver.
static void filtered(void)
{
	int status;
	start_service(serve_filtered);
	device = open_client();
	call_often();
	CHECK(!passes_by_within(3, device));
	CHECK(ask(device, END, 0) == BR_DEAD_REPLY);
	start_service(serve_until_killed);
	pid_t child = fork();
	if (child == 0)
		start_filtered("client");
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	CHECK(ask(device, END, 0) == BR_DEAD_REPLY);
}

static void play(void)
{
	struct {
		const char *name;
		void (*play)(void);
	} scenes[] = {
		{ "signals", signals }, { "identities", identities },	  { "nesting", nesting },
		{ "relays", relays },	{ "leaves", leaves },		  { "killed", killed },
		{ "by itself", by_itself }, { "files", files },		  { "arrays", arrays },
		{ "taken arrays", taken_arrays }, { "crowds", crowds },	  { "confined", confined },
		{ "ends", ends },	{ "filtered", filtered },
	};
	takes_files = 1;
	for (is_eager = 0; is_eager < 2; is_eager++) {
		alarm(HANG_TIMEOUT_S);
		start_service(serve_until_killed);
		device = open_client();
		warm_up();
		for (size_t at = 0; at < sizeof scenes / sizeof *scenes; at++) {
			alarm(HANG_TIMEOUT_S);
			scenes[at].play();
			printf("%s\n", scenes[at].name);
			fflush(stdout);
		}
		close(device);
	}
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		play();
		return 0;
	}
	if (!strcmp(argv[1], "client")) {
		device = open_client();
		call_often();
		return 0;
	}
	is_eager = !strcmp(argv[1], "eager server");
	serve_until_killed(STDOUT_FILENO);
}
