// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: charges and limits of memory cgroups.
 *
 * A virtual slot records its owner and is not charged. A slot of a device
 * behind it is charged to memory.swap when it is taken, compressed data to
 * memory.zswap as without virtual swap, and the tables of a cluster as kernel
 * memory to one group: the one for which the cluster came into use, until others
 * have most of the slots there. Otherwise a group that swaps in and out all the
 * time, and so begins most clusters, would pay for the slots of those that stay.
 * Nor must a group that stays pay for many slots that another group has freed.
 *
 * Each slot has a reference on the id of its owner, as on mainline, but those of
 * the payer that are counted in payer_slots have one together: usually all of a
 * cluster. So taking and freeing a slot touches no counter that CPUs share.
 */
#include <linux/blk-cgroup.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/page_counter.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "../memcontrol-v1.h"
#include "internal.h"
#include "zswap.h"

#ifdef CONFIG_MEMCG

/* The tables */

/**
 * vswap_charge_to - have tables charged to the owner of a folio
 * @folio: the folio that is to be swapped out; it is locked
 *
 * Return: what vswap_charge_end() wants.
 */
struct mem_cgroup *vswap_charge_to(struct folio *folio)
{
	return set_active_memcg(get_mem_cgroup_from_folio(folio));
}

/**
 * vswap_charge_to_heir - have a page charged to the owner of its slot
 * @entry: the virtual slot, which the page is to be read from
 *
 * Without a task that needs the page, the parent of a group that is gone is the
 * one that has the rest of its pages.
 *
 * Return: what vswap_charge_end() wants.
 */
struct mem_cgroup *vswap_charge_to_heir(swp_entry_t entry)
{
	struct mem_cgroup *memcg = NULL;
	struct swap_cluster_info *ci;
	unsigned short id = 0;

	if (!mem_cgroup_disabled()) {
		ci = swap_cluster_lock(vswap_si, swp_offset(entry));
		if (ci->memcg_table)
			id = __swap_cgroup_get(ci, swp_cluster_offset(entry));
		swap_cluster_unlock(ci);

		rcu_read_lock();
		memcg = mem_cgroup_from_private_id(id);
		while (memcg && !css_tryget_online(&memcg->css))
			memcg = parent_mem_cgroup(memcg);
		rcu_read_unlock();
	}
	return set_active_memcg(memcg);
}

/**
 * vswap_charge_end - undo vswap_charge_to() or vswap_charge_to_heir()
 * @old: what it returned
 */
void vswap_charge_end(struct mem_cgroup *old)
{
	mem_cgroup_put(set_active_memcg(old));
}

/* @bytes of tables more are charged to a group, or to the parent of one that is gone. */
static void vswap_count_tables(struct obj_cgroup *objcg, int bytes)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = obj_cgroup_memcg(objcg);
	mod_memcg_state(memcg, MEMCG_VSWAP_TABLES, bytes);
	atomic_long_add(bytes, &memcg->vswap.tables);
	rcu_read_unlock();
}

/* @objcg becomes NULL if it is not charged: only a limit is a failure. */
static bool vswap_charge_objcg(struct obj_cgroup **objcg, size_t bytes, gfp_t gfp)
{
	struct obj_cgroup *to = *objcg;

	*objcg = NULL;
	if (!memcg_kmem_online() || !to || obj_cgroup_is_root(to))
		return true;
	if (obj_cgroup_charge(to, gfp, bytes))
		return false;
	obj_cgroup_get(to);
	vswap_count_tables(to, bytes);
	*objcg = to;
	return true;
}

/**
 * vswap_charge_tables - charge for the tables of a cluster
 * @objcg: receives the group that was charged, or NULL
 * @bytes: their size
 * @gfp: how hard to try; in reclaim the limit is exceeded, as by reclaim's own
 *
 * Return: false if the owner may not have more memory.
 */
bool vswap_charge_tables(struct obj_cgroup **objcg, size_t bytes, gfp_t gfp)
{
	*objcg = memcg_kmem_online() ? current_obj_cgroup() : NULL;
	return vswap_charge_objcg(objcg, bytes, gfp);
}

/**
 * vswap_uncharge_tables - uncharge the tables of a freed cluster
 * @objcg: from vswap_charge_tables()
 * @bytes: their size
 */
void vswap_uncharge_tables(struct obj_cgroup *objcg, size_t bytes)
{
	if (!objcg)
		return;
	vswap_count_tables(objcg, -(int)bytes);
	obj_cgroup_uncharge(objcg, bytes);
	obj_cgroup_put(objcg);
}

static __always_inline bool vswap_memcg_is_v2(void)
{
	return !mem_cgroup_disabled() && cgroup_subsys_on_dfl(memory_cgrp_subsys);
}

