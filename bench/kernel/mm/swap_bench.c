// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the swap layer costs per page, with no page tables in the way.
 *
 * The benchmark has folios of its own and takes them through the functions that
 * reclaim, page faults, fork and munmap call, in their order:
 *
 *   alloc    folio_alloc_swap()               shrink_folio_list()
 *   map      folio_dup_swap(), page by page   try_to_unmap_one()
 *   store    swap_writeout(), until written   pageout()
 *   evict    __swap_cache_del_folio()         __remove_mapping()
 *   dup      swap_dup_entry_direct()          copy_nonpresent_pte(): fork
 *   put      swap_put_entries_direct(), 2->1  zap_nonpresent_ptes(): a child exits
 *   free     swap_put_entries_direct(), 1->0  zap_nonpresent_ptes(): munmap, exit
 *   load     swapin_sync(), until read        do_swap_page()
 *   release  folio_put_swap(), folio_free_swap()  do_swap_page()
 *
 * Entries are put in runs, as swap_pte_batch() finds them in page tables that
 * were filled in the order of allocation: neighbouring entries, at most as many
 * as a page table has (512), or what run= says; how many runs there were is
 * reported. Allocation of folios, their content, the comparison of what was
 * loaded with what was stored, and freeing the folios are not timed.
 *
 * /sys/kernel/debug/swap_bench/run takes a line, and returns when it is done:
 *
 *   op=alloc_free  alloc, map, evict, dup, put, free: nothing is stored
 *   op=swap        the same with store, then out again, load and release
 *                  both: pages= order= cpus= rounds= run=
 *   op=fill        alloc, map, store (store=0: do not), evict; the entries stay
 *   op=drain       free what op=fill left
 *   op=settle      give free pages in per-CPU lists back, to look at free memory
 *
 * /sys/kernel/debug/swap_bench/result has JSON, one object per line: for each
 * round, CPU and phase the pages and the time that they took together. "cycles"
 * are those of get_cycles(); with QEMU's -icount shift=0 they are instructions.
 */
#define pr_fmt(fmt) "swap_bench: " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/init.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/mutex.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/swap_ops.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <linux/writeback.h>
#include <linux/zswap.h>

#include "internal.h"
#include "page_alloc.h"
#include "swap.h"

/* How many pages are in one phase before the next begins: 4 MB. */
#define CHUNK_PAGES	1024U
/* The longest run of entries that zap_pte_range() finds. */
#define TABLE_PAGES	512U

#define MAX_ORDER_BENCH	(IS_ENABLED(CONFIG_THP_SWAP) ? 9U : 0U)
#define MAX_PAGES	BIT(28)
#define MAX_ROUNDS	1000

enum bench_op { OP_NONE, OP_ALLOC_FREE, OP_SWAP, OP_FILL, OP_DRAIN, OP_SETTLE };

static const char * const op_names[] = {
	[OP_NONE] = "", [OP_ALLOC_FREE] = "alloc_free", [OP_SWAP] = "swap",
	[OP_FILL] = "fill", [OP_DRAIN] = "drain",
	[OP_SETTLE] = "settle",
};

enum phase { ALLOC, MAP, STORE, EVICT, DUP, PUT, FREE, LOAD, RELEASE, NR_PHASES };

static const char * const phase_names[NR_PHASES] = {
	"alloc", "map", "store", "evict", "dup", "put", "free", "load", "release",
};

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

/* What a line asks for, and what the threads share. */
struct bench {
	enum bench_op op;
	unsigned long order;
	unsigned long pages;		/* of each CPU */
	unsigned long cpus;
	unsigned long rounds;
	unsigned long run;		/* pages, the longest run that is put at once */
	unsigned long store;
	struct mem_cgroup *memcg;	/* whose the folios are */
	atomic_t arrived;		/* at barriers, all of them together */
	bool stop;
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
};

/* The entries that op=fill holds, as runs, so that they take no space to speak of. */
struct fill_run {
	swp_entry_t entry;
	unsigned long nr;
};

struct fill_block {
	struct list_head list;
	unsigned int nr;
	struct fill_run runs[(PAGE_SIZE - 32) / sizeof(struct fill_run)];
};

static_assert(sizeof(struct fill_block) <= PAGE_SIZE);

