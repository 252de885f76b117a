// own_mount.c - mounts binderfs itself, as container managers do.
//
//   gcc -O2 -pthread -o own_mount own_mount.c
//   own_mount old|new DIR DIR     mounts one at each directory, by mount(2) or by fsopen(2), checks that each is a
//                                 world of its own and that errors are those of a kernel with a driver, and unmounts
#include "client.h"

#include <linux/android/binderfs.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define FAILS(call, number) \
	do { \
		errno = 0; \
		CHECK((call) == -1 && errno == (number)); \
	} while (0)

enum { SET_FLAG = 0, SET_STRING = 1, CREATE = 6 };

static int fsconfig_(int fs, unsigned command, const char *key, const char *value)
{
	return syscall(SYS_fsconfig, fs, command, key, value, 0);
}

/* The newer way, by which a mount exists before it has a place. */
static void mount_new(const char *dir)
{
	char rest[16];
	FAILS(syscall(SYS_fsopen, "binder", 64), EINVAL);
	int fs = syscall(SYS_fsopen, "binder", 1);
	CHECK(fs >= 0 && fcntl(fs, F_GETFD) == FD_CLOEXEC);
	CHECK(read(fs, rest, sizeof rest) == -1);
	FAILS(syscall(SYS_fsmount, fs, 1, 0), EINVAL);
	CHECK(fsconfig_(fs, SET_STRING, "source", "mine") == 0);
	CHECK(fsconfig_(fs, SET_STRING, "max", "4") == 0);
	CHECK(fsconfig_(fs, SET_FLAG, "ro", NULL) == 0);
	CHECK(fsconfig_(fs, SET_FLAG, "rw", NULL) == 0);
	FAILS(fsconfig_(fs, SET_STRING, "max", "1048577"), EINVAL);
	FAILS(fsconfig_(fs, SET_STRING, "nonsense", "1"), EINVAL);
	FAILS(fsconfig_(fs, SET_STRING, NULL, NULL), EFAULT);
	CHECK(fsconfig_(fs, CREATE, NULL, NULL) == 0);
	FAILS(fsconfig_(fs, SET_STRING, "max", "5"), EBUSY);
	FAILS(fsconfig_(fs, CREATE, NULL, NULL), EBUSY);
	int mount = syscall(SYS_fsmount, fs, 1, 0);
	CHECK(mount >= 0 && fcntl(mount, F_GETFD) == FD_CLOEXEC);
	FAILS(syscall(SYS_fsmount, fs, 1, 0), EBUSY);
	close(fs);
	/* Another file system comes from the kernel as ever. */
	int tmpfs = syscall(SYS_fsopen, "tmpfs", 1);
	CHECK(tmpfs >= 0);
	CHECK(fsconfig_(tmpfs, CREATE, NULL, NULL) == 0);
	close(tmpfs);
	FAILS(syscall(SYS_fsopen, "no such thing", 0), ENODEV);
	struct stat found;
	CHECK(fstatat(mount, "binder-control", &found, 0) == 0);
	CHECK(syscall(SYS_move_mount, mount, "", AT_FDCWD, dir, 4) == 0);
	close(mount);
}