/*
 * Bytes have to be uncharged from the objcg that they were charged to, because
 * it rounds them to pages. This objcg stays with the group until the group is
 * freed, and passes its charges on to the parent.
 */
static struct obj_cgroup *vswap_memcg_objcg(struct mem_cgroup *memcg)
{
	return memcg->nodeinfo[first_node(node_possible_map)]->orig_objcg;
}

/*
 * With fewer slots in use, most of a cluster is what another group has left behind,
 * and an owner of slots there must not be charged for all of it each time.
 */
#define VSWAP_PAYER_MIN	(SWAPFILE_CLUSTER / 8)

/* The owner of a slot of a locked cluster that is in use, after @skip others; or 0. */
static unsigned short vswap_nth_owner(struct swap_cluster_info *ci, unsigned int skip)
{
	const unsigned short *ids = ci->memcg_table->id;
	unsigned int i;

	for (i = 0; i < SWAPFILE_CLUSTER; i++)
		if (ids[i] && !skip--)
			return ids[i];
	return 0;
}

/*
 * At random, so that each group pays for about as much as it uses. Return: 0 for
 * nobody, as often as slots in use are missing.
 */
static unsigned short vswap_random_owner(struct swap_cluster_info *ci)
{
	return vswap_nth_owner(ci, get_random_u32_below(max(ci->count, VSWAP_PAYER_MIN)));
}

/* The closest group that has what @objcg, or NULL, was charged to, and @id. */
static struct mem_cgroup *vswap_memcg_of_both(struct obj_cgroup *objcg,
					      unsigned short id)
{
	struct mem_cgroup *memcg = mem_cgroup_from_private_id(id), *old;

	if (!objcg)
		return NULL;
	old = obj_cgroup_memcg(objcg);
	while (memcg && !mem_cgroup_is_descendant(old, memcg))
		memcg = parent_mem_cgroup(memcg);
	return memcg;
}

/*
 * Charge the tables of a locked cluster to @memcg, or nobody, from now on. As when
 * data is swapped out, that goes over a limit. Context: RCU read-side.
 */
static void vswap_recharge_tables(struct swap_cluster_info *ci,
				  struct mem_cgroup *memcg)
{
	unsigned int flags;

	vswap_uncharge_tables(ci->objcg, vswap_table_bytes());
	ci->objcg = memcg ? vswap_memcg_objcg(memcg) : NULL;
	flags = memalloc_noreclaim_save();
	vswap_charge_objcg(&ci->objcg, vswap_table_bytes(), GFP_NOWAIT);
	memalloc_noreclaim_restore(flags);
}

/* In payer_slots while slots are freed: the payer is to be changed. */
#define VSWAP_PAYER_DUE	BIT(15)

/* How many slots of a locked cluster have one reference on the payer's id? */
static unsigned int vswap_payer_slots(struct swap_cluster_info *ci)
{
	return ci->payer_slots & ~VSWAP_PAYER_DUE;
}

static void vswap_put_id(struct mem_cgroup *memcg, unsigned int nr)
{
	if (nr)
		mem_cgroup_private_id_put(memcg, nr);
}

/* @nr of the payer's slots are no longer counted, and get references of their own. */
static void vswap_own_some(struct swap_cluster_info *ci, unsigned int nr)
{
	struct mem_cgroup *memcg, *same;

	if (!nr)
		return;
	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(ci->payer);
	same = mem_cgroup_private_id_get_online(memcg, nr);
	VM_WARN_ON_ONCE(same != memcg);
	ci->payer_slots -= nr;
	if (!vswap_payer_slots(ci))
		mem_cgroup_private_id_put(memcg, 1);
	rcu_read_unlock();
}

/**
 * __vswap_own_ids - slots are to get references of their own on their owner's id
 * @ci: their cluster, locked
 * @id: the owner's id
 * @nr: the number of slots
 *
 * With memsw each slot has, and returns it, but the cluster may have slots of the
 * time before the controller moved.
 */
void __vswap_own_ids(struct swap_cluster_info *ci, unsigned short id,
		     unsigned int nr)
{
	if (id && ci->payer == id)
		vswap_own_some(ci, min(nr, vswap_payer_slots(ci)));
}

/**
 * vswap_drop_payer - an empty cluster has no payer any longer
 * @ci: the cluster, locked
 *
 * With memsw a slot may have got another owner without being taken from the count,
 * whose reference is returned here.
 */
void vswap_drop_payer(struct swap_cluster_info *ci)
{
	if (unlikely(ci->payer_slots)) {
		rcu_read_lock();
		mem_cgroup_private_id_put(mem_cgroup_from_private_id(ci->payer), 1);
		rcu_read_unlock();
	}
	ci->payer = 0;
	ci->payer_slots = 0;
}

