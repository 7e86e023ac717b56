/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What zswap calls for virtual slots.
 */
#ifndef _MM_VSWAP_ZSWAP_H
#define _MM_VSWAP_ZSWAP_H

#include "../zswap.h"
#include "vswap.h"

/* memcg.c */
bool vswap_must_compress(struct mem_cgroup *memcg);

/* zswap.c: compressed data of virtual slots */
bool vswap_zswap_store(struct page *page, struct zswap_pool *pool);
bool __vswap_pool_takes(struct folio *folio);

/*
 * A pool that was full takes no pages until it is below its threshold. Does it take
 * @folio all the same? Writing data back may take long, and its group may have no
 * other place.
 */
static inline bool vswap_pool_takes(struct folio *folio)
{
	return folio_in_vswap(folio) && __vswap_pool_takes(folio);
}

/* shrink.c: which of this data is written to a device */
unsigned long __vswap_shrink(struct mem_cgroup *memcg, unsigned long *nr_to_scan,
			     bool *met_cached);
unsigned long __vswap_shrink_count(struct mem_cgroup *memcg);

static inline unsigned long vswap_shrink(struct mem_cgroup *memcg,
					 unsigned long *nr_to_scan,
					 bool *met_cached)
{
	return vswap_never_used() || !vswap_may_write_back(memcg) ? 0 :
	       __vswap_shrink(memcg, nr_to_scan, met_cached);
}

/* A node's share of the data of @memcg (NULL: all), in pages. */
static inline unsigned long vswap_shrink_count(struct mem_cgroup *memcg)
{
	return vswap_never_used() || !vswap_may_write_back(memcg) ? 0 :
	       __vswap_shrink_count(memcg);
}

/* writeback.c: from zswap to a device */
void __vswap_writeback_throttle(void);

/* Not for reclaim: wait a moment until more data of @memcg can be written. */
static inline void vswap_writeback_throttle(struct mem_cgroup *memcg)
{
	if (vswap_shrink_count(memcg) && mem_cgroup_zswap_writeback_enabled(memcg))
		__vswap_writeback_throttle();
}

/* compressed.c: holes in pools, and pools by their index in backing words */
bool __vswap_compact(unsigned long target);

/*
 * Fill holes in the pages of all pools if there are more than @target pages. Return:
 * true if there no longer are, or no device is there to write data back to.
 */
static inline bool vswap_compact(unsigned long target)
{
	return !vswap_never_used() && __vswap_compact(target);
}

#ifdef CONFIG_VSWAP
int vswap_add_pool(struct zswap_pool *pool);
void vswap_remove_pool(struct zswap_pool *pool);
#else
static inline int vswap_add_pool(struct zswap_pool *pool)
{
	return 0;
}

static inline void vswap_remove_pool(struct zswap_pool *pool) { }
#endif

#endif /* _MM_VSWAP_ZSWAP_H */
