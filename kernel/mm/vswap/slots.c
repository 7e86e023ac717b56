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
 * when the slot is allocated and cleared when it is freed. But for spare slots
 * only its cache-only bit changes in between, under the lock of the virtual slot's
 * cluster.
 *
 * To allocate one means to lock a cluster of the device and to search it. So the
 * free slots right behind it are taken with it, as spare ones: for pages that are
 * written on the same CPU next, which is what reclaim does. Spare slots belong to
 * their CPU, under a lock that nests outside of those of clusters. They count as
 * free, and their words name no virtual slot; whoever takes one for a virtual slot
 * accounts for it, and sets the word without the lock of the device's cluster. If a
 * device has no other free slot left, or is removed, its spare slots are given back.
 */
#include <linux/memcontrol.h>
#include <linux/percpu.h>
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

/* The word of the reverse map of @slot, which is in use, or spare. */
static atomic_long_t *vswap_rmap_word(swp_entry_t slot)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(slot);

	return rcu_dereference_protected(ci->table, true) +
	       swp_cluster_offset(slot);
}

/**
 * vswap_free_slots - free contiguous slots that back no virtual slots any more, or yet
 * @entry: the first of the slots; all are spare, or none
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
 * struct vswap_spare - the spare slots of a CPU
 * @lock: protects the fields below, and pins the device of spare slots
 * @first: the first of them; they are neighbours, in one cluster
 * @nr: their number
 */
struct vswap_spare {
	spinlock_t lock;
	swp_entry_t first;
	unsigned int nr;
};

static DEFINE_PER_CPU(struct vswap_spare, vswap_spare) = {
	.lock = __SPIN_LOCK_UNLOCKED(vswap_spare.lock),
};

/* Devices that have spare slots: set when they are, cleared before they are looked for. */
static unsigned long vswap_spare_types;
/* Held while they are looked for. It nests outside of the locks of CPUs. */
static DEFINE_SPINLOCK(vswap_spare_lock);
/* Twice how often some were freed. Changes under that lock, when they have been. */
unsigned int vswap_spare_freed;
/* What a caller of vswap_had_spare() has instead when it looks for the second time. */
#define VSWAP_SPARE_LOOKED_TWICE	1

/*
 * Is a device so full that spare slots of one CPU may be missing on another? That
 * one would search the device, and find nothing, before it gets them.
 */
static bool vswap_is_tight(struct swap_info_struct *si)
{
	long room = (long)si->pages - swap_usage_in_pages(si);

	return room < 2L * (VSWAP_SPARE_MAX + 1) * num_online_cpus();
}

/**
 * __vswap_set_spare - take free slots of a device as spare ones
 * @si: the device
 * @ci: the cluster, locked
 * @ci_off: where to begin
 * @nr: how many are wanted
 *
 * Return: how many there are, up to the first that is not free.
 */
unsigned int __vswap_set_spare(struct swap_info_struct *si,
			       struct swap_cluster_info *ci, unsigned int ci_off,
			       unsigned int nr)
{
	unsigned int i;

	if (vswap_is_tight(si))
		return 0;
	nr = min(nr, SWAPFILE_CLUSTER - ci_off);
	for (i = 0; i < nr; i++) {
		if (!swp_tb_is_null(__swap_table_get(ci, ci_off + i)))
			break;
		__swap_table_set(ci, ci_off + i, vswap_to_rmap(0, false));
	}
	ci->count += i;
	return i;
}

/**
 * vswap_keep_spare - leave spare slots to this CPU
 * @slot: a slot that was allocated, and is in use; they are right behind it
 * @nr: their number
 *
 * Context: The lock of the CPU's clusters is held, so that no task that is preempted
 * has more of them.
 */
void vswap_keep_spare(swp_entry_t slot, unsigned int nr)
{
	struct vswap_spare *spare = raw_cpu_ptr(&vswap_spare);
	swp_entry_t first = { slot.val + 1 };
	unsigned int type = swp_type(slot);

	spin_lock(&spare->lock);
	if (!spare->nr) {
		spare->first = first;
		spare->nr = nr;
		if (!test_bit(type, &vswap_spare_types))
			set_bit(type, &vswap_spare_types);
	} else {
		vswap_free_slots(first, nr);
	}
	spin_unlock(&spare->lock);
}

static void __vswap_leave_spare(struct swap_info_struct *si)
{
	int cpu;

	lockdep_assert_held(&vswap_spare_lock);
	clear_bit(si->type, &vswap_spare_types);
	for_each_possible_cpu(cpu) {
		struct vswap_spare *spare = per_cpu_ptr(&vswap_spare, cpu);

		spin_lock(&spare->lock);
		if (spare->nr && swp_type(spare->first) == si->type) {
			vswap_free_slots(spare->first, spare->nr);
			spare->nr = 0;
			WRITE_ONCE(vswap_spare_freed, vswap_spare_freed + 2);
		}
		spin_unlock(&spare->lock);
	}
}

