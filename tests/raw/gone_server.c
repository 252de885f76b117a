// gone_server.c - calls a server that nothing can reach any more, though its open file is there still.
//
//   gcc -O2 -o gone_server gone_server.c
//   gone_server killed       the server was killed; a child of it has the file open
//   gone_server executes     it has executed another program, which has inherited the file
//   gone_server unmaps       it has unmapped its receive buffer
//   gone_server circular     it has ended; its file is in a socket that is in the file's own queue
//
// Tells what a call comes to, and whether another can be the manager then.
#include "client.h"

#include <signal.h>
#include <sys/socket.h>

static const char *way;

// The file of `device`, in a socket of which `sender` sends an end to the manager.
static void queue_to_itself(int device)
{
	int ends[2];
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof device);
	memcpy(CMSG_DATA(rights), &device, sizeof device);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
	CHECK(sendmsg(ends[0], &message, 0) == 1);
	int status;
	pid_t sender = fork();
	CHECK(sender >= 0);
	if (sender == 0) {
		struct parcel parcel;
		uint32_t unused;
		pack(&parcel, BC_TRANSACTION, ends[1]);
		parcel.send.transaction.flags |= TF_ONE_WAY;
		expect(open_client(), &parcel.send, sizeof parcel.send, BR_TRANSACTION_COMPLETE, &unused);
		_exit(0);
	}
	CHECK(waitpid(sender, &status, 0) == sender && status == 0);
}

// Answers a call, and is gone then.
static void serve(int ready)
{
	int device = open("/dev/binder", O_RDWR);
	CHECK(device >= 0);
	char *buffer = map(device, 1 << 20);
	become_manager_with(device, FLAT_BINDER_FLAG_ACCEPTS_FDS);
	CHECK(write(ready, "", 1) == 1);
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	expect(device, &enter, sizeof enter, BR_TRANSACTION, &call);
	if (!strcmp(way, "circular"))
		queue_to_itself(device);
	struct answer answer = answer_to(&call);
	write_commands(device, &answer, sizeof answer);
	if (!strcmp(way, "executes")) {
		execlp("sleep", "sleep", "60", NULL);
		err(1, "sleep");
	}
	if (!strcmp(way, "unmaps")) {
		CHECK(munmap(buffer, 1 << 20) == 0);
		pause();
	}
	if (!strcmp(way, "killed") && fork() == 0)
		for (;;)
			pause();
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	way = argv[1];
	pid_t server = start_service(serve);
	int device = open_client();
	struct send call = { .command = BC_TRANSACTION };
	struct binder_transaction_data answer;
	expect(device, &call, sizeof call, BR_REPLY, &answer);
	if (!strcmp(way, "killed") || !strcmp(way, "circular"))
		CHECK(waitpid(server, NULL, 0) == server);
	alarm(HANG_TIMEOUT_S);
	uint32_t got = 0;
	// It may not have done yet what it does after the answer: a call that it takes then is lost with it.
	usleep(100 * 1000);
	got = converse(device, &call, sizeof call, BR_REPLY, &answer);
	printf("%s\n", got == BR_REPLY ? "answered" : got == BR_DEAD_REPLY ? "dead" : "failed");
	got = converse(device, &call, sizeof call, BR_REPLY, &answer);
	printf("%s\n", got == BR_REPLY ? "answered" : got == BR_DEAD_REPLY ? "dead" : "failed");
	int unused = 0;
	printf("%s\n", ioctl(device, BINDER_SET_CONTEXT_MGR, &unused) ? "taken" : "free");
	return 0;
}
