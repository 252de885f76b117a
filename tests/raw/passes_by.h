// passes_by.h - whether calls pass the driver by.
#pragma once

#include <pthread.h>

#include "echo.h"

// What a service of `lane_server` or of the program `lane_checks` is asked for beside ECHO.
enum {
	// The call's bytes, after a while.
	SLOW = 3,
	// Nothing: it ends.
	END = 1004,
};
// So many calls bring a lane into use.
enum { WARM_UP = 40 };
// So often as many do where a lane was refused before, and is asked for again after ever more calls.
enum { MAX_ROUNDS = 1000 };
// On a busy processor the next call may always be made before the server has come to look for calls of lanes: after some rounds,
// calls have pauses between them.
enum { HURRIED_ROUNDS = 20, PAUSE_US = 1000 };

// How many calls, replies and one-ways the driver has sent on. Its counts of commands are those of lanes as well.
static inline unsigned long sent(void)
{
	FILE *file = fopen("/dev/binderfs/binder_logs/stats", "re");
	char line[256];
	unsigned long count = 0;
	CHECK(file);
	while (fgets(line, sizeof line, file) && !sscanf(line, "transaction: active %*u total %lu", &count))
		;
	fclose(file);
	return count;
}

// Has so many bytes echoed, which are others each time.
static inline void echo_bytes(int by, size_t size, uint32_t seed)
{
	static uint8_t data[128 << 10];
	struct binder_transaction_data reply;
	CHECK(size <= sizeof data);
	for (size_t at = 0; at < size; at++)
		data[at] = at * 7 + (at >> 8) + seed;
	struct send call = call_of(ECHO, data, size);
	expect(by, &call, sizeof call, BR_REPLY, &reply);
	check_place(&reply);
	if (reply.data_size != size || memcmp((void *)(uintptr_t)reply.data.ptr.buffer, data, size) != 0)
		errx(1, "no echo");
	let_go(by, &reply);
}

// Makes calls of so many bytes until they pass the driver by, in so many rounds at most. Says whether they do.
static inline int bytes_pass_by_within(int rounds, int by, size_t size)
{
	for (int round = 0; round < rounds; round++) {
		unsigned long before = sent();
		for (uint32_t word = 0; word < WARM_UP; word++) {
			if (round >= HURRIED_ROUNDS)
				usleep(PAUSE_US);
			echo_bytes(by, size, word);
		}
		if (sent() - before < WARM_UP / 2)
			return 1;
	}
	return 0;
}

static inline int passes_by_within(int rounds, int by)
{
	return bytes_pass_by_within(rounds, by, sizeof(uint32_t));
}

static inline int passes_by(int by)
{
	return passes_by_within(MAX_ROUNDS, by);
}

enum { CALLERS = 28, CALLS_OF_EACH = 100 };

static inline void *call_on(void *by)
{
	for (uint32_t word = 0; word < CALLS_OF_EACH; word++)
		if (ask(*(const int *)by, ECHO, word) != word)
			errx(1, "no echo");
	return NULL;
}

// More callers at once than a server has lanes; then others, which have the slots of those that have ended.
static inline void call_in_threads(int by)
{
	pthread_t callers[CALLERS];
	for (int round = 0; round < 4; round++) {
		for (int at = 0; at < CALLERS; at++)
			CHECK(pthread_create(&callers[at], NULL, call_on, &by) == 0);
		for (int at = 0; at < CALLERS; at++)
			CHECK(pthread_join(callers[at], NULL) == 0);
	}
}
