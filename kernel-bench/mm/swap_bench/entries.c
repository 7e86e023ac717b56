// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: what fork, munmap and exit do to the entries in
 * page tables, which are in arrays here.
 */
#include <linux/swap.h>

#include "../internal.h"
#include "../swap.h"
#include "bench.h"

/* Find the runs of neighbouring entries, as swap_pte_batch() would. */
void bench_find_runs(struct bench_worker *w)
{
	unsigned long i, n, end, table = max(TABLE_PAGES >> w->b->order, 1U);
	unsigned long longest = max(w->b->run >> w->b->order, 1UL);

	w->result.runs = 0;
	for (i = 0; i < w->nr_out; i += n) {
		end = min3(w->nr_out, i + longest, round_down(i, table) + table);
		for (n = 1; i + n < end; n++)
			if (w->entries[i + n].val !=
			    w->entries[i].val + (n << w->b->order))
				break;
		w->runs[i] = n;
		w->result.runs++;
	}
}

/* Return: the entry of page @page of the worker. */
swp_entry_t bench_entry(const struct bench_worker *w, unsigned long page)
{
	swp_entry_t entry = w->entries[page >> w->b->order];

	entry.val += page & ((1UL << w->b->order) - 1);
	return entry;
}

/* Give each page's entry a second count: the phase "dup". */
int bench_dup(struct bench_worker *w)
{
	unsigned long i;
	unsigned int j;
	int err = bench_barrier(w);

	if (err)
		return err;
	phase_start(w);
	for (i = 0; i < w->nr_out; i++) {
		swp_entry_t entry = w->entries[i];

		for (j = 0; j < 1U << w->b->order; j++, entry.val++) {
			err = swap_dup_entry_direct(entry);
			if (unlikely(err))
				return bench_fail(w, err, "swap_dup_entry_direct");
			w->nr_dup++;
		}
	}
	phase_end(w, DUP, i << w->b->order);
	cond_resched();
	return 0;
}

/* Take a count of each entry away, run by run: the phases "put" and "free". */
int bench_put(struct bench_worker *w, enum phase phase)
{
	unsigned long i, n;
	int err = bench_barrier(w);

	if (err)
		return err;
	phase_start(w);
	for (i = 0; i < w->nr_out; i += n) {
		n = w->runs[i];
		swap_put_entries_direct(w->entries[i], n << w->b->order);
	}
	phase_end(w, phase, i << w->b->order);
	if (phase == PUT)
		w->nr_dup = 0;
	else
		w->nr_out = 0;
	cond_resched();
	return 0;
}

/* Free what a failure left. */
void bench_put_rest(struct bench_worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_dup; i++)
		swap_put_entries_direct(bench_entry(w, i), 1);
	for (i = w->nr_in; i < w->nr_out << w->b->order; i++)
		swap_put_entries_direct(bench_entry(w, i), 1);
	w->nr_dup = 0;
	w->nr_in = 0;
	w->nr_out = 0;
}
