// SPDX-License-Identifier: GPL-2.0
/*
 * Mode ksm: many identical pages, merged by the kernel, swapped out, written.
 *
 * ksmd is the system's: who runs this writes 1 to /sys/kernel/mm/ksm/run (and
 * may raise pages_to_scan) first.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "swapcheck.h"

#define KSM_RUN		"/sys/kernel/mm/ksm/run"
#define KSM_MERGED	"/proc/self/ksm_merging_pages"
#define KSM_SHARING	"/sys/kernel/mm/ksm/pages_sharing"
#define DISTINCT	64	/* different contents */
#define WRITTEN_EVERY	3	/* of the pages, every third is written afterwards */

static struct expectation expect_same(const struct worker *w, const struct region *r,
				      uint64_t page, const void *arg)
{
	const bool *written = arg;
	struct expectation e = { .name = page_name(r, page % DISTINCT, 0) };

	(void)w;
	if (*written && page % WRITTEN_EVERY == 0)
		e.name = page_name(r, page, 1);
	return e;
}

static uint64_t merged_pages(void)
{
	char text[64];

	if (!read_text(KSM_MERGED, text, sizeof(text)) &&
	    !read_text(KSM_SHARING, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10);
}

static bool wait_for_merging(struct worker *w, uint64_t wanted)
{
	double limit = now_seconds() + w->opt->ksm_wait;

	while (merged_pages() < wanted) {
		if (now_seconds() > limit)
			return false;
		sleep_seconds(0.1);
	}
	return true;
}

/* Merge, or say why not: EXIT_OK to go on. */
static int merge(struct worker *w, struct region *r)
{
	uint64_t bytes = r->pages * PAGE_BYTES;
	char text[16];

	if (!read_text(KSM_RUN, text, sizeof(text)))
		return worker_skips(w, "this kernel has no KSM");
	if (text[0] != '1')
		return worker_skips(w, KSM_RUN " is %s, not 1", text);
	if (madvise(r->base, bytes, MADV_MERGEABLE))
		return worker_fails(w, "MADV_MERGEABLE");
	/* Half is enough to go on with: merging is not what is tested here. */
	if (!wait_for_merging(w, r->pages / 2))
		return worker_skips(w, "only %llu of %llu pages merged within %.0f s",
				    (unsigned long long)merged_pages(),
				    (unsigned long long)r->pages, w->opt->ksm_wait);
	return EXIT_OK;
}

static void write_some(struct worker *w, struct region *r, const bool *written)
{
	uint64_t page;

	for (page = 0; page < r->pages; page += WRITTEN_EVERY)
		content_make(&w->opt->mix, expect_same(w, r, page, written).name,
			     region_page(r, page));
}

int mode_ksm(struct worker *w)
{
	bool written = false;
	struct region r;
	int status;

	if (!region_map(w, &r, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	region_fill(w, &r, expect_same, &written);
	worker_phase(w, PHASE_WORK);
	status = merge(w, &r);
	if (status)
		return status;
	worker_filled(w, &r);
	region_check(w, &r, 0, expect_same, &written);
	pressure(w, &r);
	written = true;
	write_some(w, &r, &written);
	pressure(w, &r);
	region_check(w, &r, 1, expect_same, &written);
	pressure(w, &r);
	if (madvise(r.base, r.pages * PAGE_BYTES, MADV_UNMERGEABLE))
		return worker_fails(w, "MADV_UNMERGEABLE");
	region_check(w, &r, 2, expect_same, &written);
	return worker_status(w);
}