static DEFINE_MUTEX(bench_mutex);
static struct bench bench_last;		/* what the results are of */
static struct bench_result *bench_results;
static unsigned int bench_nr_results;
static char bench_error[128];
static LIST_HEAD(fill_blocks);
static unsigned long fill_pages;
static unsigned long fill_nr_blocks;

static void phase_start(struct bench_worker *w)
{
	w->started.ns = ktime_get_ns();
	w->started.cycles = get_cycles();
}

static void phase_end(struct bench_worker *w, enum phase phase, unsigned long pages)
{
	u64 cycles = get_cycles();
	struct bench_time *time = &w->result.time[phase];

	time->ns += ktime_get_ns() - w->started.ns;
	time->cycles += cycles - w->started.cycles;
	w->result.pages[phase] += pages;
}

static int worker_fail(struct bench_worker *w, int err, const char *failed)
{
	if (!w->err) {
		w->err = err;
		w->failed = failed;
	}
	WRITE_ONCE(w->b->stop, true);
	return err;
}

/* Go on when all threads are here. */
static int worker_barrier(struct bench_worker *w)
{
	int wanted = ++w->barriers * w->b->cpus;

	atomic_inc(&w->b->arrived);
	while (atomic_read(&w->b->arrived) < wanted) {
		if (READ_ONCE(w->b->stop))
			return -EINTR;
		cpu_relax();
		cond_resched();
	}
	return READ_ONCE(w->b->stop) ? -EINTR : 0;
}

/* The word that fills page @nr of the worker: never zero, and another each round. */
static u64 page_word(const struct bench_worker *w, unsigned long nr)
{
	u64 key = ((u64)w->result.round << 40) + ((u64)w->cpu << 32) + nr + 1;

	return key * 0x9E3779B97F4A7C15ULL | 1;
}

static void folio_fill(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		void *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		memset64(addr, page_word(w, first + i), PAGE_SIZE / sizeof(u64));
		kunmap_local(addr);
	}
}

static bool folio_verify(struct bench_worker *w, struct folio *folio, unsigned long first)
{
	unsigned int i, j;
	bool same = true;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		u64 word = page_word(w, first + i);
		u64 *addr = kmap_local_folio(folio, i * PAGE_SIZE);

		for (j = 0; j < PAGE_SIZE / sizeof(u64); j++)
			same &= addr[j] == word;
		kunmap_local(addr);
	}
	return same;
}

/* A folio as shrink_folio_list() has it: charged, locked, swap-backed, dirty. */
static int make_folio(struct bench_worker *w, unsigned long first)
{
	struct folio *folio;

	folio = folio_alloc(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN, w->b->order);
	if (!folio)
		return worker_fail(w, -ENOMEM, "folio_alloc");
	if (mem_cgroup_charge(folio, NULL, GFP_KERNEL)) {
		folio_put(folio);
		return worker_fail(w, -ENOMEM, "mem_cgroup_charge");
	}
	folio_fill(w, folio, first);
	__folio_set_locked(folio);
	__folio_set_swapbacked(folio);
	folio_mark_uptodate(folio);
	w->folios[w->nr_folios++] = folio;
	return 0;
}

static int chunk_make(struct bench_worker *w, unsigned int nr)
{
	unsigned long first = w->nr_out << w->b->order;
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = make_folio(w, first + ((unsigned long)i << w->b->order));
	return err;
}

static int chunk_alloc(struct bench_worker *w, swp_entry_t *entries)
{
	unsigned int i;
	int err = 0;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		err = folio_alloc_swap(w->folios[i]);
		if (unlikely(err))
			return worker_fail(w, err, "folio_alloc_swap");
		entries[i] = w->folios[i]->swap;
	}
	phase_end(w, ALLOC, i << w->b->order);

	for (i = 0; i < w->nr_folios; i++)
		folio_mark_dirty(w->folios[i]);
	return 0;
}

static int chunk_map(struct bench_worker *w)
{
	struct folio *folio;
	unsigned int i, j;
	int err;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio = w->folios[i];
		for (j = 0; j < 1U << w->b->order; j++) {
			err = folio_dup_swap(folio, folio_page(folio, j));
			if (likely(!err))
				continue;
			while (j--)
				folio_put_swap(folio, folio_page(folio, j));
			return worker_fail(w, err, "folio_dup_swap");
		}
		w->nr_mapped++;
	}
	phase_end(w, MAP, i << w->b->order);
	return 0;
}

