// SPDX-License-Identifier: GPL-2.0
/*
 * page_check() of a page that turns into zeroes while it is checked, as reclaim
 * does to pages after MADV_FREE: the named page or zeroes, so never a mismatch.
 *   given_up_race PAGES: goes on until so many were seen to go; exits with 1 if
 *   there was a mismatch.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "swapcheck.h"

#define PAGES	16
#define OVER	(~0U)

static _Atomic unsigned int filled, taken;	/* rounds */
static struct region region;

/* Takes the pages of each round away, one after the other. */
static void *taker(void *unused)
{
	unsigned int round, page;

	for (round = 1;; round++) {
		while (atomic_load(&filled) < round)
			sched_yield();
		if (atomic_load(&filled) == OVER)
			return unused;
		for (page = 0; page < PAGES; page++)
			madvise(region_page(&region, page), PAGE_BYTES, MADV_DONTNEED);
		atomic_store(&taken, round);
	}
}

int main(int argc, char **argv)
{
	static struct results results;
	static struct worker_result result;
	static const struct options opt = { .mix = { .seed = 1, .ratio = 3 } };
	struct worker w = { .opt = &opt, .results = &results, .result = &result };
	unsigned int round, page, wanted, seen = 0;
	pthread_t thread;

	wanted = argc == 2 ? (unsigned int)atoi(argv[1]) : 0;
	if (!wanted || !region_map(&w, &region, PAGES, 0) ||
	    pthread_create(&thread, NULL, taker, NULL))
		return 2;
	for (round = 1; seen < wanted; round++) {
		for (page = 0; page < PAGES; page++)
			content_make(&opt.mix, page_name(&region, page, 1),
				     region_page(&region, page));
		atomic_store(&filled, round);
		for (page = PAGES; page-- > 0;) {
			struct expectation e = { .or_zero = true,
						 .name = page_name(&region, page, 1) };

			/* With one CPU to run on, the taker has its turn now. */
			if (round % 64 == 0)
				sched_yield();
			page_check(&w, &region, page, region_page(&region, page), e);
			seen += !*(uint64_t *)region_page(&region, page);
		}
		while (atomic_load(&taken) < round)
			sched_yield();
	}
	atomic_store(&filled, OVER);
	pthread_join(thread, NULL);
	printf("%u rounds, %u pages seen as zeroes, %llu mismatches\n", round, seen,
	       (unsigned long long)w.wrong);
	if (w.wrong)
		printf("%s\n", results.mismatches[0].text);
	return w.wrong != 0;
}
