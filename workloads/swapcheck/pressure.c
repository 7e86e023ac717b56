// SPDX-License-Identifier: GPL-2.0
/* Pushing memory out on request, and seeing how much is out. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* The path of the cgroup's memory.reclaim; false if there is no cgroup v2 here. */
static bool reclaim_path(char *path, size_t len)
{
	char text[512], *own;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return false;
	own = strstr(text, "0::");
	if (!own)
		return false;
	own[strcspn(own, "\n")] = '\0';
	return snprintf(path, len, "/sys/fs/cgroup%s/memory.reclaim", own + 3) < (int)len;
}

/* Ask the cgroup to reclaim @bytes: works for shared memory and shared pages as well. */
static void reclaim(struct worker *w, uint64_t bytes)
{
	char path[640], number[32];
	ssize_t wrote;
	int fd, len;

	if (!reclaim_path(path, sizeof(path))) {
		note_failure(w->results, "--reclaim: no cgroup v2 here");
		return;
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		note_failure(w->results, "--reclaim: %s: %s", path, strerror(errno));
		return;
	}
	len = snprintf(number, sizeof(number), "%" PRIu64, bytes);
	wrote = write(fd, number, (size_t)len);
	/* EAGAIN: less than asked for could be reclaimed, which is no failure. */
	if (wrote < 0 && errno != EAGAIN)
		note_failure(w->results, "--reclaim: %s: %s", path, strerror(errno));
	close(fd);
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

uint64_t swapped_bytes(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "re");
	uint64_t kb = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Swap: %" SCNu64, &kb) == 1)
			break;
	fclose(f);
	return kb * 1024;
}
