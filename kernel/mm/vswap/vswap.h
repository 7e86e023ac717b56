/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual swap: what the rest of mm/ may call.
 *
 * A virtual slot is a slot of the virtual swap device. Its entry is what page
 * tables and shmem hold; where the data is, its backing word says, and that
 * may change without the entry changing. See Documentation/mm/vswap.rst.
 */
#ifndef _MM_VSWAP_H
#define _MM_VSWAP_H

#include <linux/jump_label.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/zswap.h>

#include "../swap.h"
#include "backing.h"

struct mem_cgroup;
struct plist_head;
struct vswap_split;

#ifdef CONFIG_VSWAP

/* The virtual swap device; NULL until, and unless, it could be set up. */
extern struct swap_info_struct *vswap_si;
/* Its type; one that no device has, as long as there is none. */
extern unsigned int vswap_type;

/* Set once virtual slots may be used: there is none before. */
DECLARE_STATIC_KEY_FALSE(vswap_ever_used);

static inline bool vswap_never_used(void)
{
	return !static_branch_unlikely(&vswap_ever_used);
}

static inline bool swap_is_virtual(const struct swap_info_struct *si)
{
	return !vswap_never_used() && si->flags & SWP_VIRTUAL;
}

/* Does @entry, which is valid, name a virtual slot? */
static inline bool vswap_entry(swp_entry_t entry)
{
	return !vswap_never_used() && swp_type(entry) == vswap_type;
}

/* Is @folio, which is locked, in the swap cache at virtual slots? */
static inline bool vswap_folio(struct folio *folio)
{
	return folio_test_swapcache(folio) && vswap_entry(folio->swap);
}

/* Of a word in the swap table of a device: does the slot back a virtual one? */
static inline bool swp_tb_is_rmap(unsigned long swp_tb)
{
	return !vswap_never_used() && vswap_is_rmap(swp_tb);
}

static inline bool vswap_rmap_cache_only(unsigned long swp_tb)
{
	return swp_tb & VSWAP_RMAP_CACHE_ONLY;
}

static inline swp_entry_t vswap_rmap_entry(unsigned long swp_tb)
{
	return swp_entry(vswap_type, vswap_rmap_to_offset(swp_tb));
}

/* policy.c: who uses virtual slots, and is there room behind them */
extern unsigned int vswap_nr_tiers, vswap_min_tiers;
bool __vswap_prepare_alloc(struct folio *folio);
bool vswap_can_swap(struct mem_cgroup *memcg);
bool vswap_may_write_back(void);
bool vswap_require_nofs(void);
void vswap_devices_changed(struct plist_head *devices);
void vswap_policy_changed(void);
unsigned long vswap_overcommit_pages(void);

/* Are there devices enough that virtual slots are used for their sake? */
static inline bool vswap_devices_suffice(void)
{
	return READ_ONCE(vswap_nr_tiers) >= READ_ONCE(vswap_min_tiers);
}

/*
 * Is @folio, locked and about to be swapped out, to get virtual slots? If so,
 * have some ready; allocation may still fail. A device alone does not even pay
 * for the call.
 */
static inline bool vswap_prepare_alloc(struct folio *folio)
{
	return !vswap_never_used() &&
	       (vswap_devices_suffice() || zswap_is_enabled()) &&
	       __vswap_prepare_alloc(folio);
}

/* swapoff.c: have no slots of a device behind virtual slots any more */
int vswap_evacuate(struct swap_info_struct *si);

/* tables.c: what belongs to a cluster */
int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp);
struct swap_table *vswap_alloc_rmap_table(gfp_t gfp);
bool vswap_cluster_depopulate(struct swap_cluster_info *ci);

/* slots.c: slots of devices that back virtual ones */
void vswap_set_rmap(struct swap_cluster_info *ci, unsigned int ci_off,
		    unsigned int nr, swp_entry_t virt);
void __vswap_note_cache_only(struct swap_cluster_info *ci, unsigned int ci_off,
			     bool cache_only);
swp_entry_t vswap_reserve_slot(struct folio *folio);
void vswap_cancel_slot(struct folio *folio, swp_entry_t slot);

/* The swap count of a slot has become zero, or is no longer; @ci is locked. */
static inline void vswap_note_cache_only(struct swap_cluster_info *ci,
					 unsigned int ci_off, bool cache_only)
{
	if (!vswap_never_used() && ci->backing)
		__vswap_note_cache_only(ci, ci_off, cache_only);
}

