// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the transitions of a slot's backing.
 *
 *	NONE  -> ZSWAP	the folio was written out and zswap took it
 *	ZSWAP -> ZSWAP	written out again
 *	SLOT  -> ZSWAP	written out again, to zswap this time
 *	ZSWAP -> NONE	read in; written out as zeroes; refused by zswap; its group
 *			is gone; freed
 *	NONE  -> SLOT	written out, and zswap did not take it
 *	ZSWAP -> FLIGHT	to be written back
 *	FLIGHT -> SLOT	written back
 *	FLIGHT -> ZSWAP	could not be written, or overtaken by something else,
 *			which is a transition from ZSWAP
 *	NONE  -> REFUSED  does not compress, and there is no device for it
 *	REFUSED -> NONE	the content has changed, or a device takes it; locked in
 *			memory; written out as zeroes; its group is gone; freed
 *	REFUSED -> ZSWAP written out, and zswap took it as it is
 *	SLOT  -> NONE	written out as zeroes; its group is gone; freed; evacuated
 *			by swapoff; a large folio gets too few slots
 *	SLOT  -> LOST	to be evacuated, but could not be read; by way of NONE
 *	LOST  -> NONE	freed
 *
 * Those to ZSWAP are in zswap.c, those that begin or end a flight in writeback.c,
 * those to SLOT in slots.c as well, those to and from REFUSED in refuse.c. Rules 1
 * and 2 of internal.h say who may do that. A slot that is not free, not zero-filled
 * and without backing has its folio in the swap cache: there is no other copy of the
 * data.
 */
#include <linux/kernel.h>
#include <linux/suspend.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <trace/events/vswap.h>

#include "internal.h"

/* Backings are released in runs of at most this many slots. */
#define VSWAP_RUN_MAX	32

VISIBLE_IF_KUNIT void vswap_free_run(const unsigned long *words, unsigned int nr,
				     struct mem_cgroup *memcg)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_free_run, words, nr, memcg);
	vswap_zswap_free(words, nr, memcg);
}

#define VSWAP_ALL_TAGS	(BIT(VSWAP_NR_TAGS) - 1 - BIT(VSWAP_NONE))

/* Free compressed data behind slots from @off on, whose owners are recorded. */
static void vswap_release_zswap(struct swap_cluster_info *ci, unsigned int off,
				const unsigned long *words, unsigned int nr)
{
	unsigned int i, len;

	for (i = 0; i < nr; i += len) {
		len = vswap_owner_run(ci, off + i, nr - i);
		vswap_free_run(words + i, len, vswap_memcg_owner(ci, off + i));
	}
	vswap_count(VSWAP_NR_ZSWAP, -(long)nr);
}

/* Release what backs the slots of a locked cluster, if it is one of @tags. */
static void vswap_release_backing(struct swap_cluster_info *ci,
				  swp_entry_t entry, unsigned int nr,
				  unsigned long tags, enum vswap_reason reason)
{
	unsigned int off = swp_cluster_offset(entry), end = off + nr, len;
	unsigned long run[VSWAP_RUN_MAX] __uninitialized;

	lockdep_assert_held(&ci->lock);

	for (; off < end; off += len, entry.val += len) {
		enum vswap_tag tag = vswap_backing_tag(ci->backing[off]);

		if (tag == VSWAP_FLIGHT && tags & BIT(VSWAP_ZSWAP)) {
			vswap_overtake(ci, off);
			tag = VSWAP_ZSWAP;
		}
		if (!(tags & BIT(tag))) {
			len = 1;
			continue;
		}
		len = vswap_backing_take_run(&ci->backing[off], end - off, run,
					     VSWAP_RUN_MAX);
		if (tag == VSWAP_ZSWAP)
			vswap_release_zswap(ci, off, run, len);
		else if (tag == VSWAP_SLOT)
			vswap_release_slots(ci, off, run, len);
		else if (tag == VSWAP_REFUSED)
			vswap_count_refused(ci, off, -(int)len);
		trace_vswap_backing(entry, len, tag, VSWAP_NONE, reason);
	}
}

/**
 * vswap_release_old - release what backs a slot, whose page was written out again
 * @ci: the cluster, locked
 * @virt: the slot; its folio is locked
 */
void vswap_release_old(struct swap_cluster_info *ci, swp_entry_t virt)
{
	vswap_release_backing(ci, virt, 1, VSWAP_ALL_TAGS, VSWAP_WRITTEN);
}

