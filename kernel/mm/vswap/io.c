// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: where on a device the data of a folio is, and I/O in pieces.
 *
 * A folio that is locked or under writeback keeps its backing: the words may be
 * read without the lock of the cluster. Slots that are not contiguous on the
 * device are read or written by several requests, and the last one to complete
 * ends the I/O on the folio.
 */
#include <linux/blk_types.h>
#include <linux/mempool.h>
#include <linux/swap_ops.h>

#include "internal.h"

static unsigned long *vswap_folio_words(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) &&
			      !folio_test_writeback(folio), folio);
	return ci->backing + swp_cluster_offset(folio->swap);
}

/**
 * vswap_device_entry - find the slot of a device that backs a virtual slot
 * @folio: the folio in the swap cache at the virtual slots, locked or under
 *	   writeback; slots of a device back them
 * @idx: which of its pages
 *
 * Return: the swap entry of the device's slot.
 */
swp_entry_t vswap_device_entry(struct folio *folio, unsigned int idx)
{
	unsigned long word = READ_ONCE(vswap_folio_words(folio)[idx]);

	VM_WARN_ON_ONCE_FOLIO(vswap_backing_tag(word) != VSWAP_SLOT, folio);
	return swp_entry(vswap_backing_to_type(word),
			 vswap_backing_to_offset(word));
}

/**
 * vswap_slots_adjoin - can two slots of devices be read or written as one piece?
 * @a: a slot in use
 * @b: another one
 *
 * Return: true if @b comes right after @a.
 */
bool vswap_slots_adjoin(swp_entry_t a, swp_entry_t b)
{
	if (b.val != a.val + 1)
		return false;
	/* A swap file may be in pieces itself. */
	return __swap_entry_to_info(a)->flags & SWP_BLKDEV ||
	       swap_entry_sector(b) == swap_entry_sector(a) + PAGE_SECTORS;
}

/**
 * vswap_run_length - how much of a folio is contiguous on the device?
 * @folio: the folio, as for vswap_device_entry()
 * @first: the page to start from
 *
 * Return: the number of pages, at least 1.
 */
unsigned int vswap_run_length(struct folio *folio, unsigned int first)
{
	swp_entry_t entry = vswap_device_entry(folio, first);
	unsigned int nr, i;

	nr = vswap_backing_slot_run(vswap_folio_words(folio) + first,
				    folio_nr_pages(folio) - first, UINT_MAX);
	if (__swap_entry_to_info(entry)->flags & SWP_BLKDEV)
		return nr;

	for (i = 1; i < nr; i++, entry.val++)
		if (!vswap_slots_adjoin(entry, (swp_entry_t){ entry.val + 1 }))
			break;
	return i;
}

/* See vswap_nr_runs(). */
unsigned int __vswap_nr_runs(struct folio *folio)
{
	unsigned int first, runs = 0;

	for (first = 0; first < folio_nr_pages(folio);
	     first += vswap_run_length(folio, first))
		runs++;
	return runs;
}

/* The backing word of @entry, which may be anything by the time it is used. */
static unsigned long vswap_peek(swp_entry_t entry)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(entry);
	unsigned long *backing, word = 0;

	/* Tables of a cluster that is freed stay until RCU readers are gone. */
	rcu_read_lock();
	backing = READ_ONCE(ci->backing);
	if (backing)
		word = READ_ONCE(backing[swp_cluster_offset(entry)]);
	rcu_read_unlock();
	return word;
}

static unsigned long vswap_word_flags(unsigned long word)
{
	/* Decompressing, or filling with zeroes, is synchronous. */
	if (vswap_backing_tag(word) != VSWAP_SLOT)
		return SWP_SYNCHRONOUS_IO;
	/*
	 * The flags that callers test are set before the device is used. If the
	 * word is a hint, the device may be gone, but the structure is not.
	 */
	return data_race(READ_ONCE(swap_info[vswap_backing_to_type(word)])->flags);
}

/**
 * vswap_slot_flags - what is the storage behind a virtual slot like?
 * @entry: the slot; the caller has a reference on the virtual device
 *
 * Return: the SWP_ flags, which may be those of the slot's former backing
 * unless a folio is locked there.
 */
