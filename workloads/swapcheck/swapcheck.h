/* SPDX-License-Identifier: GPL-2.0 */
/*
 * swapcheck's parts: options, the results all processes share, one worker's
 * context, its regions of memory, and the modes.
 *
 * main() runs the modes one after the other; for each it forks --processes
 * workers and only watches them, so that it can report whatever happens.
 */
#ifndef WORKLOADS_SWAPCHECK_H
#define WORKLOADS_SWAPCHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "content.h"
#include "crew.h"
#include "gate.h"

#define MAX_WORKERS	60
#define MAX_CHILDREN	1000
#define MAX_THREADS	64
#define MAX_MODES	32
#define MAX_PASSES	200
#define MAX_NOTES	8
/* Regions [worker * REGIONS_EACH, + REGIONS_EACH) belong to one worker. */
#define REGIONS_EACH	1024

/* A worker's exit status for "cannot be tested here"; never the program's. */
#define EXIT_SKIPPED	77

struct worker;

struct mode {
	const char *name;
	const char *what;	/* one line for --help */
	int (*run)(struct worker *w);
};

enum corruption { CORRUPT_NOTHING, CORRUPT_FLIP, CORRUPT_ZERO, CORRUPT_OTHER };
enum order { ORDER_ALTERNATE, ORDER_SEQUENTIAL, ORDER_RANDOM };

struct options {
	const struct mode *modes[MAX_MODES];
	unsigned int nr_modes;
	uint64_t bytes;			/* of all workers together */
	unsigned int processes, threads;
	unsigned int children;		/* 0: the mode's own default */
	struct mixture mix;
	unsigned int passes;
	enum order order;
	double rewrite;			/* percent of pages, between passes */
	bool pageout, reclaim, hugepage;
	double seconds, reads;		/* churn; reads: percent of its steps */
	double hold;
	const char *ready_file, *wait_file, *stop_file;
	double wait_timeout;
	uint64_t min_swapped;
	const char *tmpdir;
	double ksm_wait;
	bool allow_skip;
	const char *dump;
	enum corruption corruption;
	uint64_t corrupt_page;
	bool json;
	const char *json_file;
};

/* Returns -1 to go on, or an exit code. */
int options_parse(struct options *opt, int argc, char **argv);

/* ---- results, in memory all processes of a mode share ---- */

enum phase { PHASE_NONE, PHASE_FILL, PHASE_PRESSURE, PHASE_HOLD, PHASE_WORK,
	     PHASE_VERIFY, NR_PHASES };
extern const char * const phase_names[NR_PHASES];

struct mismatch {
	uint32_t worker, region;
	uint64_t page;
	uint32_t offset, bytes;
	char text[320];
};

struct worker_result {
	double seconds[NR_PHASES];
	uint64_t swapped;		/* bytes in swap at the hold point */
};

struct results {
	struct gate filled, go;
	_Atomic uint64_t pages_filled, pages_checked, nr_mismatches;
	_Atomic uint32_t noted_mismatches, nr_failures, nr_killed;
	_Atomic uint32_t skipped;
	struct mismatch mismatches[MAX_NOTES];
	char failures[MAX_NOTES][256];
	struct { char who[48]; int signal; } killed[MAX_NOTES];
	char skip_reason[256];
	struct worker_result workers[MAX_WORKERS];
};

/* What is left of a mode when it is over. */
struct outcome {
	const struct mode *mode;
	struct results *results;
	double seconds;
	uint64_t swapped;
	bool verified, skipped;
};

