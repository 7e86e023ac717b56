// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: counters.
 *
 * The counters of slots are per CPU: taking or freeing a virtual slot touches
 * no cache line that all CPUs share.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>
#include <linux/sched.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/vswap.h>

DEFINE_PER_CPU_ALIGNED(struct vswap_counters, vswap_counters);

/* Clusters that have tables, whether slots of them are in use or not. */
atomic_long_t vswap_tables_used;

/**
 * vswap_counted - read a counter
 * @counter: which
 *
 * Return: the number of slots, exact when nothing happens meanwhile.
 */
unsigned long vswap_counted(enum vswap_counter counter)
{
	long sum = 0;
	int cpu;

	/* A slot may be freed on another CPU than the one that took it. */
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(vswap_counters, cpu).nr[counter]);
	return max(sum, 0L);
}

static unsigned long vswap_contiguous_of(struct swap_info_struct *si)
{
	unsigned long i, clusters, nr = 0;

	clusters = DIV_ROUND_UP((unsigned long)si->max, SWAPFILE_CLUSTER);
	for (i = 0; i < clusters; i++) {
		if (!data_race(si->cluster_info[i].count))
			nr += SWAPFILE_CLUSTER;
		if (!(i % SWAPFILE_CLUSTER))
			cond_resched();
	}
	return nr;
}

/**
 * vswap_nr_contiguous - count the slots of devices that are in free clusters
 *
 * This walks all clusters, and holds a reference on the device meanwhile, which
 * swapoff waits for.
 *
 * Return: that number; it may change at any time.
 */
unsigned long vswap_nr_contiguous(void)
{
	struct swap_info_struct *si;
	unsigned long nr = 0;
	unsigned int type;

	for (type = 0; type < MAX_SWAPFILES; type++) {
		/* A structure once seen is never freed. */
		si = READ_ONCE(swap_info[type]);
		if (!si || type == vswap_type ||
		    !percpu_ref_tryget_live(&si->users))
			continue;
		/* Its clusters were set up before it went live. */
		smp_rmb();
		nr += vswap_contiguous_of(si);
		percpu_ref_put(&si->users);
	}
	return nr;
}

/**
 * vswap_pages - how many pages are swapped out without being on a device?
 *
 * Pages in memory that keep their virtual slots are not swapped out, but those that
 * were read in as zeroes, and whose slots are marked so, count here.
 *
 * Context: Any.
 * Return: their number, more or less; the size of the swap space has to be added
 * to it where something is relative to all that may be swapped out.
 */
unsigned long vswap_pages(void)
{
	if (vswap_never_used())
		return 0;
	return vswap_counted(VSWAP_NR_ZERO) + vswap_counted(VSWAP_NR_ZSWAP);
}

/**
 * vswap_cached - how many slots have their data in memory, and nowhere besides?
 *
 * Return: their number, more or less.
 */
unsigned long vswap_cached(void)
{
	long used = vswap_counted(VSWAP_NR_USED);

	return max(0L, used - (long)(vswap_counted(VSWAP_NR_ZERO) +
				     vswap_counted(VSWAP_NR_ZSWAP) +
				     vswap_counted(VSWAP_NR_PHYSICAL)));
}

/**
 * vswap_swapcache_of_devices - how much of the swap cache do devices have?
 * @pages: the size of the swap cache
 * @used: how many slots of devices are in use
 *
 * What only has a virtual slot is not part of SwapTotal. Programs subtract this
 * from what is used of the devices, without a sign.
 *
 * Return: the number of pages, at most @used. A zero page in the swap cache counts,
 * and so do pages of a large folio that has been read and not yet been mapped.
 */
unsigned long vswap_swapcache_of_devices(unsigned long pages, unsigned long used)
{
	if (vswap_never_used())
		return pages;
	return min(pages - min(pages, vswap_cached()), used);
}

/**
 * __vswap_account_alloc - account for virtual slots that were allocated
 * @ci: their cluster, locked
 * @folio: the folio that is now in the swap cache at them
 */
void __vswap_account_alloc(struct swap_cluster_info *ci, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio);

	vswap_set_owner(ci, folio, nr);
	vswap_count(VSWAP_NR_USED, nr);
	count_vm_events(VSWAP_ALLOC, nr);
	trace_vswap_alloc(folio->swap, nr);
}

/**
 * __vswap_account_free - account for virtual slots that were freed
 * @offset: the first of the slots
 * @nr: the number of slots
 *
 * Context: The cluster is locked.
 */
void __vswap_account_free(unsigned long offset, unsigned int nr)
{
	unsigned int i;

	vswap_update_payer(__swap_entry_to_cluster(swp_entry(vswap_type, offset)));
	for (i = 0; i < nr; i++)
		arch_swap_invalidate_page(vswap_type, offset + i);
	vswap_count(VSWAP_NR_USED, -(long)nr);
	count_vm_events(VSWAP_FREE, nr);
}
