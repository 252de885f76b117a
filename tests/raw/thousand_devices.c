// thousand_devices.c - many devices of one binderfs, used after it was unmounted.
//
//   gcc -O2 -pthread -o thousand_devices thousand_devices.c
//   thousand_devices DIR     adds 1000 devices to the binderfs at DIR, opens each, unmounts lazily, and asks all of
//                            them for the version, from four threads
#include "client.h"

#include <linux/android/binderfs.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/resource.h>

enum { DEVICES = 1000, THREADS = 4 };

static int devices[DEVICES];

static int add(int control, const char *name)
{
	struct binderfs_device device = { .major = 0 };
	strncpy(device.name, name, BINDERFS_MAX_NAME);
	return ioctl(control, BINDER_CTL_ADD, &device);
}

static void *ask_all(void *wrong_answers)
{
	for (int i = 0; i < DEVICES; i++) {
		struct binder_version version = { 0 };
		if (ioctl(devices[i], BINDER_VERSION, &version) < 0 ||
		    version.protocol_version != BINDER_CURRENT_PROTOCOL_VERSION)
			++*(int *)wrong_answers;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit files = { 2 * DEVICES, 2 * DEVICES };
	pthread_t threads[THREADS];
	int wrong[THREADS] = { 0 }, all_wrong = 0;
	if (argc != 2)
		return 2;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		err(1, "setrlimit");
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int control = openat(dir, "binder-control", O_RDONLY | O_CLOEXEC);
	if (control < 0)
		err(1, "binder-control");
	for (int i = 0; i < DEVICES; i++) {
		char name[8];
		snprintf(name, sizeof name, "%d", i);
		if (add(control, name) < 0)
			err(1, "BINDER_CTL_ADD");
		if (add(control, name) == 0 || errno != EEXIST)
			err(1, "the same name again");
		devices[i] = openat(dir, name, O_RDONLY | O_CLOEXEC);
		if (devices[i] < 0)
			err(1, "%s", name);
	}
	close(control);
	close(dir);
	if (umount2(argv[1], MNT_DETACH) < 0)
		err(1, "umount2");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, ask_all, &wrong[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all_wrong += wrong[i];
	}
	for (int i = 0; i < DEVICES; i++)
		close(devices[i]);
	printf("%d wrong answers\n", all_wrong);
	return all_wrong != 0;
}
