// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: setting it up.
 */
#define pr_fmt(fmt) "vswap: " fmt

#include <linux/err.h>
#include <linux/init.h>

#include "internal.h"

static int __init vswap_init(void)
{
	int err;

	BUILD_BUG_ON(1U << VSWAP_TYPE_BITS < MAX_SWAPFILES);
	BUILD_BUG_ON(__alignof__(struct swap_cluster_info) > sizeof(long));

	err = vswap_space_init(vswap_grow_work);
	if (err)
		goto err;
	err = vswap_io_init();
	if (err)
		goto err_space;
	err = vswap_device_init(&vswap_ops);
	if (err)
		goto err_io;
	/* Without the files, the mode stays what the boot parameter says. */
	if (vswap_sysfs_init())
		pr_err("no files in sysfs\n");
	vswap_tables_init();
	vswap_compressed_init();
	vswap_kick_grow();
	vswap_policy_changed();
	return 0;

err_io:
	vswap_io_destroy();
err_space:
	vswap_space_destroy();
err:
	if (err == -ENODEV)
		pr_info("off, as vswap.max_gb is 0\n");
	else
		pr_err("not available: %pe\n", ERR_PTR(err));
	return err;
}

/* After swapfile_init(), before anything can swap. */
subsys_initcall_sync(vswap_init);
