// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the tables of a cluster, and a reserve of them.
 *
 * A virtual cluster in use has a swap table, an array of backing words and,
 * with memcg, an array of ids. They come together and go together.
 *
 * Swapping out must go on when every page of memory is taken, since it is what
 * makes pages free. So a few sets of tables are kept in reserve: an allocation
 * that fails, for a cluster here or for one of a device behind it, takes one of
 * them and has a work item replace it. Tables that are no longer needed go to
 * the reserve first, empty as they are; a lookup that still reads the swap table
 * of a freed cluster finds an empty slot there, or one of the next cluster,
 * which it notices as with any reused table.
 */
#include <linux/gfp.h>
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "internal.h"

struct vswap_tables {
	struct swap_table *table;
	unsigned long *backing;
	struct swap_memcg_table *memcg;
};

#define VSWAP_RESERVE_MAX	16

static DEFINE_SPINLOCK(vswap_reserve_lock);
static struct vswap_tables vswap_reserve[VSWAP_RESERVE_MAX];
static unsigned int vswap_nr_reserve;
unsigned int vswap_reserve_target __ro_after_init;

/* Where a swap table is not a page; see vswap_alloc_backing(). */
static struct kmem_cache *vswap_backing_cachep __ro_after_init;

/* Clusters that have tables, whether slots of them are in use or not. */
static atomic_long_t vswap_tables_used;

static bool vswap_want_memcg_table(void)
{
	return IS_ENABLED(CONFIG_MEMCG) && !mem_cgroup_disabled();
}

/**
 * vswap_table_bytes - what a cluster in use costs, besides its header
 *
 * Return: bytes.
 */
size_t vswap_table_bytes(void)
{
	return 2 * sizeof(struct swap_table) +
	       (vswap_want_memcg_table() ? sizeof(struct swap_memcg_table) : 0);
}

/**
 * vswap_nr_tables - the number of clusters that have tables
 *
 * Return: that number; it may change at any time.
 */
long vswap_nr_tables(void)
{
	return atomic_long_read(&vswap_tables_used);
}

/**
 * vswap_nr_reserved - the number of sets of tables in reserve
 *
 * Return: that number; it may change at any time.
 */
unsigned int vswap_nr_reserved(void)
{
	return READ_ONCE(vswap_nr_reserve);
}

enum vswap_piece {
	VSWAP_PIECE_TABLE,
	VSWAP_PIECE_BACKING,
	VSWAP_PIECE_MEMCG,
};

/* KUnit has the pieces of a set fail one by one. */
VISIBLE_IF_KUNIT bool vswap_may_alloc(int piece)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_may_alloc, piece);
	return true;
}

/*
 * Lockless readers may look into an array that is used again. They must then
 * find words of the same kind there, so arrays that are not freed through RCU,
 * as pages are, do not share a slab cache with the swap tables.
 */
static unsigned long *vswap_alloc_backing(gfp_t gfp)
{
	if (SWP_TABLE_USE_PAGE)
		return (unsigned long *)swap_table_alloc(gfp);
	return kmem_cache_zalloc(vswap_backing_cachep, gfp);
}

static void vswap_free_backing(unsigned long *backing, bool installed)
{
	if (SWP_TABLE_USE_PAGE)
		swap_table_free((struct swap_table *)backing, installed);
	else
		kmem_cache_free(vswap_backing_cachep, backing);
}

/*
 * A set that was installed is freed with @installed: readers may still look at
 * its swap table and backing words. Else it is freed at once: through RCU, each
 * failure to get all pieces would hold more pages hostage when there are none
 * left.
 */
static void vswap_free_tables(struct vswap_tables *t, bool installed)
{
	kfree(t->memcg);
	if (t->backing)
		vswap_free_backing(t->backing, installed);
	if (t->table)
		swap_table_free(t->table, installed);
}

static bool vswap_alloc_tables(struct vswap_tables *t, gfp_t gfp)
{
	gfp |= __GFP_NOWARN;
	*t = (struct vswap_tables){};

	if (vswap_may_alloc(VSWAP_PIECE_TABLE))
		t->table = swap_table_alloc(gfp);
	if (t->table && vswap_may_alloc(VSWAP_PIECE_BACKING))
		t->backing = vswap_alloc_backing(gfp);
	if (t->backing && !vswap_want_memcg_table())
		return true;
	if (t->backing && vswap_may_alloc(VSWAP_PIECE_MEMCG))
		t->memcg = kzalloc(sizeof(*t->memcg), gfp);
	if (t->memcg)
		return true;

	vswap_free_tables(t, false);
	return false;
}

