/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmark of the swap layer: pages like those of programs. See real.c. */
#ifndef _MM_SWAP_BENCH_REAL_H
#define _MM_SWAP_BENCH_REAL_H

#include <linux/types.h>

#define REAL_BYTES	4096

void bench_real_fill(void *page, u64 seed);

#endif /* _MM_SWAP_BENCH_REAL_H */