/* io.c: where on a device it is */
swp_entry_t vswap_device_entry(struct folio *folio, unsigned int idx);
unsigned int __vswap_nr_runs(struct folio *folio);
unsigned int vswap_run_length(struct folio *folio, unsigned int first);
unsigned long vswap_slot_flags(swp_entry_t entry);
unsigned long vswap_storage_flags(swp_entry_t entry);
bool vswap_folio_stable_writes(struct folio *folio);
bool __vswap_same_device(swp_entry_t a, swp_entry_t b);
struct vswap_split *vswap_split_alloc(unsigned int nr);
int vswap_split_end(struct vswap_split *split, bool failed);

/* stats.c: slots in use */
void __vswap_account_alloc(struct folio *folio);
void __vswap_range_free(unsigned long offset, unsigned int nr);

/* Return: false if it is not the virtual device; nothing was done. */
static inline bool vswap_account_alloc(struct swap_info_struct *si,
				       struct folio *folio)
{
	if (!swap_is_virtual(si))
		return false;
	__vswap_account_alloc(folio);
	return true;
}

static inline bool vswap_range_free(struct swap_info_struct *si,
				    unsigned long offset, unsigned int nr)
{
	if (!swap_is_virtual(si))
		return false;
	__vswap_range_free(offset, nr);
	return true;
}

/* backing.c: where the data is. The folio is locked, in the swap cache */
void __vswap_release_range(struct swap_cluster_info *ci, unsigned int ci_off,
			   unsigned int nr);
void __vswap_mark_zero(struct swap_cluster_info *ci, struct folio *folio,
		       bool zero);
bool __vswap_read_lost(struct folio *folio);

static inline void vswap_release_range(struct swap_info_struct *si,
				       struct swap_cluster_info *ci,
				       unsigned int ci_off, unsigned int nr)
{
	if (swap_is_virtual(si))
		__vswap_release_range(ci, ci_off, nr);
}

static inline void vswap_mark_zero(struct swap_cluster_info *ci,
				   struct folio *folio, bool zero)
{
	if (vswap_entry(folio->swap))
		__vswap_mark_zero(ci, folio, zero);
}

static inline bool vswap_read_lost(struct folio *folio)
{
	return vswap_entry(folio->swap) && __vswap_read_lost(folio);
}

void *vswap_zswap_lookup(struct folio *folio);
void *vswap_zswap_store(struct swap_cluster_info *ci, swp_entry_t entry,
			void *zentry);
void vswap_zswap_erase(struct folio *folio);
bool __vswap_get_slots(struct folio *folio);
void vswap_start_writeback(struct folio *folio, swp_entry_t slot);
void vswap_fail_writeback(struct folio *folio, void *zentry);

#else /* CONFIG_VSWAP */

#define vswap_si ((struct swap_info_struct *)NULL)

static inline bool vswap_never_used(void)
{
	return true;
}

static inline bool swap_is_virtual(const struct swap_info_struct *si)
{
	return false;
}

static inline bool vswap_entry(swp_entry_t entry)
{
	return false;
}

static inline bool vswap_folio(struct folio *folio)
{
	return false;
}

static inline bool swp_tb_is_rmap(unsigned long swp_tb)
{
	return false;
}

static inline bool vswap_rmap_cache_only(unsigned long swp_tb)
{
	return false;
}

static inline swp_entry_t vswap_rmap_entry(unsigned long swp_tb)
{
	return (swp_entry_t){};
}

static inline bool vswap_prepare_alloc(struct folio *folio)
{
	return false;
}

static inline bool vswap_can_swap(struct mem_cgroup *memcg)
{
	return false;
}

static inline bool vswap_may_write_back(void)
{
	return true;
}

static inline bool vswap_require_nofs(void)
{
	return false;
}

static inline void vswap_devices_changed(struct plist_head *devices)
{
}

static inline void vswap_policy_changed(void)
{
}

static inline unsigned long vswap_overcommit_pages(void)
{
	return 0;
}

static inline int vswap_evacuate(struct swap_info_struct *si)
{
	return 0;
}

static inline int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp)
{
	return -ENOMEM;
}

static inline struct swap_table *vswap_alloc_rmap_table(gfp_t gfp)
{
	return NULL;
}

static inline bool vswap_cluster_depopulate(struct swap_cluster_info *ci)
{
	return false;
}

static inline void vswap_set_rmap(struct swap_cluster_info *ci,
				  unsigned int ci_off, unsigned int nr,
				  swp_entry_t virt)
{
}

static inline void vswap_note_cache_only(struct swap_cluster_info *ci,
					 unsigned int ci_off, bool cache_only)
{
}

static inline swp_entry_t vswap_reserve_slot(struct folio *folio)
{
	return (swp_entry_t){};
}

static inline void vswap_cancel_slot(struct folio *folio, swp_entry_t slot)
{
}

static inline swp_entry_t vswap_device_entry(struct folio *folio,
					     unsigned int idx)
{
	return (swp_entry_t){};
}

static inline unsigned int __vswap_nr_runs(struct folio *folio)
{
	return 1;
}

