// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: a walk over all invariants, for debugging and for every test:
 * /sys/kernel/debug/vswap/verify.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/memcontrol.h>

#include "internal.h"
#include "zswap.h"

struct vswap_census {
	unsigned long violations;
	unsigned long tables;
	unsigned long counted[VSWAP_NR_COUNTERS];
	unsigned long refused;
};

#define vswap_check(census, cond, fmt, ...)				\
do {									\
	if (!(cond)) {							\
		(census)->violations++;					\
		WARN_ONCE(1, "vswap: " fmt "\n", ##__VA_ARGS__);	\
	}								\
} while (0)

static void vswap_verify_zswap(struct vswap_census *c, unsigned long slot,
			       struct swap_cluster_info *ci,
			       unsigned short id, unsigned long word)
{
	c->counted[VSWAP_NR_ZSWAP]++;
	vswap_check(c, vswap_zswap_is_sane(word), "slot %lx: data at %lx", slot, word);
	/* With memsw, a slot gets its owner later. Nothing asks then, or for the root. */
	vswap_check(c, vswap_memcg_may_own(0) || vswap_memcg_may_be_unknown(id) ||
		    ci->owners & vswap_owner_bit(id),
		    "slot %lx: owner %u is not in %x", slot, id, ci->owners);
}

/* Does the reverse map say the same about a slot that is backed by a device? */
static void vswap_verify_rmap(struct vswap_census *c, unsigned long slot,
			      unsigned long word, unsigned long swp_tb)
{
	swp_entry_t entry = swp_entry(vswap_backing_to_type(word),
				      vswap_backing_to_offset(word));
	unsigned long rmap;

	c->counted[VSWAP_NR_PHYSICAL]++;
	rmap = swap_table_get(__swap_entry_to_cluster(entry),
			      swp_cluster_offset(entry));
	vswap_check(c, rmap == vswap_to_rmap(slot, !swp_tb_get_count(swp_tb)),
		    "slot %lx (%lx) is backed by %lx, which says %lx", slot,
		    swp_tb, entry.val, rmap);
}

static void vswap_verify_slot(struct vswap_census *c,
			      struct swap_cluster_info *ci, unsigned int off,
			      unsigned long slot)
{
	unsigned long swp_tb = __swap_table_get(ci, off);
	unsigned long word = ci->backing[off];
	bool zero;

	vswap_check(c, vswap_backing_is_valid(word), "slot %lx: backing %lx",
		    slot, word);
	if (swp_tb_is_null(swp_tb)) {
		vswap_check(c, !word && !__swap_cgroup_get(ci, off),
			    "free slot %lx has a backing or an owner", slot);
		return;
	}

	c->counted[VSWAP_NR_USED]++;
	vswap_check(c, vswap_memcg_may_own(__swap_cgroup_get(ci, off)),
		    "slot %lx has no owner", slot);
	zero = __swap_table_test_zero(ci, off);
	c->counted[VSWAP_NR_ZERO] += zero;
	vswap_check(c, swp_tb_is_shadow(swp_tb) || swp_tb_is_folio(swp_tb),
		    "slot %lx: swap table word %lx", slot, swp_tb);
	vswap_check(c, !(zero && word), "zero slot %lx has a backing", slot);
	/* Out of the cache: referenced, and the data must be somewhere. */
	vswap_check(c, swp_tb_is_folio(swp_tb) || swp_tb_get_count(swp_tb) > 0,
		    "slot %lx without references", slot);
	vswap_check(c, swp_tb_is_folio(swp_tb) || zero || word,
		    "slot %lx lost its data: swap table word %lx", slot, swp_tb);
	c->refused += vswap_backing_tag(word) == VSWAP_REFUSED;
	vswap_check(c, vswap_backing_tag(word) != VSWAP_REFUSED ||
		    swp_tb_is_folio(swp_tb), "refused slot %lx is not in memory", slot);
	if (vswap_backing_tag(word) == VSWAP_FLIGHT)
		word = vswap_flight_word(word);
	if (vswap_backing_tag(word) == VSWAP_ZSWAP)
		vswap_verify_zswap(c, slot, ci, __swap_cgroup_get(ci, off), word);
	else if (vswap_backing_tag(word) == VSWAP_SLOT)
		vswap_verify_rmap(c, slot, word, swp_tb);
}

/* Does a cluster have some of its tables, but not all? */
static bool vswap_is_half_populated(struct swap_cluster_info *ci)
{
	bool used = ci->backing;

	if (used != !!rcu_access_pointer(ci->table))
		return true;
#ifdef CONFIG_MEMCG
	return (used && !mem_cgroup_disabled()) != !!ci->memcg_table;
#else
	return false;
#endif
}

static void vswap_verify_cluster(struct vswap_census *c, unsigned int idx)
{
	struct swap_cluster_info *ci = &vswap_si->cluster_info[idx];
	unsigned long used = c->counted[VSWAP_NR_USED];
	unsigned int off;

	spin_lock(&ci->lock);
	vswap_check(c, !vswap_is_half_populated(ci),
		    "cluster %u has some of its tables", idx);
	if (!ci->backing) {
		vswap_check(c, !ci->count && !ci->extend_table,
			    "cluster %u: %u slots without tables", idx, ci->count);
		goto unlock;
	}
	c->tables++;
	vswap_check(c, idx, "the reserved cluster is in use");
	vswap_check(c, ci->flags != CLUSTER_FLAG_FREE,
		    "free cluster %u has tables", idx);
	for (off = 0; off < SWAPFILE_CLUSTER; off++)
		vswap_verify_slot(c, ci, off,
				  (unsigned long)idx * SWAPFILE_CLUSTER + off);
	used = c->counted[VSWAP_NR_USED] - used;
	vswap_check(c, used == ci->count, "cluster %u: %lu slots used, %u counted",
		    idx, used, ci->count);
	vswap_check(c, vswap_memcg_payer_is_right(ci),
		    "cluster %u: not %u slots are of id %u, or it does not pay", idx,
		    ci->payer_slots, ci->payer);
unlock:
	spin_unlock(&ci->lock);
}

/* The reverse map says of spare slots that they are. */
static void vswap_verify_spare(struct vswap_census *c)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vswap_check(c, vswap_spare_is_right(cpu), "spare slots of CPU %d", cpu);
}

