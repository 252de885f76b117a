// send_files_32.c - files go with calls between 32-bit programs: no library, for few machines have one for these.
//
//   gcc -m32 -O2 -ffreestanding -fno-stack-protector -fno-pie -no-pie -nostdlib -static
//       -idirafter /usr/include/$(gcc -print-multiarch) -o send_files_32 send_files_32.c
//   send_files_32           prints what came through them
//
// A child becomes the context manager of /dev/binder and answers calls, each of which brings it the writing end of a pipe. Both
// processes make their system calls by one way of entering the kernel, and then by the other.
#include <asm/unistd.h>
#include <linux/android/binder.h>

typedef long word;

enum { READ = 1, READ_WRITE = 2, PRIVATE = 2, CLOSE_ON_EXEC = 02000000, CLOSES_ON_EXEC = 1, GET_FLAGS = 1, FILES_MAX = 3 };

static word (*enter)(word number, word a, word b, word c, word d, word e, word f);

#ifdef __i386__
// The two ways of x86: the interrupt, and a function that the kernel maps into each program (the vDSO), which enters by the
// processor's fastest instruction.
static word vdso_entry;

static word by_interrupt(word number, word a, word b, word c, word d, word e, word f)
{
	word result, sixth = f;
	asm volatile("push %[f]; push %%ebp; mov 4(%%esp), %%ebp; int $0x80; pop %%ebp; add $4, %%esp"
		     : "=a"(result)
		     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), [f] "m"(sixth)
		     : "memory");
	return result;
}

static word by_vdso(word number, word a, word b, word c, word d, word e, word f)
{
	word result, sixth = f;
	asm volatile("push %[f]; push %%ebp; mov 4(%%esp), %%ebp; call *%[entry]; pop %%ebp; add $4, %%esp"
		     : "=a"(result)
		     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), [f] "m"(sixth), [entry] "m"(vdso_entry)
		     : "memory");
	return result;
}
#define WAYS { by_interrupt, by_vdso }
#else
// The two instruction sets of ARM.
__attribute__((target("arm"))) static word by_arm(word number, word a, word b, word c, word d, word e, word f)
{
	register word r0 asm("r0") = a, r1 asm("r1") = b, r2 asm("r2") = c, r3 asm("r3") = d, r4 asm("r4") = e, r5 asm("r5") = f;
	asm volatile("push {r7}; mov r7, %[number]; svc #0; pop {r7}"
		     : "+r"(r0) : [number] "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
	return r0;
}

__attribute__((target("thumb"))) static word by_thumb(word number, word a, word b, word c, word d, word e, word f)
{
	register word r0 asm("r0") = a, r1 asm("r1") = b, r2 asm("r2") = c, r3 asm("r3") = d, r4 asm("r4") = e, r5 asm("r5") = f;
	asm volatile("push {r7}; mov r7, %[number]; svc #0; pop {r7}"
		     : "+r"(r0) : [number] "r"(number), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5) : "memory");
	return r0;
}
#define WAYS { by_arm, by_thumb }
#endif

static word call(word number, word a, word b, word c) { return enter(number, a, b, c, 0, 0, 0); }

static __attribute__((noreturn)) void finish(int status)
{
	for (;;)
		call(__NR_exit_group, status, 0, 0);
}

static void say(int file, const char *text)
{
	word length = 0;
	while (text[length])
		length++;
	call(__NR_write, file, (word)text, length);
}

