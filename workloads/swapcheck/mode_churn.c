// SPDX-License-Identifier: GPL-2.0
/*
 * Mode churn: threads change, drop, move and verify random runs for a while.
 *
 * Each thread owns a slice of its process's memory. What a page must hold is
 * one byte per page: its generation, or 0 for "reads zero". Every second
 * process works on shared memory (memfd), the others on anonymous memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "swapcheck.h"

#define MOST		32		/* pages of one step */
#define FORK_SAMPLE	64		/* runs a forked child checks */

struct slice {
	struct worker w;		/* a copy: each thread counts on its own */
	struct region r;		/* of this slice, with its own id */
	uint8_t *generations;
	unsigned char *elsewhere;	/* room to move a run to */
	bool shared;
	uint64_t random, steps;
	double end;
	bool failed;
};

struct step {
	uint64_t first, pages;
	void *at;
	uint64_t bytes;
};

static uint64_t next_random(struct slice *s)
{
	s->random = mix64(s->random);
	return s->random;
}

static struct step random_step(struct slice *s)
{
	struct step step;

	step.pages = 1 + next_random(s) % MOST;
	step.first = next_random(s) % (s->r.pages - step.pages + 1);
	step.at = region_page(&s->r, step.first);
	step.bytes = step.pages * PAGE_BYTES;
	return step;
}

static struct expectation expect_of(struct slice *s, uint64_t page)
{
	uint8_t generation = s->generations[page];

	return (struct expectation){ .zero = generation == 0,
				     .name = page_name(&s->r, page, generation) };
}

static void check_at(struct slice *s, const struct step *step, unsigned char *where,
		     bool or_zero)
{
	uint64_t i;

	for (i = 0; i < step->pages; i++) {
		struct expectation e = expect_of(s, step->first + i);

		e.or_zero = or_zero;
		page_check(&s->w, &s->r, step->first + i, where + i * PAGE_BYTES, e);
	}
}

static void check(struct slice *s, const struct step *step)
{
	check_at(s, step, step->at, false);
}

static void rewrite(struct slice *s, const struct step *step)
{
	uint64_t page;

	for (page = step->first; page < step->first + step->pages; page++) {
		uint8_t generation = (uint8_t)(s->generations[page] + 1);

		if (!generation)
			generation = 1;
		s->generations[page] = generation;
		content_make(&s->w.opt->mix, page_name(&s->r, page, generation),
			     region_page(&s->r, page));
	}
}

static void failed(struct slice *s, const char *what)
{
	worker_fails(&s->w, what);
	s->failed = true;
}

static void drop(struct slice *s, const struct step *step)
{
	if (madvise(step->at, step->bytes, s->shared ? MADV_REMOVE : MADV_DONTNEED))
		failed(s, s->shared ? "MADV_REMOVE" : "MADV_DONTNEED");
	memset(s->generations + step->first, 0, step->pages);
}

static void free_lazily(struct slice *s, const struct step *step)
{
	if (s->shared)
		return;
	if (madvise(step->at, step->bytes, MADV_FREE))
		failed(s, "MADV_FREE");
	check_at(s, step, step->at, true);
	rewrite(s, step);
}

static void push_out(struct slice *s, const struct step *step)
{
	if (madvise(step->at, step->bytes, MADV_PAGEOUT))
		failed(s, "MADV_PAGEOUT");
}

static void prefetch(struct slice *s, const struct step *step)
{
	if (madvise(step->at, step->bytes, MADV_WILLNEED))
		failed(s, "MADV_WILLNEED");
}

