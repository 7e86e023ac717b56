/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual swap: what the rest of mm/ may call.
 *
 * A virtual slot is a slot of the virtual swap device. Its entry is what page
 * tables and shmem hold; its backing word says where the data is, and may
 * change while the entry stays. See Documentation/mm/vswap.rst.
 *
 * Without CONFIG_VSWAP vswap_never_used() is constant. Functions and variables that
 * are only declared here are used behind a test of it: no use is compiled in.
 */
#ifndef _MM_VSWAP_H
#define _MM_VSWAP_H

#include <linux/bio.h>
#include <linux/fs.h>
#include <linux/jump_label.h>
#include <linux/percpu-defs.h>
#include <linux/swap.h>
#include <linux/swap_ops.h>
#include <linux/swapops.h>
#include <linux/zswap.h>

#include "../swap.h"
#include "../swap_table.h"
#include "backing.h"

struct mem_cgroup;
struct plist_head;

/* state.c */

/* The virtual swap device; NULL until, and unless, it could be set up. */
extern struct swap_info_struct *vswap_si;
/* Its type, or UINT_MAX as long as it is not set up. */
extern unsigned int vswap_type;

#ifdef CONFIG_VSWAP
/* Set once virtual slots may be used; before, there are none. */
DECLARE_STATIC_KEY_FALSE(vswap_ever_used);

static inline bool vswap_never_used(void)
{
	return !static_branch_unlikely(&vswap_ever_used);
}
#else
static inline bool vswap_never_used(void)
{
	return true;
}
#endif

static inline bool swap_is_virtual(const struct swap_info_struct *si)
{
	return !vswap_never_used() && si->flags & SWP_VIRTUAL;
}

/* Does @entry, which is valid, name a virtual slot? Without swap there are none. */
static inline bool is_vswap_entry(swp_entry_t entry)
{
#ifdef CONFIG_SWAP
	return !vswap_never_used() && swp_type(entry) == vswap_type;
#else
	return false;
#endif
}

/* Is @folio, which is locked, in the swap cache at virtual slots? */
static inline bool folio_in_vswap(struct folio *folio)
{
	return !vswap_never_used() && folio_test_swapcache(folio) &&
	       is_vswap_entry(folio->swap);
}

/* Does a word of a device's swap table say that its slot backs a virtual one? */
static inline bool swp_tb_is_rmap(unsigned long swp_tb)
{
	return !vswap_never_used() && vswap_is_rmap(swp_tb);
}

/* Does it say that the slot is spare: taken, but it does not back one yet? */
static inline bool swp_tb_is_spare(unsigned long swp_tb)
{
	return !vswap_never_used() && vswap_is_spare(swp_tb);
}

/* Is the slot of a swap table word in use by the swap cache only? */
static __always_inline bool swp_tb_only_cached(unsigned long swp_tb)
{
	if (swp_tb_is_rmap(swp_tb))
		return swp_tb & VSWAP_RMAP_CACHE_ONLY;
	return swp_tb_is_folio(swp_tb) && !__swp_tb_get_count(swp_tb);
}

#ifdef CONFIG_SWAP
static inline swp_entry_t vswap_rmap_entry(unsigned long swp_tb)
{
	return swp_entry(vswap_type, vswap_rmap_to_offset(swp_tb));
}
#endif

extern bool vswap_ready;
extern unsigned int vswap_nr_tiers, vswap_min_tiers;

/* policy.c: what uses virtual slots, and is there room behind them */
bool __vswap_prepare_alloc(struct folio *folio);
bool vswap_allowed(struct folio *folio);
bool __vswap_can_swap(struct mem_cgroup *memcg, bool flush);
bool __vswap_can_swap_folio(struct folio *folio);
bool vswap_require_nofs(void);
unsigned long __vswap_overcommit_pages(void);

#ifdef CONFIG_VSWAP
void vswap_devices_changed(struct plist_head *devices);
void vswap_policy_changed(void);
void vswap_limits_changed(void);
void vswap_forget_refusals(void);
#else
static inline void vswap_devices_changed(struct plist_head *devices) { }
static inline void vswap_policy_changed(void) { }
static inline void vswap_limits_changed(void) { }
static inline void vswap_forget_refusals(void) { }
#endif

/* Do devices have enough priorities to be used through virtual slots? */
static inline bool vswap_devices_suffice(void)
{
	return READ_ONCE(vswap_nr_tiers) >= READ_ONCE(vswap_min_tiers);
}

/*
 * Is @folio, locked and about to be swapped out, to get virtual slots? If so,
 * have some ready; allocation may still fail. With nothing but a device, not
 * even the call is made.
 */
