// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: zswap stores and loads folios at virtual slots.
 */
#include <linux/kmemleak.h>
#include <linux/memcontrol.h>
#include <linux/zswap.h>

#include "internal.h"
#include "zswap.h"

/**
 * vswap_zswap_store - compress a page and let that back its slot
 * @page: the page; its folio is locked, and in the swap cache at virtual slots
 * @pool: the pool; referenced
 *
 * Return: false if it cannot be stored; what backed the slot stays.
 */
bool vswap_zswap_store(struct page *page, struct zswap_pool *pool)
{
	struct zswap_entry entry;
	struct mem_cgroup *memcg;
	unsigned long word;

	if (!zswap_compress(page, &entry, pool))
		return false;

	word = vswap_zswap_to_backing(__pa(entry.handle), entry.length,
				      pool->index);
	if (!word) {
		zs_free(pool->zs_pool, entry.handle);
		zswap_reject_alloc_fail++;
		return false;
	}
	/* kmemleak does not find the address in the backing word. */
	kmemleak_not_leak((void *)entry.handle);

	/* The data is not freed before it is charged: the folio is locked. */
	memcg = vswap_back_by_zswap(page_swap_entry(page), word);
	percpu_ref_get(&pool->ref);
	vswap_memcg_charge_zswap(memcg, entry.length);
	atomic_long_inc(&zswap_stored_pages);
	if (entry.length == PAGE_SIZE)
		atomic_long_inc(&zswap_stored_incompressible_pages);
	return true;
}

/* Return: 0, -ENOENT if zswap does not back the slots, or -EIO. */
static int vswap_decompress_folio(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		struct page *page = folio_page(folio, i);
		unsigned long word = vswap_zswap_word(folio, i);

		/* Either all pages are there or none: see vswap_is_uniform(). */
		if (!word)
			return WARN_ON_ONCE(i) ? -EIO : -ENOENT;
		if (!vswap_decompress(word, page_swap_entry(page), page)) {
			/* Only this page is lost: read the others one by one. */
			if (folio_test_large(folio)) {
				vswap_lose(folio, i);
				swap_cache_del_folio(folio);
			}
			return -EIO;
		}
		cond_resched();
	}
	return 0;
}

/* The folio has the only copy from now on. */
static void vswap_take_over(struct folio *folio)
{
	folio_mark_dirty(folio);
	__vswap_zswap_erase(folio);
}

/**
 * vswap_zswap_load - read a folio at virtual slots from zswap
 * @folio: the folio, locked and in the swap cache; it may be large
 *
 * Return: as zswap_load().
 */
int vswap_zswap_load(struct folio *folio)
{
	long nr = folio_nr_pages(folio);
	int err;

	err = vswap_decompress_folio(folio);
	if (err) {
		if (err != -ENOENT)
			folio_unlock(folio);
		return err;
	}
	folio_mark_uptodate(folio);
	count_vm_events(ZSWPIN, nr);
	count_memcg_folio_events(folio, ZSWPIN, nr);
	if (folio_test_large(folio))
		count_mthp_stat(folio_order(folio), MTHP_STAT_SWPIN);
	else
		vswap_take_over(folio);
	folio_unlock(folio);
	return 0;
}

/* See vswap_swapped_in(). */
void __vswap_swapped_in(struct folio *folio)
{
	if (vswap_zswap_word(folio, 0))
		vswap_take_over(folio);
}
