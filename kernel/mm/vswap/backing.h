/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backing word: where the data of a virtual slot is.
 *
 * There is one word for each slot of a virtual cluster, in an array beside the
 * cluster's swap table. Nothing outside this header knows its bits:
 *
 * NONE:   |------------------------ 0 ------------------------|000|
 * ZSWAP:  |----------- pointer to a zswap entry --------------|001|
 * SLOT:   |------------- offset --------------|type, 5 bits---|010|
 *         (other tags are free)
 *
 * - NONE: no data is stored. The slot is free, or zero-filled (the swap table
 *   says so with its zero flag), or its data is in memory only (the swap table
 *   has the folio).
 * - ZSWAP: the data is compressed in RAM.
 * - SLOT: the data is in a slot of a swap device.
 *
 * This header needs nothing but <linux/build_bug.h>, <linux/bits.h> and
 * READ_ONCE(), so that it is tested in user space with sanitizers as well.
 */
#ifndef _MM_VSWAP_BACKING_H
#define _MM_VSWAP_BACKING_H

#define VSWAP_TAG_BITS		3
#define VSWAP_TAG_MASK		((1UL << VSWAP_TAG_BITS) - 1)
#define VSWAP_TYPE_BITS		5
#define VSWAP_TYPE_MASK		((1UL << VSWAP_TYPE_BITS) - 1)
#define VSWAP_OFFSET_SHIFT	(VSWAP_TAG_BITS + VSWAP_TYPE_BITS)

/**
 * enum vswap_tag - the kind of backing a word names
 * @VSWAP_NONE:  nothing is stored
 * @VSWAP_ZSWAP: a zswap entry
 * @VSWAP_SLOT:  a slot of a swap device
 */
enum vswap_tag {
	VSWAP_NONE	= 0,
	VSWAP_ZSWAP	= 1,
	VSWAP_SLOT	= 2,
};

static inline enum vswap_tag vswap_backing_tag(unsigned long word)
{
	return word & VSWAP_TAG_MASK;
}

/* Is @word one that the functions below can have made? */
static inline bool vswap_backing_is_valid(unsigned long word)
{
	if (vswap_backing_tag(word) == VSWAP_NONE)
		return !word;
	return vswap_backing_tag(word) <= VSWAP_SLOT && word >> VSWAP_TAG_BITS;
}

static inline unsigned long vswap_zswap_to_backing(const void *entry)
{
	BUILD_BUG_ON(sizeof(unsigned long) != sizeof(void *));
	return (unsigned long)entry | VSWAP_ZSWAP;
}

static inline void *vswap_backing_to_zswap(unsigned long word)
{
	return (void *)(word & ~VSWAP_TAG_MASK);
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

/**
 * vswap_backing_take_run - take a run of equally tagged words out of an array
 * @words: the array's part to look at
 * @nr: its length, at least 1
 * @run: receives the words of the run, unless their tag is VSWAP_NONE
 * @max: how many words @run can hold
 *
 * The run starts at the first word and ends before the first word with another
 * tag, or after @max words. What is taken is VSWAP_NONE afterwards.
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

#endif /* _MM_VSWAP_BACKING_H */
