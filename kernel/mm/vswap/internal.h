/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual swap: shared between the files of this directory.
 *
 * Layers, callers first: policy -> space -> tables; swapoff -> backing ->
 * slots; io reads only; stats below all.
 *
 * The locking rules:
 *
 * 1. A slot's backing word changes only under the lock of its cluster, and
 *    only (a) with the swap-cache folio of the slot locked, or (b) when the
 *    slot is freed: no swap count, no folio in the cache.
 * 2. With that folio locked, or under writeback, the word may be read without
 *    the cluster lock. Else it is a hint, read under RCU.
 * 3. The swap table word stays the only thing that is read locklessly.
 * 4. A cluster's tables are installed while the cluster is isolated (on no
 *    list, no slot in use) and taken away under its lock when it is empty.
 * 5. vswap_space.grow_lock protects how far the array of clusters is mapped.
 *    It nests outside every cluster lock, and inside folio locks: reclaim
 *    grows the space. Nothing that enters reclaim runs under it.
 * 6. vswap_reserve_lock is innermost.
 * 7. A slot of a device that backs a virtual slot is allocated without any
 *    cluster lock, and installed and freed under the one of the virtual slot's
 *    cluster, inside which the lock of the device's cluster nests, never the
 *    other way round. Who scans the device's clusters learns from the reverse
 *    map alone whether the swap cache only uses a slot, and takes the folio's
 *    lock by trylock. That bit changes under the virtual cluster's lock.
 * 8. A slot in use keeps its device from being taken away: swapoff has to lock
 *    the folio and wait for its writeback to have the slot freed.
 *
 * Order: folio lock -> grow_lock -> virtual cluster lock -> si->lock,
 *			virtual cluster lock -> device's cluster lock -> si->lock,
 *			virtual cluster lock -> vswap_reserve_lock.
 */
#ifndef _MM_VSWAP_INTERNAL_H
#define _MM_VSWAP_INTERNAL_H

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/sizes.h>
#include <linux/vm_event_item.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "../swap.h"
#include "../swap_table.h"
#include "vswap.h"
#include "backing.h"

/**
 * struct vswap_space - the array of virtual clusters, as far as it is mapped
 * @grow_lock: serialises growing and shrinking
 * @area: the address space of the whole array
 * @nr_pages: pages of the array that are mapped
 * @max_pages: pages that may be mapped at most
 * @nr_clusters: clusters that lie completely in mapped pages; the first one
 *		 is never used, so that no entry is SWAP_ENTRY_INVALID
 * @wq: growing, shrinking and filling the reserve; makes progress without
 *	memory
 * @grow_work: map a page ahead of need, fill the reserve
 * @shrink_work: give back free pages at the end
 */
struct vswap_space {
	struct mutex grow_lock;		/* the fields below, and si->max */
	struct vm_struct *area;
	unsigned int nr_pages;
	unsigned int max_pages;
	unsigned int nr_clusters;
	struct workqueue_struct *wq;
	struct work_struct grow_work;
	struct delayed_work shrink_work;
};

extern struct vswap_space vswap_space;

/* space.c */
int vswap_grow(void);
void vswap_shrink(void);
long vswap_free_clusters(void);
bool vswap_space_is_low(void);
void vswap_kick_grow(void);
void vswap_kick_shrink(void);

/* tables.c */
extern unsigned int vswap_reserve_target;

size_t vswap_table_bytes(void);
long vswap_nr_tables(void);
unsigned int vswap_nr_reserved(void);
void vswap_tables_init(void);
void vswap_reserve_fill(void);

/* policy.c */
enum vswap_mode {
	VSWAP_NEVER,
	VSWAP_AUTO,
	VSWAP_ALWAYS,
};

extern enum vswap_mode vswap_mode;
extern const char * const vswap_mode_names[];

void vswap_set_mode(enum vswap_mode mode);
bool vswap_active(void);
void vswap_refused(struct folio *folio);
void vswap_accepted(void);

/* backing.c */
unsigned int vswap_leave_device(struct folio *folio, unsigned int type);

/* slots.c */
void vswap_install_slots(struct swap_cluster_info *ci, swp_entry_t virt,
			 swp_entry_t slot, unsigned int nr, enum vswap_tag from);
void vswap_release_slots(struct swap_cluster_info *ci, unsigned int ci_off,
			 const unsigned long *words, unsigned int nr);
int vswap_charge_slots(struct folio *folio, int nr);

/* io.c */
int vswap_io_init(void);

/* stats.c */
enum vswap_counter {
	VSWAP_NR_USED,
	VSWAP_NR_ZERO,
	VSWAP_NR_ZSWAP,
	VSWAP_NR_PHYSICAL,
	VSWAP_NR_COUNTERS,
};

int vswap_stats_init(void);
void vswap_count(enum vswap_counter counter, long nr);
unsigned long vswap_counted(enum vswap_counter counter);
unsigned long vswap_metadata_bytes(void);

/* Replaced by KUnit; static without it */
#if IS_ENABLED(CONFIG_KUNIT)
bool vswap_may_alloc(int piece);
bool vswap_wanted(struct folio *folio);
void vswap_free_run(void **entries, unsigned int nr);
#endif

/* verify.c */
unsigned long vswap_verify(void);

#endif /* _MM_VSWAP_INTERNAL_H */
