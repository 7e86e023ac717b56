// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: moving data off a device that is to be taken away.
 *
 * No page table is touched. The reverse map says which virtual slots the
 * device's slots back: in the order of the device, batches of them are read
 * into the swap cache at their virtual slots, and handed on to whatever reclaim
 * finds for them - zswap, another device - or stay in memory.
 *
 * Nothing can be allocated on the device any more meanwhile. A slot that is
 * allocated but not installed yet, or whose folio is just being used, is met again
 * in the next pass; so are spare slots that a CPU was about to keep, and may use.
 */
#include <linux/mempolicy.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/swap_ops.h>
#include <linux/zswap.h>
#include <trace/events/vswap.h>

#include "../internal.h"
#include "internal.h"
#include "zswap.h"

#define VSWAP_EVACUATE_BATCH	128

/* If memory runs short, swapoff fails; the OOM killer is not invoked. */
#define VSWAP_EVACUATE_GFP	(GFP_HIGHUSER_MOVABLE | __GFP_RETRY_MAYFAIL | \
				 __GFP_NOWARN)

struct vswap_batch {
	struct folio *folios[VSWAP_EVACUATE_BATCH];
	swp_entry_t entries[VSWAP_EVACUATE_BATCH];
	/* It was not cached; later: it was offered to reclaim. */
	DECLARE_BITMAP(read, VSWAP_EVACUATE_BATCH);
	unsigned int nr;
	unsigned long strays;	/* kept since memory is gone */
	struct swap_io_ctx ctx;
};

#define VSWAP_MEMORY_SHORT	16	/* no more should be kept in what is left */
#define VSWAP_MEMORY_GONE	64	/* strays may take an eighth of it */

/* Is less than that part of memory left? */
static bool vswap_memory_is(unsigned int part)
{
	return si_mem_available() < (long)(totalram_pages() / part);
}

static struct folio *vswap_alloc_folio(swp_entry_t entry, gfp_t gfp)
{
	struct mem_cgroup *old = vswap_charge_to_heir(entry);
	struct folio *folio;

	folio = swap_cache_alloc_folio(entry, gfp, BIT(0), NULL,
				       get_task_policy(current),
				       NO_INTERLEAVE_INDEX);
	vswap_charge_end(old);
	return folio;
}

/* Add the folio at virtual slot @entry; have it read unless it is cached. */
static int vswap_batch_add(struct vswap_batch *batch, swp_entry_t entry)
{
	struct folio *folio;

	do {
		folio = swap_cache_get_folio(entry);
		if (folio) {
			__clear_bit(batch->nr, batch->read);
			goto add;
		}
		folio = vswap_alloc_folio(entry, VSWAP_EVACUATE_GFP);
		/*
		 * With memory left, the owner has reached a limit: its OOM
		 * killer may act, as always at swapoff.
		 */
		if (PTR_ERR(folio) == -ENOMEM && !vswap_memory_is(VSWAP_MEMORY_SHORT)) {
			/* What is killed must not wait for pages that are to be read. */
			swap_read_submit(&batch->ctx);
			folio = vswap_alloc_folio(entry, GFP_HIGHUSER_MOVABLE);
		}
	} while (PTR_ERR(folio) == -EEXIST);

	/* Freed in the meantime? */
	if (IS_ERR(folio))
		return PTR_ERR(folio) == -ENOENT ? 0 : PTR_ERR(folio);

	swap_read_folio(&batch->ctx, folio);
	__set_bit(batch->nr, batch->read);
add:
	batch->entries[batch->nr] = entry;
	batch->folios[batch->nr++] = folio;
	return 0;
}

/* Add what is behind a slot of the device, if that is a virtual slot. */
static int vswap_batch_add_slot(struct vswap_batch *batch, unsigned long swp_tb)
{
	struct swap_info_struct *si;
	swp_entry_t entry;
	int err;

	entry = vswap_rmap_entry(swp_tb);
	si = get_swap_device(entry);
	if (!si)
		return 0;
	err = vswap_batch_add(batch, entry);
	put_swap_device(si);
	return err;
}

/*
 * Was a large folio read by a fault that has not mapped it yet? If the fault
 * finds that the folio no longer fits, it drops the folio and relies on it
 * being clean.
 */
static bool vswap_folio_is_new(struct folio *folio)
{
	return folio_test_large(folio) && !folio_test_anon(folio) &&
	       !folio_test_dirty(folio);
}

/* Take the device's slots from behind a folio. Return: how many there were. */
static unsigned int vswap_evacuate_folio(struct swap_info_struct *si,
					 struct folio *folio)
{
	unsigned int left = 0;

	folio_lock(folio);
	folio_wait_writeback(folio);
	if (folio_in_vswap(folio) && vswap_folio_is_new(folio))
		swap_cache_del_folio(folio);	/* the next pass reads pages */
	else if (folio_in_vswap(folio))
		left = vswap_leave_device(folio, si->type);
	folio_unlock(folio);
	return left;
}

/*
 * Have the data that was read stored elsewhere. @stored receives how many folios
 * were. Return: how many were offered and had to stay in memory.
 */
static unsigned int vswap_batch_store(struct vswap_batch *batch,
				      unsigned int *stored)
{
	unsigned int nr = 0, i;
	LIST_HEAD(folios);

	/* They are on their way to the LRU lists. */
	lru_add_drain();
	for (i = 0; i < batch->nr; i++) {
		struct folio *folio = batch->folios[i];
		bool isolated;

		isolated = test_bit(i, batch->read) && folio_isolate_lru(folio);
		if (isolated && folio_test_unevictable(folio)) {
			/* A fault has mapped it meanwhile, and it is locked. */
			folio_putback_lru(folio);
			isolated = false;
		}
		if (isolated) {
			list_add_tail(&folio->lru, &folios);
			nr++;
		} else {
			/* In use, or on the list of another CPU: not offered. */
			__clear_bit(i, batch->read);
		}
		folio_put(folio);
	}
	batch->nr = 0;
	*stored = min_t(unsigned long, nr, reclaim_pages(&folios));
	return nr - *stored;
}

