// SPDX-License-Identifier: GPL-2.0
/* Regions of memory: mapping, filling, and checking them page by page. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "swapcheck.h"

#define HUGE_BYTES	(2UL << 20)
#define SALT_RUNS	0x72756e73
#define SALT_REWRITE	0x77726974

bool region_map(struct worker *w, struct region *r, uint64_t pages, unsigned int id)
{
	uint64_t bytes = pages * PAGE_BYTES;
	unsigned char *mem, *base;

	mem = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	base = mem + (-(uintptr_t)mem & (HUGE_BYTES - 1));
	if (base > mem)
		munmap(mem, (size_t)(base - mem));
	if (base < mem + HUGE_BYTES)
		munmap(base + bytes, (size_t)(mem + HUGE_BYTES - base));
	r->base = base;
	r->pages = pages;
	r->id = w->index * REGIONS_EACH + id;
	return !w->opt->hugepage || !madvise(base, bytes, MADV_HUGEPAGE);
}

void region_unmap(struct region *r)
{
	munmap(r->base, r->pages * PAGE_BYTES);
	r->base = NULL;
}

void *region_page(const struct region *r, uint64_t page)
{
	return r->base + page * PAGE_BYTES;
}

struct page_name page_name(const struct region *r, uint64_t page, uint8_t generation)
{
	return (struct page_name){ .region = r->id, .page = (uint32_t)page,
				   .generation = generation };
}

void region_fill(struct worker *w, struct region *r, expect_fn expect, const void *arg)
{
	uint64_t page;

	worker_phase(w, PHASE_FILL);
	for (page = 0; page < r->pages; page++) {
		struct expectation e = expect(w, r, page, arg);

		if (e.ignore || e.zero)
			continue;
		content_make(&w->opt->mix, e.name, region_page(r, page));
	}
}

/* What --corrupt asks for: once per process, on the page's first check. */
static void corrupt(struct worker *w, uint64_t page, unsigned char *where,
		    struct page_name name)
{
	w->corrupted = true;
	name.page = (uint32_t)page + 1;
	switch (w->opt->corruption) {
	case CORRUPT_FLIP:
		where[mix64(page) % PAGE_BYTES] ^= 0x10;
		break;
	case CORRUPT_ZERO:
		memset(where, 0, PAGE_BYTES);
		break;
	case CORRUPT_OTHER:
		content_make(&w->opt->mix, name, where);
		break;
	case CORRUPT_NOTHING:
		break;
	}
}

static void note_mismatch(struct worker *w, const struct region *r, uint64_t page,
			  const void *found, const void *wanted, struct expectation e)
{
	struct results *res = w->results;
	char what[192], expected[64];
	struct mismatch *m;
	unsigned int bytes;
	uint32_t slot;
	int first;

	w->wrong++;
	atomic_fetch_add(&res->nr_mismatches, 1);
	slot = atomic_fetch_add(&res->noted_mismatches, 1);
	if (slot >= MAX_NOTES)
		return;
	m = &res->mismatches[slot];
	m->worker = w->index;
	m->region = r->id;
	m->page = page;
	first = content_differs(found, wanted, &bytes);
	m->offset = first < 0 ? 0 : (uint32_t)first;
	m->bytes = bytes;
	content_describe(&w->opt->mix, found, what, sizeof(what));
	if (e.zero)
		snprintf(expected, sizeof(expected), "zeroes");
	else
		snprintf(expected, sizeof(expected), "region %u, generation %u%s",
			 e.name.region, e.name.generation, e.or_zero ? ", or zeroes" : "");
	snprintf(m->text, sizeof(m->text), "wanted %s; found %s%s", expected, what,
		 first < 0 ? "; right when read again" : "");
}