/*
 * The owner of some slots pays for the tables of a locked cluster from now on. If
 * nobody in it is to pay, the group that has both the old payer and another owner
 * does: it had the charge before, unless that is the root.
 */
static void vswap_change_payer(struct swap_cluster_info *ci, unsigned short payer)
{
	struct mem_cgroup *memcg;
	unsigned short nr = 0;
	unsigned int i;

	if (payer == ci->payer)
		return;
	for (i = 0; payer && i < SWAPFILE_CLUSTER; i++)
		nr += ci->memcg_table->id[i] == payer;
	vswap_own_some(ci, vswap_payer_slots(ci));
	ci->payer = payer;
	ci->payer_slots = nr;

	rcu_read_lock();
	if (payer) {
		memcg = mem_cgroup_from_private_id(payer);
		vswap_put_id(memcg, nr - 1);
	} else {
		memcg = vswap_memcg_of_both(ci->objcg, vswap_nth_owner(ci, 0));
	}
	vswap_recharge_tables(ci, memcg);
	rcu_read_unlock();
}

/* Are the tables of a locked cluster charged to @memcg? Context: RCU read-side. */
static bool vswap_pays(struct swap_cluster_info *ci, struct mem_cgroup *memcg)
{
	if (!memcg_kmem_online())
		return true;
	return memcg == (ci->objcg ? obj_cgroup_memcg(ci->objcg) : root_mem_cgroup);
}

/*
 * Slots of @memcg have come to a locked cluster, each with a reference. The payer is
 * the group that begins it, even if another that was about to had it set up; or that
 * fills it when it was nearly empty, far enough for the payer not to change again
 * when the next slots are freed. Context: RCU read-side.
 */
static void vswap_add_slots(struct swap_cluster_info *ci, struct mem_cgroup *memcg,
			    unsigned short id, unsigned int nr)
{
	if (ci->count == nr) {
		vswap_drop_payer(ci);
		ci->payer = id;
		ci->payer_slots = nr;
		vswap_put_id(memcg, nr - 1);
		if (unlikely(!vswap_pays(ci, memcg)))
			vswap_recharge_tables(ci, memcg);
	} else if (ci->payer == id) {
		vswap_put_id(memcg, ci->payer_slots ? nr : nr - 1);
		ci->payer_slots += nr;
	} else if (!ci->payer && ci->count >= 2 * VSWAP_PAYER_MIN) {
		vswap_change_payer(ci, id);
	}
}

/*
 * Slots of @id have gone from a locked cluster. If the payer has less than a
 * quarter of what is left, it changes; each time that the payer's part has halved,
 * not for each slot, because it takes a look at the whole cluster.
 *
 * Return: how many references on the id are to be returned.
 */
static unsigned int vswap_sub_slots(struct swap_cluster_info *ci,
				    unsigned short id, unsigned int nr)
{
	unsigned int had = vswap_payer_slots(ci), has = had - nr;

	if (ci->payer != id)
		return nr;
	if (had < nr) {
		/* While groups were of version 1, slots were not counted. */
		ci->payer = 0;
		ci->payer_slots = VSWAP_PAYER_DUE;
		return nr - had + !!had;
	}
	ci->payer_slots -= nr;
	if (fls(has) != fls(had) && 4 * has < ci->count)
		ci->payer_slots |= VSWAP_PAYER_DUE;
	return !has;
}

/**
 * vswap_update_payer - slots were freed: does another group pay now?
 * @ci: their cluster, locked; no slot that is free has an owner
 */
void vswap_update_payer(struct swap_cluster_info *ci)
{
	if (likely(!(ci->payer_slots & VSWAP_PAYER_DUE)))
		return;
	ci->payer_slots &= ~VSWAP_PAYER_DUE;
	if (ci->count)
		vswap_change_payer(ci, vswap_random_owner(ci));
}

/*
 * Is the payer of a locked cluster charged for its tables? What was charged to a
 * group that is being removed goes to its parent.
 */
static bool vswap_payer_pays(struct swap_cluster_info *ci)
{
	struct mem_cgroup *memcg;
	bool pays;

	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(ci->payer);
	pays = !memcg || vswap_pays(ci, memcg) || css_is_dying(&memcg->css);
	rcu_read_unlock();
	return pays;
}

/**
 * vswap_memcg_may_be_unknown - may slots of an owner not be counted?
 * @id: the owner's id
 *
 * Return: true for the root, which is the only owner of slots when the controller
 * moves. With memsw a slot gets its owner when its page leaves the swap cache.
 */
bool vswap_memcg_may_be_unknown(unsigned short id)
{
	return !mem_cgroup_disabled() && id == mem_cgroup_private_id(root_mem_cgroup);
}

