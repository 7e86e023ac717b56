/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual swap: shared between the files of this directory.
 *
 * The layers, from top to bottom. Code calls functions, and uses variables, of
 * its own file and of those below it:
 *
 *	init.c		setting up
 *	sysfs.c		files for the administrator
 *	verify.c	a walk over all invariants
 *	swapoff.c	moving data off a device
 *	shrink.c	which compressed data is written back
 *	policy.c	what uses virtual slots, and is there room behind them
 *	swapin.c	reading folios in
 *	zswap.c		storing compressed data
 *	backing.c	the transitions of a slot's backing
 *	writeback.c	writing compressed data to a device
 *	compressed.c	compressed data, as backing words name it
 *	io.c		the operations of the virtual device
 *	slots.c		slots of devices behind virtual slots
 *	refuse.c	pages that nothing takes
 *	tables.c	the tables of clusters and their reserve
 *	space.c		the virtual device, and growing
 *	stats.c		counters
 *	memcg.c		charges and limits
 *	owner.c		whose the slots are, and what group pays for their tables
 *	state.c		variables that every layer reads
 *
 * The locking rules:
 *
 * 1. A slot's backing word changes only under the lock of its cluster, and
 *    only (a) with the swap-cache folio of the slot locked, or (b) when the
 *    slot is freed: no swap count, no folio in the cache, or (c) when a flight
 *    (writeback.c) lands, by a single store. Under the lock of the cluster alone
 *    the bit "referenced" of compressed data may be cleared, and the refusal of a
 *    page that is mapped may be forgotten.
 * 2. With that folio locked, or under writeback, the word may be read without
 *    the cluster lock, unless it says FLIGHT: a flight is overtaken first; or
 *    REFUSED, with the folio mapped. At any other time the word is a hint, read
 *    under RCU.
 * 3. The swap cache is looked up without a lock, in the swap table's word alone.
 * 4. A cluster's tables are installed under its lock, all of them, while it is
 *    isolated (on no list, no slot in use), and taken away under its lock when it
 *    is empty.
 * 5. vswap_space.grow_lock protects how far the array of clusters is mapped.
 *    It nests outside every cluster lock, and inside folio locks: reclaim
 *    grows the space. Nothing that enters reclaim runs under it.
 * 6. vswap_reserve_lock is innermost.
 * 7. A slot of a device that backs a virtual slot is allocated without any
 *    cluster lock. It is installed, and freed after that, under the lock of the
 *    virtual slot's cluster. The lock of the device's cluster nests inside that
 *    lock, never the other way round. A scan of the device's clusters reads in the
 *    reverse map whether only the swap cache uses a slot, and only tries to
 *    lock the folio. That bit changes under the virtual cluster's lock. A spare
 *    slot (slots.c) gets its word from its taker, alone, under the lock of its CPU's
 *    spare slots. This lock also pins the device while it is no longer counted.
 * 8. A slot in use pins its device: to free the slot, swapoff locks the folio
 *    and waits for its writeback. I/O needs no other reference. A flight holds
 *    such a slot until it lands.
 *
 * Order: folio lock -> grow_lock -> virtual cluster lock -> si->lock,
 *			page table lock -> virtual cluster lock,
 *			virtual cluster lock -> device's cluster lock -> si->lock,
 *			virtual cluster lock -> vswap_reserve_lock,
 *			virtual cluster lock -> locks of zsmalloc,
 *			percpu_swap_cluster.lock -> vswap_spare_lock ->
 *				a CPU's lock of spare slots ->
 *				device's cluster lock, swap_avail_lock.
 * vswap_flight_lock is taken alone. vswap_pools_lock is outside the locks of
 * zsmalloc and, as the OOM notifier takes it, inside oom_lock. Reclaim does not
 * take it; nothing is allocated under it.
 */
#ifndef _MM_VSWAP_INTERNAL_H
#define _MM_VSWAP_INTERNAL_H

#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
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
 * @grow_lock: serialises growing
 * @area: the address space of the whole array
 * @nr_pages: pages of the array that are mapped
 * @max_pages: pages that may be mapped at most
 * @nr_clusters: clusters that lie completely in mapped pages; the first one
 *		 is never used, so that no entry is SWAP_ENTRY_INVALID
 * @wq: growing, filling the reserve, writing back, compacting; makes progress
 *	without memory
 * @grow_work: map a page ahead of need, fill the reserve
 */
