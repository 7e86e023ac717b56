// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the state that every layer reads.
 *
 * Which device is the virtual one, whether it was ever used, the mode, and how
 * many priorities the other devices have. space.c sets the device, policy.c the
 * rest.
 */
#include <linux/cache.h>
#include <linux/jump_label.h>
#include <linux/memcontrol.h>
#include <linux/swap.h>

#include "internal.h"

struct swap_info_struct *vswap_si __ro_after_init;
unsigned int vswap_type __ro_after_init = UINT_MAX;

enum vswap_mode vswap_mode = VSWAP_AUTO;

const char * const vswap_mode_names[] = {
	[VSWAP_NEVER]	= "never",
	[VSWAP_AUTO]	= "auto",
	[VSWAP_ALWAYS]	= "always",
	NULL,
};

unsigned int vswap_min_tiers = 2;
unsigned int vswap_nr_tiers;

/*
 * On a machine that never used virtual slots, asking whether a slot is virtual
 * costs nothing.
 */
DEFINE_STATIC_KEY_FALSE(vswap_ever_used);
/* Set when the branches have been patched. */
bool vswap_ready;

/**
 * vswap_slots_left - how many slots of devices may a group take?
 * @memcg: the group; NULL: any
 *
 * Return: the number of slots, 0 or less if there are none.
 */
long vswap_slots_left(struct mem_cgroup *memcg)
{
	return memcg ? mem_cgroup_get_nr_swap_pages(memcg) : get_nr_swap_pages();
}

/*
 * See vswap_may_write_back(). If there are only entries of devices, which have
 * their place there, writeback does not need room for more.
 */
bool __vswap_may_write_back(struct mem_cgroup *memcg)
{
	if (!READ_ONCE(total_swap_pages))
		return false;
	return READ_ONCE(vswap_mode) == VSWAP_NEVER || vswap_slots_left(memcg) > 0;
}
