// SPDX-License-Identifier: GPL-2.0
/*
 * Modes shm-tmpfs and shm-memfd: shared memory of a file without a disk.
 *
 * Checked through the mapping, by read(2), through a second process's mapping,
 * and again after holes have been punched and the end was cut off and regrown.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "swapcheck.h"

#define KINDS		4
#define KIND_HOLE	0
/* The last 1/8 of the file is cut off and grown again. */
#define CUT_PART	8

struct shm {
	struct worker *w;
	struct region *r;
	unsigned int rounds;		/* of rewriting that came before */
};

static struct expectation expect_holes(const struct worker *w, const struct region *r,
				       uint64_t page, const void *arg)
{
	struct expectation e = expect_rewritten(w, r, page, arg);

	e.zero = run_at(w, r, page, KINDS).kind == KIND_HOLE ||
		 page >= r->pages - r->pages / CUT_PART;
	return e;
}

/* Check by read(2), which takes another way to the swapped page than a fault. */
static void check_by_read(struct worker *w, struct region *r, int fd,
			  unsigned int rounds)
{
	static uint64_t buffer[PAGE_WORDS];
	uint64_t page;

	worker_phase(w, PHASE_VERIFY);
	for (page = 0; page < r->pages; page++) {
		ssize_t got = pread(fd, buffer, PAGE_BYTES, (off_t)(page * PAGE_BYTES));

		if (got != (ssize_t)PAGE_BYTES) {
			worker_fails(w, "cannot read the file");
			return;
		}
		page_check(w, r, page, buffer, expect_rewritten(w, r, page, &rounds));
	}
	worker_phase(w, PHASE_WORK);
}

static int second_process(void *arg, unsigned int index)
{
	struct shm *s = arg;

	(void)index;
	worker_became_child(s->w);
	region_check(s->w, s->r, 1, expect_rewritten, &s->rounds);
	return worker_status(s->w);
}

static void second_ended(void *arg, unsigned int index, int wait_status)
{
	struct shm *s = arg;

	(void)index;
	s->w->wrong++;
	note_end(s->w->results, "the second process", wait_status);
}

static bool check_in_second_process(struct worker *w, struct region *r,
				    unsigned int rounds)
{
	struct shm s = { .w = w, .r = r, .rounds = rounds };
	static struct crew crew;

	crew_init(&crew, second_ended, &s, NULL, 0);
	if (!crew_spawn(&crew, second_process, &s))
		return false;
	crew_wait(&crew, 0);
	return true;
}

static bool punch_holes(struct worker *w, struct region *r, int fd)
{
	uint64_t page, cut = r->pages - r->pages / CUT_PART;
	struct run run;

	for (page = 0; page < r->pages; page = run.first + run.pages) {
		run = run_at(w, r, page, KINDS);
		if (run.kind != KIND_HOLE)
			continue;
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)(run.first * PAGE_BYTES), (off_t)(run.pages * PAGE_BYTES)))
			return false;
	}
	return !ftruncate(fd, (off_t)(cut * PAGE_BYTES)) &&
	       !ftruncate(fd, (off_t)(r->pages * PAGE_BYTES));
}

static int check_file(struct worker *w, struct region *r, int fd)
{
	unsigned int rounds = w->opt->passes - 1;

	region_passes(w, r);
	pressure(w, r);
	check_by_read(w, r, fd, rounds);
	pressure(w, r);
	if (!check_in_second_process(w, r, rounds))
		return worker_fails(w, "cannot start a second process");
	pressure(w, r);
	if (!punch_holes(w, r, fd))
		return worker_fails(w, "cannot punch holes or truncate");
	region_check(w, r, 0, expect_holes, &rounds);
	return worker_status(w);
}

static int run_on(struct worker *w, int fd)
{
	struct region r = { .pages = w->pages, .id = w->index * REGIONS_EACH };
	uint64_t bytes = w->pages * PAGE_BYTES;
	int status;

	if (ftruncate(fd, (off_t)bytes))
		return worker_fails(w, "cannot size the file");
	r.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r.base == MAP_FAILED)
		return worker_fails(w, "cannot map the file");
	if (w->opt->hugepage && madvise(r.base, bytes, MADV_HUGEPAGE))
		return worker_fails(w, "MADV_HUGEPAGE");
	region_fill(w, &r, expect_first, NULL);
	worker_filled(w, &r);
	status = check_file(w, &r, fd);
	region_unmap(&r);
	close(fd);
	return status;
}

int mode_shm_memfd(struct worker *w)
{
	int fd = memfd_create("swapcheck", MFD_CLOEXEC);

	if (fd < 0)
		return worker_fails(w, "memfd_create");
	return run_on(w, fd);
}

int mode_shm_tmpfs(struct worker *w)
{
	const char *dir = w->opt->tmpdir;
	struct statfs st;
	int fd;

	if (statfs(dir, &st))
		return worker_fails(w, dir);
	if (st.f_type != TMPFS_MAGIC)
		return worker_skips(w, "%s is no tmpfs", dir);
	if (st.f_blocks && st.f_bavail * (uint64_t)st.f_bsize < w->opt->bytes)
		return worker_skips(w, "%s has room for %llu MiB only", dir,
				    (unsigned long long)st.f_bavail *
				    (unsigned long long)st.f_bsize >> 20);
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return worker_fails(w, "cannot create a file without a name");
	return run_on(w, fd);
}
