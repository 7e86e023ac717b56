// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: the state that every layer reads.
 *
 * Which device is the virtual one, whether it was ever used, the mode, how many
 * priorities the other devices have, and how many free slots. space.c sets the
 * device, policy.c the rest. All of it is read at each swap-out, and rarely
 * changes.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/jump_label.h>
#include <linux/memblock.h>
#include <linux/pfn.h>
#include <linux/swap.h>
#include <kunit/static_stub.h>

#include "internal.h"

struct swap_info_struct *vswap_si __ro_after_init;
unsigned int vswap_type __ro_after_init = UINT_MAX;

enum vswap_mode vswap_mode __read_mostly = VSWAP_AUTO;

const char * const vswap_mode_names[] = {
	[VSWAP_NEVER]	= "never",
	[VSWAP_AUTO]	= "auto",
	[VSWAP_ALWAYS]	= "always",
	NULL,
};

unsigned int vswap_min_tiers __read_mostly = 2;
unsigned int vswap_nr_tiers __read_mostly;

/*
 * On a machine that never used virtual slots, asking whether a slot is virtual
 * costs nothing.
 */
DEFINE_STATIC_KEY_FALSE(vswap_ever_used);
/* Set when the branches have been patched. */
bool vswap_ready __read_mostly;

/*
 * Changes with the mode, zswap's pools, the devices and the limits of groups, and
 * when one of the last free clusters comes into use. The rest may be a tick old.
 */
atomic_t vswap_policy __read_mostly;

/* Devices that are being removed, by their types; or gone, with nothing in use */
unsigned long vswap_leaving __read_mostly;

/* Can a backing word name memory anywhere in this machine? */
bool vswap_can_name_memory(void)
{
	KUNIT_STATIC_STUB_REDIRECT(vswap_can_name_memory);
	return PFN_PHYS(max_pfn) <= 1ULL << VSWAP_HANDLE_BITS;
}

/* See vswap_hidden_room(). */
long __vswap_hidden_room(void)
{
	unsigned long leaving = READ_ONCE(vswap_leaving);
	unsigned int type;
	long hidden = 0;

	BUILD_BUG_ON(MAX_SWAPFILES > BITS_PER_LONG);
	for_each_set_bit(type, &leaving, MAX_SWAPFILES)
		hidden += swap_usage_in_pages(swap_info[type]);
	return hidden;
}