struct vswap_space {
	struct mutex grow_lock;		/* the fields below, and si->max */
	struct vm_struct *area;
	unsigned int nr_pages;
	unsigned int max_pages;
	unsigned int nr_clusters;
	struct workqueue_struct *wq;
	struct work_struct grow_work;
};

extern struct vswap_space vswap_space;

/* state.c */
enum vswap_mode {
	VSWAP_NEVER,
	VSWAP_AUTO,
	VSWAP_ALWAYS,
};

static inline bool vswap_want_memcg_table(void)
{
	return IS_ENABLED(CONFIG_MEMCG) && !mem_cgroup_disabled();
}

/* What a cluster in use costs, besides its header, in bytes. */
static inline size_t vswap_table_bytes(void)
{
	return 2 * sizeof(struct swap_table) +
	       (vswap_want_memcg_table() ? sizeof(struct swap_memcg_table) : 0);
}

extern enum vswap_mode vswap_mode;
extern const char * const vswap_mode_names[];
extern atomic_t vswap_policy;
extern unsigned long vswap_leaving;

/* What was asked of the policy is out of date: something it depends on has changed. */
static inline void vswap_outdate_policy(void)
{
	/* See vswap_take_credit(). Those that see this see what was changed before. */
	smp_mb__before_atomic();
	atomic_inc(&vswap_policy);
}

bool vswap_can_name_memory(void);
long __vswap_hidden_room(void);

/*
 * By how many slots is the number of those that are free too small? When a device
 * is to be removed, all its pages are taken off that number, and those in use,
 * which are moved elsewhere, have been before.
 */
static inline long vswap_hidden_room(void)
{
	return unlikely(READ_ONCE(vswap_leaving)) ? __vswap_hidden_room() : 0;
}

/* How many slots of devices are free? 0 or less if none are. */
static inline long vswap_device_room(void)
{
	return get_nr_swap_pages() + vswap_hidden_room();
}

/* space.c */
int vswap_space_init(work_func_t grow_work);
void vswap_space_destroy(void);
int vswap_device_init(const struct swap_ops *ops);
int vswap_grow(void);
bool vswap_space_is_low(void);
bool vswap_space_is_full(void);
unsigned long vswap_slots_max(void);
void vswap_kick_grow(void);

/* tables.c */
extern unsigned int vswap_reserve_target, vswap_nr_reserve;

void vswap_tables_init(void);
void vswap_reserve_fill(void);

/* policy.c */
void vswap_set_mode(enum vswap_mode mode);
void vswap_grow_work(struct work_struct *work);

/* backing.c */
unsigned long vswap_word(struct folio *folio, unsigned int idx);
void vswap_release_old(struct swap_cluster_info *ci, swp_entry_t virt);
void vswap_adopt(struct folio *folio);
unsigned int vswap_leave_device(struct folio *folio, unsigned int type);

/* slots.c */
void vswap_install_slots(struct swap_cluster_info *ci, swp_entry_t virt,
			 swp_entry_t slot, unsigned int nr);
void vswap_install_slot(struct swap_cluster_info *ci, swp_entry_t virt,
			swp_entry_t slot, enum vswap_tag from);
void vswap_free_slots(swp_entry_t entry, unsigned int nr);
void vswap_leave_spare(struct swap_info_struct *si);
bool vswap_spare_is_right(int cpu);
swp_entry_t vswap_alloc_slots(swp_entry_t virt, unsigned int order, bool nowait);
void vswap_release_slots(struct swap_cluster_info *ci, unsigned int ci_off,
			 const unsigned long *words, unsigned int nr);
void vswap_release_slot(struct swap_cluster_info *ci, unsigned int ci_off);

/* writeback.c */
bool vswap_can_fly(void);
bool vswap_writes_fail(void);
int vswap_writeback(unsigned long word, swp_entry_t virt);
void vswap_overtake(struct swap_cluster_info *ci, unsigned int off);
unsigned long vswap_flight_word(unsigned long word);
bool vswap_resize_pool(bool wanted);
int vswap_wait_for_flights(unsigned int type);

/* refuse.c */
void vswap_count_refused(struct swap_cluster_info *ci, unsigned int off, int nr);
bool vswap_nothing_left(struct mem_cgroup *memcg);
bool vswap_take_refusals_back(struct folio *folio);