static void vswap_release_folio(struct swap_cluster_info *ci,
				struct folio *folio, unsigned long tags,
				enum vswap_reason reason)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	vswap_release_backing(ci, folio->swap, folio_nr_pages(folio), tags,
			      reason);
}

/* How many slots of a locked cluster have the zero flag? */
static unsigned int vswap_nr_zero(struct swap_cluster_info *ci,
				  unsigned int ci_off, unsigned int nr)
{
	unsigned int zero = 0;

	while (nr--)
		zero += __swap_table_test_zero(ci, ci_off++);
	return zero;
}

/* @nr slots from @ci_off on, which have one owner, are marked, or no longer. */
static void vswap_count_zero(struct swap_cluster_info *ci, unsigned int ci_off,
			     long nr)
{
	vswap_count(VSWAP_NR_ZERO, nr);
	vswap_memcg_count_zero(vswap_memcg_owner(ci, ci_off), nr);
}

/* Some of the slots that are being freed are marked. */
static noinline void vswap_uncount_zero(struct swap_cluster_info *ci,
					unsigned int ci_off, unsigned int nr)
{
	unsigned int len, zero;

	for (; nr; nr -= len, ci_off += len) {
		len = vswap_owner_run(ci, ci_off, nr);
		zero = vswap_nr_zero(ci, ci_off, len);
		if (zero)
			vswap_count_zero(ci, ci_off, -(long)zero);
	}
}

/**
 * __vswap_release_range - release what backs virtual slots that are being freed
 * @ci: the cluster
 * @ci_off: the first of the slots
 * @nr: their number
 *
 * Context: @ci is locked. The slots are not in the swap cache and their swap
 * count is gone, but their swap table words are as they were.
 */
void __vswap_release_range(struct swap_cluster_info *ci, unsigned int ci_off,
			   unsigned int nr)
{
	unsigned long first = (ci - vswap_si->cluster_info) * SWAPFILE_CLUSTER;
	swp_entry_t entry = swp_entry(vswap_type, first + ci_off);

	/* Pages that were read in leave their slots one by one. */
	if (nr == 1 && vswap_backing_tag(ci->backing[ci_off]) == VSWAP_SLOT) {
		vswap_release_slot(ci, ci_off);
		trace_vswap_backing(entry, 1, VSWAP_SLOT, VSWAP_NONE, VSWAP_FREED);
	} else {
		vswap_release_backing(ci, entry, nr, VSWAP_ALL_TAGS, VSWAP_FREED);
		if (vswap_nr_zero(ci, ci_off, nr))
			vswap_uncount_zero(ci, ci_off, nr);
	}
	trace_vswap_free(entry, nr);
}

/**
 * __vswap_mark_zero - a folio is about to be marked as zero-filled, or as not
 * @ci: the cluster of its slots, which are virtual
 * @folio: the folio
 * @zero: which of the two
 *
 * Context: @folio is locked and in the swap cache, @ci is locked.
 */
void __vswap_mark_zero(struct swap_cluster_info *ci, struct folio *folio,
		       bool zero)
{
	unsigned int off = swp_cluster_offset(folio->swap);
	unsigned int nr = folio_nr_pages(folio), old;

	old = vswap_nr_zero(ci, off, nr);
	if (zero)
		vswap_release_folio(ci, folio, VSWAP_ALL_TAGS, VSWAP_ZEROED);
	if (zero ? nr - old : old)
		vswap_count_zero(ci, off, zero ? nr - old : -(long)old);
}

/**
 * vswap_word - read what backs a slot
 * @folio: the folio in the swap cache at the slot
 * @idx: which of its pages
 *
 * A flight is overtaken: the data stays as long as @folio is locked.
 *
 * Context: @folio is locked.
 * Return: the backing word.
 */
unsigned long vswap_word(struct folio *folio, unsigned int idx)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	unsigned int off = swp_cluster_offset(folio->swap) + idx;
	unsigned long word;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	word = READ_ONCE(ci->backing[off]);
	if (vswap_backing_tag(word) == VSWAP_FLIGHT) {
		spin_lock(&ci->lock);
		if (vswap_backing_tag(ci->backing[off]) == VSWAP_FLIGHT)
			vswap_overtake(ci, off);
		word = ci->backing[off];
		spin_unlock(&ci->lock);
	}
	return word;
}

