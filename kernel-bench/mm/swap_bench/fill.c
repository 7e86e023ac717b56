// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: entries that stay, with data or without, to see
 * what describes them. They are held as runs, which take no space to speak of.
 */
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/swap.h>

#include "../swap.h"
#include "bench.h"

struct fill_run {
	swp_entry_t entry;
	unsigned long nr;
};

struct fill_block {
	struct list_head list;
	unsigned int nr;
	struct fill_run runs[(PAGE_SIZE - 32) / sizeof(struct fill_run)];
};

static_assert(sizeof(struct fill_block) <= PAGE_SIZE);

static LIST_HEAD(fill_blocks);
static unsigned long fill_pages;
static unsigned long fill_nr_blocks;

static int fill_add(struct bench_worker *w, swp_entry_t entry, unsigned long nr)
{
	struct fill_block *block = list_last_entry_or_null(&fill_blocks,
							   struct fill_block, list);
	struct fill_run *run;

	if (block && block->nr) {
		run = &block->runs[block->nr - 1];
		if (run->entry.val + run->nr == entry.val) {
			run->nr += nr;
			goto added;
		}
	}
	if (!block || block->nr == ARRAY_SIZE(block->runs)) {
		block = (struct fill_block *)get_zeroed_page(GFP_KERNEL);
		if (!block) {
			swap_put_entries_direct(entry, nr);
			return bench_fail(w, -ENOMEM, "get_zeroed_page");
		}
		list_add_tail(&block->list, &fill_blocks);
		fill_nr_blocks++;
	}
	block->runs[block->nr++] = (struct fill_run){ entry, nr };
added:
	fill_pages += nr;
	return 0;
}

/* Swap out what the worker asks for, and keep the entries. */
void bench_fill(struct bench_worker *w)
{
	unsigned int i, nr;
	int err = 0;

	while (!err && !READ_ONCE(w->b->stop) && (nr = bench_chunk_size(w))) {
		err = bench_chunk_out(w, nr, w->entries);
		if (err)
			break;
		/* All of them, to hold or, after a failure, to give back. */
		for (i = 0; i < nr; i++)
			err = fill_add(w, w->entries[i], 1UL << w->b->order) ?: err;
		w->nr_out += nr;
		cond_resched();
	}
}

/* Free all entries that are held. */
void bench_drain(void)
{
	struct fill_block *block, *next;
	unsigned long done, nr;
	unsigned int i;

	list_for_each_entry_safe(block, next, &fill_blocks, list) {
		for (i = 0; i < block->nr; i++) {
			swp_entry_t entry = block->runs[i].entry;

			for (done = 0; done < block->runs[i].nr; done += nr) {
				nr = min(block->runs[i].nr - done, TABLE_PAGES);
				swap_put_entries_direct(entry, nr);
				entry.val += nr;
			}
			cond_resched();
		}
		list_del(&block->list);
		free_page((unsigned long)block);
	}
	fill_pages = 0;
	fill_nr_blocks = 0;
}

/* Return: how many entries are held; @own_bytes: what holding them takes. */
unsigned long bench_filled(unsigned long *own_bytes)
{
	*own_bytes = fill_nr_blocks * PAGE_SIZE;
	return fill_pages;
}
