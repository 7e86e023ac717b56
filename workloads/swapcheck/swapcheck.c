// SPDX-License-Identifier: GPL-2.0
/*
 * swapcheck: fill memory with content that can be checked, have it swapped out,
 * and verify every byte.
 *
 * This file runs the modes: it forks the workers of each, watches them, holds
 * them at the point where all is filled if a driver asks for it, and judges.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "swapcheck.h"

const struct mode modes[] = {
	{ "anon", "private anonymous memory", mode_anon },
	{ "shm-tmpfs", "a shared mapping of a file in tmpfs; read(2), holes, truncation",
	  mode_shm_tmpfs },
	{ "shm-memfd", "the same with memfd_create(2)", mode_shm_memfd },
	{ "fork", "copy-on-write between a parent and a few children", mode_fork },
	{ "fork-many", "the same with more children than a count in the swap table holds",
	  mode_fork_many },
	{ "dontneed", "MADV_DONTNEED on parts: zero there, the rest intact", mode_dontneed },
	{ "free", "MADV_FREE on parts: old or zero there, kept when rewritten", mode_free },
	{ "pageout", "MADV_PAGEOUT, MADV_WILLNEED and MADV_COLD on parts", mode_pageout },
	{ "mremap", "swapped ranges move, shrink and grow", mode_mremap },
	{ "munmap", "holes are punched, mapped again and filled", mode_munmap },
	{ "read", "read(2) into pages that were swapped in, and while they are pushed out",
	  mode_read },
	{ "ksm", "identical pages merged by ksmd (write 1 to /sys/kernel/mm/ksm/run first)",
	  mode_ksm },
	{ "churn", "threads rewrite, drop, move and verify random runs for --seconds",
	  mode_churn },
};
const unsigned int nr_modes = ARRAY_SIZE(modes);

/* What the children of main() need to know. */
struct stage {
	const struct options *opt;
	const struct mode *mode;
	struct results *results;
};

static int worker_main(void *arg, unsigned int index)
{
	struct stage *stage = arg;
	const struct options *opt = stage->opt;
	uint64_t pages = opt->bytes / PAGE_BYTES;
	struct worker w = {
		.opt = opt,
		.mode = stage->mode,
		.results = stage->results,
		.result = &stage->results->workers[index],
		.index = index,
		.pages = pages / opt->processes + (index < pages % opt->processes),
		.phase_start = now_seconds(),
	};
	int status = stage->mode->run(&w);

	worker_phase(&w, PHASE_NONE);
	return status;
}

static void worker_ended(void *arg, unsigned int index, int wait_status)
{
	struct stage *stage = arg;
	char who[32];

	snprintf(who, sizeof(who), "process %u", index);
	note_end(stage->results, who, wait_status);
}

static bool create_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd >= 0 && !close(fd);
}

static void wait_for_file(struct stage *stage, struct crew *crew)
{
	double limit = now_seconds() + stage->opt->wait_timeout;

	while (crew->alive && access(stage->opt->wait_file, F_OK)) {
		if (now_seconds() > limit) {
			note_failure(stage->results, "%s did not appear within %.0f s",
				     stage->opt->wait_file, stage->opt->wait_timeout);
			return;
		}
		sleep_seconds(0.02);
		crew_reap(crew);
	}
}

/* All have filled their memory (or died): what the driver wants before going on. */
static void hold(struct stage *stage, struct crew *crew)
{
	const struct options *opt = stage->opt;

	if (opt->ready_file && !create_file(opt->ready_file))
		note_failure(stage->results, "cannot create %s: %s", opt->ready_file,
			     strerror(errno));
	if (opt->hold > 0)
		sleep_seconds(opt->hold);
	if (opt->wait_file)
		wait_for_file(stage, crew);
}

static void run_workers(struct stage *stage)
{
	struct results *res = stage->results;
	unsigned int i;
	struct crew crew;

	gate_init(&res->filled, stage->opt->processes);
	gate_init(&res->go, 1);
	crew_init(&crew, worker_ended, stage, &res->filled, 1);
	for (i = 0; i < stage->opt->processes; i++) {
		if (crew_spawn(&crew, worker_main, stage))
			continue;
		note_failure(res, "cannot start process %u: %s", i, strerror(errno));
		gate_open(&res->filled);
		break;
	}
	crew_wait_gate(&crew, &res->filled);
	hold(stage, &crew);
	gate_open(&res->go);
	crew_wait(&crew, 0);
}

static struct outcome judge(const struct stage *stage, double seconds)
{
	const struct options *opt = stage->opt;
	struct results *res = stage->results;
	struct outcome o = { .mode = stage->mode, .results = res, .seconds = seconds };
	unsigned int i;

	for (i = 0; i < opt->processes; i++)
		o.swapped += res->workers[i].swapped;
	o.skipped = res->skipped && !res->nr_mismatches && !res->nr_failures;
	if (!o.skipped && !res->pages_checked)
		note_failure(res, "nothing was checked");
	if (!o.skipped && o.swapped < opt->min_swapped)
		note_failure(res, "only %llu bytes were in swap, --min-swapped asks for %llu",
			     (unsigned long long)o.swapped,
			     (unsigned long long)opt->min_swapped);
	o.verified = !o.skipped && !res->nr_mismatches && !res->nr_failures;
	return o;
}

static bool run_mode(const struct options *opt, const struct mode *mode,
		     struct outcome *outcome)
{
	struct stage stage = { .opt = opt, .mode = mode };
	double start = now_seconds();

	stage.results = shared_alloc(sizeof(*stage.results));
	if (!stage.results)
		return false;
	run_workers(&stage);
	*outcome = judge(&stage, now_seconds() - start);
	return true;
}

/* Write the content that worker 0 would fill, instead of testing: to measure it. */
static int dump(const struct options *opt)
{
	static uint64_t page[PAGE_WORDS];
	uint64_t i, pages = opt->bytes / PAGE_BYTES;
	FILE *out = fopen(opt->dump, "we");
	bool ok = out;

	for (i = 0; ok && i < pages; i++) {
		content_make(&opt->mix, (struct page_name){ .page = (uint32_t)i }, page);
		ok = fwrite(page, sizeof(page), 1, out) == 1;
	}
	if (out && fclose(out))
		ok = false;
	if (!ok)
		fprintf(stderr, "swapcheck: cannot write %s: %s\n", opt->dump,
			strerror(errno));
	return ok ? EXIT_OK : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	static struct outcome outcomes[MAX_MODES];
	static struct options opt;
	bool good = true, checked = false;
	unsigned int i;
	int code;

	code = options_parse(&opt, argc, argv);
	if (code >= 0)
		return code;
	if (sysconf(_SC_PAGESIZE) != PAGE_BYTES) {
		fprintf(stderr, "swapcheck: pages of %lu bytes only\n", PAGE_BYTES);
		return EXIT_FAILED;
	}
	if (opt.dump)
		return dump(&opt);
	for (i = 0; i < opt.nr_modes; i++) {
		if (!run_mode(&opt, opt.modes[i], &outcomes[i])) {
			perror("swapcheck");
			return EXIT_FAILED;
		}
		report_mode(&opt, &outcomes[i]);
		good &= outcomes[i].verified || (outcomes[i].skipped && opt.allow_skip);
		checked |= outcomes[i].verified;
	}
	/* With every mode skipped nothing is verified, but that may have been allowed. */
	return report(&opt, outcomes, good && checked) && good ? EXIT_OK : EXIT_FAILED;
}