/* compressed.c */
void vswap_kick_compact(void);
void vswap_compressed_init(void);
bool vswap_zswap_is_sane(unsigned long word);
bool vswap_decompress(unsigned long word, swp_entry_t virt, struct page *page);
void vswap_zswap_free(const unsigned long *words, unsigned int nr,
		      struct mem_cgroup *memcg);

/* owner.c */
#ifdef CONFIG_MEMCG
bool vswap_charge_tables(struct obj_cgroup **objcg, size_t bytes, gfp_t gfp);
void vswap_uncharge_tables(struct obj_cgroup *objcg, size_t bytes);
void vswap_set_owner(struct swap_cluster_info *ci, struct folio *folio,
		     unsigned int nr);
void vswap_update_payer(struct swap_cluster_info *ci);
void vswap_drop_payer(struct swap_cluster_info *ci);
bool vswap_memcg_owns(struct folio *folio);
void vswap_change_owner(struct swap_cluster_info *ci, struct folio *folio);
bool vswap_memcg_may_own(unsigned short id);
bool vswap_memcg_may_be_unknown(unsigned short id);
bool vswap_memcg_payer_is_right(struct swap_cluster_info *ci);
struct mem_cgroup *vswap_charge_to_heir(swp_entry_t entry);
unsigned long vswap_memcg_tables(struct mem_cgroup *memcg);

static __always_inline bool vswap_memcg_is_v2(void)
{
	return !mem_cgroup_disabled() && cgroup_subsys_on_dfl(memory_cgrp_subsys);
}

/*
 * Bytes have to be uncharged from the objcg that they were charged to, because
 * it rounds them to pages. This objcg stays with the group until the group is
 * freed, and passes its charges on to the parent.
 */
static inline struct obj_cgroup *vswap_memcg_objcg(struct mem_cgroup *memcg)
{
	return memcg->nodeinfo[first_node(node_possible_map)]->orig_objcg;
}
#else
static inline bool vswap_charge_tables(struct obj_cgroup **objcg, size_t bytes,
				       gfp_t gfp)
{
	*objcg = NULL;
	return true;
}

static inline void vswap_uncharge_tables(struct obj_cgroup *objcg, size_t bytes) { }

static inline void vswap_set_owner(struct swap_cluster_info *ci,
				   struct folio *folio, unsigned int nr) { }

static inline void vswap_update_payer(struct swap_cluster_info *ci) { }
static inline void vswap_drop_payer(struct swap_cluster_info *ci) { }

static inline bool vswap_memcg_owns(struct folio *folio)
{
	return true;
}

static inline void vswap_change_owner(struct swap_cluster_info *ci,
				      struct folio *folio) { }

static inline bool vswap_memcg_may_own(unsigned short id)
{
	return true;
}

static inline bool vswap_memcg_may_be_unknown(unsigned short id)
{
	return false;
}

static inline bool vswap_memcg_payer_is_right(struct swap_cluster_info *ci)
{
	return true;
}

static inline struct mem_cgroup *vswap_charge_to_heir(swp_entry_t entry)
{
	return NULL;
}

static inline unsigned long vswap_memcg_tables(struct mem_cgroup *memcg)
{
	return 0;
}
#endif

/* memcg.c */
long vswap_slots_left(struct mem_cgroup *memcg);

/* Each cluster remembers, of one in 32, whose data it has had. */
static inline u32 vswap_owner_bit(unsigned short id)
{
	return 1U << (id % 32);
}

/* How many of @nr slots from @off on, of a locked cluster, have one owner? */
static inline unsigned int vswap_owner_run(struct swap_cluster_info *ci,
					   unsigned int off, unsigned int nr)
{
	unsigned short id = __swap_cgroup_get(ci, off);
	unsigned int len = 1;

	while (len < nr && __swap_cgroup_get(ci, off + len) == id)
		len++;
	return len;
}

/* Asks whether slots are of a group, or of one below that is gone. */
struct vswap_owner_filter {
	struct mem_cgroup *memcg;	/* NULL: all slots are */
	u32 bits;			/* of clusters that may have some */
	unsigned short id;		/* what was asked last */
	bool matches;
};

