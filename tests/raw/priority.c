// priority.c - how a thread is scheduled while it serves callers, and when it has served.
//
//   gcc -O2 -o priority priority.c
//   priority call FLAGS POLICY LEVEL [limited]
//       a caller at this priority calls an object with these flags; a limited server is another user, and may have
//       no real-time priority
//   priority oneway FLAGS POLICY LEVEL
//       the same without a reply
//   priority nested FLAGS POLICY LEVEL
//       the server calls another, which is killed at the second call
//   priority left FLAGS POLICY LEVEL
//       the server's thread ends its part by BINDER_THREAD_EXIT while it serves
//   priority gone FLAGS POLICY LEVEL
//       the caller is killed while it is served
//
// Android's kernels change policies and priorities; the kernel's driver of others does not, ours if that is asked for.
#include "client.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

static void say(const char *when)
{
	static const char *const names[] = { "normal", "fifo", "rr", "batch" };
	struct sched_param param;
	int word = sched_getscheduler(0), policy = word & ~SCHED_RESET_ON_FORK;
	CHECK(word >= 0 && policy < 4 && sched_getparam(0, &param) == 0);
	int level = policy == SCHED_FIFO || policy == SCHED_RR ? param.sched_priority : getpriority(PRIO_PROCESS, 0);
	printf("%s: %s %d%s\n", when, names[policy], level, word & SCHED_RESET_ON_FORK ? ", not its children" : "");
	fflush(stdout);
}

// Gives this process the priority of the arguments.
static int take_priority(char **policy_and_level)
{
	struct sched_param param = { 0 };
	int level = atoi(policy_and_level[1]);
	if (!strcmp(policy_and_level[0], "nice"))
		return setpriority(PRIO_PROCESS, 0, level);
	param.sched_priority = level;
	return sched_setscheduler(0, !strcmp(policy_and_level[0], "fifo") ? SCHED_FIFO : SCHED_RR, &param);
}

static pid_t start_caller(char **policy_and_level, uint32_t flags)
{
	struct send call = { .command = BC_TRANSACTION, .transaction.flags = flags };
	struct binder_transaction_data got;
	fflush(stdout);
	pid_t caller = fork();
	CHECK(caller >= 0);
	if (caller > 0)
		return caller;
	CHECK(take_priority(policy_and_level) == 0);
	int device = open_client();
	uint32_t awaited = flags & TF_ONE_WAY ? BR_TRANSACTION_COMPLETE : BR_REPLY;
	uint32_t found = converse(device, &call, sizeof call, awaited, &got);
	say(found == awaited ? "caller" : "caller of a dead thread");
	exit(0);
}

static void await_end(pid_t child)
{
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0) || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

static void reply(int device, const struct binder_transaction_data *call)
{
	struct answer answer = answer_to(call);
	write_commands(device, &answer, sizeof answer);
}

static void serve_call(int device, const char *when, struct binder_transaction_data *call)
{
	expect(device, NULL, 0, BR_TRANSACTION, call);
	say(when);
}

// The object behind another device: it answers one call, and is killed by the next.
static void serve_inner(int ready)
{
	struct binder_transaction_data call;
	int device = open_client_at("/dev/hwbinder");
	uint32_t enter_looper = BC_ENTER_LOOPER;
	become_manager_with(device, 19 | 0x800);
	write_commands(device, &enter_looper, sizeof enter_looper);
	CHECK(write(ready, "", 1) == 1);
	serve_call(device, "inner", &call);
	reply(device, &call);
	say("inner served");
	serve_call(device, "inner", &call);
	raise(SIGKILL);
}

static void nest(void)
{
	struct send call = { .command = BC_TRANSACTION };
	struct binder_transaction_data got;
	int device = open_client_at("/dev/hwbinder");
	expect(device, &call, sizeof call, BR_REPLY, &got);
	say("back");
	if (converse(device, &call, sizeof call, BR_REPLY, &got) != BR_DEAD_REPLY)
		errx(1, "the object behind has answered its killer");
	say("back from the dead");
}

int main(int argc, char **argv)
{
	if (argc < 5)
		errx(2, "what flags, what caller?");
	const char *scene = argv[1];
	uint32_t enter_looper = BC_ENTER_LOOPER, flags = strtoul(argv[2], NULL, 0);
	struct binder_transaction_data call;
	pid_t inner = 0;
	char *normal[] = { "nice", "0" }, *realtime[] = { "fifo", "1" };
	if (take_priority(realtime) < 0) {
		puts("not allowed here");
		return 0;
	}
	CHECK(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }) == 0 && take_priority(normal) == 0);
	if (!strcmp(scene, "nested"))
		inner = start_service(serve_inner);
	// It is started before the server is limited, and waits until that serves.
	int limited = argc > 5 && !strcmp(argv[5], "limited");
	int go[2];
	CHECK(pipe(go) == 0);
	pid_t caller = 0;
	if (limited) {
		fflush(stdout);
		caller = fork();
		CHECK(caller >= 0);
		if (caller == 0) {
			char byte;
			CHECK(read(go[0], &byte, 1) == 1);
			await_end(start_caller(argv + 3, 0));
			exit(0);
		}
		struct rlimit none = { 0, 0 };
		CHECK(setrlimit(RLIMIT_RTPRIO, &none) == 0 && setrlimit(RLIMIT_NICE, &none) == 0);
		CHECK(setresgid(1000, 1000, 1000) == 0 && setresuid(1000, 1000, 1000) == 0);
	}
	int device = open_client();
	become_manager_with(device, flags);
	write_commands(device, &enter_looper, sizeof enter_looper);
	if (limited)
		CHECK(write(go[1], "", 1) == 1);
	else
		caller = start_caller(argv + 3, !strcmp(scene, "oneway") ? TF_ONE_WAY : 0);

	serve_call(device, "serving", &call);
	if (!strcmp(scene, "nested"))
		nest();
	if (!strcmp(scene, "gone")) {
		CHECK(kill(caller, SIGKILL) == 0);
		await_end(caller);
		caller = 0;
		say("alone");
	}
	if (!strcmp(scene, "oneway")) {
		uint8_t returns[256];
		struct binder_write_read request = request_of(NULL, 0, returns, sizeof returns);
		// The thread is free when it reads.
		CHECK(fcntl(device, F_SETFL, O_NONBLOCK) == 0);
		CHECK(ioctl(device, BINDER_WRITE_READ, &request) == 0 || errno == EAGAIN);
	} else if (!strcmp(scene, "left")) {
		int unused = 0;
		CHECK(ioctl(device, BINDER_THREAD_EXIT, &unused) == 0);
	} else {
		reply(device, &call);
	}
	say("served");
	if (caller)
		await_end(caller);
	if (inner)
		await_end(inner);
	return 0;
}