/* Ends with all folios locked again, whatever happened. */
static int chunk_store(struct bench_worker *w)
{
	struct swap_io_ctx ctx = {};
	unsigned int i, nr_unlocked = 0;
	int err = 0;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio_clear_dirty_for_io(w->folios[i]);
		err = swap_writeout(&ctx, w->folios[i]);
		if (unlikely(err == AOP_WRITEPAGE_ACTIVATE))
			break;
		nr_unlocked++;
		if (unlikely(err))
			break;
	}
	swap_write_submit(&ctx);
	for (i = 0; i < nr_unlocked; i++)
		folio_wait_writeback(w->folios[i]);
	phase_end(w, STORE, nr_unlocked << w->b->order);

	for (i = 0; i < nr_unlocked; i++)
		folio_lock(w->folios[i]);
	if (err)
		return worker_fail(w, err < 0 ? err : -ENOSPC, "swap_writeout");
	for (i = 0; i < w->nr_folios; i++)
		if (folio_test_dirty(w->folios[i]))
			return worker_fail(w, -EIO, "writing to the device");
	return 0;
}

/* What __remove_mapping() does with a folio in the swap cache. */
static bool evict_folio(struct folio *folio)
{
	struct swap_cluster_info *ci = swap_cluster_get_and_lock_irq(folio);
	void *shadow;

	if (unlikely(!folio_ref_freeze(folio, 1 + folio_nr_pages(folio)))) {
		swap_cluster_unlock_irq(ci);
		return false;
	}
	shadow = workingset_eviction(folio, NULL);
	__swap_cache_del_folio(ci, folio, folio->swap, shadow, true);
	swap_cluster_unlock_irq(ci);
	return true;
}

static int chunk_evict(struct bench_worker *w, const swp_entry_t *entries)
{
	unsigned int i;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++)
		if (unlikely(!evict_folio(w->folios[i])))
			break;
	phase_end(w, EVICT, i << w->b->order);
	if (unlikely(i < w->nr_folios)) {
		while (i--) {
			folio_ref_unfreeze(w->folios[i], 1);
			swap_put_entries_direct(entries[i], 1 << w->b->order);
		}
		return worker_fail(w, -EBUSY, "folio_ref_freeze");
	}

	for (i = 0; i < w->nr_folios; i++)
		folio_ref_unfreeze(w->folios[i], 1);
	return 0;
}

/* Free the folios of the chunk; if they are in the swap cache, their entries as well. */
static void chunk_drop(struct bench_worker *w)
{
	struct folio *folio;
	unsigned int i;

	for (i = 0; i < w->nr_folios; i++) {
		folio = w->folios[i];
		if (folio_test_swapcache(folio)) {
			if (i < w->nr_mapped)
				folio_put_swap(folio, NULL);
			swap_cache_del_folio(folio);
		}
		folio_unlock(folio);
		folio_put(folio);
	}
	w->nr_folios = 0;
	w->nr_mapped = 0;
}

/* Swap @nr folios out. @entries gets theirs. */
static int chunk_out(struct bench_worker *w, unsigned int nr, swp_entry_t *entries)
{
	unsigned int flags;
	int err;

	err = chunk_make(w, nr);
	if (!err) {
		flags = memalloc_noreclaim_save();	/* as in reclaim */
		err = chunk_alloc(w, entries);
		if (!err)
			err = chunk_map(w);
		if (!err && w->b->store)
			err = chunk_store(w);
		if (!err)
			err = chunk_evict(w, entries);
		memalloc_noreclaim_restore(flags);
	}
	chunk_drop(w);
	return err;
}

static unsigned int chunk_size(const struct bench_worker *w)
{
	unsigned long left = (w->b->pages >> w->b->order) - w->nr_out;

	return min(left, CHUNK_PAGES >> w->b->order);
}

static int worker_out(struct bench_worker *w)
{
	unsigned int nr;
	int err = worker_barrier(w);

	w->nr_out = 0;
	w->nr_in = 0;
	while (!err && (nr = chunk_size(w))) {
		err = chunk_out(w, nr, w->entries + w->nr_out);
		if (!err)
			w->nr_out += nr;
		if (!err && READ_ONCE(w->b->stop))
			err = -EINTR;
		cond_resched();
	}
	return err;
}

