// replaced_buffer.c - a client that has mapped a file where its receive buffer was, of which no page comes.
//
//   gcc -O2 -o replaced_buffer replaced_buffer.c
//   replaced_buffer NODE DEVICE DRIVER    where others have NODE open, too; DEVICE is of another driver, which stores what
//                                         it delivers, with the pid DRIVER: it is stopped for a while
//
// Tells how others fared meanwhile, and whether the call came in the end.
#include "client.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>

enum { LOOKS = 200, BUFFER_BYTES = 128 << 10 };

static const char *node, *other;
static pid_t driver;

// Whether all threads of the driver are stopped: a busy machine lets them go on for a moment.
static int is_stopped(void)
{
	char path[64], stat[256];
	struct dirent *entry;
	int stopped = 1;
	snprintf(path, sizeof path, "/proc/%d/task", driver);
	DIR *threads = opendir(path);
	CHECK(threads);
	while ((entry = readdir(threads))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", driver, entry->d_name);
		FILE *file = fopen(path, "re");
		CHECK(file && fgets(stat, sizeof stat, file) && strrchr(stat, ')'));
		stopped &= strrchr(stat, ')')[2] == 'T';
		fclose(file);
	}
	closedir(threads);
	return stopped;
}

static void serve(int ready)
{
	uint32_t enter = BC_ENTER_LOOPER;
	struct binder_transaction_data call;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int device = open_device_at(node), replacement = open_device_at(other);
	char *buffer = map(device, BUFFER_BYTES);
	become_manager(device);
	CHECK(write(ready, "", 1) == 1);
	// The first call shows the driver where the buffer is mapped.
	expect(device, &enter, sizeof enter, BR_TRANSACTION, &call);
	struct answer answer = answer_to(&call);
	struct binder_transaction_data none;
	expect(device, &answer, sizeof answer, BR_TRANSACTION_COMPLETE, &none);
	int flags = MAP_PRIVATE | MAP_FIXED;
	CHECK(mmap(buffer, BUFFER_BYTES, PROT_READ, flags, replacement, 0) == buffer);
	CHECK(kill(driver, SIGSTOP) == 0);
	while (!is_stopped())
		usleep(1000);
	CHECK(write(ready, "", 1) == 1);
	expect(device, NULL, 0, BR_TRANSACTION, &call);
	answer = answer_to(&call);
	expect(device, &answer, sizeof answer, BR_TRANSACTION_COMPLETE, &none);
	pause();
}

static void call(int device)
{
	static const char data[64];
	struct send call = { .command = BC_TRANSACTION };
	struct binder_transaction_data reply;
	call.transaction.data_size = sizeof data;
	call.transaction.data.ptr.buffer = (uintptr_t)data;
	expect(device, &call, sizeof call, BR_REPLY, &reply);
}

int main(int argc, char **argv)
{
	int ready[2], status;
	char byte;
	if (argc != 4)
		errx(1, "NODE DEVICE DRIVER");
	node = argv[1];
	other = argv[2];
	driver = atoi(argv[3]);
	alarm(HANG_TIMEOUT_S);
	CHECK(pipe(ready) == 0);
	pid_t server = fork();
	CHECK(server >= 0);
	if (server == 0)
		serve(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 1);
	call(open_client_at(node));
	CHECK(read(ready[0], &byte, 1) == 1);
	pid_t caller = fork();
	CHECK(caller >= 0);
	if (caller == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		call(open_client_at(node));
		exit(0);
	}
	usleep(300000);
	for (int i = 0; i < LOOKS; i++) {
		struct binder_node_debug_info info = { 0 };
		int own = open_client_at(node);
		CHECK(ioctl(own, BINDER_GET_NODE_DEBUG_INFO, &info) == 0);
		mapped[1].start = NULL;
		close(own);
	}
	CHECK(waitpid(caller, &status, WNOHANG) == 0);
	puts("others go on");
	CHECK(kill(driver, SIGCONT) == 0);
	CHECK(waitpid(caller, &status, 0) == caller && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	puts("the call came");
	kill(server, SIGKILL);
	return 0;
}
