// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: pages that stay in memory because nothing takes them.
 *
 * A page that does not compress, of a group that cannot have it written to a
 * device, stays in memory, in the swap cache at its virtual slot. The backing
 * word remembers a hash of its content: the next attempt costs a hash instead
 * of a compression and an unmapping, and a page that has changed is tried
 * again. Nothing changes a page that is not mapped: that costs no hash.
 *
 * The number of such pages tells whether a group can be reclaimed from by
 * swapping at all. It is counted for each group: pages of one group say nothing
 * about those of another.
 */
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/xxhash.h>
#include <linux/zswap.h>

#include "../internal.h"
#include "internal.h"
#include "zswap.h"

/*
 * Of all groups, whoever met them: nothing takes a page that was refused, so
 * global reclaim need not try it again after a group's reclaim has. What other
 * groups have that compresses keeps vswap_nothing_left() from saying yes.
 */
struct vswap_refusals vswap_refusals;

/* Changes with the compressor and with the policy. */
static atomic_t vswap_refusal_seed;
/* The bits of a backing word that say which it was, below the hash */
#define VSWAP_SEED_MASK	(0xffffUL << VSWAP_TAG_BITS)

/**
 * vswap_forget_refusals - have refused pages tried again when they are met
 *
 * Context: Any.
 */
void vswap_forget_refusals(void)
{
	atomic_inc(&vswap_refusal_seed);
}

static unsigned long vswap_seed(void)
{
	return (unsigned long)atomic_read(&vswap_refusal_seed) << VSWAP_TAG_BITS &
	       VSWAP_SEED_MASK;
}

static unsigned long vswap_hash_page(struct page *page)
{
	void *data = kmap_local_page(page);
	unsigned long hash = xxh64(data, PAGE_SIZE, 0);

	kunmap_local(data);
	return vswap_hash_to_backing((hash & ~VSWAP_SEED_MASK) | vswap_seed());
}

/*
 * Does the word of a refused page hold? A folio that is not mapped has not been
 * changed: before reclaim unmaps it, __vswap_is_refused() sees to it that words
 * are right, or gone. @folio is locked.
 */
static bool vswap_is_unchanged(struct folio *folio, struct page *page,
			       unsigned long word)
{
	if ((word & VSWAP_SEED_MASK) != vswap_seed())
		return false;
	return !folio_mapped(folio) || word == vswap_hash_page(page);
}

/*
 * The pages at @nr slots do not count as refused any longer. @ci is locked.
 * Return: how many did.
 */
static unsigned int vswap_take_back(struct swap_cluster_info *ci, unsigned int off,
				    unsigned int nr)
{
	unsigned int taken = 0;

	for (; nr--; off++) {
		if (vswap_backing_tag(ci->backing[off]) != VSWAP_REFUSED)
			continue;
		vswap_count_refused(ci, off, -1);
		WRITE_ONCE(ci->backing[off], 0);
		taken++;
	}
	return taken;
}

/*
 * Does an error of the compressor say that the page does not fit? Others, of
 * hardware that is busy or off, say nothing about the page.
 */
static bool vswap_does_not_fit(int err)
{
	return !err || err == -EINVAL || err == -ENOSPC || err == -E2BIG ||
	       err == -EOVERFLOW;
}

/**
 * vswap_count_refused - a refused page has come or gone
 * @ci: the virtual cluster, locked
 * @off: the first of the slots; all have one owner
 * @nr: their number, negative if they have gone
 */
void vswap_count_refused(struct swap_cluster_info *ci, unsigned int off, int nr)
{
	lockdep_assert_held(&ci->lock);
	atomic_long_add(nr, &vswap_refusals.nr);
	vswap_memcg_count_refused(__swap_cgroup_get(ci, off), nr);
}

/* Context: RCU read-side. */
static void vswap_count_met(struct mem_cgroup *memcg, long nr)
{
	struct vswap_refusals *refusals = vswap_memcg_refusals(memcg);

	atomic_long_add(nr, &vswap_refusals.met);
	if (refusals)
		atomic_long_add(nr, &refusals->met);
}

/* Reclaim has met a refused page of @memcg. Context: RCU read-side. */
static void vswap_met_refused(struct mem_cgroup *memcg)
{
	count_vm_event(VSWAP_REFUSE);
	vswap_count_met(memcg, 1);
}

/*
 * See vswap_refuse(). If a slot of a device backs the slot, the page can be
 * written there.
 */