static bool vswap_reserve_take(struct vswap_tables *t)
{
	bool taken = false;

	spin_lock(&vswap_reserve_lock);
	if (vswap_nr_reserve) {
		*t = vswap_reserve[--vswap_nr_reserve];
		taken = true;
	}
	spin_unlock(&vswap_reserve_lock);

	if (taken)
		count_vm_event(VSWAP_RESERVE);
	vswap_kick_grow();
	return taken;
}

static bool vswap_reserve_put(const struct vswap_tables *t)
{
	bool put = false;

	spin_lock(&vswap_reserve_lock);
	if (vswap_nr_reserve < vswap_reserve_target) {
		vswap_reserve[vswap_nr_reserve++] = *t;
		put = true;
	}
	spin_unlock(&vswap_reserve_lock);
	return put;
}

/**
 * vswap_reserve_fill - bring the reserve to its size, as far as memory allows
 *
 * Context: Process context, no locks held.
 */
void vswap_reserve_fill(void)
{
	struct vswap_tables t;

	while (vswap_nr_reserved() < vswap_reserve_target) {
		if (!vswap_alloc_tables(&t, GFP_KERNEL))
			return;
		if (!vswap_reserve_put(&t))
			vswap_free_tables(&t, false);
	}
}

/**
 * vswap_tables_init - prepare to allocate tables
 *
 * In reserve there is one set for each CPU that may start a cluster, and some
 * for the large orders, which have clusters of their own.
 */
void __init vswap_tables_init(void)
{
	if (!SWP_TABLE_USE_PAGE)
		vswap_backing_cachep = kmem_cache_create("vswap_backing",
				sizeof(struct swap_table), 0,
				SLAB_PANIC | SLAB_TYPESAFE_BY_RCU, NULL);
	vswap_reserve_target = min(1 + num_possible_cpus(), VSWAP_RESERVE_MAX);
}

/**
 * vswap_cluster_populate - give a cluster its tables
 * @ci: the cluster, isolated
 * @gfp: with __GFP_DIRECT_RECLAIM, the caller has failed without before
 *
 * Context: With @ci locked if @gfp does not allow to sleep.
 * Return: 0, or -ENOMEM if there is no memory and the reserve is empty.
 */
int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp)
{
	struct vswap_tables t;

	VM_WARN_ON_ONCE(ci->flags || ci->count || ci->backing);

	if (!vswap_alloc_tables(&t, gfp) && !vswap_reserve_take(&t))
		return -ENOMEM;

	atomic_long_inc(&vswap_tables_used);
	if (vswap_space_is_low())
		vswap_kick_grow();
#ifdef CONFIG_MEMCG
	ci->memcg_table = t.memcg;
#endif
	/* vswap_peek() must find its words zeroed. */
	smp_store_release(&ci->backing, t.backing);
	rcu_assign_pointer(ci->table, (atomic_long_t *)t.table);
	return 0;
}

/**
 * vswap_alloc_rmap_table - allocate the table of a device's cluster
 * @gfp: as for vswap_cluster_populate()
 *
 * For slots that back virtual ones: the table will have reverse map words only.
 * Memory is short when data is written to a device just as when it gets its
 * virtual slot, and a device that is used late has no tables yet.
 *
 * Context: With the cluster locked if @gfp does not allow to sleep.
 * Return: the table, or NULL if there is no memory and the reserve is empty.
 */
struct swap_table *vswap_alloc_rmap_table(gfp_t gfp)
{
	struct swap_table *table = NULL;
	struct vswap_tables t;

	if (vswap_may_alloc(VSWAP_PIECE_TABLE))
		table = swap_table_alloc(gfp);
	if (!table && vswap_reserve_take(&t)) {
		table = t.table;
		t.table = NULL;
		/* The rest may have been in use before. */
		vswap_free_tables(&t, true);
	}
	return table;
}

/**
 * vswap_cluster_depopulate - take the tables of a virtual cluster away
 * @ci: the cluster, without slots in use
 *
 * Context: @ci is locked.
 * Return: false if it is not a virtual cluster with tables; nothing was done.
 */
bool vswap_cluster_depopulate(struct swap_cluster_info *ci)
{
	struct vswap_tables t;

	if (!ci->backing)
		return false;

	lockdep_assert_held(&ci->lock);
	t.table = (struct swap_table *)rcu_access_pointer(ci->table);
	t.backing = ci->backing;
	t.memcg = NULL;
	rcu_assign_pointer(ci->table, NULL);
	WRITE_ONCE(ci->backing, NULL);
#ifdef CONFIG_MEMCG
	t.memcg = ci->memcg_table;
	ci->memcg_table = NULL;
#endif
#if !SWAP_TABLE_HAS_ZEROFLAG
	kfree(ci->zero_bitmap);
	ci->zero_bitmap = NULL;
#endif
	atomic_long_dec(&vswap_tables_used);

	if (!vswap_reserve_put(&t))
		vswap_free_tables(&t, true);
	vswap_kick_shrink();
	return true;
}
