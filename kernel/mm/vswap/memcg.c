// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: charges and limits of memory cgroups.
 *
 * A virtual slot is not charged. A slot of a device behind it is charged to
 * memory.swap when it is taken, compressed data to memory.zswap as without virtual
 * swap, and tables as kernel memory (owner.c).
 */
#include <linux/blk-cgroup.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/page_counter.h>

#include "../memcontrol-v1.h"
#include "internal.h"
#include "zswap.h"

#ifdef CONFIG_MEMCG

/**
 * vswap_memcg_get - get the owner of virtual slots
 * @id: its id, or 0
 *
 * Return: the group, with a reference for vswap_memcg_put(), or NULL.
 */
struct mem_cgroup *vswap_memcg_get(unsigned short id)
{
	struct mem_cgroup *memcg = NULL;

	if (mem_cgroup_disabled())
		return NULL;
	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(id);
	if (memcg && !css_tryget(&memcg->css))
		memcg = NULL;
	rcu_read_unlock();
	return memcg;
}

void vswap_memcg_put(struct mem_cgroup *memcg)
{
	mem_cgroup_put(memcg);
}

/*
 * The owner of a slot, if any, which stays as long as the slot is in use. @folio, if
 * it is not NULL, is in the swap cache there, and usually has the same owner, which
 * saves a lookup. An id names one group at a time.
 */
static inline struct mem_cgroup *vswap_memcg_by_id(unsigned short id, struct folio *folio)
{
	struct mem_cgroup *memcg = NULL;

	if (!id || !vswap_memcg_is_v2())
		return NULL;
	rcu_read_lock();
	if (folio)
		memcg = folio_memcg(folio);
	if (!memcg || mem_cgroup_private_id(memcg) != id)
		memcg = mem_cgroup_from_private_id(id);
	rcu_read_unlock();
	return memcg;
}

/**
 * vswap_memcg_owner - which group is charged for what backs a slot
 * @ci: the cluster, locked
 * @off: the slot, which is in use
 *
 * Return: the group, which stays as long as the slot is in use, or NULL.
 */
struct mem_cgroup *vswap_memcg_owner(struct swap_cluster_info *ci, unsigned int off)
{
	unsigned long swp_tb = __swap_table_get(ci, off);
	struct folio *folio = NULL;

	lockdep_assert_held(&ci->lock);
	if (swp_tb_is_folio(swp_tb))
		folio = swp_tb_to_folio(swp_tb);
	return vswap_memcg_by_id(__swap_cgroup_get(ci, off), folio);
}

/*
 * The same for the slots of a folio, which is locked, in the swap cache at virtual slots
 * of one owner. Until it leaves the swap cache they have the owner that they have now.
 */
static struct mem_cgroup *vswap_memcg_folio_owner(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	if (!vswap_memcg_is_v2())
		return NULL;
	return vswap_memcg_by_id(ci->memcg_table->id[swp_cluster_offset(folio->swap)],
				 folio);
}

/* See vswap_memcg_charge(). It is inlined where folios are written one by one. */
static __always_inline int __vswap_memcg_charge(struct mem_cgroup *memcg, int nr,
						bool events)
{
	struct page_counter *counter;

	if (!memcg || do_memsw_account())
		return 0;
	if (mem_cgroup_is_root(memcg)) {
		/* It has no limit. */
	} else if (nr < 0) {
		page_counter_uncharge(&memcg->swap, -nr);
	} else if (!page_counter_try_charge(&memcg->swap, nr, &counter)) {
		if (events) {
			memcg_memory_event(memcg, MEMCG_SWAP_MAX);
			memcg_memory_event(memcg, MEMCG_SWAP_FAIL);
		}
		return -ENOMEM;
	}
	mod_memcg_state(memcg, MEMCG_SWAP, nr);
	return 0;
}