/**
 * vswap_can_read - can a large folio be read at virtual slots?
 * @ci: their cluster, locked
 * @ci_off: the first of the slots, which are not in the swap cache
 * @nr: their number
 *
 * It can if it needs nothing but memory and synchronous devices: a fault does
 * not wait for a disk because of its neighbours. Flights are overtaken as soon
 * as the folio is charged.
 *
 * Return: false if the pages are to be read one by one.
 */
bool vswap_can_read(struct swap_cluster_info *ci, unsigned int ci_off,
		    unsigned int nr)
{
	unsigned long word;

	lockdep_assert_held(&ci->lock);
	for (; nr--; ci_off++) {
		word = ci->backing[ci_off];
		switch (vswap_backing_tag(word)) {
		case VSWAP_ZSWAP:
		case VSWAP_FLIGHT:
			continue;
		case VSWAP_NONE:
			if (!__swap_table_test_zero(ci, ci_off))
				return false;
			continue;
		case VSWAP_SLOT:
			if (!(vswap_word_flags(word) & SWP_SYNCHRONOUS_IO))
				return false;
			continue;
		default:
			return false;
		}
	}
	return true;
}

static noinline void vswap_erase_folio(struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), len;
	swp_entry_t entry = folio->swap;
	struct swap_cluster_info *ci;

	/* Others who need the cluster do not wait for a whole large folio. */
	for (; nr; nr -= len, entry.val += len) {
		len = min(nr, VSWAP_RUN_MAX);
		ci = swap_cluster_get_and_lock(folio);
		vswap_release_backing(ci, entry, len, BIT(VSWAP_ZSWAP),
				      VSWAP_IN_MEMORY);
		swap_cluster_unlock(ci);
	}
}

/*
 * Free the compressed data behind a folio's slots, which was read in or
 * refused. Slots of a device stay: data will be written there again.
 */
void __vswap_zswap_erase(struct folio *folio)
{
	/*
	 * While the folio is locked, its slots get no data in zswap but what was in
	 * flight and is taken back: without either there is nothing to do.
	 */
	if (vswap_tags(folio) & (BIT(VSWAP_ZSWAP) | BIT(VSWAP_FLIGHT)))
		vswap_erase_folio(folio);
}

/**
 * vswap_adopt - have the slots of a folio charged to the group that it is in
 * @folio: the folio, just read, locked, in the swap cache at virtual slots
 *
 * They were allocated for a group that is gone, and may be kept for long. What is
 * stored or known of them is not the new group's: it is dropped, and @folio has
 * the only copy. Data that is being written stays what it is.
 */
void vswap_adopt(struct folio *folio)
{
	unsigned int off = swp_cluster_offset(folio->swap), zero;
	struct swap_cluster_info *ci;

	if (folio_test_writeback(folio))
		return;
	/* See folio_swapcache_freeable(). */
	if (pm_suspended_storage())
		return;

	folio_mark_dirty(folio);
	ci = swap_cluster_get_and_lock(folio);
	vswap_release_folio(ci, folio, VSWAP_ALL_TAGS, VSWAP_IN_MEMORY);
	zero = vswap_nr_zero(ci, off, folio_nr_pages(folio));
	if (zero)
		vswap_count_zero(ci, off, -(long)zero);
	vswap_change_owner(ci, folio);
	if (zero)
		vswap_count_zero(ci, off, zero);
	swap_cluster_unlock(ci);
}

/* Let slots of a device back 2^@order slots of @folio, from @virt on. */
static __always_inline bool vswap_back_slots(struct folio *folio, swp_entry_t virt,
					     unsigned int order)
{
	struct swap_cluster_info *ci;
	swp_entry_t slot;

	slot = vswap_alloc_slots(virt, order, false);
	if (!slot.val)
		return false;

	ci = swap_cluster_get_and_lock(folio);
	if (order)
		vswap_install_slots(ci, virt, slot, 1 << order);
	else
		vswap_install_slot(ci, virt, slot, VSWAP_NONE);
	swap_cluster_unlock(ci);
	return true;
}

