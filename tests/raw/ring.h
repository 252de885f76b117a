// ring.h - the segment that a client shares with the driver, for programs that write to it themselves. After client.h.

// Where things lie in it.
enum {
	SLOTS = 31,
	SLOTS_START = 4096,
	SLOT_BYTES = 72 << 10,
	RETURNS_START = 256,
	DATA_START = 1024,
	DATA_BYTES = SLOT_BYTES - DATA_START,
	SEGMENT_BYTES = SLOTS_START + SLOTS * SLOT_BYTES,
};

// At its beginning: the word that the driver sleeps on, and a bit for each slot that was posted.
struct bell {
	uint32_t word, posted;
};

struct slot {
	uint32_t word, owner, client_cpu, kind[2], unused[11];
	struct binder_write_read call;
	uint64_t windows[4][2], result, returns_len;
	struct binder_write_read reply;
} __attribute__((aligned(64)));

enum { POSTED = 1, ANSWERED = 2, RING_VERSION = 4 };

struct ring_attach {
	uint32_t version, fd;
};

struct ring_wait {
	uint32_t slot, flags;
};

#define RING_ATTACH _IOW('B', 2, struct ring_attach)
#define RING_WAIT _IOW('B', 3, struct ring_wait)

_Static_assert(sizeof(struct slot) == 256, "as the driver has it");