/**
 * vswap_memcg_charge - charge a group for slots of a device
 * @memcg: the group, or NULL
 * @nr: the number of slots, negative to uncharge
 * @events: is it an event, for the group to see, if it may not have them?
 *
 * With memsw the entries have the charge, whatever is behind them.
 *
 * Return: 0, or -ENOMEM if the limit has been reached.
 */
int vswap_memcg_charge(struct mem_cgroup *memcg, int nr, bool events)
{
	return __vswap_memcg_charge(memcg, nr, events);
}

/**
 * vswap_charge_slots - charge the owner of a folio's slots for slots of a device
 * @folio: the folio, locked; all its slots have one owner
 * @nr: the number of slots, negative to uncharge
 *
 * Return: 0, or -ENOMEM if the owner may not have more.
 */
int vswap_charge_slots(struct folio *folio, int nr)
{
	return __vswap_memcg_charge(vswap_memcg_folio_owner(folio), nr, true);
}

/**
 * vswap_memcg_no_slots - tell the owner of a folio that devices have no room
 * @folio: the folio, locked
 */
void vswap_memcg_no_slots(struct folio *folio)
{
	struct mem_cgroup *memcg;

	if (mem_cgroup_disabled() || do_memsw_account())
		return;
	rcu_read_lock();
	memcg = folio_memcg(folio);
	if (memcg)
		memcg_memory_event(memcg, MEMCG_SWAP_FAIL);
	rcu_read_unlock();
}

/**
 * vswap_memcg_event - count an event of a page
 * @memcg: whose page, or NULL
 * @event: the event
 */
void vswap_memcg_event(struct mem_cgroup *memcg, enum vm_event_item event)
{
	if (memcg)
		count_memcg_events(memcg, event, 1);
}

/**
 * vswap_memcg_blkcg - whose I/O is it that writes pages of a group?
 * @memcg: the group, or NULL
 *
 * Return: the group of the block layer, with a reference, or NULL.
 */
struct cgroup_subsys_state *vswap_memcg_blkcg(struct mem_cgroup *memcg)
{
#ifdef CONFIG_BLK_CGROUP
	if (memcg)
		return cgroup_get_e_css(memcg->css.cgroup, &io_cgrp_subsys);
#endif
	return NULL;
}

/* Limits */

/**
 * vswap_memcg_allows - may pages of a group have virtual slots?
 * @memcg: the group, or NULL
 *
 * memory.swap.max=0 means that a group is not swapped. With a limit of its own
 * in memory.zswap.max, it has been said separately what zswap may do. "max" says
 * nothing: systemd writes it for every unit that has no such setting.
 *
 * Return: true if they may.
 */
bool vswap_memcg_allows(struct mem_cgroup *memcg)
{
	if (!memcg || do_memsw_account())
		return true;
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		unsigned long limit = READ_ONCE(memcg->zswap_max);

		if (!READ_ONCE(memcg->swap.max) && (!limit || limit == PAGE_COUNTER_MAX))
			return false;
	}
	return true;
}

/*
 * Does a group have less in zswap, once @less bytes have gone, than its own
 * limit?
 */
static bool vswap_below_limit(struct mem_cgroup *memcg, long less)
{
	long size = (long)memcg_page_state(memcg, MEMCG_ZSWAP_B) - less;
	unsigned long limit = READ_ONCE(memcg->zswap_max);

	return limit == PAGE_COUNTER_MAX || max(size, 0L) / PAGE_SIZE < limit;
}

/**
 * vswap_memcg_has_room - may a group have more data in zswap?
 * @memcg: the group, or NULL
 * @flush: do not believe a limit to have been reached because statistics are
 *	   old; may sleep
 *
 * Return: false if a memory.zswap.max of the hierarchy has been reached.
 */
