// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: who uses virtual slots, and is there room behind them.
 */
#define pr_fmt(fmt) "vswap: " fmt

#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/memcontrol.h>
#include <linux/plist.h>
#include <linux/swap_ops.h>
#include <linux/zswap.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "internal.h"

enum vswap_mode vswap_mode = VSWAP_AUTO;

const char * const vswap_mode_names[] = {
	[VSWAP_NEVER]	= "never",
	[VSWAP_AUTO]	= "auto",
	[VSWAP_ALWAYS]	= "always",
	NULL,
};

/*
 * Devices of how many priorities there must be to be used through virtual slots
 * even without zswap, so that data may move between them. See the modes.
 */
static const unsigned int vswap_tiers_wanted[] = {
	[VSWAP_NEVER]	= UINT_MAX,
	[VSWAP_AUTO]	= 2,
	[VSWAP_ALWAYS]	= 0,
};

unsigned int vswap_min_tiers = 2;
unsigned int vswap_nr_tiers;

/*
 * Who has a device alone and never had more does not even pay for asking
 * whether a slot is virtual.
 */
DEFINE_STATIC_KEY_FALSE(vswap_ever_used);

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
	if (vswap_si && (vswap_devices_suffice() ||
			 (READ_ONCE(vswap_mode) != VSWAP_NEVER &&
			  !zswap_never_enabled())))
		static_branch_enable(&vswap_ever_used);
}

static void vswap_policy_work_fn(struct work_struct *work)
{
	vswap_policy_changed();
}

static DECLARE_WORK(vswap_policy_work, vswap_policy_work_fn);

/**
 * vswap_set_mode - say who is to use virtual slots from now on
 * @mode: the mode
 *
 * Context: Process context, as for vswap_policy_changed().
 */
