// offered.c - asks the driver by which ways it takes calls of this program beside the ioctl.
//
//   gcc -O2 -o offered offered.c
#include "client.h"
#include "ring.h"

#include <sys/syscall.h>

struct lane_room {
	uint64_t pages, address;
};
#define LANE_ROOM _IOWR('B', 8, struct lane_room)

int main(void)
{
	int device = open_device();
	// A descriptor that cannot be, and no pages: both are questions.
	struct ring_attach ring = { RING_VERSION, -1 };
	struct lane_room lanes = { 0, 0 };
	int has_rings = syscall(SYS_ioctl, device, RING_ATTACH, &ring) < 0 && errno == EBADF;
	int has_lanes = syscall(SYS_ioctl, device, LANE_ROOM, &lanes) < 0 && errno != EPERM;
	printf("%s, %s\n", has_rings ? "rings" : "no rings", has_lanes ? "lanes" : "no lanes");
	return 0;
}
