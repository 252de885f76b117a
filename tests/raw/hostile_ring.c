// hostile_ring.c - clients that scribble over the memory they share with the driver, beside one that minds its calls.
//
//   gcc -O2 -pthread -o hostile_ring hostile_ring.c
//   hostile_ring SECONDS SEED    prints what became of the calls of the one
//
// Each hostile client attaches a segment, or something that is none. Threads of it post requests that are valid, cut off,
// for others' slots or rubbish, and wait in slots of theirs or not; another writes random numbers to random places all the
// while, takes pages away, and sends the threads signals. It is killed after some time, and another begins. The honest
// client has its calls answered, each with its own answer.
#include "client.h"
#include "ring.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

// A post: a call, a socket for the files of the call before, or the numbers that these have got.
enum { CALL, SOCKET, NUMBERS };
// Each call is answered with a file.
enum { BRING_FILE = 7 };
enum { HOSTILE_CLIENTS = 2, POSTERS = 3, LONGEST_LIFE_MS = 200, FIRST_UID = 4000 };

static __thread uint64_t state;

static uint64_t number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static uint64_t below(uint64_t bound)
{
	return number() % bound;
}

static void seed(uint64_t with)
{
	state = with * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		number();
}

static char *segment;
static int device, sockets[2];
static pthread_t posters[POSTERS];

static struct slot *slot_of(unsigned slot)
{
	return (struct slot *)(segment + SLOTS_START + slot * SLOT_BYTES);
}

static void ignore(int signal)
{
	(void)signal;
}

// A number that checks may not expect.
static uint64_t odd_number(void)
{
	static const uint64_t ODD[] = { 0, 1, 3, 4, 8, 255, 256, 4096, DATA_BYTES, DATA_BYTES + 1, 1 << 20, 1ull << 31,
		1ull << 32, ~0ull >> 1, ~0ull, ~7ull };
	return below(3) ? ODD[below(sizeof ODD / sizeof *ODD)] : number() >> below(64);
}

// Puts a command to `at` and returns where it ends.
static size_t put_command(uint8_t *at, uint64_t data)
{
	static const uint32_t CODES[] = { BC_FREE_BUFFER, BC_ENTER_LOOPER, BC_ACQUIRE, BC_RELEASE, BC_INCREFS, BC_DECREFS,
		BC_REQUEST_DEATH_NOTIFICATION, BC_CLEAR_DEATH_NOTIFICATION, BC_DEAD_BINDER_DONE };
	if (below(3)) {
		struct send send = { .command = below(8) ? BC_TRANSACTION : BC_REPLY };
		send.transaction.target.handle = below(8) ? 0 : odd_number();
		send.transaction.code = below(2) ? BRING_FILE : 0;
		send.transaction.flags = below(4) ? TF_ACCEPT_FDS : number();
		send.transaction.data_size = below(4) ? below(512) : odd_number();
		send.transaction.offsets_size = below(6) ? 0 : 8 * below(4);
		send.transaction.data.ptr.buffer = below(4) ? data : odd_number();
		send.transaction.data.ptr.offsets = below(4) ? data : odd_number();
		memcpy(at, &send, sizeof send);
		return sizeof send;
	}
	uint32_t code = below(8) ? CODES[below(sizeof CODES / sizeof *CODES)] : number();
	memcpy(at, &code, sizeof code);
	for (unsigned i = 0; i < 16; i++)
		at[sizeof code + i] = number();
	return sizeof code + (_IOC_SIZE(code) & 15);
}

