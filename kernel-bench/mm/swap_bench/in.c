// SPDX-License-Identifier: GPL-2.0-only
/* Benchmark of the swap layer: swapping in, as a page fault does it. */
#include <linux/gfp.h>
#include <linux/mempolicy.h>
#include <linux/pagemap.h>
#include <linux/swap.h>
#include <linux/zswap.h>

#include "../internal.h"
#include "../swap.h"
#include "bench.h"

/* Swap a page, or the folio that starts there, in as a fault would. */
static struct folio *load_folio(swp_entry_t entry, unsigned int order)
{
	struct swap_info_struct *si = get_swap_device(entry);
	struct folio *folio;

	if (unlikely(!si))
		return NULL;
	folio = swapin_sync(entry, GFP_HIGHUSER_MOVABLE, BIT(order), NULL,
			    get_task_policy(current), 0);
	if (!IS_ERR_OR_NULL(folio))
		folio_lock(folio);
	put_swap_device(si);
	return folio;
}

/* Load @nr folios of @order. Ends with those in w->folios locked. */
static int chunk_load(struct bench_worker *w, unsigned int nr, unsigned int order)
{
	struct folio *folio;
	unsigned int i;

	phase_start(w);
	for (i = 0; i < nr; i++) {
		folio = load_folio(bench_entry(w, w->nr_in + ((unsigned long)i << order)),
				   order);
		if (IS_ERR_OR_NULL(folio))
			return bench_fail(w, folio ? PTR_ERR(folio) : -ENOMEM,
					   "swapin_sync");
		w->folios[w->nr_folios++] = folio;
	}
	phase_end(w, LOAD, (unsigned long)i << order);

	for (i = 0; i < nr; i++) {
		folio = w->folios[i];
		if (!folio_test_uptodate(folio))
			return bench_fail(w, -EIO, "reading from the device");
		if (folio_order(folio) != order)
			return bench_fail(w, -EINVAL, "loading in the order asked for");
		if (!bench_folio_verify(w, folio, w->nr_in + ((unsigned long)i << order)))
			return bench_fail(w, -EUCLEAN, "verifying what was loaded");
	}
	return 0;
}

static int chunk_release(struct bench_worker *w)
{
	unsigned long pages = 0;
	unsigned int i;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio_put_swap(w->folios[i], NULL);
		if (unlikely(!folio_free_swap(w->folios[i])))
			break;
		pages += folio_nr_pages(w->folios[i]);
	}
	phase_end(w, RELEASE, pages);
	w->nr_in += pages;
	if (i == w->nr_folios)
		return 0;
	w->nr_in += folio_nr_pages(w->folios[i]);
	swap_cache_del_folio(w->folios[i]);
	return bench_fail(w, -EBUSY, "folio_free_swap");
}

/*
 * Swap everything in. In the order it went out, if nobody has ever enabled
 * zswap; else page by page, as do_swap_page() does it.
 */
int bench_swap_in(struct bench_worker *w)
{
	unsigned int order = zswap_never_enabled() ? w->b->order : 0;
	unsigned long end = w->nr_out << w->b->order;
	unsigned int i;
	int err = bench_barrier(w);

	while (!err && w->nr_in < end) {
		err = chunk_load(w, min(end - w->nr_in, CHUNK_PAGES) >> order, order);
		if (!err)
			err = chunk_release(w);
		for (i = 0; i < w->nr_folios; i++) {
			/* After a failure it may still be at its entry, which has a count. */
			if (folio_test_swapcache(w->folios[i]))
				swap_cache_del_folio(w->folios[i]);
			folio_unlock(w->folios[i]);
			folio_put(w->folios[i]);
		}
		w->nr_folios = 0;
		if (!err && READ_ONCE(w->b->stop))
			err = -EINTR;
		cond_resched();
	}
	if (!err)
		w->nr_out = 0;
	return err;
}
