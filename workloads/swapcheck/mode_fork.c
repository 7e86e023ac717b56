// SPDX-License-Identifier: GPL-2.0
/*
 * Modes fork and fork-many: copy-on-write between a parent and its children.
 *
 * Half of the children are forked while the pages are still in memory, half
 * when they have been pushed out, so that a slot's count grows both ways. All
 * verify; each writes a few pages of its own and verifies its view; the even
 * ones exit, the odd ones verify again; the parent meanwhile writes too, and
 * has the last word.
 */
#include <stdlib.h>

#include "swapcheck.h"

#define DEFAULT_FEW	8
#define DEFAULT_MANY	64
/* Children beyond this share the verification of the whole among them. */
#define FULL_CHECKS	8
#define SALT_OWNER	0x6f776e65
/* All children together write about this percentage of the pages; the parent too. */
#define WRITE_PERCENT	25

enum { GATE_FORKED, GATE_READ, GATE_WRITTEN, GATE_CHECKED, NR_GATES };

struct family {
	struct worker *w;
	struct region *r;
	struct gate *gates;
	unsigned int children;
};

/* Who writes the page: a child's index, PARENT, or NOBODY. */
#define PARENT	(-1)
#define NOBODY	(-2)

static int writer_of(const struct family *f, uint64_t page)
{
	uint64_t hash = page_hash(f->w, f->r, page, SALT_OWNER);
	unsigned int percent = (unsigned int)(hash % 100);

	if (percent < WRITE_PERCENT)
		return (int)((hash >> 32) % f->children);
	return percent < 2 * WRITE_PERCENT ? PARENT : NOBODY;
}

/* A process's view of memory. */
struct view {
	const struct family *f;
	int who;		/* PARENT or a child's index */
	bool wrote;
	bool partly;		/* only this process's share of the checks */
};

static struct expectation expect_view(const struct worker *w, const struct region *r,
				      uint64_t page, const void *arg)
{
	const struct view *v = arg;
	struct expectation e = { .name = page_name(r, page, 0) };
	unsigned int shares = v->f->children / FULL_CHECKS;
	bool own = v->wrote && writer_of(v->f, page) == v->who;

	(void)w;
	if (own) {
		/* Named after the process, so that another one's page is recognised. */
		e.name.region += (uint32_t)(v->who + 2);
		e.name.generation = 1;
	}
	e.ignore = v->partly && !own && shares > 1 && v->who >= 0 &&
		   page % shares != (unsigned int)v->who % shares;
	return e;
}

static void write_own(struct view *v)
{
	struct worker *w = v->f->w;
	const struct region *r = v->f->r;
	uint64_t page;

	v->wrote = true;
	for (page = 0; page < r->pages; page++)
		if (writer_of(v->f, page) == v->who)
			content_make(&w->opt->mix, expect_view(w, r, page, v).name,
				     region_page(r, page));
}

static int child(void *arg, unsigned int index)
{
	struct family *f = arg;
	struct worker *w = f->w;
	struct view v = { .f = f, .who = (int)index, .partly = true };

	worker_became_child(w);
	gate_arrive(&f->gates[GATE_FORKED]);
	gate_wait(&f->gates[GATE_FORKED]);
	region_check(w, f->r, index, expect_view, &v);
	gate_arrive(&f->gates[GATE_READ]);
	gate_wait(&f->gates[GATE_READ]);
	write_own(&v);
	region_check(w, f->r, index + 1, expect_view, &v);
	gate_arrive(&f->gates[GATE_WRITTEN]);
	gate_wait(&f->gates[GATE_WRITTEN]);
	pressure(w, f->r);
	if (index % 2)
		gate_wait(&f->gates[GATE_CHECKED]);
	region_check(w, f->r, index, expect_view, &v);
	return worker_status(w);
}

static void child_ended(void *arg, unsigned int index, int wait_status)
{
	struct family *f = arg;
	char who[48];

	f->w->wrong++;
	snprintf(who, sizeof(who), "child %u of process %u", index, f->w->index);
	note_end(f->w->results, who, wait_status);
}

static bool spawn(struct family *f, struct crew *crew, unsigned int count)
{
	while (crew->count < count)
		if (!crew_spawn(crew, child, f))
			return false;
	return true;
}

/* Lead the children through their gates; the parent's own view follows. */
static void lead(struct family *f, struct crew *crew)
{
	struct worker *w = f->w;
	struct view v = { .f = f, .who = PARENT };

	crew_wait_gate(crew, &f->gates[GATE_FORKED]);
	gate_open(&f->gates[GATE_FORKED]);
	crew_wait_gate(crew, &f->gates[GATE_READ]);
	gate_open(&f->gates[GATE_READ]);
	write_own(&v);
	crew_wait_gate(crew, &f->gates[GATE_WRITTEN]);
	pressure(w, f->r);
	gate_open(&f->gates[GATE_WRITTEN]);
	/* The even ones exit on their own; then the odd ones may check again. */
	crew_wait(crew, f->children / 2);
	gate_open(&f->gates[GATE_CHECKED]);
	region_check(w, f->r, 0, expect_view, &v);
	crew_wait(crew, 0);
	pressure(w, f->r);
	region_check(w, f->r, 1, expect_view, &v);
}

static int run_family(struct family *f, struct crew *crew)
{
	struct worker *w = f->w;
	unsigned int i;

	for (i = 0; i < NR_GATES; i++)
		gate_init(&f->gates[i], f->children);
	crew_init(crew, child_ended, f, f->gates, NR_GATES);
	region_fill(w, f->r, expect_first, NULL);
	if (!spawn(f, crew, f->children / 2))
		return worker_fails(w, "cannot fork all children");
	worker_filled(w, f->r);
	if (!spawn(f, crew, f->children))
		return worker_fails(w, "cannot fork all children");
	lead(f, crew);
	return worker_status(w);
}

static int run(struct worker *w, unsigned int children)
{
	static struct crew crew;
	struct region r;
	struct family f = { .w = w, .r = &r };

	f.children = w->opt->children ? w->opt->children : children;
	f.gates = shared_alloc(NR_GATES * sizeof(f.gates[0]));
	if (!f.gates || !region_map(w, &r, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	return run_family(&f, &crew);
}

int mode_fork(struct worker *w)
{
	return run(w, DEFAULT_FEW);
}

int mode_fork_many(struct worker *w)
{
	return run(w, DEFAULT_MANY);
}
