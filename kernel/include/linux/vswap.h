/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_VSWAP_H
#define _LINUX_VSWAP_H

#include <linux/atomic.h>

struct folio;

/**
 * struct vswap_refusals - what is known of pages that stay in memory
 * @nr: pages that do not compress and can be stored nowhere
 * @met: how many reclaim has met since something was concluded from it
 * @known_until: until when nearly all pages are known to be refused, in jiffies;
 *		 0: not known
 */
struct vswap_refusals {
	atomic_long_t nr;
	atomic_long_t met;
	unsigned long known_until;
};

/**
 * struct vswap_group - virtual swap's part of a memory cgroup
 * @refusals: of this group alone
 * @tables: bytes of tables that are charged to this group alone
 * @flushed: the tick in which statistics were last flushed for it
 * @zswapped: pages that zswap stores at virtual slots, those of groups that are
 *	      gone below this one included
 * @in_flight: bytes of them that are being written back
 * @zeroes: slots that are marked as zero-filled, those of groups that are gone
 *	    below this one included
 * @hand: the slot at which the search for pages to write back goes on
 */
struct vswap_group {
	struct vswap_refusals refusals;
	atomic_long_t tables;
	unsigned long flushed;
	atomic_long_t zswapped;
	atomic_long_t in_flight;
	atomic_long_t zeroes;
	unsigned int hand;
};

#ifdef CONFIG_VSWAP
unsigned long vswap_pages(void);
unsigned long vswap_swapcache_of_devices(unsigned long pages, unsigned long used);
bool vswap_swap_full(struct folio *folio, bool *full);
#else
static inline unsigned long vswap_pages(void)
{
	return 0;
}

static inline unsigned long vswap_swapcache_of_devices(unsigned long pages,
						       unsigned long used)
{
	return pages;
}

static inline bool vswap_swap_full(struct folio *folio, bool *full)
{
	return false;
}
#endif

#endif /* _LINUX_VSWAP_H */
