// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the policy, which folios get virtual slots.
 */
#define pr_fmt(fmt) "vswap: " fmt

#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/plist.h>
#include <linux/swap_ops.h>
#include <linux/zswap.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "internal.h"
#include "zswap.h"

/*
 * How many different priorities must devices have for virtual slots to be used
 * without zswap? Then data may move between them.
 */
static const unsigned int vswap_tiers_wanted[] = {
	[VSWAP_NEVER]	= UINT_MAX,
	[VSWAP_AUTO]	= 2,
	[VSWAP_ALWAYS]	= 0,
};

static void vswap_make_ready(void)
{
	static_branch_enable(&vswap_ever_used);
	/* A CPU that sees it set finds the branches patched. */
	smp_store_release(&vswap_ready, true);
}

/* Writeback needs a pool as long as there is a device and zswap is in use. */
static void vswap_pool_work_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(vswap_pool_work, vswap_pool_work_fn);

static void vswap_pool_work_fn(struct work_struct *work)
{
	if (vswap_si && vswap_devices_suffice())
		vswap_make_ready();
	/* If allocation failed, try again in a moment. */
	if (!vswap_resize_pool(READ_ONCE(vswap_ready) && READ_ONCE(vswap_nr_tiers) &&
			       !zswap_never_enabled()))
		schedule_delayed_work(&vswap_pool_work, HZ);
}

/**
 * vswap_limits_changed - a limit of a group, on swap or zswap, was set; or it is new
 *
 * What the group may do now holds for the folios that reclaim meets from now on. A
 * new group may have the address of one that is gone.
 *
 * Context: Any.
 */
void vswap_limits_changed(void)
{
	vswap_outdate_policy();
}

/**
 * vswap_policy_changed - have virtual slots available if they may be used now
 *
 * Called when that may have become so: the mode was set, or zswap has got a
 * pool. Once used, they stay available.
 *
 * Context: Process context; locks of CPU hotplug are taken.
 */
void vswap_policy_changed(void)
{
	vswap_limits_changed();
	vswap_forget_refusals();
	if (!vswap_si)
		return;
	if (vswap_devices_suffice() ||
	    (READ_ONCE(vswap_mode) != VSWAP_NEVER && !zswap_never_enabled() &&
	     vswap_can_name_memory()))
		vswap_make_ready();
	mod_delayed_work(system_percpu_wq, &vswap_pool_work, 0);
}

/**
 * vswap_set_mode - set when virtual slots are used
 * @mode: the mode
 *
 * Context: Process context, as for vswap_policy_changed().
 */
void vswap_set_mode(enum vswap_mode mode)
{
	static DEFINE_MUTEX(lock);

	/* Two that write at once must not leave one half of each. */
	mutex_lock(&lock);
	WRITE_ONCE(vswap_mode, mode);
	WRITE_ONCE(vswap_min_tiers, vswap_tiers_wanted[mode]);
	mutex_unlock(&lock);
	vswap_policy_changed();
}

static int __init vswap_setup_mode(char *str)
{
	int mode = match_string(vswap_mode_names, -1, str);

	if (mode < 0)
		pr_warn("vswap=%s is not always, auto or never\n", str);
	else
		vswap_set_mode(mode);
	return 1;
}
__setup("vswap=", vswap_setup_mode);

/*
 * Writing to one of the devices may enter a filesystem. It stays so when the
 * device goes: until swapoff has moved the last page, data is written there.
 */
static bool vswap_nofs;

/**
 * vswap_devices_changed - a swap device has come or gone
 * @devices: all devices in use, by their priority
 *
 * Context: The list is locked.
 */
void vswap_devices_changed(struct plist_head *devices)
{
	static unsigned long seen;
	struct swap_info_struct *si;
	unsigned long types = 0;
	unsigned int tiers = 0;
	bool nofs = false;
	int prio = 0;

	plist_for_each_entry(si, devices, list) {
		if (!tiers || si->list.prio != prio)
			tiers++;
		prio = si->list.prio;
		types |= BIT(si->type);
		nofs |= si->ops->flags & SWAP_OPS_F_REQUIRE_NOFS;
	}
	WRITE_ONCE(vswap_nr_tiers, tiers);
	seen |= types;
	WRITE_ONCE(vswap_leaving, seen & ~types);
	vswap_limits_changed();
	if (nofs)
		WRITE_ONCE(vswap_nofs, true);
	mod_delayed_work(system_percpu_wq, &vswap_pool_work, 0);
}

/**
 * vswap_require_nofs - may writing out a folio at virtual slots enter a filesystem?
 *
 * Return: true if a device may be behind it that needs that.
 */
bool vswap_require_nofs(void)
{
	return READ_ONCE(vswap_nofs);
}

