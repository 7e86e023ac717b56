/* SPDX-License-Identifier: GPL-2.0-only */
/* Benchmark of the swap layer: what its files share. See main.c. */
#ifndef _MM_SWAP_BENCH_H
#define _MM_SWAP_BENCH_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/mm_types.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

/* How many pages are in one phase before the next begins: 4 MB. */
#define CHUNK_PAGES	1024U
/* The longest run of entries that zap_pte_range() finds. */
#define TABLE_PAGES	512U

enum bench_op { OP_NONE, OP_ALLOC_FREE, OP_SWAP, OP_FILL, OP_DRAIN, OP_SETTLE };

enum phase { ALLOC, MAP, STORE, EVICT, DUP, PUT, FREE, LOAD, RELEASE, COMPRESS,
	     NR_PHASES };

struct bench_time {
	u64 ns;
	u64 cycles;
};

struct bench_result {
	unsigned int round;
	unsigned int cpu;
	unsigned long runs;
	unsigned long pages[NR_PHASES];
	struct bench_time time[NR_PHASES];
};

/* What a line asks for, what the threads share, and what came of it. */
struct bench {
	enum bench_op op;
	unsigned long order;
	unsigned long pages;		/* of each CPU */
	unsigned long cpus;
	unsigned long rounds;
	unsigned long run;		/* pages, the longest run that is put at once */
	unsigned long store;
	unsigned long real;		/* pages like those of programs */
	struct mem_cgroup *memcg;	/* whose the folios are */
	atomic_t arrived;		/* at barriers, all of them together */
	bool stop;

	struct bench_result *results;
	unsigned int nr_results;
	char error[128];
};

struct bench_worker {
	struct bench *b;
	struct completion done;
	int err;
	const char *failed;		/* which function */
	unsigned int cpu;
	unsigned int barriers;		/* passed so far */

	struct folio *folios[CHUNK_PAGES];	/* of the chunk */
	unsigned int nr_folios;		/* made */
	unsigned int nr_mapped;		/* of them, whose entries have a count */

	swp_entry_t *entries;		/* of each folio, in the order of allocation */
	u16 *runs;			/* [i]: folios in the run that starts with i */
	unsigned long nr_out;		/* folios that are swapped out */
	unsigned long nr_dup;		/* pages at the start with one count more */
	unsigned long nr_in;		/* pages at the start without a count */

	struct bench_result result;
	struct bench_time started;
	u64 page[PAGE_SIZE / sizeof(u64)];	/* to compare with */
};

static inline void phase_start(struct bench_worker *w)
{
	w->started.ns = ktime_get_ns();
	w->started.cycles = get_cycles();
}

static inline void phase_end(struct bench_worker *w, enum phase phase, unsigned long pages)
{
	u64 cycles = get_cycles();
	struct bench_time *time = &w->result.time[phase];

	time->ns += ktime_get_ns() - w->started.ns;
	time->cycles += cycles - w->started.cycles;
	w->result.pages[phase] += pages;
}

int bench_fail(struct bench_worker *w, int err, const char *failed);
int bench_barrier(struct bench_worker *w);
int bench_run(struct bench *b);

void bench_folio_fill(struct bench_worker *w, struct folio *folio, unsigned long first);
bool bench_folio_verify(struct bench_worker *w, struct folio *folio, unsigned long first);

unsigned int bench_chunk_size(const struct bench_worker *w);
int bench_chunk_out(struct bench_worker *w, unsigned int nr, swp_entry_t *entries);
int bench_swap_out(struct bench_worker *w);
int bench_swap_in(struct bench_worker *w);
int bench_chunk_compress(struct bench_worker *w);
int bench_compress(struct bench_worker *w);

void bench_find_runs(struct bench_worker *w);
swp_entry_t bench_entry(const struct bench_worker *w, unsigned long page);
int bench_dup(struct bench_worker *w);
int bench_put(struct bench_worker *w, enum phase phase);
void bench_put_rest(struct bench_worker *w);

void bench_fill(struct bench_worker *w);
void bench_drain(void);
unsigned long bench_filled(unsigned long *own_bytes);

#endif /* _MM_SWAP_BENCH_H */
