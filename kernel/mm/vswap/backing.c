// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the transitions of a slot's backing.
 *
 *	NONE  -> ZSWAP	the folio was written out and zswap took it
 *	ZSWAP -> ZSWAP	written out again
 *	ZSWAP -> NONE	read in; written out as zeroes; refused by zswap; freed
 *
 * Rules 1 and 2 of internal.h say who may do that. A slot that is not free, not
 * zero-filled and without backing has its folio in the swap cache: there is no
 * other copy of the data.
 */
#include <linux/kernel.h>
#include <linux/pagemap.h>
#include <linux/zswap.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include <trace/events/vswap.h>

#include "internal.h"

/* Backings are released in runs of at most this many slots. */
#define VSWAP_RUN_MAX	32

VISIBLE_IF_KUNIT void vswap_free_run(void **entries, unsigned int nr)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_free_run, entries, nr);
	zswap_free_entries(entries, nr);
}

/* Release what backs the slots of a locked cluster. */
static void vswap_release_backing(struct swap_cluster_info *ci,
				  swp_entry_t entry, unsigned int nr,
				  enum vswap_reason reason)
{
	unsigned int off = swp_cluster_offset(entry), end = off + nr, len, i;
	unsigned long run[VSWAP_RUN_MAX];

	lockdep_assert_held(&ci->lock);

	for (; off < end; off += len, entry.val += len) {
		enum vswap_tag tag = vswap_backing_tag(ci->backing[off]);

		len = vswap_backing_take_run(&ci->backing[off], end - off, run,
					     VSWAP_RUN_MAX);
		if (tag != VSWAP_ZSWAP) {
			WARN_ON_ONCE(tag != VSWAP_NONE);
			continue;
		}
		for (i = 0; i < len; i++)
			run[i] = (unsigned long)vswap_backing_to_zswap(run[i]);
		vswap_free_run((void **)run, len);
		vswap_count(VSWAP_NR_ZSWAP, -(long)len);
		trace_vswap_backing(entry, len, VSWAP_ZSWAP, VSWAP_NONE, reason);
	}
}

static void vswap_release_folio(struct swap_cluster_info *ci,
				struct folio *folio, enum vswap_reason reason)
{
	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	vswap_release_backing(ci, folio->swap, folio_nr_pages(folio), reason);
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

/**
 * vswap_release_range - release what backs slots that are being freed
 * @si: the device
 * @ci: the cluster
 * @ci_off: the first of the slots
 * @nr: their number
 *
 * Context: @ci is locked. The slots are not in the swap cache and their swap
 * count is gone, but their swap table words are as they were.
 */
void vswap_release_range(struct swap_info_struct *si,
			 struct swap_cluster_info *ci,
			 unsigned int ci_off, unsigned int nr)
{
	unsigned int zero;
	swp_entry_t entry;

	if (!swap_is_virtual(si))
		return;

	entry = swp_entry(si->type, (ci - si->cluster_info) * SWAPFILE_CLUSTER +
				    ci_off);
	vswap_release_backing(ci, entry, nr, VSWAP_FREED);
	zero = vswap_nr_zero(ci, ci_off, nr);
	if (zero)
		vswap_count(VSWAP_NR_ZERO, -(long)zero);
	trace_vswap_free(entry, nr);
}

/**
 * vswap_mark_zero - a folio is about to be marked as zero-filled, or as not
 * @ci: the cluster of its slots
 * @folio: the folio
 * @zero: which of the two
 *
 * Context: @folio is locked and in the swap cache, @ci is locked.
 */
void vswap_mark_zero(struct swap_cluster_info *ci, struct folio *folio,
		     bool zero)
{
	unsigned int nr = folio_nr_pages(folio), old;

	if (!vswap_folio(folio))
		return;

	old = vswap_nr_zero(ci, swp_cluster_offset(folio->swap), nr);
	if (zero) {
		vswap_release_folio(ci, folio, VSWAP_ZEROED);
		vswap_accepted();
	}
	if (zero ? nr - old : old)
		vswap_count(VSWAP_NR_ZERO, zero ? nr - old : -(long)old);
}

/**
 * vswap_read_lost - finish reading a folio whose data is nowhere
 * @folio: the folio: neither zero-filled nor in zswap
 *
 * For a virtual slot that must not happen. The reader gets an I/O error rather
 * than somebody's old data.
 *
 * Context: @folio is locked and in the swap cache.
 * Return: false if the slot is not virtual; nothing was done. Else true, and
 * @folio is unlocked and not up to date.
 */
bool vswap_read_lost(struct folio *folio)
{
	if (!vswap_folio(folio))
		return false;

	WARN_ONCE(1, "vswap: slot %lx without data\n", swp_offset(folio->swap));
	folio_unlock(folio);
	return true;
}

/**
 * vswap_zswap_lookup - find the zswap entry that backs a slot
 * @folio: the folio in the swap cache at the slot; of a large one, the first
 *
 * Context: @folio is locked.
 * Return: the entry, or NULL if zswap does not back the slot.
 */
void *vswap_zswap_lookup(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	unsigned long word;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	word = READ_ONCE(ci->backing[swp_cluster_offset(folio->swap)]);
	if (vswap_backing_tag(word) != VSWAP_ZSWAP)
		return NULL;
	return vswap_backing_to_zswap(word);
}

/**
 * vswap_zswap_store - let a zswap entry back a slot
 * @ci: the cluster of the slot
 * @entry: the slot
 * @zentry: the zswap entry
 *
 * Context: @ci is locked, and the folio in the swap cache at the slot.
 * Return: the zswap entry that backed the slot before, to be freed, or NULL.
 */
void *vswap_zswap_store(struct swap_cluster_info *ci, swp_entry_t entry,
			void *zentry)
{
	unsigned long *word = &ci->backing[swp_cluster_offset(entry)];
	enum vswap_tag from = vswap_backing_tag(*word);
	void *old = NULL;

	lockdep_assert_held(&ci->lock);
	VM_WARN_ON_ONCE((unsigned long)zentry & VSWAP_TAG_MASK);

	if (from == VSWAP_ZSWAP)
		old = vswap_backing_to_zswap(*word);
	else
		vswap_count(VSWAP_NR_ZSWAP, 1);
	WRITE_ONCE(*word, vswap_zswap_to_backing(zentry));
	vswap_accepted();
	trace_vswap_backing(entry, 1, from, VSWAP_ZSWAP, VSWAP_WRITTEN);
	return old;
}

/**
 * vswap_zswap_erase - take the zswap entries of a folio's slots away, free them
 * @folio: the folio, read in or refused
 *
 * Context: @folio is locked and in the swap cache.
 */
void vswap_zswap_erase(struct folio *folio)
{
	struct swap_cluster_info *ci = swap_cluster_get_and_lock(folio);

	vswap_release_folio(ci, folio, VSWAP_IN_MEMORY);
	swap_cluster_unlock(ci);
}
