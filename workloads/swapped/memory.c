// SPDX-License-Identifier: GPL-2.0
/* The memory of swapped: filled, checked, swapped out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "reclaim.h"
#include "swapped.h"
#include "util.h"

#define NOISE_WORDS	(PAGE_WORDS / 4)
#define TRIES		20
/* Pages on their way to a device stay for a moment; some are shared with nobody but locked. */
#define FEW_PERCENT	1

bool memory_take(struct memory *m, uint64_t bytes, char *why)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	m->pages = bytes / PAGE_BYTES;
	m->words = mem;
	m->wrong = 0;
	m->versions = calloc(m->pages, 1);
	if (mem == MAP_FAILED || !m->versions) {
		snprintf(why, WHY_LEN, "cannot take the memory: %s", strerror(errno));
		return false;
	}
	return true;
}

static uint64_t repeated_word(uint64_t page, unsigned int version)
{
	return mix64(page * 256 + version) & 0x00ffff0000ffff00ULL;
}

void page_fill(uint64_t *words, uint64_t page, unsigned int version)
{
	uint64_t seed = page << 16 ^ version, same = repeated_word(page, version);
	unsigned int i;

	for (i = 0; i < NOISE_WORDS; i++)
		words[i] = mix64(seed + ((uint64_t)i << 48));
	for (; i < PAGE_WORDS; i++)
		words[i] = same;
}

bool page_good(const uint64_t *words, uint64_t page, unsigned int version)
{
	uint64_t seed = page << 16 ^ version, same = repeated_word(page, version), bad = 0;
	unsigned int i;

	for (i = 0; i < NOISE_WORDS; i++)
		bad |= words[i] ^ mix64(seed + ((uint64_t)i << 48));
	for (; i < PAGE_WORDS; i++)
		bad |= words[i] ^ same;
	return !bad;
}

void memory_fill(struct memory *m, bool random)
{
	uint64_t i, page;

	for (i = 0; i < m->pages; i++) {
		page = random ? permute(i, m->pages, 1) : i;
		page_fill(m->words + page * PAGE_WORDS, page, m->versions[page]);
	}
}

void memory_check(struct memory *m, uint64_t step)
{
	uint64_t page;

	for (page = 0; page < m->pages; page += step)
		if (!page_good(m->words + page * PAGE_WORDS, page, m->versions[page]))
			m->wrong++;
}

bool memory_swap_out(struct memory *m, char *why)
{
	uint64_t bytes = m->pages * PAGE_BYTES, few = bytes / 100 * FEW_PERCENT;
	uint64_t out = 0, cached = 0;
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		if (madvise(m->words, bytes, MADV_PAGEOUT)) {
			snprintf(why, WHY_LEN, "MADV_PAGEOUT: %s", strerror(errno));
			return false;
		}
		out = swapped_bytes();
		cached = swap_cached_bytes();
		if (out + few >= bytes + cached)
			return true;
		/*
		 * What has been written to a device stays in the swap cache until it
		 * is reclaimed, and touching it reads nothing.
		 */
		if (cached > few && !reclaim_memory(cached, RECLAIM_ANON, why, WHY_LEN))
			return false;
		sleep_seconds(0.1);
	}
	snprintf(why, WHY_LEN, "of %" PRIu64 " MB only %" PRIu64 " MB could be swapped out, %" PRIu64
		 " MB of them still in memory", bytes >> 20, out >> 20, cached >> 20);
	return false;
}