/*
 * There are two questions.
 *
 * Is virtual swap used: do new swap-outs gain from virtual slots? They do if
 * zswap stores data behind them, or if data may move between devices of several
 * priorities.
 *
 *	mode	zswap	priorities of devices	used
 *	never	any	any			no
 *	auto	off	none or one		no
 *	auto	off	two or more		yes
 *	always	off	none			no
 *	always	off	one or more		yes
 *	auto	on	any			yes, for zswap
 *	always	on	any			yes, for zswap
 *
 * vswap_is_used_for_zswap() and vswap_is_used() answer it for the machine,
 * vswap_is_used_for() for pages of a group: it may have a limit of 0 for zswap, or
 * be at its limit on devices.
 *
 * Is there room: does zswap take pages of a group now? vswap_has_room() answers
 * it from the size of the pool and the limits of the group.
 *
 * Reclaim asks whether a page can be swapped out without a device
 * (vswap_can_swap()): there is room, and something is left that compresses. The
 * allocator asks which slot a folio gets (vswap_wanted()), if its group may swap
 * at all: a virtual one if virtual swap is used, or, when devices have no room,
 * if there is room.
 */

/* Is virtual swap used, for zswap? */
static bool vswap_is_used_for_zswap(void)
{
	return vswap_si && READ_ONCE(vswap_mode) != VSWAP_NEVER &&
	       zswap_is_enabled() && vswap_can_name_memory();
}

/*
 * Is virtual swap used, for devices? Not where it would keep zswap from storing
 * anything.
 */
static bool vswap_is_used_for_devices(void)
{
	return vswap_devices_suffice() &&
	       (!zswap_is_enabled() || vswap_can_name_memory());
}

/* Is virtual swap used? */
static bool vswap_is_used(void)
{
	if (vswap_is_used_for_zswap())
		return true;
	return vswap_si && READ_ONCE(total_swap_pages) &&
	       vswap_is_used_for_devices();
}

/*
 * Is virtual swap used for @nr pages of @memcg, which may have virtual slots, while
 * devices have room? What a limit keeps off devices is better not unmapped. If zswap
 * is there for the group, zswap decides: it makes room when it is asked to store.
 */
static bool vswap_is_used_for(struct mem_cgroup *memcg, unsigned int nr)
{
	if (vswap_is_used_for_zswap() && vswap_memcg_may_store(memcg))
		return true;
	return vswap_is_used_for_devices() && vswap_slots_left(memcg) >= (long)nr;
}

/*
 * Have zswap write data back down to its threshold, soon. If nothing was written
 * since the last time, there may be nothing that can be: wait before trying again.
 */
static void vswap_kick_shrink(void)
{
	static unsigned long next = INITIAL_JIFFIES;
	static u64 seen;
	u64 written = READ_ONCE(zswap_written_back_pages);

	/* Racy: it may be kicked once more, or a second later. */
	if (written == READ_ONCE(seen) && time_before(jiffies, READ_ONCE(next)))
		return;
	WRITE_ONCE(seen, written);
	WRITE_ONCE(next, jiffies + HZ);
	zswap_kick_shrink();
}

/*
 * Something is done when the pool is nearly full, as reclaim does not wait for it.
 * The pool is compacted: without a device nobody makes room by writing data back.
 * If pages of @memcg can go nowhere else, data of others is written back: reclaim
 * does not try them once the pool is full, and only a page that is refused would
 * have that done.
 */
static bool vswap_pool_has_room(struct mem_cgroup *memcg, bool reclaims)
{
	unsigned long limit = zswap_max_pages();

	if (zswap_total_pages() > limit - limit / 16) {
		vswap_kick_compact();
		if (reclaims && vswap_must_compress(memcg) &&
		    vswap_may_write_back(NULL) && vswap_memcg_anon(memcg))
			vswap_kick_shrink();
	}
	return zswap_has_room(memcg);
}

/*
 * Is there room: does zswap take pages of @memcg now, if they compress? With @flush
 * it is about to be asked to; it may sleep.
 */
static bool vswap_has_room(struct mem_cgroup *memcg, bool flush)
{
	return !vswap_space_is_full() && vswap_memcg_has_room(memcg, flush) &&
	       vswap_pool_has_room(memcg, flush);
}

/* Have devices room for @memcg that reclaim does not see because of swapoff? */
static bool vswap_room_is_hidden(struct mem_cgroup *memcg)
{
	return READ_ONCE(vswap_mode) != VSWAP_NEVER && vswap_hidden_room() &&
	       vswap_slots_left(memcg) > 0;
}

/*
 * See vswap_can_swap(). Reclaim asks this if devices have no room, as far as it
 * knows. The answer is no if the pool is full, at a limit, or if nothing is left
 * that compresses: reclaim would try for ever.
 */
bool __vswap_can_swap(struct mem_cgroup *memcg, bool flush)
{
	if (vswap_room_is_hidden(memcg))
		return true;
	return vswap_is_used_for_zswap() && vswap_memcg_allows(memcg) &&
	       vswap_has_room(memcg, flush) && !vswap_nothing_left(memcg);
}

/* See vswap_can_swap_folio(). */
bool __vswap_can_swap_folio(struct folio *folio)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_folio(folio);
	bool can_swap = __vswap_can_swap(memcg, true);

	mem_cgroup_put(memcg);
	return can_swap;
}

/**
 * vswap_allowed - may the owner of a folio have virtual slots?
 * @folio: the folio, locked
 *
 * A limit of 0 holds from now on: new slots are refused, and a folio gives up
 * those that it has when it is swapped in.
 *
 * Return: true if it may.
 */
