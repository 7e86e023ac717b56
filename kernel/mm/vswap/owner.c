// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: whose the slots are, and what group pays for their tables.
 *
 * A virtual slot records its owner. The tables of a cluster are charged as kernel
 * memory to one group: the one for which the cluster came into use, until others
 * have most of the slots there. Otherwise a group that swaps in and out all the
 * time, and so begins most clusters, would pay for the slots of those that stay.
 * Nor must a group that stays pay for many slots that another group has freed.
 *
 * Each slot has a reference on the id of its owner, as on mainline, but those of
 * the payer that are counted in payer_slots have one together: usually all of a
 * cluster. So taking and freeing a slot touches no counter that CPUs share.
 */
#include <linux/memcontrol.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "../memcontrol-v1.h"
#include "internal.h"

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

/* Slots whose owner has this id return so many references on it. */
static void vswap_put_refs(unsigned short id, unsigned int nr)
{
	struct mem_cgroup *memcg;

	rcu_read_lock();
	memcg = mem_cgroup_from_private_id(id);
	if (memcg)
		mem_cgroup_private_id_put(memcg, nr);
	rcu_read_unlock();
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
	if (unlikely(ci->payer_slots))
		vswap_put_refs(ci->payer, 1);
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
	unsigned int refs;

	if (mem_cgroup_disabled())
		return;
	if (do_memsw_account()) {
		__vswap_own_ids(ci, id, nr);
		__mem_cgroup_uncharge_swap(id, nr);
		return;
	}
	refs = vswap_sub_slots(ci, id, nr);
	if (refs)
		vswap_put_refs(id, refs);
}

/**
 * vswap_change_owner - slots in use become those of the group that their folio is in
 * @ci: their cluster, locked
 * @folio: the folio, locked, in the swap cache at them; nothing is charged for them
 */
void vswap_change_owner(struct swap_cluster_info *ci, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio);
	unsigned short id;

	id = __swap_cgroup_clear(ci, swp_cluster_offset(folio->swap), nr);
	vswap_put_owner(ci, id, nr);
	/* What is due is done before others come: they may be the only ones. */
	vswap_update_payer(ci);
	vswap_set_owner(ci, folio, nr);
	vswap_update_payer(ci);
}
