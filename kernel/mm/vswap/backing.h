/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backing word: where the data of a virtual slot is.
 *
 * There is one word for each slot of a virtual cluster, in an array beside the
 * cluster's swap table. Nothing outside this header knows its bits:
 *
 * NONE:   |------------------------ 0 ------------------------|000|
 * ZSWAP:  |------ zsmalloc handle / 8 ------|length|pool, 4|R|001|
 * SLOT:   |------------- offset --------------|type, 5 bits---|010|
 * LOST:   |------------------------ 0 ------------------------|011|
 * FLIGHT: |----- pointer to what writes the data back --------|100|
 * REFUSED:|------------ hash of the content ---------|seed, 16|101|
 *         (other tags are free)
 *
 * - NONE: no data is stored. The slot is free, or zero-filled (the swap table
 *   says so with its zero flag), or its data is in memory only (the swap table
 *   has the folio).
 * - ZSWAP: the data is compressed in RAM: the physical address of the zsmalloc
 *   handle, which is a slab object, the length of the compressed data (0 for a
 *   page that is stored as it is), the index of the zswap pool, and R: it has
 *   not been looked at for writeback since it was stored.
 * - SLOT: the data is in a slot of a swap device.
 * - LOST: the data could not be read from such a slot when its device was taken
 *   away. Reading the slot is an I/O error.
 * - FLIGHT: as ZSWAP, and the data is being written to a device. The struct
 *   vswap_flight has the former word until the writing ends.
 * - REFUSED: as NONE, and the data is in memory because it does not compress and
 *   there is no device for it. The hash tells whether it has changed since, the
 *   seed whether the compressor or the policy has.
 *
 * The reverse map is in the swap table of the device. The word of a slot that
 * backs a virtual slot says which, and in bit C whether only the swap cache
 * uses the virtual slot:
 *
 * |--------------- offset of the virtual slot ------------|C|100|
 *
 * It is 0, as no virtual slot's is, for a spare slot: see slots.c.
 *
 * This header needs nothing but <linux/build_bug.h>, <linux/bits.h>, PAGE_SIZE
 * and READ_ONCE(): a test in user space uses it with sanitizers.
 */
#ifndef _MM_VSWAP_BACKING_H
#define _MM_VSWAP_BACKING_H

#define VSWAP_TAG_BITS		3
#define VSWAP_TAG_MASK		((1UL << VSWAP_TAG_BITS) - 1)
#define VSWAP_TYPE_BITS		5
#define VSWAP_TYPE_MASK		((1UL << VSWAP_TYPE_BITS) - 1)
#define VSWAP_OFFSET_SHIFT	(VSWAP_TAG_BITS + VSWAP_TYPE_BITS)

#define VSWAP_REFERENCED	(1UL << VSWAP_TAG_BITS)
#define VSWAP_POOL_SHIFT	(VSWAP_TAG_BITS + 1)
#define VSWAP_POOL_BITS		4
#define VSWAP_NR_POOLS		(1U << VSWAP_POOL_BITS)
#define VSWAP_LENGTH_SHIFT	(VSWAP_POOL_SHIFT + VSWAP_POOL_BITS)
#define VSWAP_HANDLE_SHIFT	(VSWAP_LENGTH_SHIFT + PAGE_SHIFT)
#define VSWAP_HANDLE_ALIGN	3	/* lowest bits that are 0 */
#define VSWAP_HANDLE_BITS	(64 - VSWAP_HANDLE_SHIFT + VSWAP_HANDLE_ALIGN)

/**
 * enum vswap_tag - the kind of backing a word names
 * @VSWAP_NONE:  nothing is stored
 * @VSWAP_ZSWAP: compressed data
 * @VSWAP_SLOT:  a slot of a swap device
 * @VSWAP_LOST:  nothing, although there should be something
 * @VSWAP_FLIGHT: compressed data that is being written back
 * @VSWAP_REFUSED: nothing is stored, as it does not compress
 * @VSWAP_NR_TAGS: number of tags
 */
enum vswap_tag {
	VSWAP_NONE	= 0,
	VSWAP_ZSWAP	= 1,
	VSWAP_SLOT	= 2,
	VSWAP_LOST	= 3,
	VSWAP_FLIGHT	= 4,
	VSWAP_REFUSED	= 5,
	VSWAP_NR_TAGS
};

static inline enum vswap_tag vswap_backing_tag(unsigned long word)
{
	return word & VSWAP_TAG_MASK;
}

/**
 * vswap_zswap_to_backing - the word for compressed data, just stored
 * @handle: where it is, aligned to 8 bytes, not 0
 * @length: its length in bytes, at most a page
 * @pool: the index of the pool
 *
 * Return: the word, 0 if @handle is too large for it.
 */
static inline unsigned long vswap_zswap_to_backing(unsigned long handle,
						   unsigned int length,
						   unsigned int pool)
{
	BUILD_BUG_ON(sizeof(unsigned long) != 8);
	if ((u64)handle >> VSWAP_HANDLE_BITS)
		return 0;
	return handle >> VSWAP_HANDLE_ALIGN << VSWAP_HANDLE_SHIFT |
	       (length & (PAGE_SIZE - 1)) << VSWAP_LENGTH_SHIFT |
	       pool << VSWAP_POOL_SHIFT | VSWAP_REFERENCED | VSWAP_ZSWAP;
}

