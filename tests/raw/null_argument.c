// null_argument.c - ioctls without an argument, which are no business of a file system in user space.
//
//   gcc -O2 -pthread -o null_argument null_argument.c
//   null_argument DEVICE             ends threads and becomes context manager so, under signals, in children, and killed
//   null_argument DEVICE by-library  the same, but for system calls that pass the C library by
#include "client.h"

#include <pthread.h>
#include <signal.h>

static int device;

static void *exit_often(void *unused)
{
	struct binder_version version;
	for (int i = 0; i < 200; i++) {
		CHECK(ioctl(device, BINDER_VERSION, &version) == 0);
		int result;
		do
			result = ioctl(device, BINDER_THREAD_EXIT, NULL);
		while (result == -1 && errno == EINTR);
		CHECK(result == 0);
	}
	return unused;
}

static void ignore(int signal)
{
	(void)signal;
}

/* As 32-bit programs call. */
static int exit_by_old_entry(void)
{
	int result = 0;
#ifdef __x86_64__
	asm volatile("int $0x80" : "=a"(result) : "a"(54), "b"(device), "c"(BINDER_THREAD_EXIT), "d"(0)
		     : "r8", "r9", "r10", "r11", "memory");
#endif
	return result;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "by-library") == 0));
	device = open(argv[1], O_RDWR | O_CLOEXEC);
	CHECK(device >= 0);
	CHECK(ioctl(device, BINDER_SET_CONTEXT_MGR, 0) == 0);
	CHECK(ioctl(device, BINDER_SET_CONTEXT_MGR, 0) == -1 && errno == EBUSY);

	/* A signal may come before such a call is taken, and nothing was done then; it neither ends nor repeats one
	   that was. */
	struct sigaction action = {.sa_handler = ignore};
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	ualarm(500, 500);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, exit_often, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	ualarm(0, 0);

	/* Not ours: answered by whom it concerns. */
	int ends[2];
	CHECK(pipe(ends) == 0);
	CHECK(ioctl(ends[0], BINDER_THREAD_EXIT, NULL) == -1 && errno == ENOTTY);
	CHECK(ioctl(999, BINDER_THREAD_EXIT, NULL) == -1 && errno == EBADF);

	/* A child inherits the file, and the driver does not know it; the parent is not harmed. */
	pid_t child = fork();
	if (child == 0)
		_exit(ioctl(device, BINDER_THREAD_EXIT, NULL) == -1 && errno == EINVAL ? 0 : 1);
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);

	/* Many that start, ask and are killed: the supervisor outlives them all. */
	for (int i = 0; i < 100; i++) {
		child = fork();
		if (child == 0) {
			int own = open(argv[1], O_RDWR | O_CLOEXEC);
			for (;;)
				ioctl(own, BINDER_THREAD_EXIT, NULL);
		}
		usleep(100);
		kill(child, SIGKILL);
		CHECK(waitpid(child, &status, 0) == child);
	}
	CHECK(ioctl(device, BINDER_THREAD_EXIT, NULL) == 0);
	CHECK(argc == 3 || exit_by_old_entry() == 0);
	puts("answered");
	return 0;
}