#define CHECK(fact) \
	do { \
		if (!(fact)) { \
			say(2, "failed: " #fact "\n"); \
			finish(1); \
		} \
	} while (0)

// The compiler may ask for these.
void *memcpy(void *to, const void *from, unsigned long length)
{
	for (unsigned long at = 0; at < length; at++)
		((volatile char *)to)[at] = ((const char *)from)[at];
	return to;
}

void *memset(void *to, int byte, unsigned long length)
{
	for (unsigned long at = 0; at < length; at++)
		((volatile char *)to)[at] = byte;
	return to;
}

struct send {
	__u32 command;
	struct binder_transaction_data transaction;
} __attribute__((packed));

struct parcel {
	struct send send;
	struct binder_fd_object objects[FILES_MAX];
	binder_size_t offsets[FILES_MAX];
};

static void pack(struct parcel *parcel, __u32 command, int file, int count)
{
	memset(parcel, 0, sizeof *parcel);
	for (int at = 0; at < count; at++) {
		parcel->objects[at].hdr.type = BINDER_TYPE_FD;
		parcel->objects[at].fd = file;
		parcel->offsets[at] = at * sizeof parcel->objects[0];
	}
	parcel->send.command = command;
	parcel->send.transaction.flags = TF_ACCEPT_FDS;
	parcel->send.transaction.data_size = count * sizeof parcel->objects[0];
	parcel->send.transaction.offsets_size = count * sizeof parcel->offsets[0];
	parcel->send.transaction.data.ptr.buffer = (unsigned long)parcel->objects;
	parcel->send.transaction.data.ptr.offsets = (unsigned long)parcel->offsets;
}

static int file_of(const struct binder_transaction_data *got, int at)
{
	const struct binder_fd_object *object = (void *)(unsigned long)got->data.ptr.buffer;
	CHECK(got->data_size >= (at + 1) * sizeof *object);
	CHECK(object[at].hdr.type == BINDER_TYPE_FD);
	CHECK(call(__NR_fcntl64, object[at].fd, GET_FLAGS, 0) == CLOSES_ON_EXEC);
	return object[at].fd;
}

static int open_client(void)
{
	int device = call(__NR_open, (word) "/dev/binder", READ_WRITE | CLOSE_ON_EXEC, 0);
	CHECK(device >= 0);
	word buffer = enter(__NR_mmap2, 0, 128 << 10, READ, PRIVATE, device, 0);
	CHECK(buffer < -4095 || buffer > 0);
	return device;
}

// Writes, and reads until `awaited` comes.
static void expect(int device, const void *commands, unsigned size, __u32 awaited, struct binder_transaction_data *payload)
{
	static char returns[256];
	struct binder_write_read request = {
		.write_size = size,
		.write_buffer = (unsigned long)commands,
		.read_size = sizeof returns,
		.read_buffer = (unsigned long)returns,
	};
	for (;;) {
		request.read_consumed = 0;
		CHECK(call(__NR_ioctl, device, BINDER_WRITE_READ, (word)&request) == 0);
		for (unsigned at = 0; at < request.read_consumed;) {
			__u32 code;
			memcpy(&code, returns + at, sizeof code);
			CHECK(code != BR_FAILED_REPLY && code != BR_DEAD_REPLY);
			if (code == awaited) {
				memcpy(payload, returns + at + sizeof code, _IOC_SIZE(code));
				return;
			}
			at += sizeof code + _IOC_SIZE(code);
		}
	}
}

static void serve(int ready)
{
	static struct parcel reply;
	struct binder_transaction_data asked, unused;
	struct flat_binder_object self = { .hdr.type = BINDER_TYPE_BINDER, .flags = FLAT_BINDER_FLAG_ACCEPTS_FDS };
	__u32 begin = BC_ENTER_LOOPER;
	int device = open_client();
	CHECK(call(__NR_ioctl, device, BINDER_SET_CONTEXT_MGR_EXT, (word)&self) == 0);
	say(ready, "!");
	expect(device, &begin, sizeof begin, BR_TRANSACTION, &asked);
	for (;;) {
		int count = (unsigned)asked.data_size / sizeof reply.objects[0];
		for (int at = 0; at < count; at++)
			say(file_of(&asked, at), "there");
		// The last goes back: the caller has two descriptors of it then.
		pack(&reply, BC_REPLY, file_of(&asked, count - 1), 1);
		expect(device, &reply.send, sizeof reply.send, BR_TRANSACTION_COMPLETE, &unused);
		for (int at = 0; at < count; at++)
			call(__NR_close, file_of(&asked, at), 0, 0);
		expect(device, 0, 0, BR_TRANSACTION, &asked);
	}
}

// Calls with files, and returns how often the service has written to them.
static int send(int device, int count)
{
	static struct parcel parcel;
	struct binder_transaction_data answer;
	int ends[2], written = 0;
	char said[64];
	CHECK(call(__NR_pipe2, (word)ends, CLOSE_ON_EXEC, 0) == 0);
	pack(&parcel, BC_TRANSACTION, ends[1], count);
	expect(device, &parcel.send, sizeof parcel.send, BR_REPLY, &answer);
	int back = file_of(&answer, 0);
	say(back, "again");
	call(__NR_close, back, 0, 0);
	call(__NR_close, ends[1], 0, 0);
	// It ends when no process has the other end any more: this one, the service, or the driver.
	for (word got; (got = call(__NR_read, ends[0], (word)said, sizeof said)) != 0;) {
		CHECK(got > 0);
		written += got;
	}
	call(__NR_close, ends[0], 0, 0);
	return written / 5;
}

static __attribute__((used)) void start(word *stack)
{
	static word (*const ways[])(word, word, word, word, word, word, word) = WAYS;
	enter = ways[0];
#ifdef __i386__
	// Behind arguments and environment there are pairs, of which AT_SYSINFO (32) is that page's entry.
	word *at = stack + *stack + 2;
	while (*at++) {}
	for (; at[0] != 0 && at[0] != 32; at += 2) {}
	vdso_entry = at[1];
	CHECK(vdso_entry != 0);
#endif
	for (unsigned way = 0; way < 2; way++) {
		int ready[2];
		char byte;
		enter = ways[way];
		CHECK(call(__NR_pipe2, (word)ready, 0, 0) == 0);
		word service = call(__NR_fork, 0, 0, 0);
		CHECK(service >= 0);
		if (service == 0)
			serve(ready[1]);
		call(__NR_close, ready[1], 0, 0);
		CHECK(call(__NR_read, ready[0], (word)&byte, 1) == 1);
		call(__NR_close, ready[0], 0, 0);
		int client = open_client();
		for (int round = 0; round < 5; round++)
			for (int count = 1; count <= FILES_MAX; count++)
				CHECK(send(client, count) == count + 1);
		call(__NR_kill, service, 9, 0);
		call(__NR_wait4, service, 0, 0);
		call(__NR_close, client, 0, 0);
	}
	say(1, "there and back, by both ways\n");
	finish(0);
}

#ifdef __i386__
asm(".globl _start; _start: mov %esp, %eax; and $-16, %esp; sub $12, %esp; push %eax; call start");
#else
asm(".globl _start; .thumb_func; _start: mov r0, sp; bl start");
#endif
