// SPDX-License-Identifier: GPL-2.0
/* The things that swapped times: touches, fork, exit, a swapoff from outside, a file in tmpfs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "reclaim.h"
#include "swapped.h"
#include "util.h"

#define FILE_BLOCK	(64 * 1024UL)
#define CHECK_STEP	16	/* a forked child looks at every 16th page */

static uint64_t micros(double seconds)
{
	return (uint64_t)(seconds * 1e6 + 0.5);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static bool prepare(struct memory *m, const struct swapped_options *opt, char *why)
{
	if (!memory_take(m, opt->bytes, why))
		return false;
	memory_fill(m, opt->random);
	return opt->stay || memory_swap_out(m, why);
}

/* The value below which @share of the sorted @values are, in microseconds. */
static double percentile(const double *values, uint64_t count, double share)
{
	uint64_t at = (uint64_t)(share * (double)count);

	return values[at < count ? at : count - 1] * 1e6;
}

static void report_latencies(struct json *j, const char *key, double *values, uint64_t count)
{
	double sum = 0;
	uint64_t i;

	qsort(values, count, sizeof(*values), by_size);
	for (i = 0; i < count; i++)
		sum += values[i];
	json_object(j, key);
	json_uint(j, "count", count);
	json_real(j, "mean_us", sum / (double)count * 1e6);
	json_real(j, "p50_us", percentile(values, count, 0.5));
	json_real(j, "p90_us", percentile(values, count, 0.9));
	json_real(j, "p99_us", percentile(values, count, 0.99));
	json_real(j, "p99_9_us", percentile(values, count, 0.999));
	json_real(j, "max_us", values[count - 1] * 1e6);
	json_end_object(j);
}

/* One touch, alternately a read and a write, of each page at most once; checked when its time is taken. */
static double touch(struct memory *m, uint64_t page, bool write)
{
	uint64_t *words = m->words + page * PAGE_WORDS;
	double start = now_seconds();

	if (write)
		*(volatile uint64_t *)(words + PAGE_WORDS - 1) = 0;
	else
		(void)*(volatile uint64_t *)words;
	start = now_seconds() - start;
	if (write)	/* what the write replaced */
		words[PAGE_WORDS - 1] = words[PAGE_WORDS - 2];
	if (!page_good(words, page, m->versions[page]))
		m->wrong++;
	return start;
}

static bool mode_touch(const struct swapped_options *opt, struct json *j, char *why, uint64_t *wrong)
{
	uint64_t i, count, half;
	struct rusage before, after;
	struct memory m;
	double *times, start;

	if (!prepare(&m, opt, why))
		return false;
	count = opt->touches && opt->touches < m.pages ? opt->touches : m.pages;
	half = count / 2;
	times = malloc(count * sizeof(*times));
	if (!times || !half) {
		snprintf(why, WHY_LEN, "no memory for %llu times", (unsigned long long)count);
		return false;
	}
	memset(times, 0, count * sizeof(*times));
	getrusage(RUSAGE_SELF, &before);
	start = now_seconds();
	for (i = 0; i < 2 * half; i++)
		times[i / 2 + (i & 1) * half] = touch(&m, permute(i, m.pages, 7), i & 1);
	start = now_seconds() - start;
	getrusage(RUSAGE_SELF, &after);
	json_real(j, "touches_per_second", (double)(2 * half) / start);
	json_uint(j, "major_faults", (uint64_t)(after.ru_majflt - before.ru_majflt));
	report_latencies(j, "read", times, half);
	report_latencies(j, "write", times + half, half);
	*wrong = m.wrong;
	return true;
}

static bool child_failed(pid_t pid, char *why)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		snprintf(why, WHY_LEN, "fork: %s", strerror(errno));
		return true;
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return false;
	snprintf(why, WHY_LEN, "the child ended with status 0x%x", (unsigned int)status);
	return true;
}

/* In turn: a child that ends at once. The last one looks at the data, as does the parent then. */
static bool mode_fork(const struct swapped_options *opt, struct json *j, char *why, uint64_t *wrong)
{
	double *forks = calloc(opt->repeat, sizeof(*forks)), *exits = calloc(opt->repeat, sizeof(*exits));
	struct memory m;
	unsigned int i;
	double start;
	pid_t pid;

	if (!forks || !exits || !prepare(&m, opt, why))
		return false;
	for (i = 0; i < opt->repeat; i++) {
		start = now_seconds();
		pid = fork();
		if (!pid)
			_exit(0);
		forks[i] = now_seconds() - start;
		if (child_failed(pid, why))
			return false;
		exits[i] = now_seconds() - start - forks[i];
	}
	pid = fork();
	if (!pid) {
		memory_check(&m, CHECK_STEP);
		_exit(m.wrong != 0);
	}
	if (child_failed(pid, why))
		return false;
	memory_check(&m, CHECK_STEP);
	qsort(forks, opt->repeat, sizeof(*forks), by_size);
	qsort(exits, opt->repeat, sizeof(*exits), by_size);
	json_uint(j, "fork_us", micros(forks[opt->repeat / 2]));
	json_uint(j, "child_exit_us", micros(exits[opt->repeat / 2]));
	*wrong = m.wrong;
	return true;
}

/* What the child that is to end tells its parent; in shared memory. */
struct leaver {
	struct gate ready;
	uint64_t wrong;
	uint64_t out;
	bool good;
	char why[WHY_LEN];
};