/* The same for a folio of one page. */
static bool vswap_back_page(struct folio *folio)
{
	/* Without room a charge would just be seen in memory.swap.peak. */
	if (vswap_device_room() > 0) {
		if (vswap_charge_slots(folio, 1))
			return false;
		if (vswap_back_slots(folio, folio->swap, 0))
			return true;
		vswap_charge_slots(folio, -1);
	}
	vswap_memcg_no_slots(folio);
	return false;
}

/* Allocate one slot after the other; they are neighbours where possible. */
static unsigned int vswap_back_missing(struct swap_cluster_info *ci,
				       struct folio *folio)
{
	unsigned int off = swp_cluster_offset(folio->swap), i, done = 0;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		swp_entry_t virt = page_swap_entry(folio_page(folio, i));

		if (vswap_backing_tag(READ_ONCE(ci->backing[off + i])) == VSWAP_SLOT)
			continue;
		if (!vswap_back_slots(folio, virt, 0))
			break;
		done++;
	}
	return done;
}

/* Let slots of devices back all slots of a large folio; @tags is what does now. */
static noinline bool vswap_back_large(struct folio *folio, unsigned long tags)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	unsigned int nr = folio_nr_pages(folio), missing = nr, done;

	if (tags & BIT(VSWAP_SLOT))
		missing = vswap_nr_missing(folio);
	if (vswap_device_room() < (long)missing) {
		vswap_memcg_no_slots(folio);
		goto none;
	}
	if (vswap_charge_slots(folio, missing))
		goto none;

	/* Without THP_SWAP devices have no lists for orders other than 0. */
	if (IS_ENABLED(CONFIG_THP_SWAP) && missing == nr &&
	    vswap_back_slots(folio, folio->swap, folio_order(folio)))
		return true;

	/* The device is fragmented: take the slots in pieces. */
	done = vswap_back_missing(ci, folio);
	if (done == missing)
		return true;

	vswap_charge_slots(folio, -(int)(missing - done));
	vswap_memcg_no_slots(folio);
none:
	/* With slots behind some of its pages it would neither be refused nor split. */
	ci = swap_cluster_get_and_lock(folio);
	vswap_release_folio(ci, folio, BIT(VSWAP_SLOT), VSWAP_IN_MEMORY);
	swap_cluster_unlock(ci);
	return false;
}

/* See vswap_get_slots(). */
bool __vswap_get_slots(struct folio *folio)
{
	unsigned long tags = vswap_tags(folio);

	/* It was written before, and zswap did not take it now: overwrite it. */
	if (tags == BIT(VSWAP_SLOT))
		return true;
	if (tags & BIT(VSWAP_REFUSED) && !vswap_take_refusals_back(folio))
		return false;
	return folio_test_large(folio) ? vswap_back_large(folio, tags) :
					 vswap_back_page(folio);
}

/**
 * vswap_leave_device - take a device's slots from behind a folio's slots
 * @folio: the folio; if it is up to date, it has the data from now on
 * @type: the device
 *
 * Context: @folio is locked, not under writeback, and in the swap cache at
 * virtual slots.
 * Return: the number of slots that were on the device.
 */
unsigned int vswap_leave_device(struct folio *folio, unsigned int type)
{
	unsigned int nr = folio_nr_pages(folio), off, i, left = 0;
	bool lost = !folio_test_uptodate(folio);
	struct swap_cluster_info *ci;

	VM_WARN_ON_ONCE_FOLIO(folio_test_writeback(folio), folio);
	/* The folio has the only copy: reclaim must not drop it. */
	if (!lost)
		folio_mark_dirty(folio);

	ci = swap_cluster_get_and_lock(folio);
	off = swp_cluster_offset(folio->swap);
	for (i = 0; i < nr; i++) {
		unsigned long word = ci->backing[off + i];
		swp_entry_t entry = page_swap_entry(folio_page(folio, i));

		VM_WARN_ON_ONCE(!vswap_backing_is_valid(word));
		if (vswap_backing_tag(word) != VSWAP_SLOT ||
		    vswap_backing_to_type(word) != type)
			continue;
		vswap_release_backing(ci, entry, 1, VSWAP_ALL_TAGS,
				      VSWAP_EVACUATED);
		if (lost) {
			WRITE_ONCE(ci->backing[off + i], VSWAP_LOST);
			trace_vswap_backing(entry, 1, VSWAP_NONE, VSWAP_LOST,
					    VSWAP_EVACUATED);
		}
		left++;
	}
	swap_cluster_unlock(ci);
	return left;
}
