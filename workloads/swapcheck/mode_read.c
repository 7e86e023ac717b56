// SPDX-License-Identifier: GPL-2.0
/*
 * Mode read: read(2) into memory that was swapped in and not modified since, and,
 * every second pass, into pages that a thread pushes out at the same time. What the
 * kernel writes for a process is not to be dropped with a page that looks clean.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "swapcheck.h"

/* Pushes out the page that is being read into. */
struct pusher {
	const struct region *r;
	_Atomic uint64_t page;
	atomic_bool stop;
};

static void *push_out(void *arg)
{
	struct pusher *p = arg;

	/* Whether it can is not the question here: worker_filled() and pressure() tell. */
	while (!atomic_load(&p->stop))
		madvise(region_page(p->r, atomic_load(&p->page)), PAGE_BYTES, MADV_PAGEOUT);
	return NULL;
}

/* Make each page in @page, the first of the file @fd, and read it into its place. */
static bool read_all(const struct worker *w, struct region *r, int fd, void *page,
		     uint8_t generation, struct pusher *p)
{
	uint64_t i;

	for (i = 0; i < r->pages; i++) {
		content_make(&w->opt->mix, page_name(r, i, generation), page);
		atomic_store(&p->page, i);
		if (pread(fd, region_page(r, i), PAGE_BYTES, 0) != (ssize_t)PAGE_BYTES)
			return false;
	}
	return true;
}

static bool read_all_racing(const struct worker *w, struct region *r, int fd, void *page,
			    uint8_t generation, struct pusher *p)
{
	pthread_t thread;
	bool ok;

	atomic_store(&p->stop, false);
	if (pthread_create(&thread, NULL, push_out, p))
		return false;
	ok = read_all(w, r, fd, page, generation, p);
	atomic_store(&p->stop, true);
	pthread_join(thread, NULL);
	return ok;
}

int mode_read(struct worker *w)
{
	int fd = memfd_create("swapcheck-read", MFD_CLOEXEC);
	uint8_t generation = 0;
	struct region r;
	struct pusher p = { .r = &r };
	unsigned int pass;
	void *page;
	bool ok;

	if (fd < 0 || ftruncate(fd, (off_t)PAGE_BYTES))
		return worker_fails(w, "memfd_create");
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || !region_map(w, &r, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	region_fill(w, &r, expect_generation, &generation);
	worker_filled(w, &r);

	/* Once more than asked for: both kinds of passes are needed. */
	for (pass = 0; pass <= w->opt->passes; pass++) {
		region_check(w, &r, pass, expect_generation, &generation);
		generation++;
		ok = pass % 2 ? read_all_racing(w, &r, fd, page, generation, &p) :
				read_all(w, &r, fd, page, generation, &p);
		if (!ok)
			return worker_fails(w, "cannot read into the memory");
		advise(w, r.base, r.pages * PAGE_BYTES, MADV_PAGEOUT, "MADV_PAGEOUT");
		pressure(w, &r);
	}
	region_check(w, &r, pass, expect_generation, &generation);
	return worker_status(w);
}