void page_check(struct worker *w, const struct region *r, uint64_t page,
		void *where, struct expectation want)
{
	static _Thread_local uint64_t wanted[PAGE_WORDS];
	static const uint64_t zeroes[PAGE_WORDS];

	if (want.ignore)
		return;
	if (w->opt->corruption && page == w->opt->corrupt_page && !w->corrupted)
		corrupt(w, page, where, want.name);
	atomic_fetch_add_explicit(&w->results->pages_checked, 1, memory_order_relaxed);
	if (want.zero) {
		if (memcmp(where, zeroes, PAGE_BYTES))
			note_mismatch(w, r, page, where, zeroes, want);
		return;
	}
	content_make(&w->opt->mix, want.name, wanted);
	if (!memcmp(where, wanted, PAGE_BYTES))
		return;
	/* In this order: a page given up may turn into zeroes at any moment, never back. */
	if (want.or_zero && !memcmp(where, zeroes, PAGE_BYTES))
		return;
	note_mismatch(w, r, page, where, wanted, want);
}

void region_check(struct worker *w, const struct region *r, unsigned int pass,
		  expect_fn expect, const void *arg)
{
	bool random = w->opt->order == ORDER_RANDOM ||
		      (w->opt->order == ORDER_ALTERNATE && pass % 2);
	uint64_t i, page, key = mix64(w->opt->mix.seed + pass);

	worker_phase(w, PHASE_VERIFY);
	for (i = 0; i < r->pages; i++) {
		page = random ? permute(i, r->pages, key) : i;
		page_check(w, r, page, region_page(r, page), expect(w, r, page, arg));
	}
	worker_phase(w, PHASE_WORK);
}

uint64_t page_hash(const struct worker *w, const struct region *r, uint64_t page,
		   uint64_t salt)
{
	return mix64(mix64(w->opt->mix.seed ^ salt) ^ ((uint64_t)r->id << 32 | page));
}

struct run run_at(const struct worker *w, const struct region *r, uint64_t page,
		  unsigned int kinds)
{
	uint64_t start = page - page % RUN_BLOCK;
	uint64_t hash = page_hash(w, r, start, SALT_RUNS);
	uint64_t left = r->pages - start;
	uint64_t size = left < RUN_BLOCK ? left : RUN_BLOCK;
	uint64_t cut = hash % size;
	bool low = page - start < cut;
	struct run run;

	/* Two runs in each block: [0, cut) and [cut, size). */
	run.first = low ? start : start + cut;
	run.pages = low ? cut : size - cut;
	run.kind = (unsigned int)((hash >> (low ? 32 : 48)) % kinds);
	return run;
}

struct expectation expect_generation(const struct worker *w, const struct region *r,
				     uint64_t page, const void *arg)
{
	const uint8_t *generation = arg;

	(void)w;
	return (struct expectation){ .name = page_name(r, page, *generation) };
}

struct expectation expect_first(const struct worker *w, const struct region *r,
				uint64_t page, const void *arg)
{
	(void)w;
	(void)arg;
	return (struct expectation){ .name = page_name(r, page, 0) };
}

static bool rewritten_in(const struct worker *w, const struct region *r, uint64_t page,
			 unsigned int round)
{
	uint64_t hash = page_hash(w, r, page, SALT_REWRITE + ((uint64_t)round << 32));

	return (double)(hash >> 40) * 100.0 / (1 << 24) < w->opt->rewrite;
}

struct expectation expect_rewritten(const struct worker *w, const struct region *r,
				    uint64_t page, const void *arg)
{
	unsigned int round = *(const unsigned int *)arg;

	while (round && !rewritten_in(w, r, page, round))
		round--;
	return (struct expectation){ .name = page_name(r, page, (uint8_t)round) };
}

static void region_rewrite(struct worker *w, struct region *r, unsigned int round)
{
	uint64_t page;

	worker_phase(w, PHASE_WORK);
	for (page = 0; page < r->pages; page++)
		if (rewritten_in(w, r, page, round))
			content_make(&w->opt->mix, page_name(r, page, (uint8_t)round),
				     region_page(r, page));
}

static bool told_to_stop(const struct worker *w)
{
	return w->opt->stop_file && !access(w->opt->stop_file, F_OK);
}

void region_passes(struct worker *w, struct region *r)
{
	unsigned int pass;

	for (pass = 0; pass < w->opt->passes && !(pass && told_to_stop(w)); pass++) {
		if (pass) {
			region_rewrite(w, r, pass);
			pressure(w, r);
		}
		region_check(w, r, pass, expect_rewritten, &pass);
	}
}
