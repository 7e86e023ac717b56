// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: zswap stores pages of virtual slots.
 */
#include <linux/io.h>
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

	word = vswap_zswap_to_backing(virt_to_phys((void *)entry.handle),
				      entry.length, pool->index);
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
