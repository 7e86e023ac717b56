// SPDX-License-Identifier: GPL-2.0
/*
 * Modes mremap and munmap: page table entries that name swapped pages are moved
 * or dropped; what is left must be what it was, wherever it is now.
 */
#include <errno.h>
#include <sys/mman.h>

#include "swapcheck.h"

#define KINDS		3
#define KIND_TAKEN	0	/* these runs move, or become holes */

static bool taken(const struct worker *w, const struct region *r, uint64_t page)
{
	return run_at(w, r, page, KINDS).kind == KIND_TAKEN;
}

/* ---- mremap ---- */

struct moved {
	uint64_t kept;		/* pages below this were never cut off */
};

static struct expectation expect_moved(const struct worker *w, const struct region *r,
				       uint64_t page, const void *arg)
{
	const struct moved *m = arg;
	struct expectation e = { .name = page_name(r, page, 0) };

	(void)w;
	e.zero = page >= m->kept;
	return e;
}

/* Move the region's taken runs (or the other ones) to the same place in @to. */
static bool move_runs(struct worker *w, struct region *from, struct region *to,
		      bool which)
{
	struct run run;
	uint64_t page;

	for (page = 0; page < from->pages; page = run.first + run.pages) {
		uint64_t bytes;

		run = run_at(w, from, page, KINDS);
		bytes = run.pages * PAGE_BYTES;
		if ((run.kind == KIND_TAKEN) != which)
			continue;
		if (mremap(region_page(from, run.first), bytes, bytes,
			   MREMAP_MAYMOVE | MREMAP_FIXED,
			   region_page(to, run.first)) == MAP_FAILED)
			return false;
	}
	return true;
}

/* Check the pages where they are: taken runs in one region, the others in another. */
static void check_both(struct worker *w, struct region *taken_in, struct region *others_in)
{
	uint64_t page;

	worker_phase(w, PHASE_VERIFY);
	for (page = 0; page < taken_in->pages; page++) {
		struct region *r = taken(w, taken_in, page) ? taken_in : others_in;

		page_check(w, r, page, region_page(r, page),
			   expect_first(w, r, page, NULL));
	}
	worker_phase(w, PHASE_WORK);
}

/* Shrink by a quarter, grow back: the new end must be zero. */
static bool shrink_and_grow(struct region *r, struct moved *m)
{
	uint64_t bytes = r->pages * PAGE_BYTES;
	void *mem;

	m->kept = r->pages - r->pages / 4;
	if (mremap(r->base, bytes, m->kept * PAGE_BYTES, 0) == MAP_FAILED)
		return false;
	mem = mremap(r->base, m->kept * PAGE_BYTES, bytes, MREMAP_MAYMOVE);
	if (mem == MAP_FAILED)
		return false;
	r->base = mem;
	return true;
}

/* Move all with MREMAP_DONTUNMAP: the old place stays mapped and reads zero. */
static bool move_leaving_zeroes(struct worker *w, struct region *r, struct moved *m)
{
	uint64_t bytes = r->pages * PAGE_BYTES;
	struct region old = *r;
	struct moved nothing = { 0 };
	void *mem = mremap(r->base, bytes, bytes, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);

	if (mem == MAP_FAILED)
		return errno == EINVAL;		/* a kernel before 5.7 */
	r->base = mem;
	region_check(w, r, 0, expect_moved, m);
	region_check(w, &old, 0, expect_moved, &nothing);
	region_unmap(&old);
	return true;
}

int mode_mremap(struct worker *w)
{
	struct region a, b;
	struct moved m;

	if (!region_map(w, &a, w->pages, 0) || !region_map(w, &b, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	m.kept = a.pages;
	region_fill(w, &a, expect_first, NULL);
	worker_filled(w, &a);
	if (!move_runs(w, &a, &b, true))
		return worker_fails(w, "cannot move the first runs");
	pressure(w, &b);
	check_both(w, &b, &a);
	if (!move_runs(w, &a, &b, false))
		return worker_fails(w, "cannot move the other runs");
	pressure(w, &b);
	region_check(w, &b, 1, expect_moved, &m);
	pressure(w, &b);
	if (!shrink_and_grow(&b, &m))
		return worker_fails(w, "cannot shrink and grow");
	pressure(w, &b);
	region_check(w, &b, 2, expect_moved, &m);
	pressure(w, &b);
	if (!move_leaving_zeroes(w, &b, &m))
		return worker_fails(w, "MREMAP_DONTUNMAP");
	return worker_status(w);
}

/* ---- munmap ---- */

struct holes {
	bool filled;		/* mapped again and written */
	bool zero;		/* mapped again */
};

static struct expectation expect_holes(const struct worker *w, const struct region *r,
				       uint64_t page, const void *arg)
{
	const struct holes *h = arg;
	struct expectation e = { .name = page_name(r, page, 0) };

	if (!taken(w, r, page))
		return e;
	e.name.generation = 1;
	e.zero = h->zero;
	e.ignore = !h->zero && !h->filled;
	return e;
}

/* Pages to write when the holes are filled: only those. */
static struct expectation fill_holes(const struct worker *w, const struct region *r,
				     uint64_t page, const void *arg)
{
	struct expectation e = expect_holes(w, r, page, arg);

	e.ignore = !taken(w, r, page);
	return e;
}

static bool each_hole(struct worker *w, struct region *r, bool unmap)
{
	struct run run;
	uint64_t page;

	for (page = 0; page < r->pages; page = run.first + run.pages) {
		void *at;
		uint64_t bytes;

		run = run_at(w, r, page, KINDS);
		at = region_page(r, run.first);
		bytes = run.pages * PAGE_BYTES;
		if (run.kind != KIND_TAKEN)
			continue;
		if (unmap ? munmap(at, bytes) != 0 :
			    mmap(at, bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				 MAP_FIXED_NOREPLACE, -1, 0) != at)
			return false;
	}
	return true;
}

/* MADV_PAGEOUT says ENOMEM after a range with holes, so push out run by run. */
static void pressure_around_holes(struct worker *w, struct region *r)
{
	struct run run;
	uint64_t page;

	for (page = 0; page < r->pages; page = run.first + run.pages) {
		struct region part;

		run = run_at(w, r, page, KINDS);
		part = (struct region){ .base = region_page(r, run.first),
					.pages = run.pages };
		if (run.kind != KIND_TAKEN)
			pressure(w, &part);
	}
}

int mode_munmap(struct worker *w)
{
	struct holes h = { 0 };
	struct region r;

	if (!region_map(w, &r, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	region_fill(w, &r, expect_first, NULL);
	worker_filled(w, &r);
	if (!each_hole(w, &r, true))
		return worker_fails(w, "munmap");
	pressure_around_holes(w, &r);
	region_check(w, &r, 0, expect_holes, &h);
	if (!each_hole(w, &r, false))
		return worker_fails(w, "cannot map the holes again");
	h.zero = true;
	region_check(w, &r, 1, expect_holes, &h);
	h = (struct holes){ .filled = true };
	region_fill(w, &r, fill_holes, &h);
	pressure(w, &r);
	region_check(w, &r, 2, expect_holes, &h);
	region_unmap(&r);
	return worker_status(w);
}
