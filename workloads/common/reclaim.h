/* SPDX-License-Identifier: GPL-2.0 */
/* Pushing memory out, and seeing how much is out. */
#ifndef WORKLOADS_RECLAIM_H
#define WORKLOADS_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reclaim_what {
	RECLAIM_ALL,
	RECLAIM_ANON,		/* and shared memory, but no page cache of files */
};

/*
 * Ask the own cgroup to reclaim @bytes. Less than that is no failure. Returns false if it
 * cannot be asked; @why, of @len bytes, says why.
 */
bool reclaim_memory(uint64_t bytes, enum reclaim_what what, char *why, size_t len);
/* Bytes of this process's memory that are swapped out, with those still in the swap cache. */
uint64_t swapped_bytes(void);
/* Bytes of the machine's memory in the swap cache. */
uint64_t swap_cached_bytes(void);

#endif
