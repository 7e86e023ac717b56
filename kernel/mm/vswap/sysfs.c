// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: /sys/kernel/mm/vswap.
 */
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/sysfs.h>

#include "internal.h"

/*
 * The memory that describes virtual slots: the mapped part of the array of
 * clusters, the tables of clusters in use, and those in reserve.
 */
static unsigned long vswap_metadata_bytes(void)
{
	return ((unsigned long)READ_ONCE(vswap_space.nr_pages) << PAGE_SHIFT) +
	       (vswap_nr_tables() + vswap_nr_reserved()) * vswap_table_bytes();
}

#define VSWAP_ATTR(_name, _mode, _value)				\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%lu\n", (unsigned long)(_value));	\
}									\
static struct kobj_attribute _name##_attr =				\
	__ATTR(_name, _mode, _name##_show, NULL)
#define VSWAP_ATTR_RO(_name, _value) VSWAP_ATTR(_name, 0444, _value)

VSWAP_ATTR_RO(slots_used, vswap_counted(VSWAP_NR_USED));
VSWAP_ATTR_RO(slots_max, vswap_slots_max());
VSWAP_ATTR_RO(zero, vswap_counted(VSWAP_NR_ZERO));
VSWAP_ATTR_RO(zswap, vswap_counted(VSWAP_NR_ZSWAP));
VSWAP_ATTR_RO(physical, vswap_counted(VSWAP_NR_PHYSICAL));
VSWAP_ATTR_RO(cached, vswap_cached());
VSWAP_ATTR_RO(refused, atomic_long_read(&vswap_refusals.nr));
VSWAP_ATTR_RO(metadata_bytes, vswap_metadata_bytes());
/* A walk over all clusters of all devices. */
VSWAP_ATTR(free_contiguous, 0400, vswap_nr_contiguous());

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
	&free_contiguous_attr.attr,
	NULL,
};

static const struct attribute_group vswap_attr_group = {
	.attrs = vswap_attrs,
};

/**
 * vswap_sysfs_init - set up the files in sysfs
 *
 * Return: 0, or -ENOMEM.
 */
int __init vswap_sysfs_init(void)
{
	struct kobject *kobj = kobject_create_and_add("vswap", mm_kobj);
	int err;

	err = kobj ? sysfs_create_group(kobj, &vswap_attr_group) : -ENOMEM;
	if (err)
		kobject_put(kobj);
	return err;
}