/**
 * vswap_memcg_payer_is_right - does a cluster say who pays for its tables?
 * @ci: the cluster, in use and locked
 *
 * Return: false if the payer has another number of slots, or is not charged. With
 * memsw slots get their owners later, and the payer stays.
 */
bool vswap_memcg_payer_is_right(struct swap_cluster_info *ci)
{
	unsigned int i, nr = 0;

	if (mem_cgroup_disabled() || do_memsw_account())
		return true;
	for (i = 0; i < SWAPFILE_CLUSTER; i++)
		nr += ci->memcg_table->id[i] == ci->payer;
	if (!ci->payer)
		return !ci->payer_slots;
	if (nr != ci->payer_slots &&
	    !(nr > ci->payer_slots && vswap_memcg_may_be_unknown(ci->payer)))
		return false;
	return vswap_payer_pays(ci);
}

/* Slots */

/* The payer of a locked cluster, if it has one, has no slots, or is another group. */
static noinline void vswap_set_new_owner(struct swap_cluster_info *ci,
					 struct mem_cgroup *memcg,
					 unsigned int off, unsigned int nr)
{
	unsigned short id;

	memcg = mem_cgroup_private_id_get_online(memcg, nr);
	id = mem_cgroup_private_id(memcg);
	__swap_cgroup_set(ci, off, nr, id);
	vswap_add_slots(ci, memcg, id, nr);
}

/**
 * vswap_set_owner - virtual slots were allocated: note whose they are
 * @ci: their cluster, locked
 * @folio: the folio that is now in the swap cache at them
 * @nr: their number
 *
 * With memsw the charge of the page will move to them, and name the owner.
 */
void vswap_set_owner(struct swap_cluster_info *ci, struct folio *folio,
		     unsigned int nr)
{
	unsigned int off = swp_cluster_offset(folio->swap);
	struct mem_cgroup *memcg;
	struct obj_cgroup *objcg;
	unsigned short id;

	if (mem_cgroup_disabled() || do_memsw_account())
		return;
	objcg = folio_objcg(folio);
	VM_WARN_ON_ONCE_FOLIO(!objcg, folio);
	if (!objcg)
		return;
	rcu_read_lock();
	memcg = obj_cgroup_memcg(objcg);
	id = mem_cgroup_private_id(memcg);
	if (likely(id && ci->payer == id && ci->payer_slots)) {
		__swap_cgroup_set(ci, off, nr, id);
		ci->payer_slots += nr;
	} else {
		vswap_set_new_owner(ci, memcg, off, nr);
	}
	rcu_read_unlock();
}

/**
 * vswap_memcg_owns - were a folio's slots allocated for the group that it is in?
 * @folio: the folio, locked, in the swap cache at virtual slots
 *
 * Return: false if it has come to another group, because that one is gone.
 */
bool vswap_memcg_owns(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	struct mem_cgroup *memcg;
	unsigned short id;
	bool owns;

	if (!vswap_memcg_is_v2())
		return true;
	/* While the folio is locked, its slots keep their owner. */
	id = ci->memcg_table->id[swp_cluster_offset(folio->swap)];
	rcu_read_lock();
	memcg = folio_memcg(folio);
	owns = !memcg || mem_cgroup_private_id(memcg) == id;
	rcu_read_unlock();
	return owns;
}

/**
 * vswap_memcg_may_own - may a slot that is in use have this owner?
 * @id: of the owner, or 0
 *
 * Return: false if slots must have an owner, and there is none.
 */
bool vswap_memcg_may_own(unsigned short id)
{
	return id || mem_cgroup_disabled() || do_memsw_account();
}

/**
 * vswap_put_owner - virtual slots have no owner any longer
 * @ci: their cluster, locked
 * @id: cgroup id of the owner
 * @nr: the number of slots
 *
 * With memsw the charge of the page is returned, which every entry has.
 * Otherwise only slots of a device behind virtual ones were charged.
 */
void vswap_put_owner(struct swap_cluster_info *ci, unsigned short id,
		     unsigned int nr)
{
	struct mem_cgroup *memcg;
	unsigned int refs;

	if (mem_cgroup_disabled())
		return;
	if (do_memsw_account()) {
		__vswap_own_ids(ci, id, nr);
		__mem_cgroup_uncharge_swap(id, nr);
		return;
	}
	refs = vswap_sub_slots(ci, id, nr);
	if (!refs)
		return;
	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(id);
	if (memcg)
		mem_cgroup_private_id_put(memcg, refs);
	rcu_read_unlock();
}

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

/**
 * vswap_memcg_tables - how many pages of tables are charged to a group?
 * @memcg: the group; its children do not count
 *
 * Return: their number.
 */
unsigned long vswap_memcg_tables(struct mem_cgroup *memcg)
{
	return max(atomic_long_read(&memcg->vswap.tables), 0L) >> PAGE_SHIFT;
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
