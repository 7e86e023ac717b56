// SPDX-License-Identifier: GPL-2.0
/*
 * Modes dontneed, free and pageout: parts of swapped memory are given up, or
 * their place is advised on; the rest must not notice.
 */
#include <sys/mman.h>

#include "swapcheck.h"

/* What becomes of a run of pages, by its kind. */
enum fate { KEPT, GIVEN_UP, GIVEN_UP_REWRITTEN, REWRITTEN, NR_FATES };

static enum fate fate_of(const struct worker *w, const struct region *r, uint64_t page)
{
	return (enum fate)run_at(w, r, page, NR_FATES).kind;
}

/* For each run of one of the two fates: madvise() it. False if that fails. */
static bool advise_runs(struct worker *w, struct region *r, enum fate one,
			enum fate other, int advice, const char *name)
{
	struct run run;
	uint64_t page;

	for (page = 0; page < r->pages; page = run.first + run.pages) {
		run = run_at(w, r, page, NR_FATES);
		if (run.kind != one && run.kind != other)
			continue;
		if (!advise(w, region_page(r, run.first), run.pages * PAGE_BYTES, advice,
			    name))
			return false;
	}
	return true;
}

static void rewrite(struct worker *w, struct region *r, enum fate one, enum fate other)
{
	uint64_t page;

	worker_phase(w, PHASE_WORK);
	for (page = 0; page < r->pages; page++)
		if (fate_of(w, r, page) == one || fate_of(w, r, page) == other)
			content_make(&w->opt->mix, page_name(r, page, 1),
				     region_page(r, page));
}

/* What given-up pages may read as, and whether the rewriting has happened. */
struct state {
	bool given_up, maybe, rewritten;
};

static struct expectation expect_state(const struct worker *w, const struct region *r,
				       uint64_t page, const void *arg)
{
	const struct state *s = arg;
	struct expectation e = { .name = page_name(r, page, 0) };
	enum fate fate = fate_of(w, r, page);

	if (s->rewritten && (fate == REWRITTEN || fate == GIVEN_UP_REWRITTEN)) {
		e.name.generation = 1;
	} else if (s->given_up && (fate == GIVEN_UP || fate == GIVEN_UP_REWRITTEN)) {
		e.zero = !s->maybe;
		e.or_zero = s->maybe;
	}
	return e;
}

static bool start(struct worker *w, struct region *r)
{
	if (!region_map(w, r, w->pages, 0))
		return false;
	region_fill(w, r, expect_first, NULL);
	worker_filled(w, r);
	return true;
}

int mode_dontneed(struct worker *w)
{
	struct state s = { .given_up = true };
	struct region r;

	if (!start(w, &r))
		return worker_fails(w, "cannot map the memory");
	if (!advise_runs(w, &r, GIVEN_UP, GIVEN_UP_REWRITTEN, MADV_DONTNEED, "MADV_DONTNEED"))
		return worker_fails(w, "MADV_DONTNEED");
	region_check(w, &r, 0, expect_state, &s);
	rewrite(w, &r, REWRITTEN, GIVEN_UP_REWRITTEN);
	s.rewritten = true;
	pressure(w, &r);
	region_check(w, &r, 1, expect_state, &s);
	/* Once more: now zero pages that were only read are given up as well. */
	advise_runs(w, &r, GIVEN_UP, GIVEN_UP, MADV_DONTNEED, "MADV_DONTNEED");
	pressure(w, &r);
	region_check(w, &r, 2, expect_state, &s);
	return worker_status(w);
}

int mode_free(struct worker *w)
{
	struct state s = { .given_up = true, .maybe = true };
	struct region r;

	if (!start(w, &r))
		return worker_fails(w, "cannot map the memory");
	/* In memory again, as only present pages can be freed lazily; swapped ones go at once. */
	region_check(w, &r, 0, expect_first, NULL);
	if (!advise_runs(w, &r, GIVEN_UP, GIVEN_UP_REWRITTEN, MADV_FREE, "MADV_FREE"))
		return worker_fails(w, "MADV_FREE");
	rewrite(w, &r, REWRITTEN, GIVEN_UP_REWRITTEN);
	s.rewritten = true;
	pressure(w, &r);
	region_check(w, &r, 1, expect_state, &s);
	/* What is swapped out now is freed while it is there. */
	pressure(w, &r);
	advise_runs(w, &r, GIVEN_UP, GIVEN_UP, MADV_FREE, "MADV_FREE");
	pressure(w, &r);
	region_check(w, &r, 2, expect_state, &s);
	return worker_status(w);
}

int mode_pageout(struct worker *w)
{
	static const struct { int advice; const char *name; } steps[] = {
		{ MADV_PAGEOUT, "MADV_PAGEOUT" },
		{ MADV_WILLNEED, "MADV_WILLNEED" },
		{ MADV_PAGEOUT, "MADV_PAGEOUT" },
		{ MADV_COLD, "MADV_COLD" },
	};
	struct state s = { 0 };
	unsigned int pass, i;
	struct region r;

	if (!start(w, &r))
		return worker_fails(w, "cannot map the memory");
	for (pass = 0; pass < w->opt->passes; pass++) {
		for (i = 0; i < ARRAY_SIZE(steps); i++) {
			enum fate one = (enum fate)((i + pass) % NR_FATES);

			if (!advise_runs(w, &r, one, REWRITTEN, steps[i].advice,
					 steps[i].name))
				return worker_skips(w, "this kernel has no %s",
						    steps[i].name);
		}
		region_check(w, &r, pass, expect_state, &s);
		if (!pass)
			rewrite(w, &r, REWRITTEN, GIVEN_UP_REWRITTEN);
		s.rewritten = true;
		advise(w, r.base, r.pages * PAGE_BYTES, MADV_PAGEOUT, "MADV_PAGEOUT");
		region_check(w, &r, pass + 1, expect_state, &s);
	}
	return worker_status(w);
}