static inline unsigned long vswap_backing_to_handle(unsigned long word)
{
	return word >> VSWAP_HANDLE_SHIFT << VSWAP_HANDLE_ALIGN;
}

static inline unsigned int vswap_backing_to_length(unsigned long word)
{
	unsigned int length = word >> VSWAP_LENGTH_SHIFT & (PAGE_SIZE - 1);

	return length ? length : PAGE_SIZE;
}

static inline unsigned int vswap_backing_to_pool(unsigned long word)
{
	return word >> VSWAP_POOL_SHIFT & (VSWAP_NR_POOLS - 1);
}

/* Do two words name the same data, looked at since it was stored or not? */
static inline bool vswap_backing_same(unsigned long a, unsigned long b)
{
	return !((a ^ b) & ~VSWAP_REFERENCED);
}

static inline unsigned long vswap_flight_to_backing(const void *flight)
{
	return (unsigned long)flight | VSWAP_FLIGHT;
}

static inline void *vswap_backing_to_flight(unsigned long word)
{
	return (void *)(word & ~VSWAP_TAG_MASK);
}

static inline unsigned long vswap_hash_to_backing(unsigned long hash)
{
	return (hash & ~VSWAP_TAG_MASK) | VSWAP_REFUSED;
}

static inline unsigned long vswap_slot_to_backing(unsigned int type,
						  unsigned long offset)
{
	BUILD_BUG_ON(VSWAP_OFFSET_SHIFT + 32 > sizeof(unsigned long) * 8);
	return offset << VSWAP_OFFSET_SHIFT |
	       (type & VSWAP_TYPE_MASK) << VSWAP_TAG_BITS | VSWAP_SLOT;
}

static inline unsigned int vswap_backing_to_type(unsigned long word)
{
	return word >> VSWAP_TAG_BITS & VSWAP_TYPE_MASK;
}

static inline unsigned long vswap_backing_to_offset(unsigned long word)
{
	return word >> VSWAP_OFFSET_SHIFT;
}

/* Is @word one that the functions above can have made? */
static inline bool vswap_backing_is_valid(unsigned long word)
{
	switch (vswap_backing_tag(word)) {
	case VSWAP_NONE:
	case VSWAP_LOST:
		return !(word >> VSWAP_TAG_BITS);
	case VSWAP_ZSWAP:
		return vswap_backing_to_handle(word);
	case VSWAP_SLOT:
	case VSWAP_FLIGHT:
		return word >> VSWAP_TAG_BITS;
	case VSWAP_REFUSED:
		return true;
	default:
		return false;
	}
}

/**
 * vswap_backing_take_run - take a run of equally tagged words out of an array
 * @words: the array's part to look at
 * @nr: its length, at least 1
 * @run: receives the words of the run, unless their tag is VSWAP_NONE
 * @max: how many words @run can hold
 *
 * The run starts at the first word and ends before the first word with another
 * tag, or after @max words. The words taken are VSWAP_NONE afterwards.
 *
 * Return: the length of the run, at least 1.
 */
static inline unsigned int vswap_backing_take_run(unsigned long *words,
						  unsigned int nr,
						  unsigned long *run,
						  unsigned int max)
{
	enum vswap_tag tag = vswap_backing_tag(words[0]);
	unsigned int i;

	for (i = 0; i < nr && vswap_backing_tag(words[i]) == tag; i++) {
		if (tag == VSWAP_NONE)
			continue;
		if (i == max)
			break;
		run[i] = words[i];
		WRITE_ONCE(words[i], 0);
	}
	return i;
}

#define VSWAP_RMAP_TAG		4UL
#define VSWAP_RMAP_TAG_MASK	7UL
#define VSWAP_RMAP_CACHE_ONLY	8UL
#define VSWAP_RMAP_SHIFT	4

/* Does a word of a device's swap table say that the slot backs a virtual one? */
static inline bool vswap_is_rmap(unsigned long word)
{
	return (word & VSWAP_RMAP_TAG_MASK) == VSWAP_RMAP_TAG;
}

static inline unsigned long vswap_to_rmap(unsigned long offset, bool cache_only)
{
	return offset << VSWAP_RMAP_SHIFT |
	       (cache_only ? VSWAP_RMAP_CACHE_ONLY : 0) | VSWAP_RMAP_TAG;
}

static inline unsigned long vswap_rmap_to_offset(unsigned long word)
{
	return word >> VSWAP_RMAP_SHIFT;
}

/* Is a slot of a device taken, but does not back a virtual slot yet? */
static inline bool vswap_is_spare(unsigned long word)
{
	return word == VSWAP_RMAP_TAG;
}

/**
 * vswap_backing_slot_run - how many words name neighbouring slots of a device?
 * @words: the words; the first one's tag is VSWAP_SLOT
 * @nr: their number, at least 1
 * @cluster: the slots of a cluster of the device; a run does not leave it
 *
 * Return: the length of the run, at least 1.
 */
static inline unsigned int vswap_backing_slot_run(const unsigned long *words,
						  unsigned int nr,
						  unsigned int cluster)
{
	unsigned long offset = vswap_backing_to_offset(words[0]);
	unsigned int i;

	for (i = 1; i < nr; i++) {
		if ((offset + i) % cluster == 0 ||
		    words[i] != vswap_slot_to_backing(vswap_backing_to_type(words[0]),
						      offset + i))
			break;
	}
	return i;
}

#endif /* _MM_VSWAP_BACKING_H */
