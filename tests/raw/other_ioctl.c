// other_ioctl.c - a library that is preloaded beside others: it counts ioctls, and passes them on to the next one.
//
//   gcc -O2 -shared -fPIC -o other_ioctl.so other_ioctl.c
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>

static int (*next)(int, unsigned long, void *);
static int count;

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (!next)
		next = (int (*)(int, unsigned long, void *))dlsym(RTLD_NEXT, "ioctl");
	count++;
	return next(fd, request, argument);
}

__attribute__((destructor)) static void tell(void)
{
	printf("%s ioctls were passed on\n", count >= 40 ? "all" : "not all");
}