/* Find the runs of neighbouring entries, as swap_pte_batch() would. */
static void worker_find_runs(struct bench_worker *w)
{
	unsigned long i, n, end, table = max(TABLE_PAGES >> w->b->order, 1U);
	unsigned long longest = max(w->b->run >> w->b->order, 1UL);

	w->result.runs = 0;
	for (i = 0; i < w->nr_out; i += n) {
		end = min3(w->nr_out, i + longest, round_down(i, table) + table);
		for (n = 1; i + n < end; n++)
			if (w->entries[i + n].val !=
			    w->entries[i].val + (n << w->b->order))
				break;
		w->runs[i] = n;
		w->result.runs++;
	}
}

static int worker_dup(struct bench_worker *w)
{
	unsigned long i;
	unsigned int j;
	int err = worker_barrier(w);

	if (err)
		return err;
	phase_start(w);
	for (i = 0; i < w->nr_out; i++) {
		swp_entry_t entry = w->entries[i];

		for (j = 0; j < 1U << w->b->order; j++, entry.val++) {
			err = swap_dup_entry_direct(entry);
			if (unlikely(err))
				return worker_fail(w, err, "swap_dup_entry_direct");
			w->nr_dup++;
		}
	}
	phase_end(w, DUP, i << w->b->order);
	cond_resched();
	return 0;
}

static int worker_put(struct bench_worker *w, enum phase phase)
{
	unsigned long i, n;
	int err = worker_barrier(w);

	if (err)
		return err;
	phase_start(w);
	for (i = 0; i < w->nr_out; i += n) {
		n = w->runs[i];
		swap_put_entries_direct(w->entries[i], n << w->b->order);
	}
	phase_end(w, phase, i << w->b->order);
	if (phase == PUT)
		w->nr_dup = 0;
	else
		w->nr_out = 0;
	cond_resched();
	return 0;
}

/* Swap a page, or the folio that starts there, in as a fault would. */
static struct folio *load_folio(swp_entry_t entry, unsigned int order)
{
	struct swap_info_struct *si = get_swap_device(entry);
	struct folio *folio;

	if (unlikely(!si))
		return NULL;
	folio = swapin_sync(entry, GFP_HIGHUSER_MOVABLE, BIT(order), NULL,
			    get_task_policy(current), 0);
	if (!IS_ERR_OR_NULL(folio))
		folio_lock(folio);
	put_swap_device(si);
	return folio;
}

static swp_entry_t worker_entry(const struct bench_worker *w, unsigned long page)
{
	swp_entry_t entry = w->entries[page >> w->b->order];

	entry.val += page & ((1UL << w->b->order) - 1);
	return entry;
}

/* Load @nr folios of @order. Ends with those in w->folios locked. */
static int chunk_load(struct bench_worker *w, unsigned int nr, unsigned int order)
{
	struct folio *folio;
	unsigned int i;

	phase_start(w);
	for (i = 0; i < nr; i++) {
		folio = load_folio(worker_entry(w, w->nr_in + ((unsigned long)i << order)),
				   order);
		if (IS_ERR_OR_NULL(folio))
			return worker_fail(w, folio ? PTR_ERR(folio) : -ENOMEM,
					   "swapin_sync");
		w->folios[w->nr_folios++] = folio;
	}
	phase_end(w, LOAD, (unsigned long)i << order);

	for (i = 0; i < nr; i++) {
		folio = w->folios[i];
		if (!folio_test_uptodate(folio))
			return worker_fail(w, -EIO, "reading from the device");
		if (folio_order(folio) != order)
			return worker_fail(w, -EINVAL, "loading in the order asked for");
		if (!folio_verify(w, folio, w->nr_in + ((unsigned long)i << order)))
			return worker_fail(w, -EUCLEAN, "verifying what was loaded");
	}
	return 0;
}

static int chunk_release(struct bench_worker *w)
{
	unsigned long pages = 0;
	unsigned int i;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++) {
		folio_put_swap(w->folios[i], NULL);
		if (unlikely(!folio_free_swap(w->folios[i])))
			break;
		pages += folio_nr_pages(w->folios[i]);
	}
	phase_end(w, RELEASE, pages);
	w->nr_in += pages;
	if (i == w->nr_folios)
		return 0;
	w->nr_in += folio_nr_pages(w->folios[i]);
	swap_cache_del_folio(w->folios[i]);
	return worker_fail(w, -EBUSY, "folio_free_swap");
}

