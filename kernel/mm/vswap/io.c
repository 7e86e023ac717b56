// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the operations of the virtual device.
 *
 * What page_io.c collects for virtual slots is passed to the device whose slots
 * back them. The words of a folio that is locked or under writeback are read by
 * rule 2 of internal.h. A folio whose slots are not contiguous is read or
 * written by several requests, its pieces, and the last one to complete ends
 * the I/O on the folio. Pages of a large folio that have been read from
 * elsewhere are left out.
 */
#include <linux/blk_types.h>
#include <linux/mempool.h>
#include <linux/sched/mm.h>
#include <linux/swap_ops.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>

#include "internal.h"

static unsigned long *vswap_folio_words(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio) &&
			      !folio_test_writeback(folio), folio);
	return ci->backing + swp_cluster_offset(folio->swap);
}

/* The slot of a device that backs the virtual slot of page @idx of @folio. */
static swp_entry_t vswap_device_entry(struct folio *folio, unsigned int idx)
{
	unsigned long word = READ_ONCE(vswap_folio_words(folio)[idx]);

	VM_WARN_ON_ONCE_FOLIO(vswap_backing_tag(word) != VSWAP_SLOT ||
			      !vswap_backing_is_valid(word), folio);
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

/* How many pages of a folio are contiguous on a device, from page @first on? */
static unsigned int vswap_run_length(struct folio *folio, unsigned int first)
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

/* The first page of a folio, from page @idx on, that is on a device. */
static unsigned int vswap_next_on_device(struct folio *folio, unsigned int idx)
{
	unsigned long *words = vswap_folio_words(folio);

	while (idx < folio_nr_pages(folio) &&
	       vswap_backing_tag(READ_ONCE(words[idx])) != VSWAP_SLOT)
		idx++;
	return idx;
}

/* In how many pieces is a folio on devices? */
static unsigned int vswap_nr_runs(struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio), first, runs = 0;

	for (first = vswap_next_on_device(folio, 0); first < nr;
	     first = vswap_next_on_device(folio, first +
					  vswap_run_length(folio, first)))
		runs++;
	return runs;
}

static noinline bool vswap_large_is_contiguous(struct folio *folio)
{
	return !vswap_next_on_device(folio, 0) &&
	       vswap_run_length(folio, 0) == folio_nr_pages(folio);
}

/* Is a folio on one device, all of it, and in one piece? */
static bool vswap_is_contiguous(struct folio *folio)
{
	return likely(!folio_test_large(folio)) ||
	       vswap_large_is_contiguous(folio);
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
	VM_WARN_ON_ONCE(!vswap_backing_is_valid(word));
	return word;
}

/**
 * vswap_word_flags - what is the storage like that a backing word names?
 * @word: the word, which may be a hint
 *
 * Return: the SWP_ flags.
 */
unsigned long vswap_word_flags(unsigned long word)
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
 * vswap_storage_flags - what are the devices like that keep a folio's data?
 * @folio: the folio, locked, in the swap cache at virtual slots
 *
 * Return: their SWP_ flags, 0 if none of its data is on a device.
 */
unsigned long vswap_storage_flags(struct folio *folio)
{
	unsigned long *words = vswap_folio_words(folio), flags = 0, word;
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		word = READ_ONCE(words[i]);
		if (vswap_backing_tag(word) == VSWAP_SLOT)
			flags |= vswap_word_flags(word);
	}
	return flags;
}