bool vswap_memcg_has_room(struct mem_cgroup *memcg, bool flush)
{
	if (!memcg || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return true;
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg)) {
		if (vswap_below_limit(memcg, 0))
			continue;
		if (!flush || !READ_ONCE(memcg->zswap_max))
			return false;
		/* mem_cgroup_flush_stats() would not flush a few MB. */
		if (READ_ONCE(memcg->vswap.flushed) != jiffies) {
			WRITE_ONCE(memcg->vswap.flushed, jiffies);
			css_rstat_flush(&memcg->css);
		}
		if (!vswap_below_limit(memcg, 0))
			return false;
	}
	return true;
}

/**
 * vswap_memcg_may_store - is zswap there for a group at all?
 * @memcg: the group, or NULL
 *
 * Return: false if a memory.zswap.max of the hierarchy is 0.
 */
bool vswap_memcg_may_store(struct mem_cgroup *memcg)
{
	if (!memcg || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return true;
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		if (!READ_ONCE(memcg->zswap_max))
			return false;
	return true;
}

/* Compressed data */

/*
 * Of the root, and of all groups that have none of their own: with cgroup v1,
 * where zswap does not know groups, and without memcg.
 */
static struct vswap_group vswap_everybody;
static struct vswap_group vswap_nobody;

/**
 * vswap_memcg_group - what virtual swap knows of a group
 * @memcg: the group, or NULL
 *
 * Return: its part of the group. Where zswap's shrinker does not know groups,
 * the root stands for all of them: other groups then have nothing with cgroup
 * v1, and share the root's part without accounting of kernel memory.
 */
struct vswap_group *vswap_memcg_group(struct mem_cgroup *memcg)
{
	/* Like mem_cgroup_kmem_disabled(), as another group is there. */
	if (!memcg || mem_cgroup_is_root(memcg) || !memcg_kmem_online())
		return &vswap_everybody;
	return vswap_memcg_is_v2() ? &memcg->vswap : &vswap_nobody;
}

/* A group that is gone has left its pages to this one. @memcg may be NULL. */
static struct mem_cgroup *vswap_online(struct mem_cgroup *memcg)
{
	while (memcg && !mem_cgroup_online(memcg))
		memcg = parent_mem_cgroup(memcg);
	return memcg;
}

/* The shrinker is to look at a group that had nothing for it until now. */
static void vswap_tell_shrinker(struct mem_cgroup *memcg)
{
	int nid;

	if (!memcg || mem_cgroup_is_root(memcg))
		return;
	/* Also nodes that get memory later. */
	for_each_node(nid)
		set_shrinker_bit(memcg, nid, zswap_list_lru.shrinker_id);
}

/*
 * When a group goes away, its data and its refused pages become its parent's.
 * The counters of the group are far below zero from then on: what is counted
 * for it later is counted for the parent.
 */
#define VSWAP_GONE	(LONG_MIN / 2)

/* Return: false if the counter's group is gone; otherwise @sum is the new sum. */
static bool vswap_count_here(atomic_long_t *counter, long nr, long *sum)
{
	*sum = atomic_long_add_return(nr, counter);
	return *sum > VSWAP_GONE / 2;
}

/* Return: what the parent's counter gets. */
static long vswap_hand_over(atomic_long_t *counter)
{
	long nr = atomic_long_xchg(counter, VSWAP_GONE);

	return nr > VSWAP_GONE / 2 ? nr : 0;
}

static inline void vswap_count_zswapped(struct mem_cgroup *memcg, long nr)
{
	long sum;

	while (!vswap_count_here(&vswap_memcg_group(memcg)->zswapped, nr, &sum))
		memcg = parent_mem_cgroup(memcg);
	if (sum > 0 && sum - nr <= 0)
		vswap_tell_shrinker(memcg);
}

/**
 * vswap_memcg_charge_zswap - charge for compressed data of a page
 * @folio: the folio of the page; locked, and in the swap cache
 * @id: the owner of the page's slot, or 0
 * @size: the size of the data in bytes
 *
 * The owner stays: while the folio is locked, the slot is in use.
 */
void vswap_memcg_charge_zswap(struct folio *folio, unsigned short id, size_t size)
{
	struct mem_cgroup *memcg = vswap_memcg_by_id(id, folio);

	vswap_count_zswapped(memcg, 1);
	if (memcg)
		obj_cgroup_charge_zswap(vswap_memcg_objcg(memcg), size);
}

/**
 * vswap_memcg_uncharge_zswap - compressed data of a group has been freed
 * @memcg: the owner of the slots, or NULL
 * @size: the size of all of it, in bytes
 * @nr: the number of pages
 * @nr_raw: how many of them were stored as they are
 */
void vswap_memcg_uncharge_zswap(struct mem_cgroup *memcg, size_t size,
				unsigned int nr, unsigned int nr_raw)
{
	struct obj_cgroup *objcg;

	if (!vswap_memcg_is_v2())
		memcg = NULL;
	vswap_count_zswapped(memcg, -(long)nr);
	if (!memcg)
		return;
	objcg = vswap_memcg_objcg(memcg);
	if (obj_cgroup_is_root(objcg))
		return;
	obj_cgroup_uncharge(objcg, size);
	rcu_read_lock();
	memcg = obj_cgroup_memcg(objcg);
	mod_memcg_state(memcg, MEMCG_ZSWAP_B, -size);
	mod_memcg_state(memcg, MEMCG_ZSWAPPED, -(int)nr);
	if (nr_raw)
		mod_memcg_state(memcg, MEMCG_ZSWAP_INCOMP, -(int)nr_raw);
	rcu_read_unlock();
}

/**
 * vswap_memcg_count_zero - slots are marked as zero-filled, or no longer
 * @memcg: their owner, or NULL
 * @nr: the number of slots, negative if they no longer are
 *
 * Nothing is charged for them.
 */
void vswap_memcg_count_zero(struct mem_cgroup *memcg, long nr)
{
	long sum;

	while (memcg && !vswap_count_here(&memcg->vswap.zeroes, nr, &sum))
		memcg = parent_mem_cgroup(memcg);
}

/**
 * vswap_memcg_in_flight - compressed data of a group is being written back
 * @memcg: the group, or NULL; referenced
 * @size: how much more, in bytes; negative when that has ended
 */
void vswap_memcg_in_flight(struct mem_cgroup *memcg, long size)
{
	long sum;

	for (; memcg; memcg = parent_mem_cgroup(memcg)) {
		sum = atomic_long_add_return(size, &memcg->vswap.in_flight);
		VM_WARN_ON_ONCE(sum < 0);
	}
}

/* See vswap_will_have_room(). */
bool __vswap_will_have_room(struct mem_cgroup *memcg)
{
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		if (!vswap_below_limit(memcg, atomic_long_read(&memcg->vswap.in_flight)))
			return false;
	return true;
}

/**
 * vswap_filter_init - prepare to ask which slots are a group's
 * @filter: what to ask
 * @memcg: the group, or NULL
 */
void vswap_filter_init(struct vswap_owner_filter *filter, struct mem_cgroup *memcg)
{
	*filter = (struct vswap_owner_filter){ .bits = ~0U };
	if (!memcg || !vswap_memcg_is_v2() || mem_cgroup_kmem_disabled())
		return;
	filter->memcg = memcg;
	/* Groups that are gone have other bits. */
	if (!mem_cgroup_is_root(memcg) &&
	    !READ_ONCE(memcg->css.cgroup->nr_dying_subsys[memory_cgrp_id]))
		filter->bits = vswap_owner_bit(mem_cgroup_private_id(memcg));
}

/* See vswap_filter_matches(). */
bool __vswap_filter_matches(struct vswap_owner_filter *filter, unsigned short id)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = vswap_online(mem_cgroup_from_private_id(id));
	rcu_read_unlock();
	if (!memcg)
		memcg = root_mem_cgroup;
	filter->id = id;
	filter->matches = memcg == filter->memcg;
	return filter->matches;
}