static inline unsigned int vswap_run_length(struct folio *folio,
					    unsigned int first)
{
	return folio_nr_pages(folio);
}

static inline unsigned long vswap_slot_flags(swp_entry_t entry)
{
	return 0;
}

static inline unsigned long vswap_storage_flags(swp_entry_t entry)
{
	return 0;
}

static inline bool vswap_folio_stable_writes(struct folio *folio)
{
	return false;
}

static inline bool __vswap_same_device(swp_entry_t a, swp_entry_t b)
{
	return true;
}

static inline struct vswap_split *vswap_split_alloc(unsigned int nr)
{
	return NULL;
}

static inline int vswap_split_end(struct vswap_split *split, bool failed)
{
	return 0;
}

static inline bool vswap_account_alloc(struct swap_info_struct *si,
				       struct folio *folio)
{
	return false;
}

static inline bool vswap_range_free(struct swap_info_struct *si,
				    unsigned long offset, unsigned int nr)
{
	return false;
}

static inline void vswap_release_range(struct swap_info_struct *si,
				       struct swap_cluster_info *ci,
				       unsigned int ci_off, unsigned int nr)
{
}

static inline void vswap_mark_zero(struct swap_cluster_info *ci,
				   struct folio *folio, bool zero)
{
}

static inline bool vswap_read_lost(struct folio *folio)
{
	return false;
}

static inline void *vswap_zswap_lookup(struct folio *folio)
{
	return NULL;
}

static inline void *vswap_zswap_store(struct swap_cluster_info *ci,
				      swp_entry_t entry, void *zentry)
{
	return NULL;
}

static inline void vswap_zswap_erase(struct folio *folio)
{
}

static inline bool __vswap_get_slots(struct folio *folio)
{
	return true;
}

static inline void vswap_start_writeback(struct folio *folio, swp_entry_t slot)
{
}

static inline void vswap_fail_writeback(struct folio *folio, void *zentry)
{
}

#endif /* CONFIG_VSWAP */

/* Slots of @si are free: nobody owns them. @id is not 0 */
static inline void swap_put_owner(struct swap_info_struct *si,
				  unsigned short id, unsigned int nr)
{
	if (swap_is_virtual(si))
		mem_cgroup_put_swap_owner(id, nr);
	else
		mem_cgroup_uncharge_swap(id, nr);
}

/*
 * Where on a device is page @idx of @folio? For a virtual slot that is backed
 * by one, not where folio->swap says. The folio is in the swap cache, and
 * locked or under writeback.
 */
static inline swp_entry_t swap_device_entry(struct folio *folio,
					    unsigned int idx)
{
	if (vswap_entry(folio->swap))
		return vswap_device_entry(folio, idx);
	return (swp_entry_t){ folio->swap.val + idx };
}

/* In how many pieces is @folio on the device? Context: swap_device_entry(). */
static inline unsigned int vswap_nr_runs(struct folio *folio)
{
	if (!vswap_entry(folio->swap) || !folio_test_large(folio))
		return 1;
	return __vswap_nr_runs(folio);
}

/*
 * The flags of the device that @entry is on; for virtual slots, of what is
 * behind them, which is a hint unless a folio is locked at @entry.
 */
static inline unsigned long swap_slot_flags(struct swap_info_struct *si,
					    swp_entry_t entry)
{
	if (swap_is_virtual(si))
		return vswap_slot_flags(entry);
	/* Set before the device is used */
	return data_race(si->flags);
}

/*
 * The flags of the device that has a copy of what was read from @entry, none if
 * there is no copy: a virtual slot costs little, but saves allocating another.
 */
static inline unsigned long swap_storage_flags(struct swap_info_struct *si,
					       swp_entry_t entry)
{
	if (swap_is_virtual(si))
		return vswap_storage_flags(entry);
	return data_race(si->flags);
}

/* Must @folio, which is under writeback, not be modified? */
static inline bool swap_stable_writes(struct swap_info_struct *si,
				      struct folio *folio)
{
	if (swap_is_virtual(si))
		return vswap_folio_stable_writes(folio);
	/* Set before the device is used */
	return data_race(si->flags & SWP_STABLE_WRITES);
}

/* Is it worth reading @entry ahead when @target is read? */
static inline bool vswap_same_device(swp_entry_t target, swp_entry_t entry)
{
	if (!vswap_entry(target) && !vswap_entry(entry))
		return true;
	return __vswap_same_device(target, entry);
}

/*
 * Have slots of a device behind all slots of @folio, which is locked and about
 * to be written. Return: false if that is not possible; it stays in memory.
 */
static inline bool vswap_get_slots(struct folio *folio)
{
	return !vswap_entry(folio->swap) || __vswap_get_slots(folio);
}

#endif /* _MM_VSWAP_H */
