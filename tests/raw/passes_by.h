// passes_by.h - whether calls pass the driver by.
#pragma once

#include "echo.h"

// So many calls bring a lane into use.
enum { WARM_UP = 40 };
// So often as many do where a lane was refused before, and is asked for again after ever more calls.
enum { MOST_ROUNDS = 1000 };
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

// Makes calls until they pass the driver by, in so many rounds at most. Says whether they do.
static inline int passes_by_within(int rounds, int by)
{
	for (int round = 0; round < rounds; round++) {
		unsigned long before = sent();
		for (uint32_t word = 0; word < WARM_UP; word++) {
			if (round >= HURRIED_ROUNDS)
				usleep(PAUSE_US);
			if (ask(by, ECHO, word) != word)
				errx(1, "no echo");
		}
		if (sent() - before < WARM_UP / 2)
			return 1;
	}
	return 0;
}

static inline int passes_by(int by)
{
	return passes_by_within(MOST_ROUNDS, by);
}
