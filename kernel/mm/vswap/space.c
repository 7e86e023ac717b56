// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the virtual device and how far its space reaches.
 *
 * The device is an ordinary swap_info_struct whose array of clusters lies in a
 * sparse vmalloc area: addresses for all of it are reserved once, pages are
 * mapped as the space grows. So a cluster is found by address arithmetic, as on
 * any swap device, and si->max says how far the array is mapped.
 *
 * The array does not shrink: it takes 0.14 byte for each slot that was ever in
 * use at the same time, and unmapping pages of it would add a special case to
 * every lockless lookup. The tables of a cluster are freed when it is empty.
 */
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/swap_ops.h>
#include <trace/events/vswap.h>

#include "internal.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "vswap."

/*
 * Each slot in use holds a reference on a memcg id, and so do slots of devices;
 * these references are counted in an int. KASAN allocates shadow memory for all
 * of a vmalloc area when it is reserved: a debug kernel reserves less.
 */
#define VSWAP_MAX_SLOTS	(INT_MAX / 2)
static unsigned int vswap_max_gb = IS_ENABLED(CONFIG_KASAN_VMALLOC) ? 64 : 4096;
module_param_named(max_gb, vswap_max_gb, uint, 0444);
MODULE_PARM_DESC(max_gb, "Size in GiB up to which the virtual swap space grows");

struct vswap_space vswap_space = {
	.grow_lock = __MUTEX_INITIALIZER(vswap_space.grow_lock),
};

DEFINE_PER_CPU(unsigned long [SWAP_NR_ORDERS], vswap_offset);

/* How many clusters lie completely in the first @nr_pages pages? */
static unsigned int vswap_clusters_in(unsigned int nr_pages)
{
	return ((unsigned long)nr_pages << PAGE_SHIFT) /
	       sizeof(struct swap_cluster_info);
}

static unsigned long vswap_page_addr(unsigned int nr)
{
	return (unsigned long)vswap_space.area->addr +
	       ((unsigned long)nr << PAGE_SHIFT);
}

/* Below this many free clusters the space grows ahead of need. */
static long vswap_low_clusters(void)
{
	return 4 + 2 * num_online_cpus();
}

/**
 * vswap_space_is_low - should the space be grown ahead of need?
 *
 * Return: true if few clusters are free.
 */
bool vswap_space_is_low(void)
{
	return vswap_free_clusters() <= vswap_low_clusters();
}

/**
 * vswap_slots_max - how far may the space grow?
 *
 * Return: slots.
 */
unsigned long vswap_slots_max(void)
{
	return ((unsigned long)vswap_clusters_in(vswap_space.max_pages) - 1) *
	       SWAPFILE_CLUSTER;
}

/**
 * vswap_space_is_full - is there no free slot to be found?
 *
 * Return: true if the space has reached its limit and nearly all of it is used.
 */
bool vswap_space_is_full(void)
{
	return unlikely(READ_ONCE(vswap_space.nr_pages) == vswap_space.max_pages) &&
	       vswap_free_clusters() <= 0 &&
	       vswap_counted(VSWAP_NR_USED) + SWAPFILE_CLUSTER > vswap_slots_max();
}

/**
 * vswap_space_is_short - should slots of pages in memory be freed?
 *
 * Return: true if more than half of the slots are in use that there may be at most.
 */
bool vswap_space_is_short(void)
{
	/* This is cheap to know, and rare. */
	return !vswap_never_used() &&
	       unlikely(2 * READ_ONCE(vswap_space.nr_pages) > vswap_space.max_pages) &&
	       2 * vswap_counted(VSWAP_NR_USED) > vswap_slots_max();
}

static void vswap_add_clusters(unsigned int first, unsigned int end)
{
	struct swap_cluster_info *ci;

	for (ci = vswap_si->cluster_info + first;
	     ci < vswap_si->cluster_info + end; ci++) {
		spin_lock_init(&ci->lock);
		if (ci == vswap_si->cluster_info)
			continue;
		ci->flags = CLUSTER_FLAG_FREE;
	}

	/* get_swap_device() must know the entries before they are handed out. */
	smp_store_release(&vswap_si->max, end * SWAPFILE_CLUSTER);

	spin_lock(&vswap_si->lock);
	for (first = max(first, 1U); first < end; first++)
		list_add_tail(&vswap_si->cluster_info[first].list,
			      &vswap_si->free_clusters);
	spin_unlock(&vswap_si->lock);

	WRITE_ONCE(vswap_space.nr_clusters, end);
}