#ifdef CONFIG_MEMCG
struct mem_cgroup *vswap_memcg_get(unsigned short id);
void vswap_memcg_put(struct mem_cgroup *memcg);
int vswap_memcg_charge(struct mem_cgroup *memcg, int nr, bool events);
int vswap_charge_slots(struct folio *folio, int nr);
void vswap_memcg_event(struct mem_cgroup *memcg, enum vm_event_item event);
struct cgroup_subsys_state *vswap_memcg_blkcg(struct mem_cgroup *memcg);
bool vswap_memcg_allows(struct mem_cgroup *memcg);
bool vswap_memcg_has_room(struct mem_cgroup *memcg, bool flush);
bool vswap_memcg_may_store(struct mem_cgroup *memcg);
void vswap_memcg_count_refused(unsigned short id, int nr);
struct vswap_refusals *vswap_memcg_refusals(struct mem_cgroup *memcg);
struct vswap_group *vswap_memcg_group(struct mem_cgroup *memcg);
struct mem_cgroup *vswap_memcg_owner(struct swap_cluster_info *ci, unsigned int off);
void vswap_memcg_charge_zswap(struct folio *folio, unsigned short id, size_t size);
void vswap_memcg_uncharge_zswap(struct mem_cgroup *memcg, size_t size,
				unsigned int nr, unsigned int nr_raw);
void vswap_memcg_count_zero(struct mem_cgroup *memcg, long nr);
void vswap_memcg_in_flight(struct mem_cgroup *memcg, long size);
void vswap_filter_init(struct vswap_owner_filter *filter, struct mem_cgroup *memcg);
bool __vswap_filter_matches(struct vswap_owner_filter *filter, unsigned short id);
unsigned long vswap_memcg_anon(struct mem_cgroup *memcg);
void vswap_memcg_no_slots(struct folio *folio);

static inline struct obj_cgroup *vswap_folio_objcg(struct folio *folio)
{
	return folio_objcg(folio);
}
#else
static inline struct mem_cgroup *vswap_memcg_get(unsigned short id)
{
	return NULL;
}

static inline void vswap_memcg_put(struct mem_cgroup *memcg) { }

static inline int vswap_memcg_charge(struct mem_cgroup *memcg, int nr, bool events)
{
	return 0;
}

static inline int vswap_charge_slots(struct folio *folio, int nr)
{
	return 0;
}

static inline void vswap_memcg_no_slots(struct folio *folio) { }

static inline void vswap_memcg_event(struct mem_cgroup *memcg,
				     enum vm_event_item event) { }

static inline struct cgroup_subsys_state *vswap_memcg_blkcg(struct mem_cgroup *memcg)
{
	return NULL;
}

static inline bool vswap_memcg_allows(struct mem_cgroup *memcg)
{
	return true;
}

static inline bool vswap_memcg_has_room(struct mem_cgroup *memcg, bool flush)
{
	return true;
}

static inline bool vswap_memcg_may_store(struct mem_cgroup *memcg)
{
	return true;
}

static inline void vswap_memcg_count_refused(unsigned short id, int nr) { }

static inline struct vswap_refusals *vswap_memcg_refusals(struct mem_cgroup *memcg)
{
	return NULL;
}

struct vswap_group *vswap_memcg_group(struct mem_cgroup *memcg);

static inline struct obj_cgroup *vswap_folio_objcg(struct folio *folio)
{
	return NULL;
}

static inline struct mem_cgroup *vswap_memcg_owner(struct swap_cluster_info *ci,
						   unsigned int off)
{
	return NULL;
}

void vswap_memcg_charge_zswap(struct folio *folio, unsigned short id, size_t size);
void vswap_memcg_uncharge_zswap(struct mem_cgroup *memcg, size_t size,
				unsigned int nr, unsigned int nr_raw);

static inline void vswap_memcg_count_zero(struct mem_cgroup *memcg, long nr) { }

static inline void vswap_memcg_in_flight(struct mem_cgroup *memcg, long size) { }

static inline void vswap_filter_init(struct vswap_owner_filter *filter,
				     struct mem_cgroup *memcg)
{
	*filter = (struct vswap_owner_filter){ .bits = ~0U };
}

static inline bool __vswap_filter_matches(struct vswap_owner_filter *filter,
					  unsigned short id)
{
	return true;
}

static inline unsigned long vswap_memcg_anon(struct mem_cgroup *memcg)
{
	return 0;
}
#endif

