// posing.c - a process that writes to the ring of another, which is a more powerful user by now.
//
//   gcc -O2 -o posing posing.c
//   posing    as root: prints who called, as the service was told
//
// A client shares its ring with a child. Then it becomes root, as one does that executes a set-user-ID program. What the
// child posts in its slot is none of its calls. When it makes itself known by an ioctl, its calls are root's.
// Neither is what is posted in a slot that another thread has taken, of which the driver has not heard.
#include "client.h"
#include "ring.h"

#include <sys/syscall.h>
#include <sys/wait.h>

enum { USER = 4000, CALL = 0, UNKNOWN_CALLER = 4 };

static char *segment;

static struct slot *first_slot(void)
{
	return (struct slot *)(segment + SLOTS_START);
}

static void serve(int ready)
{
	int own = open_client();
	become_manager(own);
	write_commands(own, &(uint32_t){ BC_ENTER_LOOPER }, sizeof(uint32_t));
	CHECK(write(ready, "!", 1) == 1);
	for (;;) {
		struct binder_transaction_data call;
		expect(own, NULL, 0, BR_TRANSACTION, &call);
		printf("a call of user %d\n", (int)call.sender_euid);
		fflush(stdout);
		struct answer answer = answer_to(&call);
		write_commands(own, &answer, sizeof answer);
	}
}

// Posts commands in the first slot, and room for returns.
static void post(const void *commands, size_t size, size_t room)
{
	struct slot *slot = first_slot();
	uint64_t address = 1 << 20;
	memcpy((char *)slot + DATA_START, commands, size);
	slot->kind[0] = CALL;
	slot->call = (struct binder_write_read){
		.write_size = size, .write_buffer = address, .read_size = room, .read_buffer = 2 * address,
	};
	memset(slot->windows, 0, sizeof slot->windows);
	slot->windows[0][0] = address;
	slot->windows[0][1] = size;
	__atomic_store_n(&slot->word, POSTED, __ATOMIC_RELEASE);
}

static const struct send SEND = { .command = BC_TRANSACTION };

// Waits until what was posted is answered, and returns the result.
static int64_t await(void)
{
	struct slot *slot = first_slot();
	while ((__atomic_load_n(&slot->word, __ATOMIC_ACQUIRE) & ANSWERED) == 0)
		usleep(100);
	return (int64_t)slot->result;
}

// Has what was posted done, as the slot's thread does that makes itself known.
static void ask(int device)
{
	struct ring_wait wait = { .slot = 0 };
	CHECK(ioctl(device, RING_WAIT, &wait) == 0);
	CHECK(await() == 0);
}

// Calls the service.
static void call(int device)
{
	post(&SEND, sizeof SEND, 0);
	ask(device);
	uint8_t *returns = (uint8_t *)first_slot() + RETURNS_START, reply[64];
	do {
		post(NULL, 0, 256);
		ask(device);
	} while (find(BR_REPLY, returns, first_slot()->returns_len, reply) == 0);
}

static void await_child(pid_t child)
{
	int status;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Has the driver look at what is posted in the first slot, as it does whenever a number of a file is closed.
static void show(int device)
{
	__atomic_fetch_or(&((struct bell *)segment)->posted, 1, __ATOMIC_SEQ_CST);
	close(device);
}

// Another thread takes the slot, and posts before it makes itself known.
static void take_over(int device)
{
	first_slot()->owner = 1;
	post(NULL, 0, 0);
	show(dup(device));
	int is_left = __atomic_load_n(&first_slot()->word, __ATOMIC_ACQUIRE) == POSTED;
	printf("the next thread's call: %s\n", is_left ? "left alone" : "made");
	fflush(stdout);
	ask(device);
}

int main(void)
{
	alarm(HANG_TIMEOUT_S);
	pid_t service = start_service(serve);
	CHECK(setresuid(USER, USER, 0) == 0);
	int device = open_client();
	int memfd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(memfd >= 0 && ftruncate(memfd, SEGMENT_BYTES) == 0);
	CHECK(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
	segment = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CHECK(segment != MAP_FAILED);
	struct ring_attach attach = { .version = RING_VERSION, .fd = memfd };
	CHECK(ioctl(device, RING_ATTACH, &attach) == 0);
	first_slot()->owner = syscall(SYS_gettid);
	call(device);
	take_over(device);

	CHECK(setresuid(0, 0, 0) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		CHECK(setresuid(USER, USER, USER) == 0);
		post(&SEND, sizeof SEND, 256);
		show(device);
		int64_t result = await();
		printf("the other's call: %s\n", result == UNKNOWN_CALLER ? "refused" : "made");
		fflush(stdout);
		_exit(result != UNKNOWN_CALLER);
	}
	await_child(child);
	call(device);
	CHECK(kill(service, SIGKILL) == 0 && waitpid(service, NULL, 0) == service);
	return 0;
}
