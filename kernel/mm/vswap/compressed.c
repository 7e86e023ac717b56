// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: compressed data, as backing words name it.
 *
 * The backing word says where the data is, how long it is and in which pool.
 * The slot says whose the data is and which swap entry it has. A struct
 * zswap_entry exists on the stack only, for zswap's own functions.
 *
 * A process that exits frees many slots in a row. Locks are taken and counters
 * updated once for all of their data, and the cache lines of each are fetched
 * at the same time.
 *
 * What is freed in another order than it was stored in leaves holes in the pages
 * of zsmalloc, which only data of about the same size fills. A full pool is
 * compacted before data is written back for it: copies cost less than I/O.
 */
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/notifier.h>
#include <linux/oom.h>
#include <linux/zswap.h>

#include "internal.h"
#include "zswap.h"

/* The most pages of data that are freed together. */
#define VSWAP_FREE_MAX	SWAP_CLUSTER_MAX

/* The longest that somebody else's compaction of a pool is waited for. */
#define VSWAP_COMPACT_WAIT	HZ

/* Indexed as in backing words. A pool stays as long as it has data. */
static struct zswap_pool *vswap_pools[VSWAP_NR_POOLS];
static DEFINE_MUTEX(vswap_pools_lock);
/* No compaction before this time: the last pass freed little. */
static unsigned long vswap_dense_until = INITIAL_JIFFIES;
/* No compaction in the background before this time: somebody is at it. */
static unsigned long vswap_others_until = INITIAL_JIFFIES;
/* Pages that compaction has freed, since boot. Changed under vswap_pools_lock. */
static unsigned long vswap_pages_compacted;

/**
 * vswap_add_pool - give a pool an index for backing words
 * @pool: the pool, zeroed when it was allocated; it has its zs_pool
 *
 * There is at most one pool for each compressor.
 *
 * Context: Process context; waits for compaction.
 * Return: 0, or -ENOSPC if there are too many.
 */
int vswap_add_pool(struct zswap_pool *pool)
{
	unsigned int i;

	mutex_lock(&vswap_pools_lock);
	for (i = 0; i < VSWAP_NR_POOLS && vswap_pools[i]; i++)
		;
	if (i < VSWAP_NR_POOLS)
		vswap_pools[i] = pool;
	mutex_unlock(&vswap_pools_lock);
	pool->index = i;
	return i < VSWAP_NR_POOLS ? 0 : -ENOSPC;
}

/**
 * vswap_remove_pool - take a pool's index away
 * @pool: the pool; nothing is stored there. It need not have got an index
 *
 * Context: Process context; waits for compaction.
 */
void vswap_remove_pool(struct zswap_pool *pool)
{
	if (pool->index >= VSWAP_NR_POOLS)
		return;
	mutex_lock(&vswap_pools_lock);
	if (vswap_pools[pool->index] == pool)
		vswap_pools[pool->index] = NULL;
	mutex_unlock(&vswap_pools_lock);
}

VISIBLE_IF_KUNIT bool vswap_try_compact(struct zs_pool *pool)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_try_compact, pool);
	return zs_compact(pool) != ZS_COMPACT_BUSY;
}

static unsigned long vswap_nr_compacted(struct zs_pool *pool)
{
	struct zs_pool_stats stats;

	zs_pool_stats(pool, &stats);
	return atomic_long_read(&stats.pages_compacted);
}

