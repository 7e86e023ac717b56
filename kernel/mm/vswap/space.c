// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the virtual device and how far its space reaches.
 *
 * The device is an ordinary swap_info_struct whose array of clusters lies in a
 * sparse vmalloc area: addresses for all of it are reserved once, pages are
 * mapped as the space grows and unmapped as its end falls free. So a cluster
 * is found by address arithmetic, as on any swap device, and si->max says how
 * far the array is mapped.
 */
#define pr_fmt(fmt) "vswap: " fmt

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/kasan.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/swap_ops.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/vswap.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "vswap."

/*
 * Each slot in use holds a reference on a 16-bit memcg id: 8 TiB of slots keep
 * the count far from overflowing. KASAN allocates shadow memory for all of a
 * vmalloc area when it is reserved, so that a debug kernel reserves less.
 */
static unsigned int vswap_max_gb = IS_ENABLED(CONFIG_KASAN_VMALLOC) ? 64 : 8192;
module_param_named(max_gb, vswap_max_gb, uint, 0444);
MODULE_PARM_DESC(max_gb, "Size in GiB up to which the virtual swap space grows");

struct swap_info_struct *vswap_si __ro_after_init;
unsigned int vswap_type __ro_after_init = UINT_MAX;

struct vswap_space vswap_space = {
	.grow_lock = __MUTEX_INITIALIZER(vswap_space.grow_lock),
};

/* No I/O is done for virtual slots; may_enter_fs() asks for the flags. */
static const struct swap_ops vswap_ops;

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

/**
 * vswap_free_clusters - how many clusters have no tables
 *
 * Return: the number of clusters that can be taken without growing; a hint.
 */
long vswap_free_clusters(void)
{
	return (long)READ_ONCE(vswap_space.nr_clusters) - 1 - vswap_nr_tables();
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
	trace_vswap_resize(nr + 1, vswap_space.nr_clusters);
	return 0;
}

/**
 * vswap_grow - map one more page of the array, unless clusters are free
 *
 * Context: May sleep, not reclaim: it is called by reclaim with a folio locked.
 * Return: 0 if there are free clusters now, -ENOSPC at the limit, -ENOMEM
 * without memory.
 */
int vswap_grow(void)
{
	struct page *page;
	int err = 0;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_HIGH |
			  __GFP_NOMEMALLOC | __GFP_NOWARN);
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

static void vswap_grow_work(struct work_struct *work)
{
	if (vswap_active())
		vswap_reserve_fill();
	if (vswap_space_is_low())
		vswap_grow();
}

/**
 * vswap_kick_grow - have the space grown and the reserve filled, soon
 *
 * Context: Any.
 */
void vswap_kick_grow(void)
{
	queue_work(vswap_space.wq, &vswap_space.grow_work);
}

/*
 * Shrinking. A free page's worth of clusters at the end is taken off the free
 * list, which keeps allocation away; then si->max is lowered, which keeps those
 * away who look up an entry that they have no reference to. Who was looking
 * already holds a reference on the device (get_swap_device()) or is in an RCU
 * read-side section. The page is unmapped once they are gone; should they stay,
 * the clusters are put back.
 */

/* How many pages should stay mapped, were all clusters beyond them free? */
static unsigned int vswap_target_pages(void)
{
	unsigned int want = 1 + vswap_nr_tables() + 2 * vswap_low_clusters();
	unsigned int nr = DIV_ROUND_UP(want * sizeof(struct swap_cluster_info),
				       PAGE_SIZE);

	return nr;
}

static bool vswap_isolate_cluster(struct swap_cluster_info *ci)
{
	bool isolated = false;

	spin_lock(&ci->lock);
	spin_lock(&vswap_si->lock);
	if (ci->flags == CLUSTER_FLAG_FREE) {
		list_del(&ci->list);
		ci->flags = CLUSTER_FLAG_NONE;
		isolated = true;
	}
	spin_unlock(&vswap_si->lock);
	spin_unlock(&ci->lock);
	return isolated;
}

static void vswap_putback_clusters(unsigned int first, unsigned int end)
{
	struct swap_cluster_info *ci;

	for (; first < end; first++) {
		ci = &vswap_si->cluster_info[first];
		spin_lock(&ci->lock);
		spin_lock(&vswap_si->lock);
		list_add_tail(&ci->list, &vswap_si->free_clusters);
		ci->flags = CLUSTER_FLAG_FREE;
		spin_unlock(&vswap_si->lock);
		spin_unlock(&ci->lock);
	}
}

/* Take all clusters from @first to @end off the free list, or none of them. */
static bool vswap_isolate_clusters(unsigned int first, unsigned int end)
{
	unsigned int nr;

	for (nr = end; nr > first; nr--) {
		if (!vswap_isolate_cluster(&vswap_si->cluster_info[nr - 1])) {
			vswap_putback_clusters(nr, end);
			return false;
		}
	}
	return true;
}

/*
 * Wait until nobody who got a reference on the device before si->max was
 * lowered still has it. References of those who come later are none of our
 * business, but they cannot be told apart: at some moment there must be none.
 */
static bool vswap_wait_for_users(void)
{
	struct percpu_ref *users = &vswap_si->users;
	bool idle = false;
	int tries;

	/* Waits for RCU readers, too. */
	percpu_ref_switch_to_atomic_sync(users);
	for (tries = 0; tries < 10; tries++) {
		/* Pairs with the full barrier of percpu_ref_tryget_live(). */
		smp_mb();
		idle = atomic_long_read(&users->data->count) == 1;
		if (idle)
			break;
		schedule_timeout_uninterruptible(1);
	}
	percpu_ref_switch_to_percpu(users);
	return idle;
}

