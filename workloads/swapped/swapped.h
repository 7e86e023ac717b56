/* SPDX-License-Identifier: GPL-2.0 */
/* swapped: what is done with memory that is swapped out, and how long it takes. */
#ifndef WORKLOADS_SWAPPED_H
#define WORKLOADS_SWAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

struct swapped_options {
	const char *mode;
	uint64_t bytes;
	uint64_t touches;	/* 0: every page */
	unsigned int repeat;
	bool random;		/* order in which the memory is filled */
	bool stay;		/* in memory, until somebody else swaps it out */
	const char *file;
	const char *ready_file, *wait_file;
	const char *json_file;	/* NULL: standard output */
};

/* The memory, and the version of each page's content. */
struct memory {
	uint64_t *words;
	uint64_t pages;
	unsigned char *versions;
	uint64_t wrong;		/* pages found wrong so far */
};

/* Each takes what it measures to @j; false if it could not be measured, @why says why. */
typedef bool (*swapped_mode)(const struct swapped_options *opt, struct json *j, char *why,
			     uint64_t *wrong);

/* memory.c */
bool memory_take(struct memory *m, uint64_t bytes, char *why);
/* A page's content: a quarter does not compress, the rest is one word again and again. */
void page_fill(uint64_t *words, uint64_t page, unsigned int version);
bool page_good(const uint64_t *words, uint64_t page, unsigned int version);
void memory_fill(struct memory *m, bool random);
/* Count the pages of every @step that are wrong. */
void memory_check(struct memory *m, uint64_t step);
/* Until next to nothing of it is in RAM, or in the swap cache. */
bool memory_swap_out(struct memory *m, char *why);

/* modes.c */
swapped_mode find_mode(const char *name);

/* For reasons: at least this much room. */
#define WHY_LEN	160

#endif
