// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: freeing zswap entries in runs.
 *
 * A process that ends frees many entries in a row. What they have in common,
 * locks and counters, is dealt with once, and the cache lines that have to be
 * fetched for each are fetched at the same time.
 */
#include <linux/irqflags.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <linux/zswap.h>

#include "internal.h"
#include "zswap.h"

/* Entries that are freed together at most. */
#define VSWAP_FREE_MAX	SWAP_CLUSTER_MAX

static int vswap_entry_nid(const struct zswap_entry *entry)
{
	return page_to_nid(virt_to_page(entry));
}

#ifdef CONFIG_MEMCG
static struct mem_cgroup *vswap_entry_memcg(const struct zswap_entry *entry)
{
	return entry->objcg ? obj_cgroup_memcg(entry->objcg) : NULL;
}

static void vswap_uncharge(struct obj_cgroup *objcg, size_t size,
			   unsigned int nr, unsigned int nr_raw)
{
	if (!objcg || obj_cgroup_is_root(objcg))
		return;
	if (cgroup_subsys_on_dfl(memory_cgrp_subsys)) {
		struct mem_cgroup *memcg;

		obj_cgroup_uncharge(objcg, size);
		rcu_read_lock();
		memcg = obj_cgroup_memcg(objcg);
		mod_memcg_state(memcg, MEMCG_ZSWAP_B, -size);
		mod_memcg_state(memcg, MEMCG_ZSWAPPED, -(int)nr);
		if (nr_raw)
			mod_memcg_state(memcg, MEMCG_ZSWAP_INCOMP, -(int)nr_raw);
		rcu_read_unlock();
	}
	percpu_ref_put_many(&objcg->refcnt, nr);
}
#else
static struct mem_cgroup *vswap_entry_memcg(const struct zswap_entry *entry)
{
	return NULL;
}

static void vswap_uncharge(struct obj_cgroup *objcg, size_t size,
			   unsigned int nr, unsigned int nr_raw)
{
}
#endif

/* The entries are of the same node and group. */
static void vswap_lru_del(struct zswap_entry **entries, unsigned int nr)
{
	int nid = vswap_entry_nid(*entries);
	struct list_lru_one *l;
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = vswap_entry_memcg(*entries);
	l = list_lru_lock(&zswap_list_lru, nid, &memcg);
	while (nr--)
		__list_lru_del(&zswap_list_lru, l, &entries[nr]->lru, nid);
	list_lru_unlock(l);
	rcu_read_unlock();
}

/* What zswap_entry_free() does, for entries of one pool, node and owner. */
static void vswap_free_alike(struct zswap_entry **entries, unsigned int nr)
{
	struct obj_cgroup *objcg = entries[0]->objcg;
	struct zswap_pool *pool = entries[0]->pool;
	unsigned long handles[VSWAP_FREE_MAX];
	unsigned int nr_raw = 0, i;
	size_t size = 0;

	vswap_lru_del(entries, nr);
	for (i = 0; i < nr; i++) {
		handles[i] = entries[i]->handle;
		size += entries[i]->length;
		nr_raw += entries[i]->length == PAGE_SIZE;
	}
	zs_free_many(pool->zs_pool, handles, nr);
	percpu_ref_put_many(&pool->ref, nr);
	vswap_uncharge(objcg, size, nr, nr_raw);
	if (nr_raw)
		atomic_long_sub(nr_raw, &zswap_stored_incompressible_pages);
	kmem_cache_free_bulk(zswap_entry_cache, nr, (void **)entries);
	atomic_long_sub(nr, &zswap_stored_pages);
}

/**
 * vswap_zswap_free - free zswap entries that backed virtual slots
 * @entries: the entries, no longer to be found by anybody
 * @nr: how many
 *
 * Context: The slots' cluster may be locked. In reclaim interrupts may be off,
 * where nothing is freed in bulk.
 */
void vswap_zswap_free(struct zswap_entry **entries, unsigned int nr)
{
	unsigned int len;

	for (; nr; nr -= len, entries += len) {
		len = 1;
		while (len < min(nr, VSWAP_FREE_MAX) &&
		       entries[len]->pool == entries[0]->pool &&
		       entries[len]->objcg == entries[0]->objcg &&
		       vswap_entry_nid(entries[len]) == vswap_entry_nid(entries[0]))
			len++;
		if (irqs_disabled())
			len = 1;
		if (len == 1)
			zswap_entry_free(*entries);
		else
			vswap_free_alike(entries, len);
	}
}