/**
 * vswap_leave_spare - free the spare slots of a device
 * @si: the device
 *
 * When nothing can be allocated there any more, as at swapoff, a task may still be about
 * to keep some, which are used then: their words in the swap table tell. There are none
 * after those.
 */
void vswap_leave_spare(struct swap_info_struct *si)
{
	spin_lock(&vswap_spare_lock);
	__vswap_leave_spare(si);
	spin_unlock(&vswap_spare_lock);
}

/* See vswap_had_spare(). */
bool __vswap_had_spare(struct swap_info_struct *si, unsigned int *seq)
{
	unsigned int before = *seq;

	if (before == VSWAP_SPARE_LOOKED_TWICE)
		return false;
	*seq = VSWAP_SPARE_LOOKED_TWICE;
	/* Others may be freeing what the caller looked for: wait for them. */
	spin_lock(&vswap_spare_lock);
	if (test_bit(si->type, &vswap_spare_types))
		__vswap_leave_spare(si);
	spin_unlock(&vswap_spare_lock);
	return READ_ONCE(vswap_spare_freed) != before;
}

/* Take a spare slot of this CPU for @virt. */
static swp_entry_t vswap_take_spare(swp_entry_t virt)
{
	struct vswap_spare *spare = raw_cpu_ptr(&vswap_spare);
	swp_entry_t slot = {};

	spin_lock(&spare->lock);
	if (spare->nr) {
		slot = spare->first;
		spare->first.val++;
		spare->nr--;
		swap_take_spare(slot);
		atomic_long_set(vswap_rmap_word(slot),
				vswap_to_rmap(swp_offset(virt), false));
	}
	spin_unlock(&spare->lock);
	return slot;
}

/**
 * vswap_spare_is_right - does the reverse map say of spare slots that they are?
 * @cpu: the CPU that they are of
 *
 * Return: false if another slot is among them.
 */
bool vswap_spare_is_right(int cpu)
{
	struct vswap_spare *spare = per_cpu_ptr(&vswap_spare, cpu);
	bool right = true;
	unsigned int i;

	spin_lock(&spare->lock);
	for (i = 0; i < spare->nr && right; i++) {
		swp_entry_t slot = { spare->first.val + i };

		right = vswap_is_spare(atomic_long_read(vswap_rmap_word(slot)));
	}
	spin_unlock(&spare->lock);
	return right;
}

/**
 * vswap_alloc_slots - allocate slots of a device for virtual slots
 * @virt: the first of the virtual slots
 * @order: how many, as an order
 * @nowait: do not wait for clusters to be discarded
 *
 * Context: No cluster is locked.
 * Return: the first of contiguous slots, or an empty entry.
 */
swp_entry_t vswap_alloc_slots(swp_entry_t virt, unsigned int order, bool nowait)
{
	swp_entry_t slot = {};

	if (!order)
		slot = vswap_take_spare(virt);
	return slot.val ? slot : swap_alloc_backing(virt, order, nowait);
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

/* Inlined, as __vswap_release_slots(), so that for one slot there is no loop. */
static __always_inline void __vswap_install_slots(struct swap_cluster_info *ci,
						  swp_entry_t virt, swp_entry_t slot,
						  unsigned int nr, enum vswap_tag from)
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
 * vswap_install_slots - let slots of a device back virtual slots
 * @ci: the virtual cluster, locked
 * @virt: the first of the virtual slots, which nothing backs
 * @slot: the first of the slots
 * @nr: their number
 */
void vswap_install_slots(struct swap_cluster_info *ci, swp_entry_t virt,
			 swp_entry_t slot, unsigned int nr)
{
	__vswap_install_slots(ci, virt, slot, nr, VSWAP_NONE);
}

/**
 * vswap_install_slot - the same for one virtual slot, which something may back
 * @ci: the virtual cluster, locked
 * @virt: the virtual slot
 * @slot: the slot
 * @from: what backed it until now, which the caller takes care of
 */
void vswap_install_slot(struct swap_cluster_info *ci, swp_entry_t virt,
			swp_entry_t slot, enum vswap_tag from)
{
	__vswap_install_slots(ci, virt, slot, 1, from);
}

static __always_inline void __vswap_release_slots(struct swap_cluster_info *ci,
						  unsigned int ci_off,
						  const unsigned long *words,
						  unsigned int nr)
{
	unsigned int run, i, len;

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
	lockdep_assert_held(&ci->lock);
	__vswap_release_slots(ci, ci_off, words, nr);
}

/**
 * vswap_release_slot - the same for one virtual slot, whose word is cleared
 * @ci: the virtual cluster, locked
 * @ci_off: the virtual slot, which a slot of a device backs
 */
void vswap_release_slot(struct swap_cluster_info *ci, unsigned int ci_off)
{
	unsigned long word = ci->backing[ci_off];

	lockdep_assert_held(&ci->lock);
	WRITE_ONCE(ci->backing[ci_off], 0);
	__vswap_release_slots(ci, ci_off, &word, 1);
}