static inline bool vswap_prepare_alloc(struct folio *folio)
{
	return !vswap_never_used() && READ_ONCE(vswap_ready) &&
	       (vswap_devices_suffice() || zswap_is_enabled()) &&
	       __vswap_prepare_alloc(folio);
}

/*
 * Would a virtual slot for a page of @memcg (NULL: any group) find backing?
 * With @flush the statistics of the group are up to date, and this may sleep.
 */
static inline bool vswap_can_swap(struct mem_cgroup *memcg, bool flush)
{
	return !vswap_never_used() && __vswap_can_swap(memcg, flush);
}

/* The same for a page of the owner of @folio, which is locked. */
static inline bool vswap_can_swap_folio(struct folio *folio)
{
	return !vswap_never_used() && __vswap_can_swap_folio(folio);
}

/* What OVERCOMMIT_GUESS may count on besides RAM and devices, in pages. */
static inline unsigned long vswap_overcommit_pages(void)
{
	return vswap_never_used() ? 0 : __vswap_overcommit_pages();
}

/* swapoff.c: moving data off a device */
int __vswap_evacuate(struct swap_info_struct *si);

static inline int vswap_evacuate(struct swap_info_struct *si)
{
	return vswap_never_used() ? 0 : __vswap_evacuate(si);
}

#ifdef CONFIG_SWAP
bool vswap_space_is_short(void);

/* Should slots of @si that only the swap cache uses be freed? */
static inline bool swap_frees_cached(struct swap_info_struct *si)
{
	return swap_is_virtual(si) ? vswap_space_is_short() : vm_swap_full();
}
#endif

/* tables.c: what belongs to a cluster */
bool __is_vswap_cluster(const struct swap_cluster_info *ci);
int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp);
void __vswap_cluster_depopulate(struct swap_cluster_info *ci);
int __vswap_lend_tables(struct swap_cluster_info *ci);
bool __vswap_is_sparse(void);

/*
 * Are less than half of the slots that have tables in use, because large folios
 * have left holes? A slot of its own then fills one rather than bring another
 * cluster into use. On a device this is done when no cluster is free.
 */
static inline bool vswap_is_sparse(struct swap_info_struct *si, unsigned int order)
{
	return swap_is_virtual(si) && !order && __vswap_is_sparse();
}

static inline bool is_vswap_cluster(const struct swap_cluster_info *ci)
{
	return !vswap_never_used() && __is_vswap_cluster(ci);
}

/* The same for a cluster that has tables; this test is cheaper. */
static inline bool is_vswap_in_use(const struct swap_cluster_info *ci)
{
#ifdef CONFIG_VSWAP
	return !vswap_never_used() && ci->backing;
#else
	return false;
#endif
}

/* Return: false if it is not a virtual cluster; nothing was done. */
static inline bool vswap_cluster_depopulate(struct swap_cluster_info *ci)
{
	if (!is_vswap_in_use(ci))
		return false;
	__vswap_cluster_depopulate(ci);
	return true;
}

/* For a cluster of a device. Return: 0, or -ENOMEM if the reserve is empty. */
static inline int vswap_lend_tables(struct swap_cluster_info *ci)
{
	return vswap_never_used() ? -ENOMEM : __vswap_lend_tables(ci);
}

/* A table that cannot be allocated comes from the reserve: nothing to warn of. */
static inline gfp_t vswap_gfp_nowarn(void)
{
	return vswap_never_used() ? 0 : __GFP_NOWARN;
}

/* memcg.c and owner.c: charges, limits and owners */
bool __vswap_may_write_back(struct mem_cgroup *memcg);

/* Is there room on a device for data of @memcg (NULL: any) that zswap has? */
static inline bool vswap_may_write_back(struct mem_cgroup *memcg)
{
	return vswap_never_used() || __vswap_may_write_back(memcg);
}

#if defined(CONFIG_VSWAP) && defined(CONFIG_MEMCG)
void vswap_put_owner(struct swap_cluster_info *ci, unsigned short id,
		     unsigned int nr);
void __vswap_own_ids(struct swap_cluster_info *ci, unsigned short id,
		     unsigned int nr);
struct mem_cgroup *vswap_charge_to(struct folio *folio);
void vswap_charge_end(struct mem_cgroup *old);
bool __vswap_will_have_room(struct mem_cgroup *memcg);
void vswap_memcg_offline(struct mem_cgroup *memcg);
unsigned long vswap_memcg_pages(struct mem_cgroup *memcg);
#else
static inline void vswap_put_owner(struct swap_cluster_info *ci,
				   unsigned short id, unsigned int nr) { }