/*
 * Swap everything in. In the order it went out, if nobody has ever enabled
 * zswap; else page by page, as do_swap_page() does it.
 */
static int worker_in(struct bench_worker *w)
{
	unsigned int order = zswap_never_enabled() ? w->b->order : 0;
	unsigned long end = w->nr_out << w->b->order;
	unsigned int i;
	int err = worker_barrier(w);

	while (!err && w->nr_in < end) {
		err = chunk_load(w, min(end - w->nr_in, CHUNK_PAGES) >> order, order);
		if (!err)
			err = chunk_release(w);
		for (i = 0; i < w->nr_folios; i++) {
			/* After a failure it may still be at its entry, which has a count. */
			if (folio_test_swapcache(w->folios[i]))
				swap_cache_del_folio(w->folios[i]);
			folio_unlock(w->folios[i]);
			folio_put(w->folios[i]);
		}
		w->nr_folios = 0;
		if (!err && READ_ONCE(w->b->stop))
			err = -EINTR;
		cond_resched();
	}
	if (!err)
		w->nr_out = 0;
	return err;
}

/* Free what a failure left. */
static void worker_drop(struct bench_worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_dup; i++)
		swap_put_entries_direct(worker_entry(w, i), 1);
	for (i = w->nr_in; i < w->nr_out << w->b->order; i++)
		swap_put_entries_direct(worker_entry(w, i), 1);
	w->nr_dup = 0;
	w->nr_in = 0;
	w->nr_out = 0;
}

static void worker_round(struct bench_worker *w)
{
	int err;

	err = worker_out(w);
	if (!err) {
		worker_find_runs(w);
		err = worker_dup(w);
	}
	if (!err)
		err = worker_put(w, PUT);
	if (!err)
		err = worker_put(w, FREE);
	if (!err && w->b->op == OP_SWAP) {
		err = worker_out(w);
		if (!err)
			err = worker_in(w);
	}
	worker_drop(w);
}

static int fill_add(struct bench_worker *w, swp_entry_t entry, unsigned long nr)
{
	struct fill_block *block = list_last_entry_or_null(&fill_blocks,
							   struct fill_block, list);
	struct fill_run *run;

	if (block && block->nr) {
		run = &block->runs[block->nr - 1];
		if (run->entry.val + run->nr == entry.val) {
			run->nr += nr;
			goto added;
		}
	}
	if (!block || block->nr == ARRAY_SIZE(block->runs)) {
		block = (struct fill_block *)get_zeroed_page(GFP_KERNEL);
		if (!block) {
			swap_put_entries_direct(entry, nr);
			return worker_fail(w, -ENOMEM, "get_zeroed_page");
		}
		list_add_tail(&block->list, &fill_blocks);
		fill_nr_blocks++;
	}
	block->runs[block->nr++] = (struct fill_run){ entry, nr };
added:
	fill_pages += nr;
	return 0;
}

static void worker_fill(struct bench_worker *w)
{
	unsigned int i, nr;
	int err = 0;

	while (!err && !READ_ONCE(w->b->stop) && (nr = chunk_size(w))) {
		err = chunk_out(w, nr, w->entries);
		if (err)
			break;
		/* All of them, to hold or, after a failure, to give back. */
		for (i = 0; i < nr; i++)
			err = fill_add(w, w->entries[i], 1UL << w->b->order) ?: err;
		w->nr_out += nr;
		cond_resched();
	}
}

static void fill_drain(void)
{
	struct fill_block *block, *next;
	unsigned long done, nr;
	unsigned int i;

	list_for_each_entry_safe(block, next, &fill_blocks, list) {
		for (i = 0; i < block->nr; i++) {
			swp_entry_t entry = block->runs[i].entry;

			for (done = 0; done < block->runs[i].nr; done += nr) {
				nr = min(block->runs[i].nr - done, TABLE_PAGES);
				swap_put_entries_direct(entry, nr);
				entry.val += nr;
			}
			cond_resched();
		}
		list_del(&block->list);
		free_page((unsigned long)block);
	}
	fill_pages = 0;
	fill_nr_blocks = 0;
}

