// SPDX-License-Identifier: GPL-2.0-only
/* Benchmark of the swap layer: what is in the pages. */
#include <linux/highmem.h>
#include <linux/string.h>

#include "bench.h"
#include "real.h"

static_assert(REAL_BYTES == PAGE_SIZE);

/* What page @nr of the worker follows from: never zero, and another each round. */
static u64 page_word(const struct bench_worker *w, unsigned long nr)
{
	u64 key = ((u64)w->result.round << 40) + ((u64)w->cpu << 32) + nr + 1;

	return key * 0x9E3779B97F4A7C15ULL | 1;
}

static void page_fill(const struct bench_worker *w, void *addr, unsigned long nr)
{
	u64 word = page_word(w, nr);

	if (w->b->real)
		bench_real_fill(addr, word);
	else
		memset64(addr, word, PAGE_SIZE / sizeof(u64));
}

/* Fill @folio, whose first page is page @first of the worker. */
void bench_folio_fill(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		void *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		page_fill(w, addr, first + i);
		kunmap_local(addr);
	}
}

/* Return: whether that is what is in it. */
bool bench_folio_verify(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i;
	bool same = true;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		void *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		page_fill(w, w->page, first + i);
		same &= !memcmp(addr, w->page, PAGE_SIZE);
		kunmap_local(addr);
	}
	return same;
}
