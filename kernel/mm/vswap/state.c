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

/*
 * See vswap_may_write_back(). Entries of devices have their place there: if
 * there are no others, writeback does not need room for more.
 */
bool __vswap_may_write_back(struct mem_cgroup *memcg)
{
	if (!READ_ONCE(total_swap_pages))
		return false;
	if (READ_ONCE(vswap_mode) == VSWAP_NEVER)
		return true;
	return memcg ? mem_cgroup_get_nr_swap_pages(memcg) > 0 :
		       get_nr_swap_pages() > 0;
}
