// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the tables of a cluster, and a reserve of them.
 *
 * A virtual cluster in use has a swap table, an array of backing words and,
 * with memcg, an array of ids. They come together and go together.
 *
 * Swap-out must make progress when no memory is left, because it is what frees
 * memory. A few sets of tables are therefore kept in reserve. When an
 * allocation fails, for a virtual cluster or for one of a device, a set is
 * taken from the reserve, and a work item replaces it. Tables that are no
 * longer needed are empty, and refill the reserve first. A lookup that still
 * reads the swap table of a freed cluster finds an empty slot there, or a slot
 * of the next cluster, which it detects as with any reused table.
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
unsigned int vswap_nr_reserve;
unsigned int vswap_reserve_target __ro_after_init;

/* Where a swap table is not a page; see vswap_alloc_array(). */
static struct kmem_cache *vswap_backing_cachep __ro_after_init;

enum vswap_piece {
	VSWAP_PIECE_TABLE,
	VSWAP_PIECE_BACKING,
	VSWAP_PIECE_MEMCG,
};

/* KUnit has the pieces of a set fail one by one, and looks at the flags. */
VISIBLE_IF_KUNIT bool vswap_may_alloc(int piece, gfp_t gfp)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_may_alloc, piece, gfp);
	return true;
}

/*
 * Swap tables may be lent to a cluster of a device, and are of the same kind as
 * those. Lockless readers may look into a table that is used again, and must
 * then find words of the same kind there: arrays of backing words have a slab
 * cache of their own where they are not pages, which are freed through RCU.
 */
static void *vswap_alloc_array(struct kmem_cache *cache, gfp_t gfp)
{
	struct folio *folio;

	if (!SWP_TABLE_USE_PAGE)
		return kmem_cache_zalloc(cache, gfp);
	folio = folio_alloc(gfp | __GFP_ZERO, 0);
	return folio ? folio_address(folio) : NULL;
}

static void vswap_put_array_rcu(struct rcu_head *head)
{
	folio_put(page_folio(container_of(head, struct page, rcu_head)));
}

static void vswap_free_array(struct kmem_cache *cache, void *array, bool installed)
{
	if (!array)
		return;
	if (!SWP_TABLE_USE_PAGE)
		kmem_cache_free(cache, array);
	else if (installed)
		call_rcu(&virt_to_page(array)->rcu_head, vswap_put_array_rcu);
	else
		folio_put(virt_to_folio(array));
}

/*
 * A set that was installed is freed with @installed: readers may still look at
 * its swap table and backing words. Otherwise it is freed at once: through RCU,
 * each failure to get all pieces would hold more pages hostage when there are
 * none left.
 */
static void vswap_free_tables(struct vswap_tables *t, bool installed)
{
	kfree(t->memcg);
	vswap_free_array(vswap_backing_cachep, t->backing, installed);
	vswap_free_array(swap_table_cachep, t->table, installed);
}

static bool vswap_alloc_tables(struct vswap_tables *t, gfp_t gfp)
{
	gfp |= __GFP_NOWARN;
	*t = (struct vswap_tables){};

	if (vswap_may_alloc(VSWAP_PIECE_TABLE, gfp))
		t->table = vswap_alloc_array(swap_table_cachep, gfp);
	if (t->table && vswap_may_alloc(VSWAP_PIECE_BACKING, gfp))
		t->backing = vswap_alloc_array(vswap_backing_cachep, gfp);
	if (t->backing && !vswap_want_memcg_table())
		return true;
	if (t->backing && vswap_may_alloc(VSWAP_PIECE_MEMCG, gfp))
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
		if (!vswap_alloc_tables(&t, GFP_KERNEL | __GFP_NORETRY))
			return;
		if (!vswap_reserve_put(&t))
			vswap_free_tables(&t, false);
	}
}

/**
 * vswap_tables_init - prepare to allocate tables
 *
 * In reserve there is one set for each CPU that may start a cluster, and one
 * more, within VSWAP_RESERVE_MAX.
 */
void __init vswap_tables_init(void)
{
	if (!SWP_TABLE_USE_PAGE)
		vswap_backing_cachep =
			kmem_cache_create("vswap_backing",
					  sizeof(struct swap_table), 0,
					  SLAB_PANIC | SLAB_TYPESAFE_BY_RCU,
					  NULL);
	vswap_reserve_target = min(1 + num_possible_cpus(), VSWAP_RESERVE_MAX);
}