/**
 * vswap_memcg_pages - how many pages of a group are swapped out to no device?
 * @memcg: the group; its children count
 *
 * zswap's statistics have data at entries of devices as well, which swap space
 * has room for. Where zswap does not know groups, they do not. A page of zeroes
 * that was read in counts until its slot is freed or written out again.
 *
 * Context: Process context.
 * Return: the number of pages.
 */
unsigned long vswap_memcg_pages(struct mem_cgroup *memcg)
{
	struct mem_cgroup *iter;
	unsigned long nr = 0;

	if (vswap_never_used())
		return 0;
	for (iter = mem_cgroup_iter(memcg, NULL, NULL); iter;
	     iter = mem_cgroup_iter(memcg, iter, NULL)) {
		nr += max(atomic_long_read(&iter->vswap.zswapped), 0L);
		nr += max(atomic_long_read(&iter->vswap.zeroes), 0L);
	}
	/* No group has any of its own then. */
	if (mem_cgroup_kmem_disabled())
		nr += memcg_page_state(memcg, MEMCG_ZSWAPPED);
	return nr;
}

/* Refused pages */

/**
 * vswap_memcg_count_refused - pages of a group are refused, or no longer
 * @id: its id
 * @nr: the number of pages, negative if they no longer are
 *
 * They belong to the group, or the parent, on whose LRU lists they are.
 */
