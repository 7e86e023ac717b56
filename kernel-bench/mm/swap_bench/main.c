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
 *   compress crypto_acomp_compress()          no part of it: the compressor alone
 *
 * Entries are put in runs, as swap_pte_batch() finds them in page tables that
 * were filled in the order of allocation: neighbouring entries, at most as many
 * as a page table has (512), or what run= says; how many runs there were is
 * reported. A page is one word repeated; with real=1 it compresses about 3:1, as
 * pages of programs do (see real.c). Allocation of folios, their content, the comparison of what was
 * loaded with what was stored, and freeing the folios are not timed.
 *
 * /sys/kernel/debug/swap_bench/run takes a line, and returns when it is done:
 *
 *   op=alloc_free  alloc, map, evict, dup, put, free: nothing is stored
 *   op=swap        the same with store, then out again, load and release
 *                  both: pages= order= cpus= rounds= run= real=
 *   op=fill        alloc, map, store (store=0: do not), evict; the entries stay
 *   op=drain       free what op=fill left
 *   op=settle      give free pages in per-CPU lists back, to look at free memory
 *
 * /sys/kernel/debug/swap_bench/result has JSON, one object per line: for each
 * round, CPU and phase the pages and the time that they took together. "cycles"
 * are those of get_cycles(); with QEMU's -icount shift=0 they are instructions.
 */
#define pr_fmt(fmt) "swap_bench: " fmt

#include <linux/debugfs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../internal.h"
#include "../page_alloc.h"
#include "bench.h"

#define MAX_ORDER_BENCH	(IS_ENABLED(CONFIG_THP_SWAP) ? 9U : 0U)
#define MAX_PAGES	BIT(28)
#define MAX_ROUNDS	1000

static const char * const op_names[] = {
	[OP_NONE] = "", [OP_ALLOC_FREE] = "alloc_free", [OP_SWAP] = "swap",
	[OP_FILL] = "fill", [OP_DRAIN] = "drain", [OP_SETTLE] = "settle",
};

static const char * const phase_names[NR_PHASES] = {
	"alloc", "map", "store", "evict", "dup", "put", "free", "load", "release",
	"compress",
};

static DEFINE_MUTEX(bench_mutex);
static struct bench bench_last;		/* what the results are of */

struct bench_key {
	const char *name;
	unsigned long *value;
	unsigned long min, max;
};

static void bench_reset(struct bench *b)
{
	kvfree(b->results);
	*b = (struct bench){
		.pages = 65536, .cpus = 1, .rounds = 1, .run = TABLE_PAGES, .store = 1,
	};
}

static int bench_refuse(struct bench *b, const char *what, const char *why)
{
	snprintf(b->error, sizeof(b->error), "%s: %s", what, why);
	return -EINVAL;
}

static int parse_word(struct bench *b, const struct bench_key *keys, char *word)
{
	char *name = strsep(&word, "=");
	const struct bench_key *key;
	int op;

	if (!word)
		return bench_refuse(b, name, "not KEY=VALUE");
	if (!strcmp(name, "op")) {
		op = match_string(op_names, ARRAY_SIZE(op_names), word);
		if (op <= OP_NONE)
			return bench_refuse(b, word, "no such op");
		b->op = op;
		return 0;
	}
	for (key = keys; key->name; key++) {
		if (strcmp(name, key->name))
			continue;
		if (kstrtoul(word, 10, key->value))
			return bench_refuse(b, name, "not a number");
		if (*key->value < key->min || *key->value > key->max)
			return bench_refuse(b, name, "out of range");
		return 0;
	}
	return bench_refuse(b, name, "no such key");
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
		{ "real", &b->real, 0, 1 },
		{}
	};
	char *word;
	int err = 0;

	while (!err && (word = strsep(&line, " \t\n")))
		if (*word)
			err = parse_word(b, keys, word);
	if (err)
		return err;
	if (b->op == OP_NONE)
		return bench_refuse(b, "op", "missing");
	if (b->pages & ((1UL << b->order) - 1))
		return bench_refuse(b, "pages", "not a multiple of the order's pages");
	if (b->op == OP_FILL && (b->cpus > 1 || b->rounds > 1))
		return bench_refuse(b, "op=fill", "one CPU and one round only");
	if (b->op == OP_ALLOC_FREE)
		b->store = 0;
	else if (b->op == OP_SWAP && !b->store)
		return bench_refuse(b, "op=swap", "store=0 is op=alloc_free");
	return 0;
}

static ssize_t run_write(struct file *file, const char __user *buf, size_t count,
			 loff_t *ppos)
{
	char *line = memdup_user_nul(buf, min(count, 256UL));
	struct bench *b = &bench_last;
	int err;

	if (IS_ERR(line))
		return PTR_ERR(line);
	if (mutex_lock_killable(&bench_mutex)) {
		kfree(line);
		return -EINTR;
	}
	bench_reset(b);
	err = count > 256 ? bench_refuse(b, "line", "too long") : parse(b, line);
	if (!err && b->op == OP_DRAIN)
		bench_drain();
	else if (!err && b->op == OP_SETTLE)
		drain_all_pages(NULL);
	else if (!err)
		err = bench_run(b);
	if (err)
		pr_err("%s\n", *b->error ? b->error : "failed");
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
	const struct bench *b = &bench_last;
	unsigned long filled, own_bytes;
	unsigned int i;

	mutex_lock(&bench_mutex);
	for (i = 0; i < b->nr_results; i++)
		show_result(m, &b->results[i]);
	if (b->op >= OP_FILL) {
		filled = bench_filled(&own_bytes);
		seq_printf(m, "{\"op\": \"%s\", \"filled\": %lu, \"own_bytes\": %lu}\n",
			   op_names[b->op], filled, own_bytes);
	}
	if (*b->error)
		seq_printf(m, "{\"error\": \"%s\"}\n", b->error);
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