/* See vswap_is_sparse(). Asked once in a tick: it looks at counters of all CPUs. */
bool __vswap_is_sparse(void)
{
	static unsigned long asked;
	static bool sparse;
	unsigned long before = READ_ONCE(asked), now = jiffies;
	long clusters, used;

	if (before != now && cmpxchg(&asked, before, now) == before) {
		/* Each CPU has clusters that it has just begun. */
		clusters = vswap_nr_tables() - 8 - 2 * num_online_cpus();
		used = vswap_counted(VSWAP_NR_USED);
		WRITE_ONCE(sparse, clusters * (SWAPFILE_CLUSTER / 2) > used);
	}
	return READ_ONCE(sparse);
}

/* See is_vswap_cluster(). */
bool __is_vswap_cluster(const struct swap_cluster_info *ci)
{
	return (const void *)ci >= vswap_space.area->addr &&
	       (const void *)ci < vswap_space.area->addr +
				  ((unsigned long)vswap_space.max_pages << PAGE_SHIFT);
}

static void vswap_install_tables(struct swap_cluster_info *ci,
				 const struct vswap_tables *t,
				 struct obj_cgroup *objcg)
{
	lockdep_assert_held(&ci->lock);
	ci->objcg = objcg;
#ifdef CONFIG_MEMCG
	ci->memcg_table = t->memcg;
#endif
	/* vswap_peek() must find its words zeroed. */
	smp_store_release(&ci->backing, t->backing);
	rcu_assign_pointer(ci->table, (atomic_long_t *)t->table);
}

/**
 * vswap_cluster_populate - give a cluster its tables
 * @ci: the cluster, isolated
 * @gfp: if it allows to sleep, the caller has failed without before
 *
 * They are charged to the active memcg, see vswap_charge_to().
 *
 * Context: @ci is locked unless @gfp allows to sleep.
 * Return: 0, or -ENOMEM if there is no memory and the reserve is empty, or the
 * group may not have more.
 */
int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp)
{
	struct obj_cgroup *objcg;
	struct vswap_tables t;

	VM_WARN_ON_ONCE(ci->flags || ci->count || ci->backing);

	if (!vswap_charge_tables(&objcg, vswap_table_bytes(),
				 (gfp & ~__GFP_HIGH) | __GFP_NOWARN | __GFP_NORETRY))
		return -ENOMEM;
	if (!vswap_alloc_tables(&t, gfp) && !vswap_reserve_take(&t)) {
		vswap_uncharge_tables(objcg, vswap_table_bytes());
		return -ENOMEM;
	}

	atomic_long_inc(&vswap_tables_used);
	if (vswap_space_is_low()) {
		vswap_kick_grow();
		/* The next folio, of any CPU, looks whether a cluster is left. */
		vswap_outdate_policy();
	}
	if (gfpflags_allow_blocking(gfp))
		spin_lock(&ci->lock);
	vswap_install_tables(ci, &t, objcg);
	if (gfpflags_allow_blocking(gfp))
		spin_unlock(&ci->lock);
	return 0;
}

/*
 * See vswap_lend_tables(). Memory is as short when data is written to a device
 * as when the data gets its virtual slot, and a device that was not used yet
 * has no tables. @ci is isolated and not locked.
 */
int __vswap_lend_tables(struct swap_cluster_info *ci)
{
	struct vswap_tables t;

	/* Where a cluster of a device needs more than a set has, it gets none. */
	if (__is_vswap_cluster(ci) || !SWAP_TABLE_HAS_ZEROFLAG ||
	    !vswap_reserve_take(&t))
		return -ENOMEM;

	spin_lock(&ci->lock);
	vswap_install_tables(ci, &(struct vswap_tables){
				.table = t.table, .memcg = t.memcg }, NULL);
	spin_unlock(&ci->lock);

	/* It may have been in use before. */
	vswap_free_array(vswap_backing_cachep, t.backing, true);
	return 0;
}

/**
 * __vswap_cluster_depopulate - take the tables of a virtual cluster away
 * @ci: the cluster, without slots in use
 *
 * Context: @ci is locked.
 */
void __vswap_cluster_depopulate(struct swap_cluster_info *ci)
{
	struct vswap_tables t = {
		.table = (struct swap_table *)rcu_access_pointer(ci->table),
		.backing = ci->backing,
	};

	lockdep_assert_held(&ci->lock);
	rcu_assign_pointer(ci->table, NULL);
	WRITE_ONCE(ci->backing, NULL);
#ifdef CONFIG_MEMCG
	t.memcg = ci->memcg_table;
	ci->memcg_table = NULL;
#endif
	vswap_uncharge_tables(ci->objcg, vswap_table_bytes());
	ci->objcg = NULL;
	ci->owners = 0;
	vswap_drop_payer(ci);
	atomic_long_dec(&vswap_tables_used);

	if (!vswap_reserve_put(&t))
		vswap_free_tables(&t, true);
}