static int worker_main(void *data)
{
	struct bench_worker *w = data;
	struct mem_cgroup *old = set_active_memcg(w->b->memcg);

	if (w->b->op == OP_FILL)
		worker_fill(w);
	else
		worker_round(w);
	set_active_memcg(old);
	complete(&w->done);
	return 0;
}

static void worker_free(struct bench_worker *w)
{
	if (!w)
		return;
	kvfree(w->entries);
	kvfree(w->runs);
	kvfree(w);
}

static struct bench_worker *worker_new(struct bench *b, unsigned int cpu)
{
	unsigned long nr = b->pages >> b->order;
	struct bench_worker *w = kvzalloc(sizeof(*w), GFP_KERNEL);

	if (!w)
		return NULL;
	if (b->op == OP_FILL)
		nr = CHUNK_PAGES;
	w->entries = kvcalloc(nr, sizeof(*w->entries), GFP_KERNEL);
	w->runs = kvcalloc(nr, sizeof(*w->runs), GFP_KERNEL);
	if (!w->entries || !w->runs) {
		worker_free(w);
		return NULL;
	}
	w->b = b;
	w->cpu = cpu;
	init_completion(&w->done);
	return w;
}

/* One round: a thread on each CPU, waited for. The results are added. */
static int bench_round(struct bench *b, struct bench_worker **workers, unsigned int round)
{
	unsigned int i, started = 0;
	struct task_struct *task;
	int err = 0;

	atomic_set(&b->arrived, 0);
	b->stop = false;
	for (i = 0; i < b->cpus; i++) {
		struct bench_worker *w = workers[i];

		w->result = (struct bench_result){ .round = round, .cpu = w->cpu };
		w->barriers = 0;
		reinit_completion(&w->done);
		task = kthread_create(worker_main, w, "swap_bench/%u", w->cpu);
		if (IS_ERR(task)) {
			WRITE_ONCE(b->stop, true);
			err = PTR_ERR(task);
			break;
		}
		kthread_bind(task, w->cpu);
		wake_up_process(task);
		started++;
	}
	for (i = 0; i < started; i++) {
		if (wait_for_completion_killable(&workers[i]->done)) {
			WRITE_ONCE(b->stop, true);
			wait_for_completion(&workers[i]->done);
			err = -EINTR;
		}
	}
	for (i = 0; i < started && !err; i++) {
		err = workers[i]->err;
		if (err)
			snprintf(bench_error, sizeof(bench_error), "%s: error %d",
				 workers[i]->failed, err);
	}
	for (i = 0; i < started && !err && b->op != OP_FILL; i++)
		bench_results[bench_nr_results++] = workers[i]->result;
	return err;
}

static int bench_run(struct bench *b)
{
	struct bench_worker **workers;
	unsigned int i = 0, cpu;
	int err = 0;

	kvfree(bench_results);
	bench_nr_results = 0;
	bench_results = kvcalloc(b->rounds * b->cpus, sizeof(*bench_results), GFP_KERNEL);
	workers = kcalloc(b->cpus, sizeof(*workers), GFP_KERNEL);
	if (!bench_results || !workers)
		err = -ENOMEM;

	for_each_online_cpu(cpu) {
		if (err || i == b->cpus)
			break;
		workers[i] = worker_new(b, cpu);
		if (!workers[i++])
			err = -ENOMEM;
	}
	if (!err)
		b->memcg = get_mem_cgroup_from_current();
	for (i = 0; i < b->rounds && !err; i++)
		err = bench_round(b, workers, i);
	if (b->memcg)
		mem_cgroup_put(b->memcg);

	for (i = 0; workers && i < b->cpus; i++)
		worker_free(workers[i]);
	kfree(workers);
	return err;
}

struct bench_key {
	const char *name;
	unsigned long *value;
	unsigned long min, max;
};

static int bench_refuse(const char *what, const char *why)
{
	snprintf(bench_error, sizeof(bench_error), "%s: %s", what, why);
	return -EINVAL;
}