/*
 * Did a good part of what was offered stay in memory, now that all writing has
 * ended? A few pages that are in use do not mean that there is no room, until
 * they have taken much of the last memory.
 */
static bool vswap_batch_is_kept(struct vswap_batch *batch, unsigned int nr)
{
	unsigned int kept = 0, i;

	for (i = 0; i < nr; i++) {
		swp_entry_t entry = batch->entries[i];
		struct swap_info_struct *si;
		struct folio *folio;

		if (!test_bit(i, batch->read))
			continue;
		si = get_swap_device(entry);
		if (!si)
			continue;
		folio = swap_cache_get_folio(entry);
		put_swap_device(si);
		if (!folio)
			continue;
		folio_wait_writeback(folio);
		kept += folio_test_dirty(folio);
		folio_put(folio);
	}
	/* Few were offered if most of the batch was in memory: one of them is not much. */
	if (kept > VSWAP_EVACUATE_BATCH / 8)
		return true;
	batch->strays += kept;
	if (!vswap_memory_is(VSWAP_MEMORY_GONE))
		batch->strays = 0;
	return batch->strays > totalram_pages() / VSWAP_MEMORY_GONE / 8;
}

static int vswap_batch_evacuate(struct vswap_batch *batch,
				struct swap_info_struct *si, unsigned int offset)
{
	unsigned int nr = batch->nr, left = 0, stored, kept, i;

	swap_read_submit(&batch->ctx);
	for (i = 0; i < nr; i++)
		left += vswap_evacuate_folio(si, batch->folios[i]);
	kept = vswap_batch_store(batch, &stored);

	count_vm_events(VSWAP_EVACUATE, left);
	trace_vswap_evacuate(si->type, offset, left, stored);
	if (kept && vswap_memory_is(VSWAP_MEMORY_SHORT) && vswap_batch_is_kept(batch, nr))
		return -ENOMEM;
	return 0;
}

/* One pass over the device. Return: how many slots were met, or an error. */
static long vswap_evacuate_pass(struct swap_info_struct *si,
				struct vswap_batch *batch)
{
	unsigned int offset;
	long met = 0;
	int err = 0;

	for (offset = 1; offset < si->max && !err; offset++) {
		struct swap_cluster_info *ci = __swap_offset_to_cluster(si, offset);
		unsigned long swp_tb;

		if (offset % SWAPFILE_CLUSTER == 0) {
			/* Nobody should wait for pages that are to be read. */
			swap_read_submit(&batch->ctx);
			cond_resched();
			if (signal_pending(current)) {
				err = -EINTR;
				break;
			}
			if (!READ_ONCE(ci->count)) {
				offset += SWAPFILE_CLUSTER - 1;
				continue;
			}
		}
		swp_tb = swap_table_get(ci, offset % SWAPFILE_CLUSTER);
		if (!swp_tb_is_rmap(swp_tb))
			continue;
		met++;
		/* It is about to be freed, or to back a slot. */
		if (vswap_is_spare(swp_tb))
			continue;
		err = vswap_batch_add_slot(batch, swp_tb);
		if (!err && batch->nr == VSWAP_EVACUATE_BATCH)
			err = vswap_batch_evacuate(batch, si, offset);
	}
	if (batch->nr) {
		int last = vswap_batch_evacuate(batch, si, offset);

		err = err ?: last;
	}
	return err ?: met;
}

/* Could what is on the device possibly be anywhere else? */
static bool vswap_fits_elsewhere(struct swap_info_struct *si)
{
	long used = swap_usage_in_pages(si);
	long nr = min_t(long, used, vswap_counted(VSWAP_NR_PHYSICAL));
	/* For what is in memory, as it was only read, the slots are freed. */
	long moved = nr - min_t(long, nr, total_swapcache_pages());
	/*
	 * All pages of the device were subtracted, those in use twice. What other
	 * devices that are being removed need is not free for this one.
	 */
	long room = get_nr_swap_pages() + used + si_mem_available();

	/* That depends on the data; it is found out on the way. */
	if (zswap_is_enabled())
		room += 4 * zswap_max_pages();
	return moved <= max(room, 0L);
}

/**
 * __vswap_evacuate - move what backs virtual slots off a device
 * @si: the device; nothing can be allocated there any more
 *
 * Context: Process context, no locks held.
 * Return: 0 if no slot of the device backs a virtual slot now; -ENOMEM if the
 * data fits nowhere else, -EINTR after a signal. What was moved stays where it
 * is then, and the device can be used as before.
 */
int __vswap_evacuate(struct swap_info_struct *si)
{
	struct vswap_batch *batch;
	long met;

	if (!vswap_fits_elsewhere(si))
		return -ENOMEM;
	batch = kzalloc_obj(*batch, GFP_KERNEL);
	if (!batch)
		return -ENOMEM;

	for (;;) {
		vswap_leave_spare(si);
		met = vswap_wait_for_flights(si->type);
		if (!met && signal_pending(current))
			met = -EINTR;
		if (!met)
			met = vswap_evacuate_pass(si, batch);
		if (met <= 0)
			break;
		/* A task that has spare slots may be preempted, and have less priority. */
		schedule_timeout_interruptible(1);
	}
	if (met == -ERESTARTSYS)
		met = -EINTR;
	kfree(batch);
	return met;
}