/* See vswap_fill_holes(), for one pool. */
VISIBLE_IF_KUNIT bool vswap_fill_pool(struct zs_pool *pool, bool wait,
				      unsigned long *freed)
{
	unsigned long end = jiffies + (wait ? VSWAP_COMPACT_WAIT : 0);
	unsigned long before = vswap_nr_compacted(pool);
	bool done;

	/*
	 * Its shrinker may be at it. What that frees counts, but holes may have
	 * come behind it.
	 */
	while (!(done = vswap_try_compact(pool)) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	*freed += vswap_nr_compacted(pool) - before;
	return done;
}

/*
 * Add the pages that were freed to *@freed. If somebody else compacts a pool,
 * @wait for it, up to a second.
 *
 * Return: false if there may be holes: somebody is still at it.
 */
VISIBLE_IF_KUNIT bool vswap_fill_holes(bool wait, unsigned long *freed)
{
	bool done = true;
	unsigned int i;

	KUNIT_STATIC_STUB_REDIRECT(vswap_fill_holes, wait, freed);
	for (i = 0; i < VSWAP_NR_POOLS; i++)
		if (vswap_pools[i])
			done &= vswap_fill_pool(vswap_pools[i]->zs_pool, wait, freed);
	return done;
}

/*
 * Fill holes in the pages of all pools. After a pass that gained little there is
 * none for a tenth of a second: its cost grows with the number of holes, but
 * readers block while a size class is scanned.
 *
 * Return: false if somebody else is at it; after @wait, for long.
 */
VISIBLE_IF_KUNIT bool vswap_compact_pools(bool wait)
{
	unsigned long pages = zswap_total_pages(), freed = 0;
	bool done = true;

	/* It keeps the pools from being destroyed. */
	if (wait)
		mutex_lock(&vswap_pools_lock);
	else if (!mutex_trylock(&vswap_pools_lock))
		return false;
	if (time_after_eq(jiffies, vswap_dense_until)) {
		done = vswap_fill_holes(wait, &freed);
		WRITE_ONCE(vswap_pages_compacted, vswap_pages_compacted + freed);
		if (done && freed <= pages / 256)
			WRITE_ONCE(vswap_dense_until, jiffies + HZ / 10);
	}
	mutex_unlock(&vswap_pools_lock);
	return done;
}

/* See vswap_compact(). */
bool __vswap_compact(unsigned long target)
{
	bool above = zswap_total_pages() > target;

	if (above)
		vswap_compact_pools(true);
	/* At the target, which may be the limit, a page does not fit: write some back. */
	return !total_swap_pages || (above && zswap_total_pages() <= target);
}

/* It must not wait: the workqueue's rescuer may have to land flights as well. */
static void vswap_compact_work_fn(struct work_struct *work)
{
	if (!vswap_compact_pools(false))
		WRITE_ONCE(vswap_others_until, jiffies + HZ / 10);
}

static DECLARE_WORK(vswap_compact_work, vswap_compact_work_fn);

/**
 * vswap_kick_compact - have the pools compacted, soon, if there is much to gain
 *
 * Context: Any; the device has been set up.
 */
void vswap_kick_compact(void)
{
	if (time_after_eq(jiffies, READ_ONCE(vswap_dense_until)) &&
	    time_after_eq(jiffies, READ_ONCE(vswap_others_until)))
		queue_work(vswap_space.wq, &vswap_compact_work);
}

/*
 * Does compaction that freed @pages of @total put the end of a process off? Not
 * again within ten seconds, unless it helped much: there are always new holes,
 * and a machine must not crawl because each of them puts the end off. The OOM
 * killer's lock is held.
 */
VISIBLE_IF_KUNIT bool vswap_spares_process(unsigned long pages, unsigned long total)
{
	static unsigned long next = INITIAL_JIFFIES;

	if (pages <= max_t(unsigned long, total / 16, SWAP_CLUSTER_MAX) &&
	    (pages < SWAP_CLUSTER_MAX || time_before(jiffies, next)))
		return false;
	next = jiffies + 10 * HZ;
	return true;
}

/* The whole machine is out of memory, and a process is about to be killed. */
VISIBLE_IF_KUNIT int vswap_oom(struct notifier_block *nb, unsigned long unused,
			       void *freed)
{
	unsigned long pages = READ_ONCE(vswap_pages_compacted);

	if (vswap_never_used())
		return NOTIFY_OK;
	/* It may wait for a pass that leaves nothing to gain: what that freed counts. */
	vswap_compact_pools(true);
	pages = READ_ONCE(vswap_pages_compacted) - pages;
	if (vswap_spares_process(pages, zswap_total_pages()))
		*(unsigned long *)freed += pages;
	return NOTIFY_OK;
}

static struct notifier_block vswap_oom_nb = { .notifier_call = vswap_oom };

/**
 * vswap_compressed_init - have the pools compacted before a process is killed
 */
void __init vswap_compressed_init(void)
{
	register_oom_notifier(&vswap_oom_nb);
}

static struct zswap_pool *vswap_word_to_pool(unsigned long word)
{
	return vswap_pools[vswap_backing_to_pool(word)];
}

static unsigned long vswap_word_to_handle(unsigned long word)
{
	return (unsigned long)phys_to_virt(vswap_backing_to_handle(word));
}

/**
 * vswap_zswap_is_sane - can there be compressed data where a word says?
 * @word: the word
 *
 * Return: false if the word is another one, or there is no such pool or no such
 * slab object.
 */
bool vswap_zswap_is_sane(unsigned long word)
{
	unsigned long handle = vswap_word_to_handle(word);

	return vswap_backing_tag(word) == VSWAP_ZSWAP &&
	       vswap_word_to_pool(word) && virt_addr_valid((void *)handle) &&
	       PageSlab(virt_to_head_page((void *)handle));
}

/**
 * vswap_decompress - get the data behind a virtual slot
 * @word: the slot's backing word; it stays
 * @virt: the slot
 * @page: receives the data
 *
 * Return: false if that is not possible.
 */
bool vswap_decompress(unsigned long word, swp_entry_t virt, struct page *page)
{
	struct zswap_entry entry = {
		.swpentry = virt,
		.length = vswap_backing_to_length(word),
		.pool = vswap_word_to_pool(word),
		.handle = vswap_word_to_handle(word),
	};

	VM_WARN_ON_ONCE(!vswap_zswap_is_sane(word));
	return zswap_decompress(&entry, page);
}

/* Do the work of zswap_entry_free(), for data of one pool. */
static void vswap_free_alike(const unsigned long *words, unsigned int nr,
			     struct mem_cgroup *memcg)
{
	struct zswap_pool *pool = vswap_word_to_pool(words[0]);
	unsigned long handles[VSWAP_FREE_MAX] __uninitialized;
	unsigned int nr_raw = 0, i;
	size_t size = 0;

	for (i = 0; i < nr; i++) {
		unsigned int length = vswap_backing_to_length(words[i]);

		VM_WARN_ON_ONCE(!vswap_zswap_is_sane(words[i]));
		handles[i] = vswap_word_to_handle(words[i]);
		size += length;
		nr_raw += length == PAGE_SIZE;
	}
	zs_free_many(pool->zs_pool, handles, nr);
	percpu_ref_put_many(&pool->ref, nr);
	vswap_memcg_uncharge_zswap(memcg, size, nr, nr_raw);
	if (nr_raw)
		atomic_long_sub(nr_raw, &zswap_stored_incompressible_pages);
	atomic_long_sub(nr, &zswap_stored_pages);
}

/**
 * vswap_zswap_free - free compressed data
 * @words: the words that backed virtual slots, and no longer do
 * @nr: how many
 * @memcg: the owner of the slots, or NULL
 *
 * Context: The slots' cluster may be locked, interrupts may be off.
 */
void vswap_zswap_free(const unsigned long *words, unsigned int nr,
		      struct mem_cgroup *memcg)
{
	unsigned int len;

	for (; nr; nr -= len, words += len) {
		len = 1;
		while (len < min(nr, VSWAP_FREE_MAX) &&
		       vswap_backing_to_pool(words[len]) ==
		       vswap_backing_to_pool(words[0]))
			len++;
		vswap_free_alike(words, len, memcg);
	}
}
