// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: counters.
 *
 * The counters of slots are per CPU: taking or freeing a virtual slot touches
 * no cache line that all CPUs share.
 */
#include <linux/init.h>
#include <linux/mm.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/vswap.h>

static struct percpu_counter vswap_counters[VSWAP_NR_COUNTERS];

/* Clusters that have tables, whether slots of them are in use or not. */
atomic_long_t vswap_tables_used;

/**
 * vswap_count - add to a counter
 * @counter: which
 * @nr: how many slots, negative to take away
 *
 * Context: Any but NMI.
 */
void vswap_count(enum vswap_counter counter, long nr)
{
	percpu_counter_add_local(&vswap_counters[counter], nr);
}

/**
 * vswap_counted - read a counter
 * @counter: which
 *
 * Return: the number of slots, exact when nothing happens meanwhile.
 */
unsigned long vswap_counted(enum vswap_counter counter)
{
	return percpu_counter_sum_positive(&vswap_counters[counter]);
}

/**
 * vswap_nr_tables - the number of clusters that have tables
 *
 * Return: that number; it may change at any time.
 */
long vswap_nr_tables(void)
{
	return atomic_long_read(&vswap_tables_used);
}

/**
 * __vswap_account_alloc - account for virtual slots that were allocated
 * @ci: their cluster, locked
 * @folio: the folio that is now in the swap cache at them
 */
void __vswap_account_alloc(struct swap_cluster_info *ci, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio);

	vswap_set_owner(ci, folio);
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

	for (i = 0; i < nr; i++)
		arch_swap_invalidate_page(vswap_type, offset + i);
	vswap_count(VSWAP_NR_USED, -(long)nr);
	count_vm_events(VSWAP_FREE, nr);
}

/**
 * vswap_stats_init - set up the counters
 *
 * Return: 0, or a negative error number if memory is missing.
 */
int __init vswap_stats_init(void)
{
	return percpu_counter_init_many(vswap_counters, 0, GFP_KERNEL,
					VSWAP_NR_COUNTERS);
}

/**
 * vswap_stats_destroy - undo vswap_stats_init()
 */
void __init vswap_stats_destroy(void)
{
	percpu_counter_destroy_many(vswap_counters, VSWAP_NR_COUNTERS);
}