/* See vswap_is_synchronous(). */
bool __vswap_is_synchronous(struct folio *folio)
{
	return vswap_word_flags(vswap_folio_words(folio)[0]) & SWP_SYNCHRONOUS_IO;
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

struct vswap_piece {
	struct swap_iocb sio;
	struct swap_iocb *whole;
};

/*
 * A pool of their own: a task that has taken the whole from the pool of
 * page_io.c waits here for pieces of it.
 */
static mempool_t *vswap_piece_pool;

/* Called at the end of I/O of a piece, by the device: in any context. */
static bool vswap_piece_end(struct swap_iocb **sio, bool *failed)
{
	struct vswap_piece *piece = container_of(*sio, struct vswap_piece, sio);
	struct swap_iocb *whole = piece->whole;

	if (*failed)
		WRITE_ONCE(whole->failed, true);
	mempool_free(piece, vswap_piece_pool);
	if (!atomic_dec_and_test(&whole->pending))
		return true;

	*sio = whole;
	*failed = whole->failed;
	return false;
}

/* Pass a request on to the device that it starts on, at @entry. */
VISIBLE_IF_KUNIT void vswap_pass_on(struct swap_io_ctx *ctx, swp_entry_t entry,
				    int rw)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_pass_on, ctx, entry, rw);
	ctx->sio->entry = entry;
	ctx->sis = __swap_entry_to_info(entry);
	if (rw == WRITE)
		ctx->sis->ops->submit_write(ctx);
	else
		ctx->sis->ops->submit_read(ctx);
}

/* After the last piece, @whole and @folio may be gone. */
static void vswap_submit_pieces(struct swap_iocb *whole, struct folio *folio,
				int rw)
{
	unsigned int nr_runs = vswap_nr_runs(folio), first = 0, nr, noio;

	atomic_set(&whole->pending, nr_runs);
	whole->failed = false;
	count_vm_events(rw == WRITE ? NRSWPOUT : NRSWPIN, nr_runs - 1);

	/* A filesystem allocates: its reclaim must not come back for a piece. */
	noio = memalloc_noio_save();
	for (; nr_runs--; first += nr) {
		struct vswap_piece *piece = mempool_alloc(vswap_piece_pool, GFP_NOIO);
		struct swap_iocb *sio = &piece->sio;
		struct swap_io_ctx ctx = { .sio = sio };

		first = vswap_next_on_device(folio, first);
		nr = vswap_run_length(folio, first);
		bvec_set_folio(&sio->bvecs[0], folio, nr * PAGE_SIZE,
			       first * PAGE_SIZE);
		sio->nr_bvecs = 1;
		sio->len = nr * PAGE_SIZE;
		sio->end_io = vswap_piece_end;
		piece->whole = whole;
		vswap_pass_on(&ctx, vswap_device_entry(folio, first), rw);
	}
	memalloc_noio_restore(noio);
}

static __always_inline void vswap_submit(struct swap_io_ctx *ctx, int rw)
{
	struct folio *folio = bvec_folio(&ctx->sio->bvecs[0]);

	if (likely(vswap_is_contiguous(folio)))
		vswap_pass_on(ctx, vswap_device_entry(folio, 0), rw);
	else
		vswap_submit_pieces(ctx->sio, folio, rw);
}

static void vswap_submit_write(struct swap_io_ctx *ctx)
{
	vswap_submit(ctx, WRITE);
}

static void vswap_submit_read(struct swap_io_ctx *ctx)
{
	vswap_submit(ctx, READ);
}

/* A folio that has to be read or written in pieces is alone in its request. */
static bool vswap_can_merge(struct folio *folio, struct folio *prev_folio,
			    size_t prev_folio_size, int rw)
{
	unsigned int last = folio_nr_pages(prev_folio) - 1;

	if (!vswap_is_contiguous(folio) || !vswap_is_contiguous(prev_folio))
		return false;
	if (!vswap_slots_adjoin(vswap_device_entry(prev_folio, last),
				vswap_device_entry(folio, 0)))
		return false;
	return rw != WRITE || folio_blkg_can_merge(folio, prev_folio);
}

const struct swap_ops vswap_ops = {
	.submit_write		= vswap_submit_write,
	.submit_read		= vswap_submit_read,
	.can_merge		= vswap_can_merge,
};

/**
 * vswap_io_init - set up what I/O needs
 *
 * Return: 0 or -ENOMEM.
 */
int __init vswap_io_init(void)
{
	vswap_piece_pool = mempool_create_kmalloc_pool(SWAP_CLUSTER_MAX,
						       sizeof(struct vswap_piece));
	return vswap_piece_pool ? 0 : -ENOMEM;
}

/**
 * vswap_io_destroy - undo vswap_io_init()
 *
 * The device has not been set up.
 */
void __init vswap_io_destroy(void)
{
	mempool_destroy(vswap_piece_pool);
}
