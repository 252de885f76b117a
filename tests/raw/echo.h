// echo.h - a service that says what it is told, and its clients.
#pragma once

#include "client.h"

#define ECHO 1
#define WHO 2

#define PAGE 4096

// Serves ECHO and WHO until it is killed.
static inline void serve(int ready)
{
	int device = open_client();
	become_manager(device);
	uint32_t enter = BC_ENTER_LOOPER;
	write_commands(device, &enter, sizeof enter);
	if (write(ready, "!", 1) != 1)
		err(1, "write");
	struct binder_transaction_data call;
	uint8_t data[PAGE];
	expect(device, NULL, 0, BR_TRANSACTION, &call);
	for (;;) {
		struct answer answer = answer_to(&call);
		if (call.data_size > sizeof data)
			errx(1, "too much");
		check_place(&call);
		memcpy(data, (void *)(uintptr_t)call.data.ptr.buffer, call.data_size);
		answer.reply.transaction.data_size = call.data_size;
		if (call.code == WHO)
			memcpy(data, &call.sender_euid, answer.reply.transaction.data_size = sizeof call.sender_euid);
		answer.reply.transaction.data.ptr.buffer = (uintptr_t)data;
		size_t size = call.flags & TF_ONE_WAY ? 12 : sizeof answer;
		expect(device, &answer, size, BR_TRANSACTION, &call);
	}
}

static inline struct send call_of(uint32_t code, const void *data, size_t size)
{
	return (struct send){
		.command = BC_TRANSACTION,
		.transaction.code = code,
		.transaction.data_size = size,
		.transaction.data.ptr.buffer = (uintptr_t)data,
	};
}

// Calls, and returns the first four bytes of the reply; or the code of what came in its place.
static inline uint32_t ask(int device, uint32_t code, uint32_t word)
{
	struct binder_transaction_data reply;
	struct send call = call_of(code, &word, sizeof word);
	uint32_t found = converse(device, &call, sizeof call, BR_REPLY, &reply);
	if (found != BR_REPLY)
		return found;
	check_place(&reply);
	memcpy(&word, (void *)(uintptr_t)reply.data.ptr.buffer, sizeof word);
	let_go(device, &reply);
	return word;
}

static inline void check_calls(int device, const char *when)
{
	for (uint32_t word = 0; word < 20; word++)
		if (ask(device, ECHO, word) != word)
			errx(1, "%s: no echo", when);
}