static inline void __vswap_own_ids(struct swap_cluster_info *ci,
				   unsigned short id, unsigned int nr) { }

static inline struct mem_cgroup *vswap_charge_to(struct folio *folio)
{
	return NULL;
}

static inline void vswap_charge_end(struct mem_cgroup *old) { }
static inline bool __vswap_will_have_room(struct mem_cgroup *memcg)
{
	return false;
}

static inline void vswap_memcg_offline(struct mem_cgroup *memcg) { }
static inline unsigned long vswap_memcg_pages(struct mem_cgroup *memcg)
{
	return 0;
}
#endif

/*
 * @memcg has reached a limit of zswap. Will it be below the limit when its data
 * in flight has landed? Entries of devices do not wait for that.
 */
static inline bool vswap_will_have_room(swp_entry_t entry, struct mem_cgroup *memcg)
{
	return is_vswap_entry(entry) && __vswap_will_have_room(memcg);
}

/* With memsw: slots of @ci, locked, are about to return references on @id. */
static inline void vswap_own_ids(struct swap_cluster_info *ci,
				 unsigned short id, unsigned int nr)
{
	if (is_vswap_in_use(ci))
		__vswap_own_ids(ci, id, nr);
}

/* Slots of @ci, locked, are free and have no owner any more. @id is not 0. */
static inline void swap_put_owner(struct swap_info_struct *si,
				  struct swap_cluster_info *ci,
				  unsigned short id, unsigned int nr)
{
	if (swap_is_virtual(si))
		vswap_put_owner(ci, id, nr);
	else
		mem_cgroup_uncharge_swap(id, nr);
}

/*
 * space.c: where this CPU allocates virtual slots, by order: next to the last ones. The
 * lock of the CPU's clusters is held.
 */
DECLARE_PER_CPU(unsigned long [SWAP_NR_ORDERS], vswap_offset);

/* slots.c: slots of devices that back virtual ones */
void __vswap_set_rmap(struct swap_cluster_info *ci, unsigned int ci_off,
		      unsigned int nr, swp_entry_t virt);
#define VSWAP_SPARE_MAX		15	/* taken with one that is allocated, at most */
unsigned int __vswap_set_spare(struct swap_info_struct *si,
			       struct swap_cluster_info *ci, unsigned int ci_off,
			       unsigned int nr);
void vswap_keep_spare(swp_entry_t slot, unsigned int nr);
extern unsigned int vswap_spare_freed;
bool __vswap_had_spare(struct swap_info_struct *si, unsigned int *seq);
void __vswap_note_cache_only(struct swap_cluster_info *ci, unsigned int ci_off,
			     bool cache_only);
void __vswap_note_count(struct swap_cluster_info *ci, unsigned int ci_off);

/* Note what the slots will back. Return: false if @virt is no virtual slot. */
static inline bool vswap_set_rmap(struct swap_cluster_info *ci,
				  unsigned int ci_off, unsigned int nr,
				  swp_entry_t virt)
{
	if (vswap_never_used() || !virt.val)
		return false;
	__vswap_set_rmap(ci, ci_off, nr, virt);
	return true;
}

/*
 * Take up to *@nr slots of @ci, locked, from @ci_off on as spare ones, as far as
 * they are free. *@nr is how many they are then.
 */
static inline void vswap_set_spare(struct swap_info_struct *si,
				   struct swap_cluster_info *ci,
				   unsigned int ci_off, unsigned int *nr)
{
	if (!vswap_never_used() && *nr)
		*nr = __vswap_set_spare(si, ci, ci_off, *nr);
}

/* What vswap_had_spare() wants to know from before slots are looked for. */
static inline unsigned int vswap_spare_seq(void)
{
	return vswap_never_used() ? 0 : READ_ONCE(vswap_spare_freed);
}

/*
 * No slot for a page was found on @si: did CPUs have spare ones? They have been freed
 * since *@seq then, and it is worth looking again, once: that is noted in *@seq. No
 * cluster is locked.
 */
static inline bool vswap_had_spare(struct swap_info_struct *si, unsigned int order,
				   unsigned int *seq)
{
	return !vswap_never_used() && !order && !swap_is_virtual(si) &&
	       __vswap_had_spare(si, seq);
}