static int parse_word(struct bench *b, const struct bench_key *keys, char *word)
{
	char *name = strsep(&word, "=");
	const struct bench_key *key;
	int op;

	if (!word)
		return bench_refuse(name, "not KEY=VALUE");
	if (!strcmp(name, "op")) {
		op = match_string(op_names, ARRAY_SIZE(op_names), word);
		if (op <= OP_NONE)
			return bench_refuse(word, "no such op");
		b->op = op;
		return 0;
	}
	for (key = keys; key->name; key++) {
		if (strcmp(name, key->name))
			continue;
		if (kstrtoul(word, 10, key->value))
			return bench_refuse(name, "not a number");
		if (*key->value < key->min || *key->value > key->max)
			return bench_refuse(name, "out of range");
		return 0;
	}
	return bench_refuse(name, "no such key");
}

static int parse(struct bench *b, char *line)
{
	const struct bench_key keys[] = {
		{ "order", &b->order, 0, MAX_ORDER_BENCH },
		{ "pages", &b->pages, 1, MAX_PAGES },
		{ "cpus", &b->cpus, 1, num_online_cpus() },
		{ "rounds", &b->rounds, 1, MAX_ROUNDS },
		{ "run", &b->run, 1, TABLE_PAGES },
		{ "store", &b->store, 0, 1 },
		{}
	};
	char *word;
	int err = 0;

	*b = (struct bench){
		.pages = 65536, .cpus = 1, .rounds = 1, .run = TABLE_PAGES, .store = 1,
	};
	while (!err && (word = strsep(&line, " \t\n")))
		if (*word)
			err = parse_word(b, keys, word);
	if (err)
		return err;
	if (b->op == OP_NONE)
		return bench_refuse("op", "missing");
	if (b->pages & ((1UL << b->order) - 1))
		return bench_refuse("pages", "not a multiple of the order's pages");
	if (b->op == OP_FILL && (b->cpus > 1 || b->rounds > 1))
		return bench_refuse("op=fill", "one CPU and one round only");
	if (b->op == OP_ALLOC_FREE)
		b->store = 0;
	else if (b->op == OP_SWAP && !b->store)
		return bench_refuse("op=swap", "store=0 is op=alloc_free");
	return 0;
}

static ssize_t run_write(struct file *file, const char __user *buf, size_t count,
			 loff_t *ppos)
{
	char *line = memdup_user_nul(buf, min(count, 256UL));
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	if (mutex_lock_killable(&bench_mutex)) {
		kfree(line);
		return -EINTR;
	}
	*bench_error = '\0';
	bench_nr_results = 0;
	err = count > 256 ? bench_refuse("line", "too long") : parse(&bench_last, line);
	if (!err && bench_last.op == OP_DRAIN)
		fill_drain();
	else if (!err && bench_last.op == OP_SETTLE)
		drain_all_pages(NULL);
	else if (!err)
		err = bench_run(&bench_last);
	if (err)
		pr_err("%s\n", *bench_error ? bench_error : "failed");
	mutex_unlock(&bench_mutex);
	kfree(line);
	return err ?: count;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
	.llseek = noop_llseek,
};

static void show_result(struct seq_file *m, const struct bench_result *r)
{
	int i;

	for (i = 0; i < NR_PHASES; i++) {
		if (!r->pages[i])
			continue;
		seq_printf(m, "{\"op\": \"%s\", \"order\": %lu, \"cpus\": %lu, ",
			   op_names[bench_last.op], bench_last.order, bench_last.cpus);
		seq_printf(m, "\"round\": %u, \"cpu\": %u, \"runs\": %lu, ",
			   r->round, r->cpu, r->runs);
		seq_printf(m, "\"phase\": \"%s\", \"pages\": %lu, ",
			   phase_names[i], r->pages[i]);
		seq_printf(m, "\"ns\": %llu, \"cycles\": %llu}\n",
			   r->time[i].ns, r->time[i].cycles);
	}
}

static int result_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	mutex_lock(&bench_mutex);
	for (i = 0; i < bench_nr_results; i++)
		show_result(m, &bench_results[i]);
	if (bench_last.op >= OP_FILL)
		seq_printf(m, "{\"op\": \"%s\", \"filled\": %lu, \"own_bytes\": %lu}\n",
			   op_names[bench_last.op], fill_pages,
			   fill_nr_blocks * PAGE_SIZE);
	if (*bench_error)
		seq_printf(m, "{\"error\": \"%s\"}\n", bench_error);
	mutex_unlock(&bench_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int __init swap_bench_init(void)
{
	struct dentry *dir = debugfs_create_dir("swap_bench", NULL);

	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	return 0;
}
late_initcall(swap_bench_init);
