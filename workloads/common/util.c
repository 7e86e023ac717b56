// SPDX-License-Identifier: GPL-2.0
/* Small things every workload needs: sizes, numbers, time, mixing bits. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

#define SIZE_LIMIT	(1ULL << 46)	/* half of a process's addresses on x86-64 */

bool parse_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *found;
	uint64_t value;
	int shift = 0;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end) {
		found = strchr(suffixes, toupper((unsigned char)*end));
		if (!found || end[1])
			return false;
		shift = 10 * (int)(found - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return false;
	*bytes = value << shift;
	return true;
}

bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t parsed;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	parsed = strtoull(text, &end, 0);
	if (errno || *end || parsed < min || parsed > max)
		return false;
	*value = parsed;
	return true;
}

bool parse_decimal(const char *text, double max, double *value)
{
	double parsed;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	parsed = strtod(text, &end);
	/* Written so that NaN is refused as well. */
	if (*end || !(parsed >= 0 && parsed <= max))
		return false;
	*value = parsed;
	return true;
}

int usage_error(const char *program, const char *what, const char *value)
{
	fprintf(stderr, "%s: %s%s%s (%s --help tells more)\n", program, what,
		value ? ": " : "", value ? value : "", program);
	return EXIT_USAGE;
}

int take_size(const char *program, int argc, char **argv, uint64_t unit, uint64_t *bytes)
{
	uint64_t size;

	if (optind == argc)
		return usage_error(program, "SIZE is missing", NULL);
	if (optind + 1 < argc)
		return usage_error(program, "one SIZE only, what is this", argv[optind + 1]);
	if (!parse_size(argv[optind], &size) || size < unit || size > SIZE_LIMIT)
		return usage_error(program, "bad size", argv[optind]);
	*bytes = size - size % unit;
	return -1;
}

double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void sleep_seconds(double seconds)
{
	struct timespec ts;

	ts.tv_sec = (time_t)seconds;
	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void *shared_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Keep the books out of what is tested; works without it as well. */
	(void)mlock(p, bytes);
	return p;
}

bool read_text(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, buf, len - 1);
	close(fd);
	if (got < 0)
		return false;
	buf[got] = '\0';
	if (got && buf[got - 1] == '\n')
		buf[got - 1] = '\0';
	return true;
}

void offer_to_oom_killer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "500", 3) != 3)
		/* Not possible here: the killer then chooses as it likes. */
		(void)0;
	close(fd);
}