void vswap_memcg_count_refused(unsigned short id, int nr)
{
	struct mem_cgroup *memcg;
	long sum;

	if (mem_cgroup_disabled())
		return;
	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(id);
	while (memcg && !vswap_count_here(&memcg->vswap.refusals.nr, nr, &sum))
		memcg = parent_mem_cgroup(memcg);
	if (memcg)
		mod_memcg_state(memcg, MEMCG_VSWAP_REFUSED, nr);
	rcu_read_unlock();
}

/**
 * vswap_memcg_offline - a group's pages become its parent's
 * @memcg: the group
 *
 * Called when it goes offline, after its objcgs have become the parent's, and
 * again for the rest before it is freed.
 */
void vswap_memcg_offline(struct mem_cgroup *memcg)
{
	struct mem_cgroup *parent = parent_mem_cgroup(memcg);

	if (!parent)
		return;
	/* Nobody could change the limit on its data any more. The parent's holds. */
	if (!vswap_never_used() && vswap_memcg_is_v2())
		page_counter_set_max(&memcg->swap, PAGE_COUNTER_MAX);
	atomic_long_add(atomic_long_xchg(&memcg->vswap.tables, 0), &parent->vswap.tables);
	/* Flights hold a reference. */
	VM_WARN_ON_ONCE(!mem_cgroup_online(memcg) &&
			atomic_long_read(&memcg->vswap.in_flight));
	atomic_long_add(vswap_hand_over(&memcg->vswap.refusals.nr),
			&parent->vswap.refusals.nr);
	vswap_count_zswapped(parent, vswap_hand_over(&memcg->vswap.zswapped));
	vswap_memcg_count_zero(parent, vswap_hand_over(&memcg->vswap.zeroes));
}

/**
 * vswap_memcg_refusals - what is known of a group's refused pages
 * @memcg: the group, or NULL
 *
 * With cgroup v1 slots have no owner while their folio is in memory, which
 * refused pages always are: only those of the machine are known.
 *
 * Return: that, NULL without a group, or if it is not known.
 */
struct vswap_refusals *vswap_memcg_refusals(struct mem_cgroup *memcg)
{
	return memcg && vswap_memcg_is_v2() ? &memcg->vswap.refusals : NULL;
}

static unsigned long vswap_lruvec_size(struct lruvec *lruvec, enum lru_list lru)
{
	unsigned long nr = 0;
	int zid;

	for (zid = 0; zid < MAX_NR_ZONES; zid++)
		nr += mem_cgroup_get_zone_lru_size(lruvec, lru, zid);
	return nr;
}

