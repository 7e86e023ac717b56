// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: counters and /sys/kernel/mm/vswap.
 *
 * The counters are per CPU: taking or freeing a virtual slot touches no cache
 * line that all CPUs share.
 */
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/sysfs.h>
#include <trace/events/vswap.h>

#include "internal.h"

static struct percpu_counter vswap_counters[VSWAP_NR_COUNTERS];

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
 * __vswap_range_alloc - account for virtual slots that were allocated
 * @ci: their cluster, locked
 * @folio: the folio that is now in the swap cache at them
 */
void __vswap_range_alloc(struct swap_cluster_info *ci, struct folio *folio)
{
	unsigned int nr = folio_nr_pages(folio);

	vswap_set_owner(ci, folio);
	vswap_count(VSWAP_NR_USED, nr);
	count_vm_events(VSWAP_ALLOC, nr);
	trace_vswap_alloc(folio->swap, nr);
}

/**
 * __vswap_range_free - account for virtual slots that were freed
 * @offset: the first of the slots
 * @nr: the number of slots
 *
 * Context: The cluster is locked.
 */
void __vswap_range_free(unsigned long offset, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		arch_swap_invalidate_page(vswap_type, offset + i);
	vswap_count(VSWAP_NR_USED, -(long)nr);
	count_vm_events(VSWAP_FREE, nr);
}

/* Slots whose data is nowhere but in the swap cache. */
static unsigned long vswap_cached(void)
{
	long used = vswap_counted(VSWAP_NR_USED);

	return max(0L, used - (long)(vswap_counted(VSWAP_NR_ZERO) +
				     vswap_counted(VSWAP_NR_ZSWAP) +
				     vswap_counted(VSWAP_NR_PHYSICAL)));
}

/**
 * vswap_metadata_bytes - the memory that describes virtual slots
 *
 * Return: bytes: the mapped part of the array of clusters, the tables of
 * clusters in use, and those in reserve.
 */
unsigned long vswap_metadata_bytes(void)
{
	return ((unsigned long)READ_ONCE(vswap_space.nr_pages) << PAGE_SHIFT) +
	       (vswap_nr_tables() + vswap_nr_reserved()) * vswap_table_bytes();
}

#define VSWAP_ATTR_RO(_name, _value)					\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%lu\n", (unsigned long)(_value));	\
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

VSWAP_ATTR_RO(slots_used, vswap_counted(VSWAP_NR_USED));
VSWAP_ATTR_RO(slots_max, vswap_slots_max());
VSWAP_ATTR_RO(zero, vswap_counted(VSWAP_NR_ZERO));
VSWAP_ATTR_RO(zswap, vswap_counted(VSWAP_NR_ZSWAP));
VSWAP_ATTR_RO(physical, vswap_counted(VSWAP_NR_PHYSICAL));
VSWAP_ATTR_RO(cached, vswap_cached());
VSWAP_ATTR_RO(refused, atomic_long_read(&vswap_refusals.nr));
VSWAP_ATTR_RO(metadata_bytes, vswap_metadata_bytes());

static ssize_t mode_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", vswap_mode_names[READ_ONCE(vswap_mode)]);
}

static ssize_t mode_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	int mode = __sysfs_match_string(vswap_mode_names, -1, buf);

	if (mode < 0)
		return mode;
	vswap_set_mode(mode);
	return count;
}

static struct kobj_attribute mode_attr = __ATTR_RW(mode);

static struct attribute *vswap_attrs[] = {
	&mode_attr.attr,
	&slots_used_attr.attr,
	&slots_max_attr.attr,
	&zero_attr.attr,
	&zswap_attr.attr,
	&physical_attr.attr,
	&cached_attr.attr,
	&refused_attr.attr,
	&metadata_bytes_attr.attr,
	NULL,
};

static const struct attribute_group vswap_attr_group = {
	.attrs = vswap_attrs,
};

/**
 * vswap_stats_init - set up the counters and the files in sysfs
 *
 * Return: 0, or a negative error number if memory is missing.
 */
int __init vswap_stats_init(void)
{
	struct kobject *kobj;
	int err;

	err = percpu_counter_init_many(vswap_counters, 0, GFP_KERNEL,
				       VSWAP_NR_COUNTERS);
	if (err)
		return err;

	kobj = kobject_create_and_add("vswap", mm_kobj);
	err = kobj ? sysfs_create_group(kobj, &vswap_attr_group) : -ENOMEM;
	if (err) {
		kobject_put(kobj);
		percpu_counter_destroy_many(vswap_counters, VSWAP_NR_COUNTERS);
	}
	return err;
}
