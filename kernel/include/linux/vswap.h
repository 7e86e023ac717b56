/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_VSWAP_H
#define _LINUX_VSWAP_H

#include <linux/atomic.h>

/**
 * struct vswap_refusals - what is known of pages that stay in memory
 * @nr: pages that do not compress and can be stored nowhere
 * @met: how many reclaim has met since something was concluded from it
 * @known_until: until when nearly all pages are known to be refused, in jiffies;
 *		 0: not known
 */
struct vswap_refusals {
	atomic_long_t nr;
	atomic_long_t met;
	unsigned long known_until;
};

#endif /* _LINUX_VSWAP_H */