static int vswap_map_page(struct page *page)
{
	unsigned int nr = vswap_space.nr_pages, noreclaim;
	int err;

	lockdep_assert_held(&vswap_space.grow_lock);

	if (nr == vswap_space.max_pages)
		return -ENOSPC;

	/* Page tables may be needed; reclaim must not come back here for them. */
	noreclaim = memalloc_noreclaim_save();
	err = vm_area_map_pages(vswap_space.area, vswap_page_addr(nr),
				vswap_page_addr(nr + 1), &page);
	memalloc_noreclaim_restore(noreclaim);
	if (err)
		return err;

	/* To be scanned: the clusters refer to tables from the slab. */
	kmemleak_alloc(page_address(page), PAGE_SIZE, 0, GFP_ATOMIC);
	vswap_space.nr_pages = nr + 1;
	vswap_add_clusters(vswap_space.nr_clusters, vswap_clusters_in(nr + 1));
	count_vm_event(VSWAP_GROW);
	trace_vswap_grow(nr + 1, vswap_space.nr_clusters);
	return 0;
}

/**
 * vswap_grow - map one more page of the array, unless clusters are free
 *
 * Context: May sleep. Reclaim calls it with a folio locked, and does not enter
 * itself.
 * Return: 0 if there are free clusters now, -ENOSPC at the limit, -ENOMEM
 * without memory.
 */
int vswap_grow(void)
{
	struct page *page;
	int err = 0;

	if (READ_ONCE(vswap_space.nr_pages) == vswap_space.max_pages)
		return -ENOSPC;
	/* Not by the OOM killer: without the page, a folio stays in memory. */
	page = alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_HIGH |
			  __GFP_NOMEMALLOC | __GFP_NORETRY | __GFP_NOWARN);
	if (!page)
		return -ENOMEM;

	mutex_lock(&vswap_space.grow_lock);
	if (vswap_space_is_low()) {
		err = vswap_map_page(page);
		if (!err)
			page = NULL;
	}
	mutex_unlock(&vswap_space.grow_lock);

	if (page)
		__free_page(page);
	return err;
}

/**
 * vswap_kick_grow - have the space grown and the reserve filled, soon
 *
 * Context: Any; the device has been set up.
 */
void vswap_kick_grow(void)
{
	queue_work(vswap_space.wq, &vswap_space.grow_work);
}

static struct vm_struct * __init vswap_reserve_area(void)
{
	unsigned long max, size;

	/* Offsets are unsigned int, and limited by what fits in an entry. */
	max = min3((unsigned long)vswap_max_gb << (30 - PAGE_SHIFT),
		   swapfile_maximum_size, (unsigned long)VSWAP_MAX_SLOTS);
	max = round_down(max, SWAPFILE_CLUSTER);
	if (max < 2 * SWAPFILE_CLUSTER)
		return NULL;

	/* A page of 64 KB has more clusters than some want; it is the least. */
	size = max / SWAPFILE_CLUSTER * sizeof(struct swap_cluster_info);
	vswap_space.max_pages = max(size >> PAGE_SHIFT, 1UL);
	size = (unsigned long)vswap_space.max_pages << PAGE_SHIFT;
	return get_vm_area(size, VM_SPARSE);
}

/**
 * vswap_space_init - reserve the addresses of the array of clusters
 * @grow_work: what vswap_kick_grow() has run
 *
 * Return: 0, -ENODEV if there is to be no space, or -ENOMEM.
 */
int __init vswap_space_init(work_func_t grow_work)
{
	if (!vswap_max_gb)
		return -ENODEV;
	vswap_space.wq = alloc_workqueue("vswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	INIT_WORK(&vswap_space.grow_work, grow_work);
	vswap_space.area = vswap_reserve_area();
	if (vswap_space.wq && vswap_space.area)
		return 0;
	vswap_space_destroy();
	return -ENOMEM;
}

/**
 * vswap_space_destroy - undo vswap_space_init()
 *
 * The device has not been set up.
 */
void __init vswap_space_destroy(void)
{
	if (vswap_space.area)
		free_vm_area(vswap_space.area);
	if (vswap_space.wq)
		destroy_workqueue(vswap_space.wq);
	vswap_space.wq = NULL;
}

/**
 * vswap_device_init - set up the virtual device, on the space
 * @ops: its operations
 *
 * Return: 0, or a negative error number if there is no type for it.
 */
int __init vswap_device_init(const struct swap_ops *ops)
{
	struct swap_info_struct *si = alloc_swap_info();
	int i;

	if (IS_ERR(si))
		return PTR_ERR(si);

	INIT_LIST_HEAD(&si->free_clusters);
	INIT_LIST_HEAD(&si->full_clusters);
	INIT_LIST_HEAD(&si->discard_clusters);
	for (i = 0; i < SWAP_NR_ORDERS; i++) {
		INIT_LIST_HEAD(&si->nonfull_clusters[i]);
		INIT_LIST_HEAD(&si->frag_clusters[i]);
	}
	si->cluster_info = vswap_space.area->addr;
	si->ops = ops;
	/*
	 * Without SWP_WRITEOK, hibernation, swapoff and the statistics do not
	 * take it for a swap device. Whether a slot is read synchronously
	 * depends on its backing, see swap_slot_flags().
	 */
	si->flags |= SWP_VIRTUAL | SWP_SOLIDSTATE | SWP_SYNCHRONOUS_IO;
	percpu_ref_resurrect(&si->users);
	vswap_si = si;
	vswap_type = si->type;
	return 0;
}