/* The swap count of a slot becomes zero, or nonzero; @ci is locked. */
static inline void vswap_note_cache_only(struct swap_cluster_info *ci,
					 unsigned int ci_off, bool cache_only)
{
#ifdef CONFIG_VSWAP
	if (is_vswap_in_use(ci) && vswap_backing_tag(ci->backing[ci_off]) == VSWAP_SLOT)
		__vswap_note_cache_only(ci, ci_off, cache_only);
#endif
}

/* A swap count was decreased, perhaps to zero; @ci is locked. */
static inline void vswap_note_count(struct swap_cluster_info *ci, unsigned int ci_off)
{
	if (is_vswap_in_use(ci))
		__vswap_note_count(ci, ci_off);
}

/* io.c: I/O of the virtual device, and what the storage behind it is like */
bool __vswap_is_synchronous(struct folio *folio);
unsigned long vswap_slot_flags(swp_entry_t entry);
unsigned long vswap_storage_flags(struct folio *folio);
bool vswap_folio_stable_writes(struct folio *folio);
bool __vswap_same_device(swp_entry_t a, swp_entry_t b);

/*
 * Does writing @folio, which is under writeback, end before submit_write()
 * returns? The flags of the virtual device only say that this is possible. If
 * it goes to several devices, the first one answers.
 */
static inline bool vswap_is_synchronous(struct folio *folio)
{
	return !is_vswap_entry(folio->swap) || __vswap_is_synchronous(folio);
}

#ifdef CONFIG_VSWAP
/*
 * Where on its device does the I/O start? If slots of the device back virtual
 * slots, it is not where folio->swap says; nor if data of zswap is written.
 */
static inline swp_entry_t swap_iocb_entry(struct swap_iocb *sio)
{
	swp_entry_t entry = bvec_folio(&sio->bvecs[0])->swap;

	return sio->end_io || is_vswap_entry(entry) ? sio->entry : entry;
}

static inline void vswap_iocb_init(struct swap_iocb *sio)
{
	sio->end_io = NULL;
}

/*
 * I/O has ended. Return: true if it has been dealt with, @sio included;
 * otherwise @sio may have changed to what it was the last piece of.
 */
static inline bool vswap_io_end(struct swap_iocb **sio, bool *failed)
{
	return (*sio)->end_io && (*sio)->end_io(sio, failed);
}
#else
static inline swp_entry_t swap_iocb_entry(struct swap_iocb *sio)
{
	return bvec_folio(&sio->bvecs[0])->swap;
}

static inline void vswap_iocb_init(struct swap_iocb *sio) { }

static inline bool vswap_io_end(struct swap_iocb **sio, bool *failed)
{
	return false;
}
#endif

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

/* swapin.c */
bool vswap_frees_early(struct folio *folio);

/* Are the slots of @folio, just read and locked, to be freed when it is mapped? */
static inline bool swap_frees_early(struct swap_info_struct *si,
				    struct folio *folio)
{
	if (swap_is_virtual(si))
		return vswap_frees_early(folio);
	/* Set before the device is used */
	return data_race(si->flags & SWP_SYNCHRONOUS_IO);
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
	if (!is_vswap_entry(target) && !is_vswap_entry(entry))
		return true;
	return __vswap_same_device(target, entry);
}

/* stats.c: slots in use */
void __vswap_account_alloc(struct swap_cluster_info *ci, struct folio *folio);
void __vswap_account_free(unsigned long offset, unsigned int nr);

/* Return: false if it is not the virtual device; nothing was done. */
static inline bool vswap_account_alloc(struct swap_info_struct *si,
				       struct swap_cluster_info *ci,
				       struct folio *folio)
{
	if (!swap_is_virtual(si))
		return false;
	__vswap_account_alloc(ci, folio);
	return true;
}

static inline bool vswap_account_free(struct swap_info_struct *si,
				      unsigned long offset, unsigned int nr)
{
	if (!swap_is_virtual(si))
		return false;
	__vswap_account_free(offset, nr);
	return true;
}

/* swapin.c: reading folios in */
bool vswap_read_folio(struct folio *folio);
bool __vswap_read_failed(struct folio *folio);
void __vswap_swapped_in(struct folio *folio);

/*
 * Is @folio, just read at @entry, large, and could a page of it not be read?
 * Then it is not in the swap cache any more, the caller's reference is gone, and
 * the pages are to be read one by one: only the bad one's reader gets an error.
 */
static inline bool vswap_read_failed(swp_entry_t entry, struct folio *folio)
{
	return is_vswap_entry(entry) && folio_test_large(folio) &&
	       __vswap_read_failed(folio);
}

/*
 * Could a page of @folio, which is locked, large, and in the swap cache at the
 * entry of a fault, not be read? Then it leaves the swap cache, to be read anew:
 * who read it may not have come to that. For a small one it is an error.
 */
