// left_files.c - files that a killed sender has left on their way still count for its user.
//
//   gcc -O2 -o left_files left_files.c
//   left_files              prints how many files were accepted: of a first sender, which is killed, then of a
//                           second, and then, when those who should have received them are gone, of a third
//
// The context manager of /dev/binder takes files and never reads. Run it where a user may have few on their way.
#include "client.h"
#include <signal.h>

static void never_read(int ready)
{
	int device = open_client();
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_BINDER, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	// The one before may not be at its end.
	while (ioctl(device, BINDER_SET_CONTEXT_MGR_EXT, &self) < 0) {
		if (errno != EBUSY)
			err(1, "BINDER_SET_CONTEXT_MGR_EXT");
		usleep(1000);
	}
	if (write(ready, "", 1) != 1)
		err(1, "write");
	pause();
}

static int send_until_refused(int device)
{
	struct binder_transaction_data unused;
	struct parcel oneway;
	int sent = 0;
	pack(&oneway, BC_TRANSACTION, STDIN_FILENO);
	oneway.send.transaction.flags |= TF_ONE_WAY;
	while (converse(device, &oneway.send, sizeof oneway.send, BR_TRANSACTION_COMPLETE, &unused) ==
	       BR_TRANSACTION_COMPLETE)
		sent++;
	return sent;
}

static void kill_and_wait(pid_t child)
{
	if (kill(child, SIGKILL) < 0 || waitpid(child, NULL, 0) != child)
		err(1, "ending a child");
}

int main(void)
{
	int told[2], first, again = 0;
	pid_t receiver = start_service(never_read), sender;
	if (pipe(told) < 0 || (sender = fork()) < 0)
		err(1, "starting a sender");
	if (sender == 0) {
		int sent = send_until_refused(open_client());
		if (write(told[1], &sent, sizeof sent) != sizeof sent)
			err(1, "write");
		pause();
	}
	if (read(told[0], &first, sizeof first) != sizeof first)
		err(1, "read");
	kill_and_wait(sender);
	int second = send_until_refused(open_client());
	kill_and_wait(receiver);
	receiver = start_service(never_read);
	// What the first had is given back soon, if not at once.
	int device = open_client();
	for (int tries = 0; again < first && tries < HANG_TIMEOUT_S * 1000; tries++) {
		usleep(1000);
		again += send_until_refused(device);
	}
	kill_and_wait(receiver);
	printf("%d, %d, %d\n", first, second, again);
	return 0;
}