static unsigned long vswap_lruvec_gens(struct lruvec *lruvec)
{
	long nr = 0;
#ifdef CONFIG_LRU_GEN
	int gen, zid;

	for (gen = 0; gen < MAX_NR_GENS; gen++)
		for (zid = 0; zid < MAX_NR_ZONES; zid++)
			nr += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_ANON][zid]);
#endif
	return max(nr, 0L);
}

/*
 * Exact, where the statistics are not. MGLRU has lists of its own; while it is
 * switched on or off, folios are on both kinds.
 */
static unsigned long vswap_lruvec_anon(struct lruvec *lruvec)
{
	unsigned long nr = 0;

	if (lru_gen_enabled() || lru_gen_switching())
		nr += vswap_lruvec_gens(lruvec);
	if (!lru_gen_enabled() || lru_gen_switching())
		nr += vswap_lruvec_size(lruvec, LRU_INACTIVE_ANON) +
		      vswap_lruvec_size(lruvec, LRU_ACTIVE_ANON);
	return nr;
}

/**
 * vswap_memcg_anon - how many pages of a group could be swapped out?
 * @memcg: the group; its children do not count
 *
 * Return: the number of pages on its LRU lists for anonymous memory.
 */
unsigned long vswap_memcg_anon(struct mem_cgroup *memcg)
{
	unsigned long nr = 0;
	int nid;

	for_each_node_state(nid, N_MEMORY)
		nr += vswap_lruvec_anon(mem_cgroup_lruvec(memcg, NODE_DATA(nid)));
	return nr;
}

/* How many of @nr slots of devices may a group take, within its limits? */
static long vswap_within_limits(struct mem_cgroup *memcg, long nr)
{
	if (!memcg || do_memsw_account())
		return nr;
	for (; !mem_cgroup_is_root(memcg); memcg = parent_mem_cgroup(memcg))
		nr = min_t(long, nr, READ_ONCE(memcg->swap.max) -
				     page_counter_read(&memcg->swap));
	return nr;
}

#else /* !CONFIG_MEMCG */

static struct vswap_group vswap_everybody;

struct vswap_group *vswap_memcg_group(struct mem_cgroup *memcg)
{
	return &vswap_everybody;
}

void vswap_memcg_charge_zswap(struct folio *folio, unsigned short id, size_t size)
{
	atomic_long_inc(&vswap_everybody.zswapped);
}

void vswap_memcg_uncharge_zswap(struct mem_cgroup *memcg, size_t size,
				unsigned int nr, unsigned int nr_raw)
{
	atomic_long_sub(nr, &vswap_everybody.zswapped);
}

static long vswap_within_limits(struct mem_cgroup *memcg, long nr)
{
	return nr;
}

#endif /* CONFIG_MEMCG */

/**
 * vswap_slots_left - how many slots of devices may a group take?
 * @memcg: the group; NULL: any
 *
 * Return: the number of slots, 0 or less if there are none.
 */
long vswap_slots_left(struct mem_cgroup *memcg)
{
	return vswap_within_limits(memcg, vswap_device_room());
}

/*
 * See vswap_may_write_back(). If zswap takes data for entries of devices alone,
 * which have their place there, writeback does not need room for more.
 */
bool __vswap_may_write_back(struct mem_cgroup *memcg)
{
	if (!READ_ONCE(total_swap_pages))
		return false;
	return READ_ONCE(vswap_mode) == VSWAP_NEVER || !vswap_can_name_memory() ||
	       vswap_slots_left(memcg) > 0;
}

/**
 * vswap_must_compress - must data of a group compress to leave memory?
 * @memcg: the group; NULL: any
 *
 * Context: RCU read-side, or a reference on @memcg.
 * Return: true if it has no place but zswap.
 */
bool vswap_must_compress(struct mem_cgroup *memcg)
{
	return !vswap_may_write_back(memcg) ||
	       !mem_cgroup_zswap_writeback_enabled(memcg);
}