bool __vswap_refuse(struct page *page, int err)
{
	struct folio *folio = page_folio(page);
	swp_entry_t virt = page_swap_entry(page);
	unsigned int off = swp_cluster_offset(virt);
	struct swap_cluster_info *ci;
	unsigned long hash;

	if (!vswap_must_compress(folio_memcg(folio)))
		return false;
	if (!vswap_does_not_fit(err))
		return true;

	hash = vswap_hash_page(page);
	ci = swap_cluster_get_and_lock(folio);
	switch (vswap_backing_tag(ci->backing[off])) {
	case VSWAP_NONE:
		vswap_count_refused(ci, off, 1);
		fallthrough;
	case VSWAP_REFUSED:
		WRITE_ONCE(ci->backing[off], hash);
		vswap_met_refused(folio_memcg(folio));
		break;
	default:
		break;
	}
	swap_cluster_unlock(ci);
	return true;
}

/* Has the content of page @idx of a locked folio been refused? */
static bool vswap_page_is_refused(struct folio *folio, unsigned int idx)
{
	struct page *page = folio_page(folio, idx);
	swp_entry_t virt = page_swap_entry(page);
	struct swap_cluster_info *ci = __swap_entry_to_cluster(virt);
	unsigned int off = swp_cluster_offset(virt);
	unsigned long word = READ_ONCE(ci->backing[off]);

	if (vswap_backing_tag(word) != VSWAP_REFUSED)
		return false;
	/* A page that is no longer in use can go, but not out of a large folio. */
	if (!folio_test_large(folio) && !folio_mapped(folio) &&
	    !swp_tb_get_count(swap_table_get(ci, off)))
		return false;
	if (vswap_is_unchanged(folio, page, word))
		return true;

	spin_lock(&ci->lock);
	vswap_take_back(ci, off, 1);
	spin_unlock(&ci->lock);
	return false;
}

static bool vswap_any_refused(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		if (vswap_page_is_refused(folio, i))
			return true;
	return false;
}

/**
 * vswap_has_refused - was a page of a folio refused?
 * @folio: the folio, locked, at virtual slots
 *
 * Return: true if it was when it was last tried.
 */
bool vswap_has_refused(struct folio *folio)
{
	return vswap_tags(folio) & BIT(VSWAP_REFUSED);
}

/* No page of a locked folio counts as refused any longer. */
static void vswap_drop_refusals(struct folio *folio)
{
	struct swap_cluster_info *ci = swap_cluster_get_and_lock(folio);

	vswap_take_back(ci, swp_cluster_offset(folio->swap), folio_nr_pages(folio));
	swap_cluster_unlock(ci);
}

/*
 * See vswap_mlock_folio(). @folio is mapped, but not locked: it may be leaving
 * the swap cache, and its slots may have another folio by now.
 */
void __vswap_mlock_folio(struct folio *folio)
{
	swp_entry_t virt = { READ_ONCE(folio->swap.val) };
	unsigned int off = swp_cluster_offset(virt);
	struct swap_cluster_info *ci;
	unsigned long swp_tb;
	long taken = 0;

	if (!is_vswap_entry(virt) || !atomic_long_read(&vswap_refusals.nr))
		return;
	ci = __swap_entry_to_cluster(virt);
	spin_lock(&ci->lock);
	swp_tb = swap_table_get(ci, off);
	if (swp_tb_is_folio(swp_tb) && swp_tb_to_folio(swp_tb) == folio)
		taken = vswap_take_back(ci, off, folio_nr_pages(folio));
	spin_unlock(&ci->lock);
	if (!taken)
		return;

	/* That they were met says nothing about those that are left. */
	rcu_read_lock();
	vswap_count_met(folio_memcg(folio), -taken);
	rcu_read_unlock();
}

/**
 * vswap_take_refusals_back - may a folio that was refused go to a device now?
 * @folio: the folio, locked, at virtual slots
 *
 * If so, no page of it counts as refused any longer: a device has come, or the
 * group may use it now.
 *
 * Return: false if it may not, and has to stay in memory.
 */
bool vswap_take_refusals_back(struct folio *folio)
{
	bool stays;

	rcu_read_lock();
	stays = vswap_must_compress(folio_memcg(folio));
	rcu_read_unlock();
	if (!stays)
		vswap_drop_refusals(folio);
	return !stays;
}

/**
 * vswap_lacks_slots - is a large folio the only reason why it cannot be written?
 * @folio: the folio, locked, at virtual slots
 *
 * Its slots are taken together. If zswap does not take it, and devices have
 * room, within the limit of its owner, but not for all of it, a part can go.
 *
 * Return: true if it should be split.
 */