static void __attribute__((noreturn)) leave(const struct swapped_options *opt, struct leaver *l,
					    int go)
{
	struct memory m;
	char byte;

	if (memory_take(&m, opt->bytes, l->why)) {
		memory_fill(&m, opt->random);
		if (memory_swap_out(&m, l->why)) {
			/* A sample comes in and is good; it goes out again. */
			memory_check(&m, 64);
			l->wrong = m.wrong;
			l->good = memory_swap_out(&m, l->why);
			l->out = swapped_bytes();
		}
	}
	gate_arrive(&l->ready);
	if (read(go, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

/* Until the child is ready, or has ended before its time. */
static bool await_ready(struct leaver *l, pid_t pid)
{
	gate_arrive(&l->ready);
	while (!gate_complete(&l->ready)) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return false;
		sleep_seconds(0.02);
	}
	return true;
}

static bool mode_exit(const struct swapped_options *opt, struct json *j, char *why, uint64_t *wrong)
{
	struct leaver *l = shared_alloc(sizeof(*l));
	double start;
	int go[2];
	pid_t pid;

	if (!l || pipe(go)) {
		snprintf(why, WHY_LEN, "%s", strerror(errno));
		return false;
	}
	gate_init(&l->ready, 2);
	pid = fork();
	if (!pid)
		leave(opt, l, go[0]);
	if (pid < 0 || !await_ready(l, pid)) {
		snprintf(why, WHY_LEN, "the process could not be started, or was killed");
		return false;
	}
	if (!l->good) {
		snprintf(why, WHY_LEN, "%s", l->why);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return false;
	}
	start = now_seconds();
	if (write(go[1], "x", 1) != 1 || child_failed(pid, why))
		return false;
	json_uint(j, "exit_us", micros(now_seconds() - start));
	json_uint(j, "swapped_bytes", l->out);
	*wrong = l->wrong;
	return true;
}

/* Hold the memory, swapped out, until the file to wait for is there; then all of it is checked. */
static bool mode_hold(const struct swapped_options *opt, struct json *j, char *why, uint64_t *wrong)
{
	uint64_t out;
	struct memory m;
	FILE *ready;
	double start;

	if (!prepare(&m, opt, why))
		return false;
	out = swapped_bytes();
	ready = fopen(opt->ready_file, "w");
	if (!ready || fclose(ready)) {
		snprintf(why, WHY_LEN, "cannot write %s: %s", opt->ready_file, strerror(errno));
		return false;
	}
	while (access(opt->wait_file, F_OK))
		sleep_seconds(0.02);
	json_uint(j, "swapped_bytes", opt->stay ? swapped_bytes() : out);
	start = now_seconds();
	memory_check(&m, 1);
	json_real(j, "check_seconds", now_seconds() - start);
	*wrong = m.wrong;
	return true;
}

static bool file_pass(int fd, const struct swapped_options *opt, bool writing, uint64_t *wrong)
{
	static uint64_t block[FILE_BLOCK / sizeof(uint64_t)];
	uint64_t at, i, pages = FILE_BLOCK / PAGE_BYTES;

	for (at = 0; at + FILE_BLOCK <= opt->bytes; at += FILE_BLOCK) {
		uint64_t first = at / PAGE_BYTES;

		if (!writing && pread(fd, block, FILE_BLOCK, (off_t)at) != (ssize_t)FILE_BLOCK)
			return false;
		for (i = 0; i < pages; i++) {
			uint64_t *words = block + i * PAGE_WORDS;

			if (writing)
				page_fill(words, first + i, 0);
			else if (!page_good(words, first + i, 0))
				++*wrong;
		}
		if (writing && pwrite(fd, block, FILE_BLOCK, (off_t)at) != (ssize_t)FILE_BLOCK)
			return false;
	}
	return true;
}

/*
 * The program itself is locked in memory: what is measured is tmpfs. At the limit of a group, readahead of the
 * program's text evicts nothing but text, because it may not write pages of a tmpfs (no __GFP_FS): the program
 * reads itself again and again, on any kernel, for seconds or not at all.
 */
static bool mode_file(const struct swapped_options *opt, struct json *j, char *why, uint64_t *wrong)
{
	double mb = (double)opt->bytes / (1 << 20), start;
	bool ok;
	int fd;

	if (mlockall(MCL_CURRENT)) {
		snprintf(why, WHY_LEN, "cannot be locked in memory: %s", strerror(errno));
		return false;
	}
	fd = open(opt->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	start = now_seconds();
	ok = fd >= 0 && file_pass(fd, opt, true, wrong);
	json_real(j, "write_mb_s", mb / (now_seconds() - start));
	start = now_seconds();
	ok = ok && file_pass(fd, opt, false, wrong);
	json_real(j, "read_mb_s", mb / (now_seconds() - start));
	start = now_seconds();
	if (!ok || unlink(opt->file) || close(fd)) {
		snprintf(why, WHY_LEN, "%s: %s", opt->file, strerror(errno));
		return false;
	}
	json_uint(j, "remove_us", micros(now_seconds() - start));
	return true;
}

swapped_mode find_mode(const char *name)
{
	static const struct {
		const char *name;
		swapped_mode mode;
	} modes[] = {
		{ "touch", mode_touch }, { "fork", mode_fork }, { "exit", mode_exit },
		{ "hold", mode_hold }, { "file", mode_file },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (!strcmp(name, modes[i].name))
			return modes[i].mode;
	return NULL;
}