static void map_anew(struct slice *s, const struct step *step)
{
	if (s->shared)
		return;
	if (mmap(step->at, step->bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != step->at)
		failed(s, "mmap over a run");
	memset(s->generations + step->first, 0, step->pages);
}

static bool move(struct slice *s, void *from, void *to, uint64_t bytes)
{
	if (mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return true;
	failed(s, "mremap");
	return false;
}

/* There and back; only this thread's own addresses are ever left unmapped. */
static void move_away_and_back(struct slice *s, const struct step *step)
{
	if (!move(s, step->at, s->elsewhere, step->bytes))
		return;
	check_at(s, step, s->elsewhere, false);
	move(s, s->elsewhere, step->at, step->bytes);
}

/* A child sees this thread's slice as it was at the fork, whatever comes later. */
static void fork_and_check(struct slice *s, const struct step *unused)
{
	int status = 0, i;
	pid_t pid = fork();

	(void)unused;
	if (pid < 0) {
		failed(s, "fork");
		return;
	}
	if (pid == 0) {
		s->w.wrong = 0;
		for (i = 0; i < FORK_SAMPLE; i++) {
			struct step step = random_step(s);

			check(s, &step);
			if (!s->shared && i % 4 == 0)
				rewrite(s, &step);
		}
		_exit(worker_status(&s->w));
	}
	if (!s->shared) {
		struct step step = random_step(s);

		rewrite(s, &step);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!status)
		return;
	s->failed = true;
	note_end(s->w.results, "a forked child", status);
}

static const struct {
	unsigned int weight;
	void (*act)(struct slice *s, const struct step *step);
} actions[] = {
	{ 420, check },
	{ 300, rewrite },
	{ 120, push_out },
	{ 50, drop },
	{ 40, free_lazily },
	{ 30, prefetch },
	{ 20, move_away_and_back },
	{ 18, map_anew },
	{ 2, fork_and_check },
};

static bool only_read(struct slice *s)
{
	return (double)(next_random(s) >> 40) * 100.0 / (1 << 24) < s->w.opt->reads;
}

static void one_step(struct slice *s)
{
	unsigned int at = (unsigned int)(next_random(s) % 1000), i = 0;
	struct step step = random_step(s);

	s->steps++;
	if (s->w.opt->reads && only_read(s)) {
		check(s, &step);
		return;
	}
	while (at >= actions[i].weight)
		at -= actions[i++].weight;
	actions[i].act(s, &step);
}

static void check_slice(struct slice *s)
{
	uint64_t page;

	for (page = 0; page < s->r.pages; page++)
		page_check(&s->w, &s->r, page, region_page(&s->r, page),
			   expect_of(s, page));
}

static void *slice_thread(void *arg)
{
	struct slice *s = arg;

	while (now_seconds() < s->end && !s->failed)
		one_step(s);
	check_slice(s);
	return NULL;
}

/* ---- setting up ---- */

static bool share_memory(struct worker *w, struct region *r)
{
	uint64_t bytes = r->pages * PAGE_BYTES;
	int fd = memfd_create("swapcheck-churn", MFD_CLOEXEC);
	bool ok = fd >= 0 && !ftruncate(fd, (off_t)bytes) &&
		  mmap(r->base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		       fd, 0) == r->base;

	(void)w;
	if (fd >= 0)
		close(fd);
	return ok;
}

static void *take(uint64_t bytes, int protection)
{
	void *mem = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			 -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static bool set_up(struct slice *s, const struct worker *w, const struct region *whole,
		   unsigned int index, bool shared)
{
	uint64_t each = whole->pages / w->opt->threads;

	s->w = *w;
	s->r.base = region_page(whole, index * each);
	s->r.pages = each;
	s->r.id = whole->id + index;
	s->shared = shared;
	s->random = mix64(w->opt->mix.seed ^ ((uint64_t)s->r.id << 40));
	s->generations = take(each, PROT_READ | PROT_WRITE);
	s->elsewhere = take(MOST * PAGE_BYTES, PROT_NONE);
	if (!s->generations || !s->elsewhere)
		return false;
	memset(s->generations, 1, each);
	return true;
}

static int run_threads(struct worker *w, struct slice *slices, unsigned int count)
{
	pthread_t threads[MAX_THREADS];
	unsigned int i, started;

	for (started = 0; started < count; started++) {
		slices[started].end = now_seconds() + w->opt->seconds;
		errno = pthread_create(&threads[started], NULL, slice_thread,
				       &slices[started]);
		if (errno)
			break;
	}
	for (i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		w->wrong += slices[i].w.wrong + slices[i].failed;
	}
	return started < count ? worker_fails(w, "cannot start a thread") :
				 worker_status(w);
}

int mode_churn(struct worker *w)
{
	static struct slice slices[MAX_THREADS];
	const uint8_t first = 1;	/* as set_up() notes it */
	unsigned int i, count = w->opt->threads;
	bool shared = w->index % 2;
	struct region r;

	if (w->pages / count < MOST)
		return worker_skips(w, "too many threads for this size");
	if (!region_map(w, &r, w->pages, 0) || (shared && !share_memory(w, &r)))
		return worker_fails(w, "cannot map the memory");
	for (i = 0; i < count; i++) {
		if (!set_up(&slices[i], w, &r, i, shared))
			return worker_fails(w, "cannot map the memory");
		region_fill(w, &slices[i].r, expect_generation, &first);
	}
	worker_filled(w, &r);
	return run_threads(w, slices, count);
}