void vswap_set_mode(enum vswap_mode mode)
{
	WRITE_ONCE(vswap_mode, mode);
	WRITE_ONCE(vswap_min_tiers, vswap_tiers_wanted[mode]);
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

/* Writing to one of the devices may enter a filesystem */
static bool vswap_nofs;

/**
 * vswap_devices_changed - a swap device has come or gone
 * @devices: all devices in use, by their priority
 *
 * Context: The list is locked.
 */
void vswap_devices_changed(struct plist_head *devices)
{
	struct swap_info_struct *si;
	unsigned int tiers = 0;
	bool nofs = false;
	int prio = 0;

	plist_for_each_entry(si, devices, list) {
		if (!tiers || si->list.prio != prio)
			tiers++;
		prio = si->list.prio;
		nofs |= si->ops->flags & SWAP_OPS_F_REQUIRE_NOFS;
	}
	WRITE_ONCE(vswap_nr_tiers, tiers);
	WRITE_ONCE(vswap_nofs, nofs);
	if (vswap_never_used() && vswap_devices_suffice())
		schedule_work(&vswap_policy_work);
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

/* May zswap store data behind new virtual slots? */
static bool vswap_uses_zswap(void)
{
	return vswap_si && READ_ONCE(vswap_mode) != VSWAP_NEVER &&
	       zswap_is_enabled();
}

/**
 * vswap_active - do new swap-outs use virtual slots at all?
 *
 * With auto they do if something is gained: zswap, or devices of more than one
 * priority that data may move between.
 *
 * Return: true if they do.
 */
bool vswap_active(void)
{
	if (vswap_uses_zswap())
		return true;
	return vswap_si && READ_ONCE(total_swap_pages) &&
	       vswap_devices_suffice();
}

/*
 * Pages that nobody took since one was taken. Data that does not compress stays
 * in memory; when all anonymous pages have met that fate in a row, and again,
 * nothing can be swapped out. Saying so for a while lets the OOM killer do its
 * work at once instead of after minutes of trying. It holds for the pages that
 * were there: when some are gone, new, or were read in, it is worth another try.
 */
static atomic_long_t vswap_refusals;
static unsigned long vswap_refusing_until = INITIAL_JIFFIES;
static unsigned long vswap_refused_anon;

#define VSWAP_REFUSING_TIME	HZ

static unsigned long vswap_anon_pages(void)
{
	return global_node_page_state(NR_INACTIVE_ANON) +
	       global_node_page_state(NR_ACTIVE_ANON);
}

static bool vswap_is_refusing(void)
{
	unsigned long anon, known;

	if (likely(!time_before(jiffies, READ_ONCE(vswap_refusing_until))))
		return false;
	anon = vswap_anon_pages();
	known = READ_ONCE(vswap_refused_anon);
	return anon <= known + known / 16 && anon >= known - known / 16;
}

/**
 * vswap_refused - there is nothing that takes the data of a folio
 * @folio: the folio that was to be written out; it has to stay in memory
 *
 * Context: @folio is locked and in the swap cache at virtual slots.
 */
void vswap_refused(struct folio *folio)
{
	unsigned long anon = vswap_anon_pages();

	if (atomic_long_add_return(folio_nr_pages(folio), &vswap_refusals) >
	    2 * anon) {
		atomic_long_set(&vswap_refusals, 0);
		WRITE_ONCE(vswap_refused_anon, anon);
		WRITE_ONCE(vswap_refusing_until, jiffies + VSWAP_REFUSING_TIME);
	}
}

/**
 * vswap_accepted - data went behind a virtual slot
 *
 * Context: Any.
 */
void vswap_accepted(void)
{
	if (atomic_long_read(&vswap_refusals))
		atomic_long_set(&vswap_refusals, 0);
}

/**
 * vswap_can_swap - would a virtual slot find something to back it?
 * @memcg: whose pages are to be swapped out, or NULL for anybody's
 *
 * The question that reclaim asks besides the one about room on devices. When
 * the pool is full this says no, or reclaim would try in vain for ever.
 *
 * Return: true if zswap is likely to take a page.
 */
bool vswap_can_swap(struct mem_cgroup *memcg)
{
	if (!vswap_uses_zswap() || !zswap_has_room())
		return false;
	/* Who shares the machine with such data must not pay for it. */
	if (!memcg || mem_cgroup_is_root(memcg))
		return !vswap_is_refusing();
	return mem_cgroup_may_zswap(memcg, false);
}

/* Is something gained from virtual slots for the pages of @memcg? */
static bool vswap_gains(struct mem_cgroup *memcg)
{
	return vswap_devices_suffice() ||
	       (vswap_uses_zswap() && mem_cgroup_may_zswap(memcg, false));
}

VISIBLE_IF_KUNIT bool vswap_wanted(struct folio *folio)
{
	struct mem_cgroup *memcg;
	bool wanted;

	KUNIT_STATIC_STUB_REDIRECT(vswap_wanted, folio);
	rcu_read_lock();
	memcg = folio_memcg(folio);
	/* With zswap the only place, to be able to swap is to gain something */
	if (get_nr_swap_pages() > 0)
		wanted = vswap_gains(memcg);
	else
		wanted = vswap_can_swap(memcg);
	rcu_read_unlock();
	return wanted;
}

/* See vswap_prepare_alloc(). */
bool __vswap_prepare_alloc(struct folio *folio)
{
	if (!vswap_wanted(folio))
		return false;

	/* Normally the work item has been there before. */
	if (unlikely(vswap_nr_reserved() < vswap_reserve_target))
		vswap_kick_grow();
	if (unlikely(vswap_free_clusters() <= 0))
		vswap_grow();
	return true;
}

/**
 * vswap_may_write_back - is there a place that zswap can write entries to?
 *
 * Return: true with a swap device; it may be full.
 */
bool vswap_may_write_back(void)
{
	return READ_ONCE(total_swap_pages) > 0;
}

/*
 * How much more than its own size the pool holds at least, in anybody's
 * accounting: zswap stores a page only when it shrinks, and anonymous memory
 * compresses to a third on average.
 */
#define VSWAP_OVERCOMMIT_RATIO	2

/**
 * vswap_overcommit_pages - what OVERCOMMIT_GUESS may count on besides RAM
 *
 * Return: a conservative guess of how many pages zswap can hold without a
 * swap device, 0 when virtual slots are not used.
 */
unsigned long vswap_overcommit_pages(void)
{
	return vswap_uses_zswap() ? zswap_max_pages() * VSWAP_OVERCOMMIT_RATIO : 0;
}
