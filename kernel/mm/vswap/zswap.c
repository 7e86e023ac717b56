// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: zswap stores pages of virtual slots.
 */
#include <linux/io.h>
#include <linux/kmemleak.h>
#include <linux/memcontrol.h>
#include <linux/zswap.h>
#include <kunit/visibility.h>
#include <trace/events/vswap.h>

#include "internal.h"
#include "zswap.h"

/**
 * vswap_back_by_zswap - let compressed data back a slot
 * @virt: the slot
 * @word: the word that names the data
 *
 * What backed the slot before is released.
 *
 * Context: The folio in the swap cache at the slot is locked.
 * Return: the id of the slot's owner, or 0.
 */
VISIBLE_IF_KUNIT unsigned short vswap_back_by_zswap(swp_entry_t virt,
						    unsigned long word)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(virt);
	unsigned int off = swp_cluster_offset(virt);
	enum vswap_tag from;
	unsigned short id;

	spin_lock(&ci->lock);
	from = vswap_backing_tag(ci->backing[off]);
	if (from != VSWAP_NONE)
		vswap_release_old(ci, virt);
	id = __swap_cgroup_get(ci, off);
	ci->owners |= vswap_owner_bit(id);
	WRITE_ONCE(ci->backing[off], word);
	spin_unlock(&ci->lock);
	vswap_count(VSWAP_NR_ZSWAP, 1);
	trace_vswap_backing(virt, 1, from, VSWAP_ZSWAP, VSWAP_WRITTEN);
	return id;
}

/**
 * vswap_zswap_store - compress a page and let that back its slot
 * @page: the page; its folio is locked, and in the swap cache at virtual slots
 * @pool: the pool; referenced
 *
 * Return: false if it cannot be stored; what backed the slot stays.
 */
bool vswap_zswap_store(struct page *page, struct zswap_pool *pool)
{
	struct zswap_entry entry __uninitialized;
	unsigned long word;
	unsigned short id;

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
	id = vswap_back_by_zswap(page_swap_entry(page), word);
	percpu_ref_get(&pool->ref);
	vswap_memcg_charge_zswap(page_folio(page), id, entry.length);
	atomic_long_inc(&zswap_stored_pages);
	if (entry.length == PAGE_SIZE)
		atomic_long_inc(&zswap_stored_incompressible_pages);
	return true;
}

/* See vswap_pool_takes(). */
bool __vswap_pool_takes(struct folio *folio)
{
	struct mem_cgroup *memcg;
	bool takes;

	rcu_read_lock();
	memcg = folio_memcg(folio);
	takes = vswap_must_compress(memcg) && zswap_has_room(memcg);
	rcu_read_unlock();
	return takes;
}
