// SPDX-License-Identifier: GPL-2.0-only
/* Benchmark of the swap layer: what is in the pages. */
#include <linux/highmem.h>
#include <linux/string.h>

#include "bench.h"

/* The word that fills page @nr of the worker: never zero, and another each round. */
static u64 page_word(const struct bench_worker *w, unsigned long nr)
{
	u64 key = ((u64)w->result.round << 40) + ((u64)w->cpu << 32) + nr + 1;

	return key * 0x9E3779B97F4A7C15ULL | 1;
}

/* Fill @folio, whose first page is page @first of the worker. */
void bench_folio_fill(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		void *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		memset64(addr, page_word(w, first + i), PAGE_SIZE / sizeof(u64));
		kunmap_local(addr);
	}
}

/* Return: whether that is what is in it. */
bool bench_folio_verify(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i, j;
	bool same = true;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		u64 word = page_word(w, first + i);
		u64 *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		for (j = 0; j < PAGE_SIZE / sizeof(u64); j++)
			same &= addr[j] == word;
		kunmap_local(addr);
	}
	return same;
}
