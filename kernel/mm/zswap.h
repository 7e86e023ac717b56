/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The internals of zswap that virtual swap uses.
 */
#ifndef _MM_ZSWAP_H
#define _MM_ZSWAP_H

#include <linux/crypto.h>
#include <linux/list_lru.h>
#include <linux/percpu-refcount.h>
#include <linux/shrinker.h>
#include <linux/workqueue.h>
#include <linux/zsmalloc.h>

struct crypto_acomp_ctx;

/*
 * The lock ordering is zswap_tree.lock -> zswap_pool.lru_lock.
 * The only case where lru_lock is not acquired while holding tree.lock is
 * when a zswap_entry is taken off the lru for writeback, in that case it
 * needs to be verified that it's still valid in the tree.
 */
struct zswap_pool {
	struct zs_pool *zs_pool;
	struct crypto_acomp_ctx __percpu *acomp_ctx;
	struct percpu_ref ref;
	struct list_head list;
	struct work_struct release_work;
	struct hlist_node node;
	char tfm_name[CRYPTO_MAX_ALG_NAME];
#ifdef CONFIG_VSWAP
	unsigned int index;	/* In backing words */
#endif
};

/*
 * struct zswap_entry
 *
 * This structure contains the metadata for tracking a single compressed
 * page within zswap.
 *
 * swpentry - associated swap entry, the offset indexes into the xarray
 * length - the length in bytes of the compressed page data.  Needed during
 *          decompression.
 * referenced - true if the entry recently entered the zswap pool. Unset by the
 *              writeback logic. The entry is only reclaimed by the writeback
 *              logic if referenced is unset. See comments in the shrinker
 *              section for context.
 * pool - the zswap_pool the entry's data is in
 * handle - zsmalloc allocation handle that stores the compressed page data
 * objcg - the obj_cgroup that the compressed memory is charged to
 * lru - handle to the pool's lru used to evict pages.
 */
struct zswap_entry {
	swp_entry_t swpentry;
	unsigned int length;
	bool referenced;
	struct zswap_pool *pool;
	unsigned long handle;
	struct obj_cgroup *objcg;
	struct list_head lru;
};

extern atomic_long_t zswap_stored_incompressible_pages;
extern u64 zswap_written_back_pages;
extern u64 zswap_reject_reclaim_fail;
extern u64 zswap_reject_alloc_fail;
extern struct list_lru zswap_list_lru;

unsigned long zswap_max_pages(void);
bool zswap_has_room(struct mem_cgroup *memcg);
void zswap_kick_shrink(void);
bool zswap_compress(struct page *page, struct zswap_entry *entry,
		    struct zswap_pool *pool);
bool zswap_decompress(struct zswap_entry *entry, struct page *page);

#endif /* _MM_ZSWAP_H */