void note_failure(struct results *results, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A process that did not exit with 0; reported unless it has said why itself. */
void note_end(struct results *results, const char *who, int wait_status);
/* Write the lines about a mode that has ended. */
void report_mode(const struct options *opt, const struct outcome *outcome);
/* Write the verdict and the JSON; false if that fails. */
bool report(const struct options *opt, const struct outcome *outcomes, bool verified);

/* ---- a worker: one process with its share of the memory ---- */

struct worker {
	const struct options *opt;
	const struct mode *mode;
	struct results *results;
	struct worker_result *result;
	unsigned int index;
	uint64_t pages;			/* its share */
	uint64_t wrong;			/* mismatches this process has seen */
	enum phase phase;
	double phase_start;
	bool corrupted;
};

/* From now on time counts for @phase. */
void worker_phase(struct worker *w, enum phase phase);
/* In a child forked by a worker: keep out of the worker's own books. */
void worker_became_child(struct worker *w);
/* Everything is filled: pressure, then wait for the others and for the driver. */
struct region;
void worker_filled(struct worker *w, struct region *r);
/* The same for a worker that cannot: report and return the exit status. */
int worker_fails(struct worker *w, const char *what);
int worker_skips(struct worker *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The exit status after all checks. */
int worker_status(const struct worker *w);

/* ---- regions ---- */

struct region {
	unsigned char *base;
	uint64_t pages;
	uint32_t id;
};

/* What a page must read as. */
struct expectation {
	bool ignore;		/* not to be looked at */
	bool zero;		/* zeroes */
	bool or_zero;		/* the named page or zeroes */
	struct page_name name;
};

typedef struct expectation (*expect_fn)(const struct worker *w, const struct region *r,
					uint64_t page, const void *arg);

/* Anonymous memory, aligned for huge pages; false with errno. */
bool region_map(struct worker *w, struct region *r, uint64_t pages, unsigned int id);
void region_unmap(struct region *r);
void *region_page(const struct region *r, uint64_t page);
/* Write every page that @expect wants written. */
void region_fill(struct worker *w, struct region *r, expect_fn expect, const void *arg);
/* Check every page, in the order of the @pass. */
void region_check(struct worker *w, const struct region *r, unsigned int pass,
		  expect_fn expect, const void *arg);
/* Check one page that lies at @where. */
void page_check(struct worker *w, const struct region *r, uint64_t page,
		void *where, struct expectation want);

struct page_name page_name(const struct region *r, uint64_t page, uint8_t generation);
/* All pages as first written: generation 0; @arg is not used. */
struct expectation expect_first(const struct worker *w, const struct region *r,
				uint64_t page, const void *arg);
/* All pages of generation *(const uint8_t *)@arg. */
struct expectation expect_generation(const struct worker *w, const struct region *r,
				     uint64_t page, const void *arg);
/* As after *(const unsigned int *)@arg rounds of rewriting. */
struct expectation expect_rewritten(const struct worker *w, const struct region *r,
				    uint64_t page, const void *arg);
/* Verify --passes times, or until --stop-file exists, with pressure and rewriting in between. */
void region_passes(struct worker *w, struct region *r);

/* A hash of a page's place, for decisions that must be the same each time. */
uint64_t page_hash(const struct worker *w, const struct region *r, uint64_t page,
		   uint64_t salt);

/*
 * A region cut into runs of 1 to RUN_BLOCK pages: the same ones each time, and
 * found from any page without a table. Each has a kind in [0, kinds).
 */
#define RUN_BLOCK	64
struct run {
	uint64_t first, pages;
	unsigned int kind;
};
struct run run_at(const struct worker *w, const struct region *r, uint64_t page,
		  unsigned int kinds);

/* ---- pressure ---- */

/* Push the region out as far as the options ask for it. */
void pressure(struct worker *w, const struct region *r);
/* madvise() a part; a failure is noted unless it is only "not known here" (false). */
bool advise(struct worker *w, void *start, uint64_t bytes, int advice, const char *name);

/* ---- modes ---- */

extern const struct mode modes[];
extern const unsigned int nr_modes;

int mode_anon(struct worker *w);
int mode_shm_tmpfs(struct worker *w);
int mode_shm_memfd(struct worker *w);
int mode_fork(struct worker *w);
int mode_fork_many(struct worker *w);
int mode_dontneed(struct worker *w);
int mode_free(struct worker *w);
int mode_pageout(struct worker *w);
int mode_mremap(struct worker *w);
int mode_munmap(struct worker *w);
int mode_read(struct worker *w);
int mode_ksm(struct worker *w);
int mode_churn(struct worker *w);

#endif