static void vswap_unmap_pages(unsigned int first, unsigned int end)
{
	struct page *page;

	for (; end > first; end--) {
		unsigned long addr = vswap_page_addr(end - 1);

		page = vmalloc_to_page((void *)addr);
		vm_area_unmap_pages(vswap_space.area, addr, addr + PAGE_SIZE);
		kmemleak_free(page_address(page));
		__free_page(page);
		count_vm_event(VSWAP_SHRINK);
	}
}

/**
 * vswap_shrink - give back free pages at the end of the array
 *
 * Context: Process context, no locks held. Sleeps for a grace period of RCU.
 */
void vswap_shrink(void)
{
	unsigned int target, nr_pages, old_clusters, nr_clusters;

	mutex_lock(&vswap_space.grow_lock);
	target = vswap_target_pages();
	nr_pages = vswap_space.nr_pages;
	old_clusters = vswap_space.nr_clusters;

	while (nr_pages > target &&
	       vswap_isolate_clusters(vswap_clusters_in(nr_pages - 1),
				      vswap_clusters_in(nr_pages)))
		nr_pages--;
	if (nr_pages == vswap_space.nr_pages)
		goto unlock;

	nr_clusters = vswap_clusters_in(nr_pages);
	WRITE_ONCE(vswap_space.nr_clusters, nr_clusters);
	WRITE_ONCE(vswap_si->max, nr_clusters * SWAPFILE_CLUSTER);

	if (vswap_wait_for_users()) {
		vswap_unmap_pages(nr_pages, vswap_space.nr_pages);
		vswap_space.nr_pages = nr_pages;
		trace_vswap_resize(nr_pages, nr_clusters);
	} else {
		/* As in vswap_add_clusters(). */
		smp_store_release(&vswap_si->max,
				  old_clusters * SWAPFILE_CLUSTER);
		vswap_putback_clusters(nr_clusters, old_clusters);
		WRITE_ONCE(vswap_space.nr_clusters, old_clusters);
	}
unlock:
	mutex_unlock(&vswap_space.grow_lock);
}

static void vswap_shrink_work(struct work_struct *work)
{
	vswap_shrink();
}

/**
 * vswap_kick_shrink - a cluster fell free: the space may be larger than need be
 *
 * Context: Any.
 */
void vswap_kick_shrink(void)
{
	if (READ_ONCE(vswap_space.nr_pages) > vswap_target_pages())
		queue_delayed_work(vswap_space.wq, &vswap_space.shrink_work,
				   HZ / 5);
}

static struct vm_struct * __init vswap_reserve_area(void)
{
	unsigned long max, size;

	/* Offsets are unsigned int, and limited by what fits in an entry. */
	max = min3((unsigned long)vswap_max_gb << (30 - PAGE_SHIFT),
		   swapfile_maximum_size, (unsigned long)UINT_MAX);
	max = round_down(max, SWAPFILE_CLUSTER);
	if (max < 2 * SWAPFILE_CLUSTER)
		return NULL;

	size = max / SWAPFILE_CLUSTER * sizeof(struct swap_cluster_info);
	vswap_space.max_pages = size >> PAGE_SHIFT;
	size = (unsigned long)vswap_space.max_pages << PAGE_SHIFT;
	return size ? get_vm_area(size, VM_SPARSE) : NULL;
}

static int __init vswap_init_device(struct vm_struct *area)
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
	si->cluster_info = area->addr;
	si->ops = &vswap_ops;
	/*
	 * Without SWP_WRITEOK nobody takes it for a device: hibernation,
	 * swapoff and the statistics pass it by. Whether a slot is read
	 * synchronously depends on its backing, see swap_slot_flags().
	 */
	si->flags |= SWP_VIRTUAL | SWP_SOLIDSTATE | SWP_SYNCHRONOUS_IO;
	percpu_ref_resurrect(&si->users);
	vswap_si = si;
	vswap_type = si->type;
	return 0;
}

static int __init vswap_init(void)
{
	int err = -ENOMEM;

	BUILD_BUG_ON(1U << VSWAP_TYPE_BITS < MAX_SWAPFILES);
	BUILD_BUG_ON(__alignof__(struct swap_cluster_info) > sizeof(long));

	vswap_space.wq = alloc_workqueue("vswap", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	INIT_WORK(&vswap_space.grow_work, vswap_grow_work);
	INIT_DELAYED_WORK(&vswap_space.shrink_work, vswap_shrink_work);
	vswap_space.area = vswap_reserve_area();
	if (!vswap_space.wq || !vswap_space.area)
		goto err;
	err = vswap_stats_init();
	if (err)
		goto err;
	err = vswap_io_init();
	if (err)
		goto err;
	err = vswap_init_device(vswap_space.area);
	if (err)
		goto err;
	vswap_tables_init();
	vswap_kick_grow();
	vswap_policy_changed();
	return 0;
err:
	if (vswap_space.area)
		free_vm_area(vswap_space.area);
	if (vswap_space.wq)
		destroy_workqueue(vswap_space.wq);
	pr_err("not available: %pe\n", ERR_PTR(err));
	return err;
}

/* After swapfile_init(), before anything can swap. */
subsys_initcall_sync(vswap_init);
