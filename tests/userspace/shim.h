/* SPDX-License-Identifier: GPL-2.0 */
/* What the pure parts of mm/vswap need from the kernel, for user space. */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t u64;

#define PAGE_SHIFT		12
#define PAGE_SIZE		(1U << PAGE_SHIFT)

#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))

#endif
