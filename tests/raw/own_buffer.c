// own_buffer.c - a client whose pointers lead into its own receive buffer, where nothing was ever delivered.
//
//   gcc -O2 -o own_buffer own_buffer.c
//   own_buffer              prints how its ioctls end
//
// The commands there are zeros, which no driver knows. The read that follows finds nothing, and must see the O_NONBLOCK
// that was set after the open.
#include <errno.h>
#include <fcntl.h>
#include <linux/android/binder.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static const char *outcome(int result)
{
	return result < 0 ? strerror(errno) : "done";
}

int main(void)
{
	struct binder_write_read request = { 0 };
	uint8_t returns[256];
	int device = open("/dev/binder", O_RDWR | O_CLOEXEC);
	char *buffer = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, device, 0);
	if (device < 0 || buffer == MAP_FAILED) {
		perror("/dev/binder");
		return 1;
	}
	request.write_size = 8;
	request.write_buffer = (uintptr_t)buffer + (512 << 10);
	printf("commands from there: %s\n", outcome(ioctl(device, BINDER_WRITE_READ, &request)));

	memset(&request, 0, sizeof request);
	request.read_size = sizeof returns;
	request.read_buffer = (uintptr_t)returns;
	fcntl(device, F_SETFL, O_NONBLOCK);
	printf("nothing to read: %s\n", outcome(ioctl(device, BINDER_WRITE_READ, &request)));
	return 0;
}