/* Names and permissions stay as they are; a device is opened, and added, all the same. */
static void check_read_only(const char *dir, const char *name)
{
	char path[4096], other[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	snprintf(other, sizeof other, "%s/other", dir);
	FAILS(unlink(path), EROFS);
	FAILS(rename(path, other), EROFS);
	FAILS(chmod(path, 0666), EROFS);
	int device = open(path, O_RDWR | O_CLOEXEC);
	CHECK(device >= 0);
	close(device);
}

static void mount_old(const char *dir)
{
	FAILS(mount("mine", dir, "binder", 0, "max=1048577"), EINVAL);
	FAILS(mount("mine", dir, "binder", 0, "nonsense"), EINVAL);
	FAILS(mount("mine", "/nowhere/to/be/found", "binder", 0, NULL), ENOENT);
	FAILS(mount("mine", "/proc/version", "binder", 0, NULL), ENOTDIR);
	FAILS(mount("mine", dir, "no such thing", 0, NULL), ENODEV);
	FAILS(mount("mine", (const char *)8, "binder", 0, NULL), EFAULT);
	CHECK(mount("tmpfs", dir, "tmpfs", MS_NOSUID, NULL) == 0);
	CHECK(umount(dir) == 0);
	CHECK(mount("mine", dir, "binder", MS_RDONLY, NULL) == 0);
	check_read_only(dir, "vndbinder");
	CHECK(umount(dir) == 0);
	/* By a relative path. */
	CHECK(chdir(dir) == 0);
	CHECK(mount("mine", ".", "binder", 0, "max=4") == 0);
	CHECK(chdir("/") == 0);
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC);
}

static int add(const char *dir, const char *name)
{
	struct binderfs_device device = {0};
	strcpy(device.name, name);
	int control = open_in(dir, "binder-control", O_RDONLY);
	CHECK(control >= 0);
	int result = ioctl(control, BINDER_CTL_ADD, &device);
	int error = errno;
	close(control);
	errno = error;
	return result;
}

static int device = -1;

static void *end_of_a_thread(void *unused)
{
	CHECK(ioctl(device, BINDER_THREAD_EXIT, NULL) == 0);
	return unused;
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	const char *dirs[] = {argv[2], argv[3]};
	for (int i = 0; i < 2; i++)
		(strcmp(argv[1], "new") ? mount_old : mount_new)(dirs[i]);

	for (int i = 0; i < 2; i++) {
		const char *names[] = {"binder", "hwbinder", "vndbinder", "features/extended_error"};
		for (int n = 0; n < 4; n++) {
			int file = open_in(dirs[i], names[n], O_RDONLY);
			CHECK(file >= 0);
			close(file);
		}
		/* Each has a context manager of its own; the old ioctl comes without an argument. */
		int manager = open_in(dirs[i], "binder", O_RDWR);
		CHECK(manager >= 0);
		CHECK(ioctl(manager, BINDER_SET_CONTEXT_MGR, 0) == 0);
		FAILS(ioctl(manager, BINDER_SET_CONTEXT_MGR, 0), EBUSY);
	}

	CHECK(add(dirs[0], "fourth") == 0);
	FAILS(add(dirs[0], "fifth"), ENOSPC);
	device = open_in(dirs[0], "fourth", O_RDWR);
	CHECK(device >= 0);
	CHECK(open_in(dirs[1], "fourth", O_RDWR) == -1 && errno == ENOENT);
	struct binder_version version = {0};
	CHECK(ioctl(device, BINDER_VERSION, &version) == 0 && version.protocol_version == 8);
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, end_of_a_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);

	CHECK(mount(NULL, dirs[0], NULL, MS_REMOUNT, "max=5") == 0);
	FAILS(mount(NULL, dirs[0], NULL, MS_REMOUNT, "nonsense"), EINVAL);
	CHECK(add(dirs[0], "fifth") == 0);
	CHECK(mount(NULL, dirs[0], NULL, MS_REMOUNT | MS_RDONLY, "max=6") == 0);
	check_read_only(dirs[0], "fifth");
	CHECK(add(dirs[0], "sixth") == 0);
	CHECK(mount(NULL, dirs[0], NULL, MS_REMOUNT, "max=6") == 0);
	char path[4096];
	snprintf(path, sizeof path, "%s/sixth", dirs[0]);
	CHECK(unlink(path) == 0);

	for (int i = 0; i < 2; i++)
		CHECK(umount2(dirs[i], MNT_DETACH) == 0);
	CHECK(open_in(dirs[0], "binder", O_RDWR) == -1 && errno == ENOENT);
	/* Files that are open go on working. */
	CHECK(ioctl(device, BINDER_VERSION, &version) == 0);
	puts("mounted");
	return 0;
}