bool vswap_allowed(struct folio *folio)
{
	bool allowed;

	rcu_read_lock();
	allowed = vswap_memcg_allows(folio_memcg(folio));
	rcu_read_unlock();
	return allowed;
}

/**
 * vswap_swap_full - should a folio in memory give up its virtual slots?
 * @folio: the folio, locked, in the swap cache
 * @full: set to the answer, if there is one
 *
 * Swap devices being full is no reason for slots that take no space on them,
 * and the virtual space being so is one for virtual slots alone.
 *
 * Return: true if there is an answer, false if devices decide.
 */
bool vswap_swap_full(struct folio *folio, bool *full)
{
	if (!folio_in_vswap(folio))
		return false;
	if (vswap_space_is_short())
		*full = true;
	else if (!vswap_storage_flags(folio))
		*full = !vswap_allowed(folio);
	else
		return false;
	return true;
}

VISIBLE_IF_KUNIT bool vswap_wanted(struct folio *folio)
{
	struct mem_cgroup *memcg;
	bool wanted;

	KUNIT_STATIC_STUB_REDIRECT(vswap_wanted, folio);
	memcg = get_mem_cgroup_from_folio(folio);
	if (vswap_device_room() > 0)
		wanted = vswap_is_used_for(memcg, folio_nr_pages(folio));
	else
		wanted = vswap_is_used_for_zswap() && vswap_has_room(memcg, true);
	mem_cgroup_put(memcg);
	return wanted;
}

/**
 * vswap_grow_work - fill the reserve and grow the space, ahead of need
 * @work: that of vswap_space
 *
 * Context: Process context, see vswap_kick_grow().
 */
void vswap_grow_work(struct work_struct *work)
{
	if (vswap_is_used())
		vswap_reserve_fill();
	if (vswap_space_is_low())
		vswap_grow();
}

/*
 * What holds for a page of a group holds for a few more in the same tick, as long
 * as no limit is set and clusters are left: reclaim takes many pages of one group
 * after the other, and zswap looks at its limits again when it stores a page. A
 * page that it does not take then stays in memory.
 */
#define VSWAP_CREDIT	SWAP_CLUSTER_MAX

struct vswap_credit {
	struct obj_cgroup *objcg;	/* compared only */
	unsigned long tick;
	int policy;			/* see vswap_policy */
	unsigned int nr;		/* pages */
};

static DEFINE_PER_CPU(struct vswap_credit, vswap_credits);

/* Has a page of the same group got a virtual slot on this CPU just now? */
static bool vswap_take_credit(struct obj_cgroup *objcg, unsigned int nr,
			      int policy)
{
	struct vswap_credit *credit = get_cpu_ptr(&vswap_credits);
	bool taken = credit->nr >= nr && credit->objcg == objcg &&
		     credit->tick == jiffies && credit->policy == policy;

	if (taken)
		credit->nr -= nr;
	put_cpu_ptr(&vswap_credits);
	return taken;
}

/* @nr pages got virtual slots by the policy that was read before. */
static void vswap_give_credit(struct obj_cgroup *objcg, unsigned int nr,
			      int policy)
{
	struct vswap_credit *credit = get_cpu_ptr(&vswap_credits);

	credit->objcg = objcg;
	credit->tick = jiffies;
	credit->policy = policy;
	credit->nr = VSWAP_CREDIT - min(nr, VSWAP_CREDIT);
	put_cpu_ptr(&vswap_credits);
}

/* Not inlined: where there is credit, the registers it needs are not saved. */
static noinline bool vswap_ask_policy(struct folio *folio, struct obj_cgroup *objcg,
				      unsigned int nr, int policy)
{
	if (!vswap_allowed(folio) || !vswap_wanted(folio))
		return false;

	/* Usually the work item has already done this. */
	if (vswap_nr_reserved() < vswap_reserve_target)
		vswap_kick_grow();
	/* Without memory for more clusters the next folio tries again. */
	if (vswap_free_clusters() > 0 || vswap_grow() != -ENOMEM)
		vswap_give_credit(objcg, nr, policy);
	return true;
}

/* See vswap_prepare_alloc(). */
bool __vswap_prepare_alloc(struct folio *folio)
{
	struct obj_cgroup *objcg = vswap_folio_objcg(folio);
	int policy = atomic_read_acquire(&vswap_policy);
	unsigned int nr = folio_nr_pages(folio);

	return vswap_take_credit(objcg, nr, policy) ||
	       vswap_ask_policy(folio, objcg, nr, policy);
}

/*
 * The pool is assumed to hold at least this multiple of its own size: anonymous
 * memory compresses to a third on average.
 */
#define VSWAP_OVERCOMMIT_RATIO	2

/*
 * See vswap_overcommit_pages(): a conservative guess of what zswap can hold
 * without a swap device, 0 when virtual slots are not used.
 */
unsigned long __vswap_overcommit_pages(void)
{
	if (!vswap_is_used_for_zswap())
		return 0;
	return zswap_max_pages() * VSWAP_OVERCOMMIT_RATIO;
}
