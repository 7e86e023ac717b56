// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: reading folios in.
 *
 * Each page of a large folio is read from where it is: some are filled with
 * zeroes, some decompressed, and what is left is read from devices in one
 * request, by io.c.
 */
#include <linux/memcontrol.h>

#include "internal.h"
#include "zswap.h"

/* Where the pages of a folio were found. */
struct vswap_found {
	unsigned int zero;
	unsigned int zswap;
	unsigned int device;
};

static bool vswap_is_zero(struct folio *folio, unsigned int idx)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	bool zero;

	/* While the folio is locked, marks do not change. */
	rcu_read_lock();
	zero = __swap_table_test_zero(ci, swp_cluster_offset(folio->swap) + idx);
	rcu_read_unlock();
	return zero;
}

/* Return: false if there is no data for the page. */
static bool vswap_read_page(struct folio *folio, unsigned int idx,
			    struct vswap_found *found)
{
	swp_entry_t virt = page_swap_entry(folio_page(folio, idx));
	unsigned long word = vswap_word(folio, idx);
	enum vswap_tag tag = vswap_backing_tag(word);

	if (tag == VSWAP_ZSWAP) {
		found->zswap++;
		return vswap_decompress(word, virt, folio_page(folio, idx));
	}
	if (tag == VSWAP_SLOT) {
		found->device++;
		return true;
	}
	if (tag == VSWAP_NONE && vswap_is_zero(folio, idx)) {
		found->zero++;
		folio_zero_range(folio, idx * PAGE_SIZE, PAGE_SIZE);
		return true;
	}
	WARN_ONCE(tag != VSWAP_LOST, "vswap: slot %lx without data\n",
		  swp_offset(virt));
	return false;
}

static void vswap_overtake_all(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		vswap_word(folio, i);
}

/* The folio has the only copy of what zswap had from now on. */
static void vswap_take_over(struct folio *folio)
{
	folio_mark_dirty(folio);
	__vswap_zswap_erase(folio);
}

static void vswap_count_read(struct folio *folio, const struct vswap_found *found)
{
	if (found->zswap) {
		count_vm_events(ZSWPIN, found->zswap);
		count_memcg_folio_events(folio, ZSWPIN, found->zswap);
	}
	if (found->zero) {
		count_vm_events(SWPIN_ZERO, found->zero);
		count_memcg_folio_events(folio, SWPIN_ZERO, found->zero);
	}
}

/**
 * vswap_read_folio - read those pages of a folio that are on no device
 * @folio: the folio, locked and in the swap cache at virtual slots; not all of
 *	   it is zero-filled
 *
 * A small folio takes its compressed data over. That of a large one is kept
 * until the folio is mapped, see vswap_swapped_in().
 *
 * Return: false if a device has the other pages; @folio is to be read from there.
 * Otherwise true; @folio is unlocked. If a page has no data, it is not up to
 * date, and if it is large, it is not in the swap cache: see vswap_read_failed().
 */
bool vswap_read_folio(struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), i;
	struct vswap_found found = {};

	/* First: none is to land on a disk while others are decompressed. */
	if (nr > 1)
		vswap_overtake_all(folio);

	for (i = 0; i < nr; i++) {
		if (!vswap_read_page(folio, i, &found)) {
			if (nr > 1)
				swap_cache_del_folio(folio);
			folio_unlock(folio);
			return true;
		}
		cond_resched();
	}
	vswap_count_read(folio, &found);
	if (found.device)
		return false;

	folio_mark_uptodate(folio);
	if (folio_test_large(folio))
		count_mthp_stat(folio_order(folio), MTHP_STAT_SWPIN);
	else
		vswap_take_over(folio);
	folio_unlock(folio);
	return true;
}

/* See vswap_read_failed(). A folio that is locked is being read, or in use. */
bool __vswap_read_failed(struct folio *folio)
{
	bool failed;

	if (folio_test_uptodate(folio) || !folio_trylock(folio))
		return false;
	failed = !folio_test_uptodate(folio);
	vswap_drop_unread(folio);
	folio_unlock(folio);
	if (failed)
		folio_put(folio);
	return failed;
}

static bool vswap_has_kept(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		if (vswap_backing_tag(vswap_word(folio, i)) == VSWAP_ZSWAP)
			return true;
	return false;
}

/* See vswap_swapped_in(). */
void __vswap_swapped_in(struct folio *folio)
{
	if (folio_test_large(folio) && !folio_test_anon(folio) && vswap_has_kept(folio))
		vswap_take_over(folio);
	if (!vswap_memcg_owns(folio))
		vswap_adopt(folio);
}

/**
 * vswap_frees_early - are the slots of a folio not worth keeping?
 * @folio: the folio, just read, locked, in the swap cache at virtual slots
 *
 * A virtual slot costs little, but saves allocating another. Not kept are
 * copies on a device that is synchronous, as on mainline, and large folios that no
 * device has a copy of, because those that are partly unmapped are not split
 * while they have slots.
 *
 * Return: true if they are to be freed when the folio is mapped.
 */
bool vswap_frees_early(struct folio *folio)
{
	unsigned long flags = vswap_storage_flags(folio);

	return flags & SWP_SYNCHRONOUS_IO || (!flags && folio_test_large(folio));
}
