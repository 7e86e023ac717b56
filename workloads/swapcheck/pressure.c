// SPDX-License-Identifier: GPL-2.0
/* Pushing memory out on request. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "reclaim.h"
#include "swapcheck.h"

#define PIECE_BYTES	((uintptr_t)8 << 20)

static bool advise_piece(struct worker *w, void *start, uint64_t bytes, int advice,
			 const char *name)
{
	if (!madvise(start, bytes, advice))
		return true;
	if (errno != EINVAL)
		note_failure(w->results, "process %u: madvise(%s): %s", w->index, name,
			     strerror(errno));
	return false;
}

/*
 * A piece at a time, of whole huge pages. The kernel holds the lock of the address
 * space until it has swapped one out: minutes for all, on a debug kernel that is
 * emulated, and those that wait for the lock seem to hang.
 */
bool advise(struct worker *w, void *start, uint64_t bytes, int advice, const char *name)
{
	uintptr_t at = (uintptr_t)start, end = at + bytes, next;

	for (; at < end; at = next) {
		next = (at & ~(PIECE_BYTES - 1)) + PIECE_BYTES;
		if (next > end)
			next = end;
		if (!advise_piece(w, (void *)at, next - at, advice, name))
			return false;
	}
	return true;
}

/* Ask the cgroup to reclaim @bytes: works for shared memory and shared pages as well. */
static void reclaim(struct worker *w, uint64_t bytes)
{
	char why[160];

	if (!reclaim_memory(bytes, RECLAIM_ALL, why, sizeof(why)))
		note_failure(w->results, "--reclaim: %s", why);
}

void pressure(struct worker *w, const struct region *r)
{
	uint64_t bytes = r->pages * PAGE_BYTES;

	worker_phase(w, PHASE_PRESSURE);
	if (w->opt->pageout)
		advise(w, r->base, bytes, MADV_PAGEOUT, "MADV_PAGEOUT");
	if (w->opt->reclaim)
		reclaim(w, bytes);
	worker_phase(w, PHASE_WORK);
}