unsigned long vswap_slot_flags(swp_entry_t entry)
{
	return vswap_word_flags(vswap_peek(entry));
}

/**
 * vswap_storage_flags - what is the device like that keeps a virtual slot's data?
 * @entry: the slot; the caller has locked the folio that is cached there
 *
 * Return: its SWP_ flags, 0 if the data is on no device.
 */
unsigned long vswap_storage_flags(swp_entry_t entry)
{
	unsigned long word = vswap_peek(entry);

	return vswap_backing_tag(word) == VSWAP_SLOT ? vswap_word_flags(word) : 0;
}

/**
 * vswap_folio_stable_writes - must a folio not be modified under writeback?
 * @folio: the folio, locked, at virtual slots and under writeback
 *
 * Return: true if a device that it is being written to says so.
 */
bool vswap_folio_stable_writes(struct folio *folio)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++)
		if (vswap_word_flags(vswap_folio_words(folio)[i]) &
		    SWP_STABLE_WRITES)
			return true;
	return false;
}

/* The device that @entry is read from, -1 if it is not read from any. */
static int vswap_device_type(swp_entry_t entry)
{
	unsigned long word;

	if (!is_vswap_entry(entry))
		return swp_type(entry);
	/* The entry may come from anywhere, such as a page table that changes. */
	if (swp_offset(entry) >= READ_ONCE(vswap_si->max))
		return -1;
	word = vswap_peek(entry);
	return vswap_backing_tag(word) == VSWAP_SLOT ?
	       vswap_backing_to_type(word) : -1;
}

/* See vswap_same_device(). */
bool __vswap_same_device(swp_entry_t a, swp_entry_t b)
{
	bool same;
	int type;

	/* Not all callers have a reference on the virtual device. */
	if (!percpu_ref_tryget_live(&vswap_si->users))
		return false;
	type = vswap_device_type(a);
	same = type >= 0 && type == vswap_device_type(b);
	percpu_ref_put(&vswap_si->users);
	return same;
}

/*
 * A folio whose slots are not contiguous on the device is read or written in
 * several pieces, and is finished when all of them are.
 */
struct vswap_split {
	struct folio *folio;
	atomic_t pending;
	bool failed;
};

static mempool_t *vswap_split_pool;

/**
 * vswap_split_alloc - prepare for I/O on a folio in pieces
 * @folio: the folio
 * @nr: the number of pieces
 *
 * Context: May sleep until other I/O has finished: the caller should have
 * submitted its own.
 * Return: what to set as the split of each piece.
 */
struct vswap_split *vswap_split_alloc(struct folio *folio, unsigned int nr)
{
	struct vswap_split *split = mempool_alloc(vswap_split_pool, GFP_NOIO);

	atomic_set(&split->pending, nr);
	split->folio = folio;
	split->failed = false;
	return split;
}

/**
 * vswap_split_end - a part of a folio was read or written
 * @sio: the completed request
 * @failed: whether that failed; for the last part, whether any of them did
 *
 * Context: Any.
 * Return: true if it was not the last part: then @sio is gone. Otherwise it
 * stands for the whole folio now.
 */
bool vswap_split_end(struct swap_iocb *sio, bool *failed)
{
	struct vswap_split *split = sio->split;

	if (*failed)
		WRITE_ONCE(split->failed, true);
	if (!atomic_dec_and_test(&split->pending)) {
		mempool_free(sio, sio_pool);
		return true;
	}

	*failed = split->failed;
	sio->len = folio_size(split->folio);
	bvec_set_folio(&sio->bvecs[0], split->folio, sio->len, 0);
	mempool_free(split, vswap_split_pool);
	return false;
}

/**
 * vswap_io_init - set up what I/O needs
 *
 * Return: 0 or -ENOMEM.
 */
int __init vswap_io_init(void)
{
	vswap_split_pool = mempool_create_kmalloc_pool(SWAP_CLUSTER_MAX,
						       sizeof(struct vswap_split));
	return vswap_split_pool ? 0 : -ENOMEM;
}