static inline bool vswap_drop_unread(struct folio *folio)
{
	if (vswap_never_used() || likely(folio_test_uptodate(folio)) ||
	    !folio_test_large(folio) || !folio_in_vswap(folio))
		return false;
	swap_cache_del_folio(folio);
	return true;
}

/*
 * @folio, which is locked, is about to be mapped. A large one has kept its
 * compressed data until now: it might have turned out not to fit. And what was a
 * group's that is gone is charged to the one that reads it from now on.
 */
static inline void vswap_swapped_in(struct folio *folio)
{
	if (folio_in_vswap(folio))
		__vswap_swapped_in(folio);
}

/* backing.c: where the data is. The folio is locked, in the swap cache */
void __vswap_release_range(struct swap_cluster_info *ci, unsigned int ci_off,
			   unsigned int nr);
void __vswap_mark_zero(struct swap_cluster_info *ci, struct folio *folio,
		       bool zero);
void __vswap_zswap_erase(struct folio *folio);
bool __vswap_get_slots(struct folio *folio);
bool vswap_can_read(struct swap_cluster_info *ci, unsigned int ci_off,
		    unsigned int nr);

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
	if (is_vswap_entry(folio->swap))
		__vswap_mark_zero(ci, folio, zero);
}

/* Free the compressed data of @folio. Return: false if it is not in vswap. */
static inline bool vswap_zswap_erase(struct folio *folio)
{
	if (!folio_in_vswap(folio))
		return false;
	if (!zswap_never_enabled())
		__vswap_zswap_erase(folio);
	return true;
}

/*
 * Get slots of a device for all slots of @folio, which is locked and about to
 * be written. Return: false if that is not possible; @folio stays in memory.
 */
static inline bool vswap_get_slots(struct folio *folio)
{
	return !is_vswap_entry(folio->swap) || __vswap_get_slots(folio);
}

/* refuse.c: pages that do not compress, and can be stored nowhere else */
extern struct vswap_refusals vswap_refusals;
bool __vswap_refuse(struct page *page, int err);
bool __vswap_is_refused(struct folio *folio, struct list_head *folios);
void __vswap_mlock_folio(struct folio *folio);
bool vswap_has_refused(struct folio *folio);
bool vswap_lacks_slots(struct folio *folio);

/*
 * @page was not compressed, which gave @err, if not just too little: is it to
 * stay in memory rather than be stored raw?
 */
static inline bool vswap_refuse(struct page *page, int err)
{
	return folio_in_vswap(page_folio(page)) && __vswap_refuse(page, err);
}

/*
 * Is it known that nothing takes @folio, which is locked? Its content is
 * compared with what was refused. A large folio may be split, onto @folios, for
 * those of its pages that can go.
 */
static inline bool vswap_is_refused(struct folio *folio,
				    struct list_head *folios)
{
	return folio_in_vswap(folio) &&
	       (folio_test_large(folio) || atomic_long_read(&vswap_refusals.nr)) &&
	       __vswap_is_refused(folio, folios);
}

/*
 * @folio, which is mapped, is being locked in memory: reclaim does not look at it
 * any longer, so it does not count as refused. The lock of the page table is held.
 */
static inline void vswap_mlock_folio(struct folio *folio)
{
	if (!vswap_never_used() && folio_test_swapcache(folio))
		__vswap_mlock_folio(folio);
}

/*
 * A folio of shmem was refused: is it to stay in the swap cache, at its slot,
 * as an anonymous folio does? Its data is found there as after readahead.
 */
static inline bool vswap_keeps_refused(struct folio *folio)
{
	return folio_in_vswap(folio) && !folio_test_large(folio) &&
	       vswap_has_refused(folio);
}

/* A folio of shmem, back in the page cache, was not taken: try its pages? */
static inline bool vswap_refused_in_part(struct folio *folio)
{
	return folio_in_vswap(folio) && folio_test_large(folio) && folio->mapping &&
	       (vswap_has_refused(folio) || vswap_lacks_slots(folio));
}

/* writeback.c: from zswap to a device */
void __vswap_writeback_flush(void);

/* Is there no group to shrink, because @memcg is NULL? */
static inline bool vswap_cannot_shrink(struct mem_cgroup *memcg)
{
	return !vswap_never_used() && !memcg;
}

/* Start to write what vswap_shrink() has found, and do not wait. */
static inline void vswap_writeback_flush(void)
{
	if (!vswap_never_used())
		__vswap_writeback_flush();
}

#endif /* _MM_VSWAP_H */