/* All clusters without tables are on the free list, but the reserved one. */
static void vswap_verify_lists(struct vswap_census *c)
{
	struct swap_cluster_info *ci;
	unsigned long free = 0;

	spin_lock(&vswap_si->lock);
	list_for_each_entry(ci, &vswap_si->free_clusters, list)
		free++;
	spin_unlock(&vswap_si->lock);
	if (c->tables != vswap_nr_tables())
		return;
	vswap_check(c, free + c->tables + 1 == vswap_space.nr_clusters,
		    "%lu free and %lu used clusters of %u", free, c->tables,
		    vswap_space.nr_clusters);
}

static void vswap_count_all(struct vswap_census *c)
{
	int i;

	for (i = 0; i < VSWAP_NR_COUNTERS; i++)
		c->counted[i] = vswap_counted(i);
	c->tables = vswap_nr_tables();
	c->refused = atomic_long_read(&vswap_refusals.nr);
}

/* Walk all slots; false if the counters moved meanwhile. */
static bool vswap_take_census(struct vswap_census *c,
			      struct vswap_census *counters)
{
	struct vswap_census after = {};
	unsigned int idx;

	memset(counters, 0, sizeof(*counters));
	memset(&c->tables, 0, sizeof(*c) - offsetof(struct vswap_census, tables));
	vswap_count_all(counters);
	for (idx = 0; idx < vswap_space.nr_clusters; idx++) {
		vswap_verify_cluster(c, idx);
		cond_resched();
	}
	vswap_count_all(&after);
	return !memcmp(counters, &after, sizeof(after));
}

/*
 * A difference between a sum over the slots and a counter is a violation only
 * when it stays: slots may come and go while the walk is under way.
 */
static void vswap_verify_sums(struct vswap_census *c)
{
	struct vswap_census counters;
	int tries = 3;
	int i;

	do {
		if (!vswap_take_census(c, &counters))
			return;
		if (c->tables == counters.tables && c->refused == counters.refused &&
		    !memcmp(c->counted, counters.counted, sizeof(c->counted))) {
			vswap_verify_lists(c);
			return;
		}
		schedule_timeout_uninterruptible(1);
	} while (--tries);

	vswap_check(c, c->tables == counters.tables,
		    "%lu clusters with tables, %lu counted", c->tables,
		    counters.tables);
	vswap_check(c, c->refused == counters.refused,
		    "%lu slots refused, %lu counted", c->refused, counters.refused);
	for (i = 0; i < VSWAP_NR_COUNTERS; i++)
		vswap_check(c, c->counted[i] == counters.counted[i],
			    "counter %d is %lu, not %lu", i,
			    counters.counted[i], c->counted[i]);
}

/**
 * vswap_verify - walk all virtual slots and check the invariants
 *
 * Sums over all clusters, and the lists, are compared only if the counters do
 * not move meanwhile.
 *
 * Context: Process context, no locks held.
 * Return: the number of violations; the first of each kind is warned about.
 */
unsigned long vswap_verify(void)
{
	struct vswap_census c = {};

	mutex_lock(&vswap_space.grow_lock);
	vswap_verify_sums(&c);
	vswap_verify_spare(&c);
	mutex_unlock(&vswap_space.grow_lock);
	return c.violations;
}

static int vswap_verify_get(void *data, u64 *val)
{
	*val = vswap_verify();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(vswap_verify_fops, vswap_verify_get, NULL, "%llu\n");

static int __init vswap_debugfs_init(void)
{
	if (vswap_si)
		debugfs_create_file_unsafe("verify", 0400,
					   debugfs_create_dir("vswap", NULL),
					   NULL, &vswap_verify_fops);
	return 0;
}
late_initcall(vswap_debugfs_init);
