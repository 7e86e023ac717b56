// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: swapping out, as reclaim does it, in chunks of
 * folios that go through a phase before the next phase begins.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swap_ops.h>
#include <linux/writeback.h>

#include "../internal.h"
#include "../swap.h"
#include "bench.h"

/* A folio as shrink_folio_list() has it: charged, locked, swap-backed, dirty. */
static int make_folio(struct bench_worker *w, unsigned long first)
{
	struct folio *folio;

	folio = folio_alloc(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN, w->b->order);
	if (!folio)
		return bench_fail(w, -ENOMEM, "folio_alloc");
	if (mem_cgroup_charge(folio, NULL, GFP_KERNEL)) {
		folio_put(folio);
		return bench_fail(w, -ENOMEM, "mem_cgroup_charge");
	}
	bench_folio_fill(w, folio, first);
	__folio_set_locked(folio);
	__folio_set_swapbacked(folio);
	folio_mark_uptodate(folio);
	w->folios[w->nr_folios++] = folio;
	return 0;
}

static int chunk_make(struct bench_worker *w, unsigned int nr)
{
	unsigned long first = w->nr_out << w->b->order;
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = make_folio(w, first + ((unsigned long)i << w->b->order));
	return err;
}

static int chunk_alloc(struct bench_worker *w, swp_entry_t *entries)
{
	unsigned int i;
	int err = 0;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		err = folio_alloc_swap(w->folios[i]);
		if (unlikely(err))
			return bench_fail(w, err, "folio_alloc_swap");
		entries[i] = w->folios[i]->swap;
	}
	phase_end(w, ALLOC, i << w->b->order);

	for (i = 0; i < w->nr_folios; i++)
		folio_mark_dirty(w->folios[i]);
	return 0;
}

static int chunk_map(struct bench_worker *w)
{
	struct folio *folio;
	unsigned int i, j;
	int err;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio = w->folios[i];
		for (j = 0; j < 1U << w->b->order; j++) {
			err = folio_dup_swap(folio, folio_page(folio, j));
			if (likely(!err))
				continue;
			while (j--)
				folio_put_swap(folio, folio_page(folio, j));
			return bench_fail(w, err, "folio_dup_swap");
		}
		w->nr_mapped++;
	}
	phase_end(w, MAP, i << w->b->order);
	return 0;
}

/* Ends with all folios locked again, whatever happened. */
static int chunk_store(struct bench_worker *w)
{
	struct swap_io_ctx ctx = {};
	unsigned int i, nr_unlocked = 0;
	int err = 0;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio_clear_dirty_for_io(w->folios[i]);
		err = swap_writeout(&ctx, w->folios[i]);
		if (unlikely(err == AOP_WRITEPAGE_ACTIVATE))
			break;
		nr_unlocked++;
		if (unlikely(err))
			break;
	}
	swap_write_submit(&ctx);
	for (i = 0; i < nr_unlocked; i++)
		folio_wait_writeback(w->folios[i]);
	phase_end(w, STORE, nr_unlocked << w->b->order);

	for (i = 0; i < nr_unlocked; i++)
		folio_lock(w->folios[i]);
	if (err)
		return bench_fail(w, err < 0 ? err : -ENOSPC, "swap_writeout");
	for (i = 0; i < w->nr_folios; i++)
		if (folio_test_dirty(w->folios[i]))
			return bench_fail(w, -EIO, "writing to the device");
	return 0;
}

/* What __remove_mapping() does with a folio in the swap cache. */
static bool evict_folio(struct folio *folio)
{
	struct swap_cluster_info *ci = swap_cluster_get_and_lock_irq(folio);
	void *shadow;

	if (unlikely(!folio_ref_freeze(folio, 1 + folio_nr_pages(folio)))) {
		swap_cluster_unlock_irq(ci);
		return false;
	}
	shadow = workingset_eviction(folio, NULL);
	__swap_cache_del_folio(ci, folio, folio->swap, shadow, true);
	swap_cluster_unlock_irq(ci);
	return true;
}

static int chunk_evict(struct bench_worker *w, const swp_entry_t *entries)
{
	unsigned int i;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++)
		if (unlikely(!evict_folio(w->folios[i])))
			break;
	phase_end(w, EVICT, i << w->b->order);
	if (unlikely(i < w->nr_folios)) {
		while (i--) {
			folio_ref_unfreeze(w->folios[i], 1);
			swap_put_entries_direct(entries[i], 1 << w->b->order);
		}
		return bench_fail(w, -EBUSY, "folio_ref_freeze");
	}

	for (i = 0; i < w->nr_folios; i++)
		folio_ref_unfreeze(w->folios[i], 1);
	return 0;
}

/* Free the folios of the chunk; if they are in the swap cache, their entries as well. */
static void chunk_drop(struct bench_worker *w)
{
	struct folio *folio;
	unsigned int i;

	for (i = 0; i < w->nr_folios; i++) {
		folio = w->folios[i];
		if (folio_test_swapcache(folio)) {
			if (i < w->nr_mapped)
				folio_put_swap(folio, NULL);
			swap_cache_del_folio(folio);
		}
		folio_unlock(folio);
		folio_put(folio);
	}
	w->nr_folios = 0;
	w->nr_mapped = 0;
}

/* Swap @nr folios out. @entries gets theirs. */
int bench_chunk_out(struct bench_worker *w, unsigned int nr, swp_entry_t *entries)
{
	unsigned int flags;
	int err;

	err = chunk_make(w, nr);
	if (!err) {
		flags = memalloc_noreclaim_save();	/* as in reclaim */
		err = chunk_alloc(w, entries);
		if (!err)
			err = chunk_map(w);
		if (!err && w->b->store)
			err = chunk_store(w);
		if (!err)
			err = chunk_evict(w, entries);
		memalloc_noreclaim_restore(flags);
	}
	chunk_drop(w);
	return err;
}

/* Return: how many folios the next chunk has, 0 if all are out. */
unsigned int bench_chunk_size(const struct bench_worker *w)
{
	unsigned long left = (w->b->pages >> w->b->order) - w->nr_out;

	return min(left, CHUNK_PAGES >> w->b->order);
}

/* Compress as much as is swapped out, without swapping it. */
int bench_compress(struct bench_worker *w)
{
	unsigned int nr;
	int err = bench_barrier(w);

	w->nr_out = 0;
	while (!err && (nr = bench_chunk_size(w))) {
		err = chunk_make(w, nr);
		if (!err)
			err = bench_chunk_compress(w);
		chunk_drop(w);
		w->nr_out += nr;
		if (!err && READ_ONCE(w->b->stop))
			err = -EINTR;
		cond_resched();
	}
	w->nr_out = 0;
	return err;
}

/* Swap everything out. */
int bench_swap_out(struct bench_worker *w)
{
	unsigned int nr;
	int err = bench_barrier(w);

	w->nr_out = 0;
	w->nr_in = 0;
	while (!err && (nr = bench_chunk_size(w))) {
		err = bench_chunk_out(w, nr, w->entries + w->nr_out);
		if (!err)
			w->nr_out += nr;
		if (!err && READ_ONCE(w->b->stop))
			err = -EINTR;
		cond_resched();
	}
	return err;
}
