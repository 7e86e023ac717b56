// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: a thread on each CPU, which goes through the
 * phases of a round; they begin each phase together.
 */
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "bench.h"

/* Note why a worker cannot go on, and stop all of them. Return: @err. */
int bench_fail(struct bench_worker *w, int err, const char *failed)
{
	if (!w->err) {
		w->err = err;
		w->failed = failed;
	}
	WRITE_ONCE(w->b->stop, true);
	return err;
}

/* Go on when all threads are here. */
int bench_barrier(struct bench_worker *w)
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

static void worker_round(struct bench_worker *w)
{
	int err;

	err = bench_swap_out(w);
	if (!err) {
		bench_find_runs(w);
		err = bench_dup(w);
	}
	if (!err)
		err = bench_put(w, PUT);
	if (!err)
		err = bench_put(w, FREE);
	if (!err && w->b->op == OP_SWAP) {
		err = bench_swap_out(w);
		if (!err)
			err = bench_swap_in(w);
	}
	bench_put_rest(w);
	if (!err && w->b->op == OP_SWAP)
		bench_compress(w);
}

static int worker_main(void *data)
{
	struct bench_worker *w = data;
	struct mem_cgroup *old = set_active_memcg(w->b->memcg);

	if (w->b->op == OP_FILL)
		bench_fill(w);
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
			snprintf(b->error, sizeof(b->error), "%s: error %d",
				 workers[i]->failed, err);
	}
	for (i = 0; i < started && !err && b->op != OP_FILL; i++)
		b->results[b->nr_results++] = workers[i]->result;
	return err;
}

/* Do what @b asks for; the results, or the reason for failing, are left in it. */
int bench_run(struct bench *b)
{
	struct bench_worker **workers;
	unsigned int i = 0, cpu;
	int err = 0;

	b->results = kvcalloc(b->rounds * b->cpus, sizeof(*b->results), GFP_KERNEL);
	workers = kcalloc(b->cpus, sizeof(*workers), GFP_KERNEL);
	if (!b->results || !workers)
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
