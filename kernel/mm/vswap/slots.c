// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the slots of swap devices that back virtual slots.
 *
 * Such a slot is allocated when data is about to be written there, and charged
 * to the owner of the virtual slot at that moment. The swap table of the device
 * then says which virtual slot it backs (the reverse map). It is freed when the
 * virtual slot gets another backing, or is freed.
 *
 * The word of the reverse map is set under the lock of the device's cluster
 * when the slot is allocated and cleared when it is freed. Only its cache-only
 * bit changes in between, under the lock of the virtual slot's cluster.
 */
#include <linux/memcontrol.h>
#include <trace/events/vswap.h>

#include "internal.h"

/**
 * __vswap_set_rmap - note which virtual slots a device's slots will back
 * @ci: the cluster of the device, locked
 * @ci_off: the first of its slots
 * @nr: their number
 * @virt: the first of the virtual slots
 */
void __vswap_set_rmap(struct swap_cluster_info *ci, unsigned int ci_off,
		      unsigned int nr, swp_entry_t virt)
{
	unsigned long offset = swp_offset(virt);

	while (nr--)
		__swap_table_set(ci, ci_off++, vswap_to_rmap(offset++, false));
}

/* The word of the reverse map of @slot, which is in use. */
static atomic_long_t *vswap_rmap_word(swp_entry_t slot)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(slot);

	return rcu_dereference_protected(ci->table, true) +
	       swp_cluster_offset(slot);
}

static swp_entry_t vswap_word_to_slot(unsigned long word)
{
	VM_WARN_ON_ONCE(vswap_backing_tag(word) != VSWAP_SLOT ||
			!vswap_backing_is_valid(word) ||
			vswap_backing_to_type(word) == vswap_type);
	return swp_entry(vswap_backing_to_type(word),
			 vswap_backing_to_offset(word));
}

/**
 * __vswap_note_cache_only - the swap count of a slot becomes zero, or not
 * @ci: the virtual cluster, locked
 * @ci_off: the slot, which one of a device backs; a folio is in the swap cache there
 * @cache_only: whether there is no swap count any more
 */
void __vswap_note_cache_only(struct swap_cluster_info *ci, unsigned int ci_off,
			     bool cache_only)
{
	atomic_long_t *rmap;

	lockdep_assert_held(&ci->lock);
	rmap = vswap_rmap_word(vswap_word_to_slot(ci->backing[ci_off]));
	if (cache_only)
		atomic_long_or(VSWAP_RMAP_CACHE_ONLY, rmap);
	else
		atomic_long_andnot(VSWAP_RMAP_CACHE_ONLY, rmap);
}

/**
 * __vswap_note_count - the swap count of a slot was decreased, perhaps to zero
 * @ci: the virtual cluster, locked
 * @ci_off: the slot; a folio is in the swap cache there
 */
void __vswap_note_count(struct swap_cluster_info *ci, unsigned int ci_off)
{
	vswap_note_cache_only(ci, ci_off,
			      !swp_tb_get_count(__swap_table_get(ci, ci_off)));
}

/**
 * vswap_install_slots - let slots of a device back virtual slots
 * @ci: the virtual cluster, locked
 * @virt: the first of the virtual slots
 * @slot: the first of the slots
 * @nr: their number
 * @from: what backed them until now, which the caller takes care of
 */
void vswap_install_slots(struct swap_cluster_info *ci, swp_entry_t virt,
			 swp_entry_t slot, unsigned int nr, enum vswap_tag from)
{
	unsigned int off = swp_cluster_offset(virt), i;

	lockdep_assert_held(&ci->lock);
	for (i = 0; i < nr; i++) {
		VM_WARN_ON_ONCE(vswap_backing_tag(ci->backing[off + i]) != from);
		WRITE_ONCE(ci->backing[off + i],
			   vswap_slot_to_backing(swp_type(slot),
						 swp_offset(slot) + i));
		if (!swp_tb_get_count(__swap_table_get(ci, off + i)))
			__vswap_note_cache_only(ci, off + i, true);
	}
	vswap_count(VSWAP_NR_PHYSICAL, nr);
	count_vm_events(VSWAP_SLOT_ALLOC, nr);
	trace_vswap_backing(virt, nr, from, VSWAP_SLOT, VSWAP_WRITTEN);
}

/**
 * vswap_free_slots - free contiguous slots that backed virtual slots
 * @entry: the first of the slots
 * @nr: their number, within one cluster
 *
 * Context: The cluster of the virtual slots may be locked.
 */
void vswap_free_slots(swp_entry_t entry, unsigned int nr)
{
	struct swap_info_struct *si = __swap_entry_to_info(entry);
	struct swap_cluster_info *ci;

	ci = swap_cluster_lock(si, swp_offset(entry));
	__swap_cluster_free_entries(si, ci, swp_cluster_offset(entry), nr);
	swap_cluster_unlock(ci);
}

/**
 * vswap_release_slots - free the slots of devices that backed virtual slots
 * @ci: the virtual cluster, locked
 * @ci_off: the first of the virtual slots
 * @words: what their backing words were
 * @nr: their number
 *
 * The owners are still recorded: they are uncharged.
 */
void vswap_release_slots(struct swap_cluster_info *ci, unsigned int ci_off,
			 const unsigned long *words, unsigned int nr)
{
	unsigned int run, i, len;

	lockdep_assert_held(&ci->lock);
	vswap_count(VSWAP_NR_PHYSICAL, -(long)nr);
	count_vm_events(VSWAP_SLOT_FREE, nr);

	for (i = 0; i < nr; i += len) {
		len = vswap_owner_run(ci, ci_off + i, nr - i);
		vswap_memcg_charge(vswap_memcg_owner(ci, ci_off + i), -(int)len, false);
	}

	for (i = 0; i < nr; i += run) {
		run = vswap_backing_slot_run(words + i, nr - i, SWAPFILE_CLUSTER);
		vswap_free_slots(vswap_word_to_slot(words[i]), run);
	}
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
	struct swap_cluster_info *ci = swap_cluster_get_and_lock(folio);
	struct mem_cgroup *memcg;

	memcg = vswap_memcg_owner(ci, swp_cluster_offset(folio->swap));
	swap_cluster_unlock(ci);
	return vswap_memcg_charge(memcg, nr, true);
}