bool vswap_lacks_slots(struct folio *folio)
{
	struct mem_cgroup *memcg;
	unsigned int missing;
	bool lacks;
	long left;

	if (!folio_test_large(folio))
		return false;
	/* What has been written to a device can be written there again. */
	missing = vswap_nr_missing(folio);

	rcu_read_lock();
	memcg = folio_memcg(folio);
	left = vswap_slots_left(memcg);
	lacks = left > 0 && left < missing &&
		mem_cgroup_zswap_writeback_enabled(memcg) &&
		!(zswap_is_enabled() && zswap_has_room(memcg) &&
		  vswap_memcg_has_room(memcg, false));
	rcu_read_unlock();
	return lacks;
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/*
 * An unmapped folio has no anon_vma that could be found. None is needed, as
 * nobody maps a locked folio of the swap cache.
 */
static bool vswap_split_unmapped(struct folio *folio, struct list_head *folios)
{
	unsigned int i, nr = folio_nr_pages(folio);
	struct page *page = folio_page(folio, 0);

	if (folio_split_unmapped(folio, 0))
		return false;
	for (i = 1; i < nr; i++) {
		struct folio *tail = page_folio(page + i);

		folio_unlock(tail);
		list_add_tail(&tail->lru, folios);
	}
	return true;
}
#else
static bool vswap_split_unmapped(struct folio *folio, struct list_head *folios)
{
	return false;
}
#endif

/*
 * Split a locked folio that reclaim has isolated; its tail pages are added to
 * @folios. Return: false if it cannot be split.
 */
static bool vswap_split(struct folio *folio, struct list_head *folios)
{
	if (!folio_test_anon(folio))
		return false;
	return folio_mapped(folio) ? !split_folio_to_list(folio, folios) :
				     vswap_split_unmapped(folio, folios);
}

/* See vswap_is_refused(). */
bool __vswap_is_refused(struct folio *folio, struct list_head *folios)
{
	bool refused;

	/* If it cannot be split, it may still be taken. A clean one just goes. */
	if ((folio_mapped(folio) || folio_test_dirty(folio)) && vswap_lacks_slots(folio))
		vswap_split(folio, folios);
	if (!atomic_long_read(&vswap_refusals.nr))
		return false;

	rcu_read_lock();
	refused = vswap_must_compress(folio_memcg(folio)) &&
		  vswap_any_refused(folio);
	if (refused)
		vswap_met_refused(folio_memcg(folio));
	rcu_read_unlock();
	if (!refused) {
		/* It is about to be unmapped: a stale word would be trusted. */
		if (vswap_has_refused(folio))
			vswap_drop_refusals(folio);
		return false;
	}
	if (!folio_test_large(folio))
		return true;
	/* Split it: the pages that compress can leave without the others. */
	return !vswap_split(folio, folios) || vswap_page_is_refused(folio, 0);
}

/*
 * For how long, in jiffies, @nr refused pages are assumed not to have changed:
 * several times as long as it takes to look at them.
 */
static unsigned long vswap_refused_time(long nr)
{
	return HZ / 10 + usecs_to_jiffies(4 * nr);
}

/* If no more pages than this are left, swapping them out is not worth trying. */
#define VSWAP_NOT_WORTH_MAX	4096L

static bool vswap_is_known(const struct vswap_refusals *refusals)
{
	unsigned long until = READ_ONCE(refusals->known_until);

	return until && time_before(jiffies, until);
}

/* Have all @nr refused pages been met lately, so that they have not changed? */
static bool vswap_refusals_hold(struct vswap_refusals *refusals, long nr)
{
	if (vswap_is_known(refusals))
		return true;
	if (atomic_long_read(&refusals->met) < nr)
		return false;
	atomic_long_set(&refusals->met, 0);
	WRITE_ONCE(refusals->known_until, jiffies + vswap_refused_time(nr));
	return true;
}

/**
 * vswap_nothing_left - is there hardly anything left that can be swapped out?
 * @memcg: of that group, without its children; NULL: in the machine
 *
 * Refused pages and tables stay in memory. Reclaim makes no room by scanning
 * all of memory for a few pages that are new or always in use, because those
 * come back at once. Mapped pages may have changed since they were refused:
 * from time to time all are looked at again before the answer is yes. A yes
 * holds until there is notably more to swap out.
 *
 * Both numbers leave out what is locked in memory: see vswap_mlock_folio().
 *
 * Return: true if it is not worth trying.
 */
bool vswap_nothing_left(struct mem_cgroup *memcg)
{
	struct vswap_refusals *refusals = vswap_memcg_refusals(memcg);
	long anon, tables, nr, few;

	if (refusals) {
		tables = vswap_memcg_tables(memcg);
		anon = vswap_memcg_anon(memcg);
	} else {
		refusals = &vswap_refusals;
		tables = vswap_nr_tables() * vswap_table_bytes() >> PAGE_SHIFT;
		anon = global_node_page_state(NR_INACTIVE_ANON) +
		       global_node_page_state(NR_ACTIVE_ANON);
	}
	nr = max(atomic_long_read(&refusals->nr), 0L);
	few = min(nr / 64 + tables / 8, VSWAP_NOT_WORTH_MAX);
	if (vswap_is_known(refusals))
		few *= 2;
	if (anon - nr >= few) {
		/* Start anew: pages met until now may have changed by then. */
		if (atomic_long_read(&refusals->met))
			atomic_long_set(&refusals->met, 0);
		return false;
	}
	return vswap_refusals_hold(refusals, nr);
}
