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

#include <linux/swap.h>
#include <linux/swapops.h>

struct mem_cgroup;
struct swap_cluster_info;

#ifdef CONFIG_VSWAP

/* The virtual swap device; NULL until, and unless, it could be set up. */
extern struct swap_info_struct *vswap_si;

static inline bool swap_is_virtual(const struct swap_info_struct *si)
{
	return si->flags & SWP_VIRTUAL;
}

/* Does @entry, which is valid, name a virtual slot? */
static inline bool vswap_entry(swp_entry_t entry)
{
	return vswap_si && swp_type(entry) == vswap_si->type;
}

/* Is @folio, which is locked, in the swap cache at virtual slots? */
static inline bool vswap_folio(struct folio *folio)
{
	return folio_test_swapcache(folio) && vswap_entry(folio->swap);
}

/* policy.c: who uses virtual slots, and is there room behind them */
bool vswap_prepare_alloc(struct folio *folio);
bool vswap_can_swap(struct mem_cgroup *memcg);
bool vswap_refused(struct folio *folio);
bool vswap_may_write_back(void);
unsigned long vswap_overcommit_pages(void);

/* tables.c: what belongs to a cluster */
int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp);
bool vswap_cluster_depopulate(struct swap_cluster_info *ci);

/* stats.c: slots in use */
bool vswap_account_alloc(struct swap_info_struct *si, struct folio *folio);
bool vswap_account_free(struct swap_info_struct *si, unsigned int nr);

/* backing.c: where the data is. The folio is locked, in the swap cache */
void vswap_release_range(struct swap_info_struct *si,
			 struct swap_cluster_info *ci,
			 unsigned int ci_off, unsigned int nr);
void vswap_mark_zero(struct swap_cluster_info *ci, struct folio *folio,
		     bool zero);
bool vswap_read_lost(struct folio *folio);
void *vswap_zswap_lookup(struct folio *folio);
void *vswap_zswap_store(struct swap_cluster_info *ci, swp_entry_t entry,
			void *zentry);
void vswap_zswap_erase(struct folio *folio);

#else /* CONFIG_VSWAP */

#define vswap_si ((struct swap_info_struct *)NULL)

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

static inline bool vswap_prepare_alloc(struct folio *folio)
{
	return false;
}

static inline bool vswap_can_swap(struct mem_cgroup *memcg)
{
	return false;
}

static inline bool vswap_refused(struct folio *folio)
{
	return false;
}

static inline bool vswap_may_write_back(void)
{
	return true;
}

static inline unsigned long vswap_overcommit_pages(void)
{
	return 0;
}

static inline int vswap_cluster_populate(struct swap_cluster_info *ci, gfp_t gfp)
{
	return -ENOMEM;
}

static inline bool vswap_cluster_depopulate(struct swap_cluster_info *ci)
{
	return false;
}

static inline bool vswap_account_alloc(struct swap_info_struct *si,
				       struct folio *folio)
{
	return false;
}

static inline bool vswap_account_free(struct swap_info_struct *si,
				      unsigned int nr)
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

#endif /* CONFIG_VSWAP */
#endif /* _MM_VSWAP_H */