static void post(unsigned number_of_slot)
{
	struct slot *slot = slot_of(number_of_slot);
	uint8_t *data = (uint8_t *)slot + DATA_START;
	// Addresses of a client need not be its own: all that counts is in the windows.
	uint64_t address = 0x10000 + 8 * below(1000);
	size_t size = 0;
	for (uint64_t left = below(4); left > 0; left--)
		size += put_command(data + size, address + 1024);
	slot->kind[0] = below(3) ? CALL : below(4);
	slot->kind[1] = below(2) ? (unsigned)sockets[below(2)] : below(2) ? 1 : odd_number();
	slot->call = (struct binder_write_read){
		.write_size = below(8) ? size : odd_number(),
		.write_consumed = below(8) ? 0 : odd_number(),
		.write_buffer = below(8) ? address : odd_number(),
		.read_size = below(2) ? 0 : below(4) ? 256 : odd_number(),
		.read_consumed = below(8) ? 0 : odd_number(),
		.read_buffer = below(4) ? (uintptr_t)segment + below(SEGMENT_BYTES) : odd_number(),
	};
	memset(slot->windows, 0, sizeof slot->windows);
	slot->windows[0][0] = address;
	slot->windows[0][1] = below(8) ? 1024 : odd_number();
	slot->windows[1][0] = address + 1024;
	slot->windows[1][1] = below(8) ? 4096 : odd_number();
	__atomic_store_n(&slot->word, below(8) ? POSTED : below(8), __ATOMIC_RELEASE);
	uint32_t *bell = (uint32_t *)segment;
	__atomic_fetch_or(&bell[1], below(8) ? 1u << number_of_slot : (uint32_t)number(), __ATOMIC_SEQ_CST);
	syscall(SYS_futex, bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *post_on(void *own)
{
	seed((uintptr_t)own);
	unsigned slot = (uintptr_t)own % POSTERS;
	for (;;) {
		unsigned chosen = below(4) ? slot : below(SLOTS);
		post(chosen);
		struct ring_wait wait = { .slot = below(4) ? chosen : odd_number(), .flags = below(2) ? 0 : number() };
		if (below(4))
			ioctl(device, RING_WAIT, &wait);
	}
	return NULL;
}

static void scribble(void)
{
	for (;;) {
		uint64_t place = below(4) ? SLOTS_START + below(SLOTS) * SLOT_BYTES + 8 * below(128) : 8 * below(SEGMENT_BYTES / 8);
		if (below(8) == 0)
			place = 8 * below(8);
		*(volatile uint64_t *)(segment + place) = odd_number();
		if (below(64) == 0)
			madvise(segment + 4096 * below(SEGMENT_BYTES / 4096), 4096 * (1 + below(20)),
				below(2) ? MADV_REMOVE : MADV_DONTNEED);
		if (below(16) == 0)
			pthread_kill(posters[below(POSTERS)], SIGUSR1);
		if (below(32) == 0)
			syscall(SYS_futex, segment + SLOTS_START + below(SLOTS) * SLOT_BYTES, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

// Offers a memfd, which is what a driver takes for a segment, or not quite.
static int attach(void)
{
	int is_whole = below(4) != 0;
	int memfd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(memfd >= 0);
	size_t size = is_whole ? SEGMENT_BYTES : 4096 * below(1000);
	CHECK(ftruncate(memfd, size) == 0);
	if (is_whole || below(2))
		fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	struct ring_attach attach = {
		.version = is_whole ? RING_VERSION : below(RING_VERSION),
		.fd = below(8) ? memfd : odd_number(),
	};
	if (ioctl(device, RING_ATTACH, &attach) < 0) {
		// A driver of another version would take none, and this would be no trial.
		CHECK(!is_whole || attach.fd != (uint32_t)memfd || errno != EINVAL);
		close(memfd);
		return 0;
	}
	CHECK(is_whole);
	segment = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CHECK(segment != MAP_FAILED);
	// It cannot be made shorter under the driver's hands.
	CHECK(ftruncate(memfd, 0) < 0);
	close(memfd);
	return 1;
}

static void be_hostile(uint64_t with)
{
	seed(with);
	// Others' limits are not what this is about.
	if (geteuid() == 0)
		CHECK(setresuid(FIRST_UID, FIRST_UID, FIRST_UID) == 0);
	CHECK(signal(SIGUSR1, ignore) != SIG_ERR);
	device = open_client();
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	while (!attach()) {
	}
	for (uintptr_t i = 0; i < POSTERS; i++)
		CHECK(pthread_create(&posters[i], NULL, post_on, (void *)(with * POSTERS + i)) == 0);
	scribble();
}

// Answers each call by its data.
static void serve(int ready)
{
	seed(1);
	int own = open_client();
	become_manager(own);
	// A file of the driver's goes other ways than others do.
	int files[] = { open("/dev/null", O_RDONLY | O_CLOEXEC), own };
	CHECK(files[0] >= 0);
	struct binder_fd_object file = { .hdr.type = BINDER_TYPE_FD };
	binder_size_t offset = 0;
	uint8_t commands[256], returns[1024];
	size_t size = sizeof(uint32_t);
	memcpy(commands, &(uint32_t){ BC_ENTER_LOOPER }, size);
	for (int is_first = 1;; is_first = 0) {
		struct binder_write_read request = request_of(commands, size, returns, is_first ? 0 : sizeof returns);
		CHECK(ioctl(own, BINDER_WRITE_READ, &request) == 0);
		if (is_first)
			CHECK(write(ready, "!", 1) == 1);
		size = 0;
		uint32_t code;
		for (size_t at = 0; at < request.read_consumed; at += _IOC_SIZE(code)) {
			memcpy(&code, returns + at, sizeof code);
			at += sizeof code;
			if (code != BR_TRANSACTION)
				continue;
			struct binder_transaction_data call;
			memcpy(&call, returns + at, sizeof call);
			struct answer answer = answer_to(&call);
			// The data is in the buffer, so that goes back last.
			answer.reply.transaction.data_size = call.data_size < 64 ? call.data_size : 64;
			answer.reply.transaction.data.ptr.buffer = call.data.ptr.buffer;
			if (call.code == BRING_FILE && (call.flags & TF_ACCEPT_FDS) != 0) {
				file.fd = files[below(8) == 0];
				answer.reply.transaction.data_size = sizeof file;
				answer.reply.transaction.data.ptr.buffer = (uintptr_t)&file;
				answer.reply.transaction.offsets_size = sizeof offset;
				answer.reply.transaction.data.ptr.offsets = (uintptr_t)&offset;
			}
			if ((call.flags & TF_ONE_WAY) == 0) {
				memcpy(commands + size, &answer.reply, sizeof answer.reply);
				size += sizeof answer.reply;
			}
			memcpy(commands + size, &answer, sizeof answer.free_command + sizeof answer.buffer);
			size += sizeof answer.free_command + sizeof answer.buffer;
		}
	}
}

// Calls once. Says whether it was answered, and with what it brought.
static int call_once(int own, uint64_t what)
{
	struct {
		struct send send;
		uint32_t free_command;
		binder_uintptr_t buffer;
	} __attribute__((packed)) commands = { .send.command = BC_TRANSACTION };
	commands.send.transaction.data_size = sizeof what;
	commands.send.transaction.data.ptr.buffer = (uintptr_t)&what;
	struct binder_transaction_data reply;
	uint32_t found = converse(own, &commands.send, sizeof commands.send, BR_REPLY, &reply);
	if (found != BR_REPLY)
		return 0;
	uint64_t answer;
	CHECK(reply.data_size == sizeof answer);
	memcpy(&answer, (void *)(uintptr_t)reply.data.ptr.buffer, sizeof answer);
	if (answer != what)
		errx(1, "the answer to %#lx is %#lx", (long)what, (long)answer);
	commands.free_command = BC_FREE_BUFFER;
	commands.buffer = reply.data.ptr.buffer;
	write_commands(own, &commands.free_command, sizeof commands.free_command + sizeof commands.buffer);
	return 1;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "usage: hostile_ring SECONDS SEED");
	double seconds = atof(argv[1]);
	uint64_t with = strtoull(argv[2], NULL, 0);
	seed(with);
	alarm(HANG_TIMEOUT_S);
	pid_t service = start_service(serve);
	int own = open_client();
	pid_t hostile[HOSTILE_CLIENTS] = { 0 };
	double dies_at[HOSTILE_CLIENTS];
	uint64_t answered = 0, refused = 0, clients = 0;
	for (double end = now() + seconds; now() < end;) {
		for (int i = 0; i < HOSTILE_CLIENTS; i++) {
			int status;
			if (hostile[i] != 0 && now() >= dies_at[i]) {
				CHECK(kill(hostile[i], SIGKILL) == 0 && waitpid(hostile[i], &status, 0) == hostile[i]);
				// Before, it can only have failed a check of its own.
				CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
				hostile[i] = 0;
			}
			if (hostile[i] == 0) {
				uint64_t its = ++clients + (with << 20);
				hostile[i] = fork();
				CHECK(hostile[i] >= 0);
				if (hostile[i] == 0)
					be_hostile(its);
				dies_at[i] = now() + below(LONGEST_LIFE_MS) / 1e3;
			}
		}
		if (call_once(own, number()))
			answered++;
		else
			// Their buffers may take all the room that the service has.
			refused++;
	}
	for (int i = 0; i < HOSTILE_CLIENTS; i++)
		if (hostile[i] != 0)
			CHECK(kill(hostile[i], SIGKILL) == 0 && waitpid(hostile[i], NULL, 0) == hostile[i]);
	for (int i = 0; i < 100; i++)
		if (!call_once(own, number()))
			errx(1, "the service is out of reach once all have gone");
	CHECK(answered > refused);
	CHECK(kill(service, SIGKILL) == 0 && waitpid(service, NULL, 0) == service);
	fprintf(stderr, "%lu calls answered, %lu refused, beside %lu hostile clients\n", (long)answered, (long)refused,
		(long)clients);
	puts("all answers were right");
	return 0;
}