/* Does a slot that @id owns belong to the group? The slot's cluster is locked. */
static inline bool vswap_filter_matches(struct vswap_owner_filter *filter,
					unsigned short id)
{
	if (!filter->memcg)
		return true;
	if (id && id == filter->id)
		return filter->matches;
	return __vswap_filter_matches(filter, id);
}

/* io.c */
extern const struct swap_ops vswap_ops;

int vswap_io_init(void);
void vswap_io_destroy(void);
unsigned long vswap_word_flags(unsigned long word);
bool vswap_slots_adjoin(swp_entry_t a, swp_entry_t b);

/* stats.c */
enum vswap_counter {
	VSWAP_NR_USED,
	VSWAP_NR_ZERO,
	VSWAP_NR_ZSWAP,
	VSWAP_NR_PHYSICAL,
	VSWAP_NR_COUNTERS,
};

/* Of a CPU: what it has added, and taken away. */
struct vswap_counters {
	long nr[VSWAP_NR_COUNTERS];	/* slots */
};

DECLARE_PER_CPU_ALIGNED(struct vswap_counters, vswap_counters);
extern atomic_long_t vswap_tables_used;

/* Add @nr slots, negative to take away; in any context but NMI. */
static inline void vswap_count(enum vswap_counter counter, long nr)
{
	this_cpu_add(vswap_counters.nr[counter], nr);
}

unsigned long vswap_counted(enum vswap_counter counter);
unsigned long vswap_cached(void);
unsigned long vswap_nr_contiguous(void);

/* How many clusters have tables? It may change at any time. */
static inline long vswap_nr_tables(void)
{
	return atomic_long_read(&vswap_tables_used);
}

/* How many clusters can be taken without growing? A hint. */
static inline long vswap_free_clusters(void)
{
	return (long)READ_ONCE(vswap_space.nr_clusters) - 1 - vswap_nr_tables();
}

/* How many sets of tables are in reserve? It may change at any time. */
static inline unsigned int vswap_nr_reserved(void)
{
	return READ_ONCE(vswap_nr_reserve);
}

/*
 * What backs the slots of a folio? It is locked, and at virtual slots: see rule 2.
 * Return: a mask of tags, those of all slots together.
 */
static inline unsigned long vswap_tags(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	unsigned int off = swp_cluster_offset(folio->swap);
	unsigned int end = off + folio_nr_pages(folio);
	unsigned long tags = 0;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	do {
		tags |= BIT(vswap_backing_tag(READ_ONCE(ci->backing[off])));
	} while (++off < end);
	return tags;
}

/* How many slots of such a folio have no slot of a device behind them? */
static inline unsigned int vswap_nr_missing(struct folio *folio)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(folio->swap);
	unsigned int off = swp_cluster_offset(folio->swap);
	unsigned int end = off + folio_nr_pages(folio), missing = 0;

	VM_WARN_ON_ONCE_FOLIO(!folio_test_locked(folio), folio);
	for (; off < end; off++)
		missing += vswap_backing_tag(READ_ONCE(ci->backing[off])) != VSWAP_SLOT;
	return missing;
}

/* sysfs.c */
int vswap_sysfs_init(void);

/* Replaced or called by KUnit; static without it */
#if IS_ENABLED(CONFIG_KUNIT)
struct zs_pool;

void vswap_pass_on(struct swap_io_ctx *ctx, swp_entry_t entry, int rw);
bool vswap_may_alloc(int piece, gfp_t gfp);
bool vswap_try_compact(struct zs_pool *pool);
bool vswap_fill_pool(struct zs_pool *pool, bool wait, unsigned long *freed);
bool vswap_fill_holes(bool wait, unsigned long *freed);
bool vswap_compact_pools(bool wait);
bool vswap_spares_process(unsigned long pages, unsigned long total);
int vswap_oom(struct notifier_block *nb, unsigned long unused, void *freed);
bool vswap_wanted(struct folio *folio);
unsigned short vswap_back_by_zswap(swp_entry_t virt, unsigned long word);
void vswap_free_run(const unsigned long *words, unsigned int nr,
		    struct mem_cgroup *memcg);
#endif

/* verify.c */
unsigned long vswap_verify(void);

#endif /* _MM_VSWAP_INTERNAL_H */
