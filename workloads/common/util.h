/* SPDX-License-Identifier: GPL-2.0 */
/* Small things every workload needs: sizes, numbers, time, mixing bits. */
#ifndef WORKLOADS_UTIL_H
#define WORKLOADS_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES	4096UL
#define PAGE_WORDS	(PAGE_BYTES / sizeof(uint64_t))

/* Exit codes of all workloads. */
#define EXIT_OK		0
#define EXIT_FAILED	1
#define EXIT_USAGE	2

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* "4096", "64K", "512M", "1G", "2T" (powers of 1024): false if it is not a size. */
bool parse_size(const char *text, uint64_t *bytes);
/* A decimal (or 0x) number within [min, max]: false otherwise. */
bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* A non-negative decimal fraction not above max: false otherwise. */
bool parse_decimal(const char *text, double max, double *value);

/* Say on standard error what is wrong, and @value if it is not NULL: returns EXIT_USAGE. */
int usage_error(const char *program, const char *what, const char *value);
/*
 * SIZE, the one word that getopt left, at least one @unit and cut to a multiple of it.
 * Returns -1 to go on, or EXIT_USAGE when what is wrong has been said.
 */
int take_size(const char *program, int argc, char **argv, uint64_t unit, uint64_t *bytes);

/* Seconds on the monotonic clock. */
double now_seconds(void);
void sleep_seconds(double seconds);

/* A shared anonymous mapping that parent and children see; NULL if there is no memory. */
void *shared_alloc(size_t bytes);

/* The file's text (at most @len - 1 bytes, trailing newline cut): false if it cannot be read. */
bool read_text(const char *path, char *buf, size_t len);
/* Ask to be the OOM killer's first victim, so that the reporting parent survives. */
void offer_to_oom_killer(void);

/* A well-mixed function of @x (the finaliser of splitmix64). */
static inline uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/*
 * A pseudo-random permutation of [0, n) without a table: a bijection of the
 * enclosing power of two, walked until it lands below @n (two steps on average).
 */
static inline uint64_t permute(uint64_t i, uint64_t n, uint64_t key)
{
	unsigned int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 1;
	uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;

	do {
		i = (i + key) & mask;
		i = (i * 0xd6e8feb86659fd93ULL) & mask;
		i ^= i >> (bits / 2 + 1);
		i = (i * 0xa0761d6478bd642fULL) & mask;
		i ^= i >> (bits / 2 + 1);
	} while (i >= n);
	return i;
}

#endif
