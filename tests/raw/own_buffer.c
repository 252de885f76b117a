// own_buffer.c - a client whose pointers lead into its own receive buffer, where nothing was ever delivered.
//
//   gcc -O2 -o own_buffer own_buffer.c
//   own_buffer              prints how its ioctls end
//
// The commands there are zeros, which no driver knows. The read that follows finds nothing, and must see the O_NONBLOCK
// that was set after the open.
#include "client.h"

static const char *outcome(int result)
{
	return result < 0 ? strerror(errno) : "done";
}

int main(void)
{
	uint8_t returns[256];
	int device = open_device();
	char *buffer = map(device, 1 << 20);
	struct binder_write_read request = request_of(buffer + (512 << 10), 8, NULL, 0);
	printf("commands from there: %s\n", outcome(ioctl(device, BINDER_WRITE_READ, &request)));

	request = request_of(NULL, 0, returns, sizeof returns);
	fcntl(device, F_SETFL, O_NONBLOCK);
	printf("nothing to read: %s\n", outcome(ioctl(device, BINDER_WRITE_READ, &request)));
	return 0;
}
