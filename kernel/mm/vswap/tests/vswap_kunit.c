// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of virtual swap: the space, the tables, slots and their backing.
 *
 * They work on the virtual device itself, which nothing else uses while the
 * machine boots. Each ends with the walk over all invariants.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/console.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/hex.h>
#include <linux/init.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/moduleparam.h>
#include <linux/pgtable.h>
#include <linux/prandom.h>
#include <linux/printk.h>
#include <linux/shmem_fs.h>
#include <linux/swap_ops.h>
#include <linux/sysfs.h>
#include <linux/zsmalloc.h>
#include <trace/events/kmem.h>

#include "../../internal.h"
#include "../internal.h"
#include "../zswap.h"

#define MAX_TEST_ORDER	(SWAP_NR_ORDERS - 1)

static bool always_wanted(struct folio *folio)
{
	return true;
}

static enum vswap_mode mode_before;

static int vswap_test_init(struct kunit *test)
{
	/* Cases change what others use later on. */
	if (system_state >= SYSTEM_RUNNING)
		kunit_skip(test, "runs only while the machine boots");
	KUNIT_ASSERT_NOT_NULL(test, vswap_si);
	mode_before = vswap_mode;
	vswap_set_mode(VSWAP_ALWAYS);
	kunit_activate_static_stub(test, vswap_wanted, always_wanted);
	test->priv = (void *)vswap_counted(VSWAP_NR_USED);
	return 0;
}

static void vswap_test_exit(struct kunit *test)
{
	if (system_state >= SYSTEM_RUNNING)
		return;
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED),
			(unsigned long)test->priv);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	vswap_set_mode(mode_before);
}

static void unlock_and_put(void *ptr)
{
	struct folio *folio = ptr;

	if (folio_test_swapcache(folio))
		swap_cache_del_folio(folio);
	folio_unlock(folio);
	folio_put(folio);
}

/* A locked folio as reclaim has it in hand, full of zeroes. */
static struct folio *new_folio(struct kunit *test, unsigned int order)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					  order);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio_lock(folio);
	__folio_set_swapbacked(folio);
	folio_mark_uptodate(folio);
	KUNIT_ASSERT_EQ(test, mem_cgroup_charge(folio, NULL, GFP_KERNEL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unlock_and_put,
							folio), 0);
	return folio;
}

/*
 * Swap a locked folio out as zeroes and take it from the swap cache, as reclaim
 * does. Then only the returned entry, with a count of one each page, is left.
 */
static swp_entry_t swap_out(struct folio *folio)
{
	struct swap_io_ctx ctx = {};
	swp_entry_t entry = {};

	if (folio_alloc_swap(folio))
		return entry;
	entry = folio->swap;
	folio_dup_swap(folio, NULL);
	swap_writeout(&ctx, folio);
	folio_lock(folio);
	swap_cache_del_folio(folio);
	return entry;
}

static void restart_workers(void *unused)
{
	enable_work(&vswap_space.grow_work);
}

/* Keep the work items away; the test does what they would do. */
static void no_workers(struct kunit *test)
{
	disable_work_sync(&vswap_space.grow_work);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, restart_workers, NULL), 0);
}

/* Slots: allocation and release */

static void alloc_every_order(struct kunit *test)
{
	unsigned long used = vswap_counted(VSWAP_NR_USED);
	unsigned int order;

	for (order = 0; order <= MAX_TEST_ORDER; order++) {
		struct folio *folio;

		/* There are no anonymous folios of this order. */
		if (order == 1)
			continue;
		folio = new_folio(test, order);
		KUNIT_ASSERT_EQ(test, folio_alloc_swap(folio), 0);
		KUNIT_EXPECT_TRUE(test, folio_in_vswap(folio));
		KUNIT_EXPECT_NE(test, swp_offset(folio->swap), 0);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED(swp_offset(folio->swap),
						   1UL << order));
		KUNIT_EXPECT_LT(test, swp_offset(folio->swap), vswap_si->max);
		KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED),
				used + (1UL << order));
		swap_cache_del_folio(folio);
		KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED), used);
	}
}

/*
 * The first virtual slot may be handed out when all branches have been patched,
 * which is later than when the first of them are.
 */
static void no_slot_before_all_is_ready(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);
	int tries, err = 0;

	/* The work item that the test's mode has started may say "ready" as well. */
	for (tries = 0; tries < 3; tries++) {
		WRITE_ONCE(vswap_ready, false);
		err = folio_alloc_swap(folio);
		if (!READ_ONCE(vswap_ready))
			break;
		if (!err)
			swap_cache_del_folio(folio);
	}
	WRITE_ONCE(vswap_ready, true);
	KUNIT_EXPECT_NE(test, err, 0);
	if (err)
		KUNIT_EXPECT_EQ(test, folio_alloc_swap(folio), 0);
	swap_cache_del_folio(folio);
}

static void zero_slot(struct kunit *test)
{
	unsigned long zero = vswap_counted(VSWAP_NR_ZERO);
	swp_entry_t entry = swap_out(new_folio(test, 0));

	KUNIT_ASSERT_NE(test, entry.val, 0);
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZERO), zero + 1);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	KUNIT_EXPECT_EQ(test, swp_swapcount(entry), 1);
	swap_put_entries_direct(entry, 1);
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZERO), zero);
}

/* More references than the swap table word counts: beside it, and back. */
static void count_overflow(struct kunit *test)
{
	swp_entry_t entry = swap_out(new_folio(test, 0));
	const int dups = 4 * SWP_TB_COUNT_MAX + 3;
	int i;

	KUNIT_ASSERT_NE(test, entry.val, 0);
	for (i = 0; i < dups; i++)
		KUNIT_ASSERT_EQ(test, swap_dup_entry_direct(entry), 0);
	KUNIT_EXPECT_EQ(test, swp_swapcount(entry), 1 + dups);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	for (i = 0; i < dups; i++)
		swap_put_entries_direct(entry, 1);
	KUNIT_EXPECT_EQ(test, swp_swapcount(entry), 1);
	KUNIT_EXPECT_NULL(test, __swap_entry_to_cluster(entry)->extend_table);
	swap_put_entries_direct(entry, 1);
}

/* Release in runs */

enum { RUN_SLOTS = 16 };

static unsigned int freed_lens[RUN_SLOTS], nr_freed;
static unsigned long freed[RUN_SLOTS];

static void record_run(const unsigned long *words, unsigned int nr,
		       struct mem_cgroup *memcg)
{
	unsigned int i, at = 0;

	for (i = 0; i < nr_freed; i++)
		at += freed_lens[i];
	memcpy(&freed[at], words, nr * sizeof(*words));
	freed_lens[nr_freed++] = nr;
}

/* A word for data that is nowhere; nobody looks at it. */
static unsigned long data(unsigned int nr)
{
	return vswap_zswap_to_backing((nr + 1UL) << VSWAP_HANDLE_ALIGN, 100 + nr, 0);
}

/* @nr slots in a row of one cluster, each with a folio in the cache. */
static swp_entry_t slots_in_a_row(struct kunit *test, struct folio **folios,
				  unsigned int nr)
{
	unsigned int i, tries;
	unsigned long first;

	for (tries = 0; tries < 4; tries++) {
		migrate_disable();
		for (i = 0; i < nr; i++) {
			if (folio_alloc_swap(folios[i]))
				break;
		}
		migrate_enable();
		KUNIT_ASSERT_EQ(test, i, nr);
		first = swp_offset(folios[0]->swap);
		for (i = 0; i < nr; i++) {
			if (swp_offset(folios[i]->swap) != first + i)
				break;
		}
		if (i == nr && first % SWAPFILE_CLUSTER + nr <= SWAPFILE_CLUSTER)
			return folios[0]->swap;
		/* The cluster was nearly full: the next one is not. */
		for (i = 0; i < nr; i++)
			swap_cache_del_folio(folios[i]);
	}
	KUNIT_FAIL_AND_ABORT(test, "no slots in a row");
	return (swp_entry_t){};
}

static void release_in_runs(struct kunit *test)
{
	/* 'z' is backed by zswap, '.' by nothing. */
	static const char pattern[RUN_SLOTS + 1] = "zz..zzzz.z......";
	unsigned long zswap = vswap_counted(VSWAP_NR_ZSWAP);
	struct folio *folios[RUN_SLOTS];
	swp_entry_t first;
	unsigned int i;

	for (i = 0; i < RUN_SLOTS; i++)
		folios[i] = new_folio(test, 0);
	kunit_activate_static_stub(test, vswap_free_run, record_run);
	nr_freed = 0;

	first = slots_in_a_row(test, folios, RUN_SLOTS);
	for (i = 0; i < RUN_SLOTS; i++) {
		folio_dup_swap(folios[i], NULL);
		if (pattern[i] == 'z')
			vswap_back_by_zswap(folios[i]->swap, data(i));
		KUNIT_EXPECT_EQ(test, vswap_word(folios[i], 0),
				pattern[i] == 'z' ? data(i) : 0);
		swap_cache_del_folio(folios[i]);
	}
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZSWAP), zswap + 7);

	swap_put_entries_direct(first, RUN_SLOTS);
	KUNIT_ASSERT_EQ(test, nr_freed, 3);
	KUNIT_EXPECT_EQ(test, freed_lens[0], 2);
	KUNIT_EXPECT_EQ(test, freed_lens[1], 4);
	KUNIT_EXPECT_EQ(test, freed_lens[2], 1);
	KUNIT_EXPECT_EQ(test, freed[0], data(0));
	KUNIT_EXPECT_EQ(test, freed[2], data(4));
	KUNIT_EXPECT_EQ(test, freed[6], data(9));
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZSWAP), zswap);
}

/* Stored again, written as zeroes, refused: the old data goes each time. */
static void backing_transitions(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);
	struct swap_cluster_info *ci;

	kunit_activate_static_stub(test, vswap_free_run, record_run);
	nr_freed = 0;
	KUNIT_ASSERT_EQ(test, folio_alloc_swap(folio), 0);

	vswap_back_by_zswap(folio->swap, data(0));
	KUNIT_EXPECT_EQ(test, nr_freed, 0);
	vswap_back_by_zswap(folio->swap, data(1));
	KUNIT_ASSERT_EQ(test, nr_freed, 1);
	KUNIT_EXPECT_EQ(test, freed[0], data(0));
	ci = swap_cluster_get_and_lock(folio);
	vswap_mark_zero(ci, folio, true);
	__swap_table_set_zero(ci, swp_cluster_offset(folio->swap));
	swap_cluster_unlock(ci);
	KUNIT_ASSERT_EQ(test, nr_freed, 2);
	KUNIT_EXPECT_EQ(test, freed[1], data(1));
	KUNIT_EXPECT_EQ(test, vswap_word(folio, 0), 0);

	ci = swap_cluster_get_and_lock(folio);
	vswap_mark_zero(ci, folio, false);
	__swap_table_clear_zero(ci, swp_cluster_offset(folio->swap));
	swap_cluster_unlock(ci);
	vswap_back_by_zswap(folio->swap, data(0));
	KUNIT_EXPECT_TRUE(test, vswap_zswap_erase(folio));
	/* vswap_zswap_erase() does nothing if zswap never had a pool, as in this test. */
	__vswap_zswap_erase(folio);
	KUNIT_EXPECT_EQ(test, nr_freed, 3);
	swap_cache_del_folio(folio);
}

/* Not all of a large folio's data goes while others wait for the cluster */

enum { LARGE_SLOTS = 64 };

struct waiter {
	struct swap_cluster_info *ci;
	bool ready, go;
	unsigned int freed;		/* protected by the cluster's lock */
	unsigned int seen;
};

static struct waiter waiter;

/* When the first data is freed, somebody else begins to wait for the cluster. */
static void free_and_be_waited_for(const unsigned long *words, unsigned int nr,
				   struct mem_cgroup *memcg)
{
	unsigned long end = jiffies + 10 * HZ;

	lockdep_assert_held(&waiter.ci->lock);
	WRITE_ONCE(waiter.go, true);
	while (!waiter.freed && !spin_is_contended(&waiter.ci->lock) &&
	       time_before(jiffies, end))
		cpu_relax();
	waiter.freed += nr;
}

static int wait_for_cluster(void *unused)
{
	WRITE_ONCE(waiter.ready, true);
	while (!READ_ONCE(waiter.go) && !kthread_should_stop())
		cond_resched();
	spin_lock(&waiter.ci->lock);
	waiter.seen = waiter.freed;
	spin_unlock(&waiter.ci->lock);
	while (!kthread_should_stop())
		schedule_timeout_uninterruptible(1);
	return 0;
}

static void unlock_large(void *ptr)
{
	struct folio *folio = ptr;

	folio_clear_swapcache(folio);
	folio->swap.val = 0;
	folio_unlock(folio);
	folio_put(folio);
}

/*
 * A locked folio that seems to be in the swap cache from @entry on. Each of the
 * slots has a folio of its own: it works without large folios in swap.
 */
static struct folio *large_folio_at(struct kunit *test, swp_entry_t entry)
{
	struct folio *folio = folio_alloc(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					  ilog2(LARGE_SLOTS));

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio_lock(folio);
	__folio_set_swapbacked(folio);
	folio->swap = entry;
	folio_set_swapcache(folio);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, unlock_large, folio), 0);
	return folio;
}

static struct task_struct *wait_on_another_cpu(struct kunit *test,
					       struct swap_cluster_info *ci)
{
	unsigned int cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	struct task_struct *task;

	waiter = (struct waiter){ .ci = ci };
	task = kthread_create(wait_for_cluster, NULL, "vswap-waiter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	wake_up_process(task);
	while (!READ_ONCE(waiter.ready))
		schedule_timeout_uninterruptible(1);
	return task;
}

/* Locks are fair: who waits gets the cluster as soon as it is released. */
static void large_folio_is_erased_in_parts(struct kunit *test)
{
	struct folio *folios[LARGE_SLOTS], *large;
	struct task_struct *task;
	swp_entry_t first;
	unsigned int i;

	if (num_online_cpus() == 1 || IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "nobody can wait for a spinlock");
	for (i = 0; i < LARGE_SLOTS; i++)
		folios[i] = new_folio(test, 0);
	first = slots_in_a_row(test, folios, LARGE_SLOTS);
	for (i = 0; i < LARGE_SLOTS; i++)
		vswap_back_by_zswap(folios[i]->swap, data(i));
	large = large_folio_at(test, first);

	kunit_activate_static_stub(test, vswap_free_run, free_and_be_waited_for);
	migrate_disable();
	task = wait_on_another_cpu(test, __swap_entry_to_cluster(first));
	__vswap_zswap_erase(large);
	migrate_enable();
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, waiter.freed, (unsigned int)LARGE_SLOTS);
	KUNIT_EXPECT_EQ(test, waiter.seen, SWAP_CLUSTER_MAX);
	for (i = 0; i < LARGE_SLOTS; i++) {
		KUNIT_EXPECT_EQ(test, vswap_word(folios[i], 0), 0);
		swap_cache_del_folio(folios[i]);
	}
}

static struct swap_iocb *pieces[LARGE_SLOTS];
static unsigned int nr_pieces;

static void record_piece(struct swap_io_ctx *ctx, swp_entry_t entry, int rw)
{
	ctx->sio->entry = entry;
	if (nr_pieces < LARGE_SLOTS)
		pieces[nr_pieces] = ctx->sio;
	nr_pieces++;
}

/*
 * Slots of a device that are not neighbours: there is a piece for each page, and
 * the last one to complete stands for all. One that fails makes all fail.
 */
static void io_in_pieces(struct kunit *test)
{
	static const unsigned int failing[] = { 0, 7, LARGE_SLOTS - 1, LARGE_SLOTS };
	struct swap_iocb whole = { .nr_bvecs = 1 }, *sio;
	struct folio *folios[LARGE_SLOTS], *large;
	struct swap_io_ctx ctx = { .sio = &whole };
	struct swap_cluster_info *ci;
	unsigned int off, i, turn;
	swp_entry_t first;
	bool failed;

	for (i = 0; i < LARGE_SLOTS; i++)
		folios[i] = new_folio(test, 0);
	first = slots_in_a_row(test, folios, LARGE_SLOTS);
	large = large_folio_at(test, first);
	ci = __swap_entry_to_cluster(first);
	off = swp_cluster_offset(first);
	/* The stub is in place of the device, of which only the type is looked at. */
	kunit_activate_static_stub(test, vswap_pass_on, record_piece);
	for (i = 0; i < LARGE_SLOTS; i++)
		ci->backing[off + i] = vswap_slot_to_backing(vswap_type, 1 + 2 * i);

	bvec_set_folio(&whole.bvecs[0], large, folio_size(large), 0);
	for (turn = 0; turn < ARRAY_SIZE(failing); turn++) {
		nr_pieces = 0;
		vswap_ops.submit_write(&ctx);
		KUNIT_ASSERT_EQ(test, nr_pieces, (unsigned int)LARGE_SLOTS);
		for (i = 0; i < LARGE_SLOTS; i++) {
			sio = pieces[i];
			KUNIT_EXPECT_PTR_EQ(test, sio->bvecs[0].bv_page, folio_page(large, i));
			KUNIT_EXPECT_EQ(test, sio->len, PAGE_SIZE);
			KUNIT_EXPECT_EQ(test, swp_offset(swap_iocb_entry(sio)), 1 + 2 * i);
			failed = i == failing[turn];
			KUNIT_EXPECT_EQ(test, vswap_io_end(&sio, &failed), i < LARGE_SLOTS - 1);
		}
		KUNIT_EXPECT_PTR_EQ(test, sio, &whole);
		KUNIT_EXPECT_EQ(test, failed, failing[turn] < LARGE_SLOTS);
	}

	memset(ci->backing + off, 0, LARGE_SLOTS * sizeof(*ci->backing));
	for (i = 0; i < LARGE_SLOTS; i++)
		swap_cache_del_folio(folios[i]);
}

/* Pages that were read from elsewhere are left out, at the ends as well. */
static void io_with_holes(struct kunit *test)
{
	static const unsigned int on_device[] = { 3, 4, 9, LARGE_SLOTS - 2 };
	struct swap_iocb whole = { .nr_bvecs = 1 }, *sio = NULL;
	struct folio *folios[LARGE_SLOTS], *large;
	struct swap_io_ctx ctx = { .sio = &whole };
	unsigned int nr = ARRAY_SIZE(on_device), i;
	struct swap_cluster_info *ci;
	unsigned long *words;
	bool failed = false;
	swp_entry_t first;

	for (i = 0; i < LARGE_SLOTS; i++)
		folios[i] = new_folio(test, 0);
	first = slots_in_a_row(test, folios, LARGE_SLOTS);
	large = large_folio_at(test, first);
	ci = __swap_entry_to_cluster(first);
	words = ci->backing + swp_cluster_offset(first);
	kunit_activate_static_stub(test, vswap_pass_on, record_piece);
	for (i = 0; i < nr; i++)
		words[on_device[i]] = vswap_slot_to_backing(vswap_type, 1 + 2 * i);

	bvec_set_folio(&whole.bvecs[0], large, folio_size(large), 0);
	nr_pieces = 0;
	vswap_ops.submit_read(&ctx);
	KUNIT_ASSERT_EQ(test, nr_pieces, nr);
	for (i = 0; i < nr; i++) {
		sio = pieces[i];
		KUNIT_EXPECT_PTR_EQ(test, sio->bvecs[0].bv_page, folio_page(large, on_device[i]));
		KUNIT_EXPECT_EQ(test, sio->len, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, swp_offset(swap_iocb_entry(sio)), 1 + 2 * i);
		KUNIT_EXPECT_EQ(test, vswap_io_end(&sio, &failed), i < nr - 1);
	}
	KUNIT_EXPECT_PTR_EQ(test, sio, &whole);
	KUNIT_EXPECT_FALSE(test, failed);

	memset(words, 0, LARGE_SLOTS * sizeof(*words));
	for (i = 0; i < LARGE_SLOTS; i++)
		swap_cache_del_folio(folios[i]);
}

/* Which slots can be read into one folio? */
static void large_folio_can_be_read(struct kunit *test)
{
	struct folio *folios[LARGE_SLOTS];
	struct swap_cluster_info *ci;
	unsigned int off, i;
	swp_entry_t first;

	for (i = 0; i < LARGE_SLOTS; i++)
		folios[i] = new_folio(test, 0);
	first = slots_in_a_row(test, folios, LARGE_SLOTS);
	ci = swap_cluster_get_and_lock(folios[0]);
	off = swp_cluster_offset(first);

	/* The flags of the virtual device say that it may be synchronous. */
	for (i = 0; i < LARGE_SLOTS; i++)
		ci->backing[off + i] = i % 2 ? data(i) :
				       vswap_slot_to_backing(vswap_type, i);
	KUNIT_EXPECT_TRUE(test, vswap_can_read(ci, off, LARGE_SLOTS));

	ci->backing[off + 1] = 0;
	KUNIT_EXPECT_FALSE(test, vswap_can_read(ci, off, LARGE_SLOTS));
	__swap_table_set_zero(ci, off + 1);
	KUNIT_EXPECT_TRUE(test, vswap_can_read(ci, off, LARGE_SLOTS));
	ci->backing[off + LARGE_SLOTS - 1] = VSWAP_LOST;
	KUNIT_EXPECT_FALSE(test, vswap_can_read(ci, off, LARGE_SLOTS));
	KUNIT_EXPECT_TRUE(test, vswap_can_read(ci, off, LARGE_SLOTS - 1));
	ci->backing[off + LARGE_SLOTS - 1] = vswap_hash_to_backing(0);
	KUNIT_EXPECT_FALSE(test, vswap_can_read(ci, off, LARGE_SLOTS));

	__swap_table_clear_zero(ci, off + 1);
	memset(ci->backing + off, 0, LARGE_SLOTS * sizeof(*ci->backing));
	swap_cluster_unlock(ci);
	for (i = 0; i < LARGE_SLOTS; i++)
		swap_cache_del_folio(folios[i]);
}

static void refuse(struct kunit *test, struct folio *folio)
{
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(test, vswap_refuse(&folio->page, -ENOSPC));
	rcu_read_unlock();
}

/*
 * A page that a compressor gains nothing from is remembered; an error that says
 * nothing about the page is not. There is no device while the machine boots.
 */
static void refusals_by_error(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);
	long nr = atomic_long_read(&vswap_refusals.nr);

	KUNIT_ASSERT_EQ(test, folio_alloc_swap(folio), 0);
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(test, vswap_refuse(&folio->page, -EAGAIN));
	KUNIT_EXPECT_TRUE(test, vswap_refuse(&folio->page, -ENODEV));
	KUNIT_EXPECT_FALSE(test, vswap_has_refused(folio));
	KUNIT_EXPECT_TRUE(test, vswap_refuse(&folio->page, -ENOSPC));
	KUNIT_EXPECT_TRUE(test, vswap_refuse(&folio->page, 0));
	KUNIT_EXPECT_TRUE(test, vswap_has_refused(folio));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr + 1);
	swap_cache_del_folio(folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr);
}

/*
 * A refused page that is locked in memory counts no longer. It is not looked up by
 * what its folio says alone, which may have changed.
 */
static void refused_page_is_mlocked(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0), *other = new_folio(test, 0);
	long nr = atomic_long_read(&vswap_refusals.nr);
	long met = atomic_long_read(&vswap_refusals.met);

	KUNIT_ASSERT_EQ(test, folio_alloc_swap(folio), 0);
	refuse(test, folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr + 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.met), met + 1);

	other->swap = folio->swap;
	folio_set_swapcache(other);
	vswap_mlock_folio(other);
	folio_clear_swapcache(other);
	other->swap.val = 0;
	KUNIT_EXPECT_TRUE(test, vswap_has_refused(folio));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr + 1);

	mlock_folio(folio);
	KUNIT_EXPECT_FALSE(test, vswap_has_refused(folio));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr);
	vswap_mlock_folio(folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.met), met);
	munlock_folio(folio);
	mlock_drain_local();

	refuse(test, folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr + 1);
	swap_cache_del_folio(folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.nr), nr);
}

/* A little is worth a wait once in ten seconds, much always. */
static void oom_is_put_off_rarely(struct kunit *test)
{
	unsigned long total = 1UL << 20;

	KUNIT_EXPECT_FALSE(test, vswap_spares_process(0, 0));
	KUNIT_EXPECT_FALSE(test, vswap_spares_process(1, 0));
	KUNIT_EXPECT_FALSE(test, vswap_spares_process(SWAP_CLUSTER_MAX - 1, total));
	KUNIT_EXPECT_TRUE(test, vswap_spares_process(SWAP_CLUSTER_MAX, total));
	KUNIT_EXPECT_FALSE(test, vswap_spares_process(SWAP_CLUSTER_MAX, total));
	KUNIT_EXPECT_FALSE(test, vswap_spares_process(total / 16, total));
	KUNIT_EXPECT_TRUE(test, vswap_spares_process(total / 16 + 1, total));
}

enum { MANY_PAGES = 1000 };

static DECLARE_COMPLETION(compacting);

/* Only the first pass finds holes, and takes its time. */
static bool fill_holes_once(bool wait, unsigned long *freed)
{
	if (completion_done(&compacting))
		return true;
	complete_all(&compacting);
	/* The notifier must have begun to wait, on a slow machine, too. */
	msleep(1000);
	*freed += MANY_PAGES;
	return true;
}

static int compact(void *test)
{
	/* The stub is for the tasks of this test. */
	current->kunit_test = test;
	vswap_compact_pools(true);
	current->kunit_test = NULL;
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

/* What the worker's pass has freed spares a process as well. */
static void oom_waits_for_compaction(struct kunit *test)
{
	struct task_struct *task;
	unsigned long freed = 0;

	reinit_completion(&compacting);
	kunit_activate_static_stub(test, vswap_fill_holes, fill_holes_once);
	task = kthread_run(compact, test, "vswap-compact");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&compacting, HZ));
	vswap_oom(NULL, 0, &freed);
	KUNIT_EXPECT_EQ(test, freed, MANY_PAGES);
	/* There is nothing left to gain. */
	vswap_oom(NULL, 0, &freed);
	KUNIT_EXPECT_EQ(test, freed, MANY_PAGES);
	kthread_stop(task);
}

static unsigned int passes_of_others;

/* Passes meet somebody else's, and then one frees much. */
static bool fill_holes_later(bool wait, unsigned long *freed)
{
	if (passes_of_others) {
		passes_of_others--;
		return false;
	}
	*freed += MANY_PAGES;
	return true;
}

/* Nothing was freed, but nobody knows yet that there is nothing to gain. */
static void holes_are_looked_for_again(struct kunit *test)
{
	unsigned long freed = 0;

	/* The passes of cases before have found nothing. */
	msleep(200);
	passes_of_others = 2;
	kunit_activate_static_stub(test, vswap_fill_holes, fill_holes_later);
	KUNIT_EXPECT_FALSE(test, vswap_compact_pools(false));
	vswap_oom(NULL, 0, &freed);
	KUNIT_EXPECT_EQ(test, freed, 0);
	vswap_oom(NULL, 0, &freed);
	KUNIT_EXPECT_EQ(test, freed, MANY_PAGES);
}

static unsigned long freed_by_others;

/* A pool's shrinker is at it, and gets done in the end. */
static bool compacted_by_others(struct zs_pool *pool)
{
	if (!passes_of_others)
		return zs_compact(pool) != ZS_COMPACT_BUSY;
	if (!--passes_of_others)
		freed_by_others = zs_compact(pool);
	return false;
}

static bool compacted_for_ever(struct zs_pool *pool)
{
	return false;
}

static void destroy_pool(void *pool)
{
	zs_destroy_pool(pool);
}

enum { OBJECT_SIZE = 512, NR_OBJECTS = 512, OBJECTS_LEFT = 8 };

static void shrinker_of_a_pool_is_waited_for(struct kunit *test)
{
	unsigned long freed = 0, start, *handles;
	struct zs_pool *pool;
	int i;

	handles = kunit_kcalloc(test, NR_OBJECTS, sizeof(*handles), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, handles);
	pool = zs_create_pool("vswap-kunit");
	KUNIT_ASSERT_NOT_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_pool, pool), 0);

	/* Each page keeps few objects. */
	for (i = 0; i < NR_OBJECTS; i++)
		handles[i] = zs_malloc(pool, OBJECT_SIZE, GFP_KERNEL | __GFP_NOFAIL,
				       NUMA_NO_NODE);
	for (i = 0; i < NR_OBJECTS; i++)
		if (i % (NR_OBJECTS / OBJECTS_LEFT))
			zs_free(pool, handles[i]);

	passes_of_others = 1;
	freed_by_others = 0;
	kunit_activate_static_stub(test, vswap_try_compact, compacted_by_others);
	KUNIT_EXPECT_TRUE(test, vswap_fill_pool(pool, true, &freed));
	KUNIT_EXPECT_GT(test, freed_by_others, 0);
	KUNIT_EXPECT_EQ(test, freed, freed_by_others);

	kunit_activate_static_stub(test, vswap_try_compact, compacted_for_ever);
	KUNIT_EXPECT_FALSE(test, vswap_fill_pool(pool, false, &freed));
	start = jiffies;
	KUNIT_EXPECT_FALSE(test, vswap_fill_pool(pool, true, &freed));
	KUNIT_EXPECT_EQ(test, freed, freed_by_others);
	KUNIT_EXPECT_GE(test, jiffies - start, HZ);

	for (i = 0; i < NR_OBJECTS; i += NR_OBJECTS / OBJECTS_LEFT)
		zs_free(pool, handles[i]);
}

/* Shared memory */

static void end_of_device(void *unused)
{
	total_swap_pages--;
}

static void close_file(void *file)
{
	__fput_sync(file);
}

/* Swap the first folio of a file out as zeroes. Only its entry is left. */
static swp_entry_t swap_out_first(struct kunit *test, struct file *file)
{
	struct folio *folio = shmem_read_folio(file->f_mapping, 0);
	struct swap_io_ctx ctx = {};
	swp_entry_t entry;

	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	if (!folio_test_large(folio)) {
		folio_put(folio);
		kunit_skip(test, "needs transparent_hugepage_shmem=always");
	}
	/* It is only to go on. There is no device that could be used. */
	total_swap_pages++;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, end_of_device, NULL), 0);

	folio_lock(folio);
	KUNIT_ASSERT_EQ(test, shmem_writeout(&ctx, folio, NULL), 0);
	folio_lock(folio);
	entry = folio->swap;
	KUNIT_ASSERT_TRUE(test, folio_in_vswap(folio));
	swap_cache_del_folio(folio);
	folio_unlock(folio);
	folio_put(folio);
	return entry;
}

static struct folio *swap_in(swp_entry_t first, pgoff_t index, unsigned int order)
{
	swp_entry_t entry = { .val = first.val + index };

	return swapin_sync(entry, GFP_KERNEL, BIT(order), NULL,
			   get_task_policy(current), 0);
}

/*
 * Who swaps in looks at the entry's order first, and allocates. Meanwhile the
 * entry is split, for somebody else who has found a small folio, and one of its
 * parts is freed. Then the large folio fits no more. All pages can be had.
 */
static void shmem_folio_of_former_entries(struct kunit *test)
{
	enum { SMALL = 3, LARGE = 8, NR = 8 };
	struct folio *folio;
	struct file *file;
	swp_entry_t first;
	pgoff_t index;

	file = shmem_kernel_file_setup("vswap-test", PMD_SIZE, EMPTY_VMA_FLAGS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, close_file, file), 0);
	first = swap_out_first(test, file);

	folio = swap_in(first, SMALL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(folio));
	folio_put(folio);
	folio = shmem_read_folio(file->f_mapping, SMALL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
	KUNIT_EXPECT_EQ(test, folio_order(folio), 0);
	folio_put(folio);

	folio = swap_in(first, LARGE, ilog2(NR));
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(folio));
	KUNIT_ASSERT_EQ(test, folio_order(folio), ilog2(NR));
	folio_put(folio);
	shmem_truncate_range(file_inode(file), (LARGE + 1) * PAGE_SIZE,
			     (LARGE + 2) * PAGE_SIZE - 1);

	for (index = LARGE; index < LARGE + NR; index++) {
		folio = shmem_read_folio(file->f_mapping, index);
		KUNIT_ASSERT_FALSE(test, IS_ERR(folio));
		KUNIT_EXPECT_FALSE(test, folio_test_swapcache(folio));
		folio_put(folio);
	}
	kunit_release_action(test, close_file, file);
}

/* Tables, and what happens without memory for them */

static int failing_piece;

static bool fail_piece(int piece, gfp_t gfp)
{
	return piece != failing_piece;
}

static void depopulate(struct swap_cluster_info *ci)
{
	spin_lock(&ci->lock);
	vswap_cluster_depopulate(ci);
	spin_unlock(&ci->lock);
}

/* Each piece of a cluster's tables fails in turn: the reserve serves, once. */
static void table_failures(struct kunit *test)
{
	long tables = vswap_nr_tables();
	struct swap_cluster_info *cis;
	unsigned int nr, i;

	no_workers(test);
	cis = kunit_kcalloc(test, vswap_reserve_target + 1, sizeof(*cis), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cis);
	for (i = 0; i <= vswap_reserve_target; i++)
		spin_lock_init(&cis[i].lock);
	kunit_activate_static_stub(test, vswap_may_alloc, fail_piece);

	for (failing_piece = 0; failing_piece < 3; failing_piece++) {
		if (failing_piece == 2 && mem_cgroup_disabled())
			continue;
		kunit_deactivate_static_stub(test, vswap_may_alloc);
		vswap_reserve_fill();
		kunit_activate_static_stub(test, vswap_may_alloc, fail_piece);
		nr = vswap_nr_reserved();
		KUNIT_ASSERT_EQ(test, nr, vswap_reserve_target);

		for (i = 0; i < nr; i++)
			KUNIT_ASSERT_EQ(test, vswap_cluster_populate(&cis[i],
								     GFP_KERNEL), 0);
		KUNIT_EXPECT_EQ(test, vswap_cluster_populate(&cis[nr], GFP_KERNEL),
				-ENOMEM);
		KUNIT_EXPECT_NULL(test, cis[nr].backing);
		KUNIT_EXPECT_EQ(test, vswap_nr_tables(), tables + nr);
		/* What is given back fills the reserve again. */
		for (i = 0; i < nr; i++)
			depopulate(&cis[i]);
		KUNIT_EXPECT_EQ(test, vswap_nr_reserved(), nr);
		KUNIT_EXPECT_EQ(test, vswap_nr_tables(), tables);
	}
}

/* A cluster of a device gets all it needs from the reserve, empty. */
static void lend_tables(struct kunit *test)
{
	struct swap_cluster_info ci = {};
	unsigned int nr, i;
	void *table;

	no_workers(test);
	vswap_reserve_fill();
	nr = vswap_nr_reserved();
	KUNIT_ASSERT_EQ(test, nr, vswap_reserve_target);
	spin_lock_init(&ci.lock);

	for (; nr; nr--) {
		KUNIT_ASSERT_EQ(test, vswap_lend_tables(&ci), 0);
		KUNIT_EXPECT_EQ(test, vswap_nr_reserved(), nr - 1);
		KUNIT_EXPECT_NULL(test, ci.backing);
		KUNIT_ASSERT_NOT_NULL(test, rcu_access_pointer(ci.table));
#ifdef CONFIG_MEMCG
		KUNIT_EXPECT_TRUE(test, ci.memcg_table || mem_cgroup_disabled());
#endif
		spin_lock(&ci.lock);
		for (i = 0; i < SWAPFILE_CLUSTER; i++)
			KUNIT_EXPECT_EQ(test, __swap_table_get(&ci, i), 0);
		table = (void *)rcu_access_pointer(ci.table);
		rcu_assign_pointer(ci.table, NULL);
		spin_unlock(&ci.lock);
		if (SWP_TABLE_USE_PAGE)
			folio_put(virt_to_folio(table));
		else
			kmem_cache_free(swap_table_cachep, table);
#ifdef CONFIG_MEMCG
		kfree(ci.memcg_table);
		ci.memcg_table = NULL;
#endif
	}
	KUNIT_EXPECT_EQ(test, vswap_lend_tables(&ci), -ENOMEM);
}

struct slot_list {
	struct kunit *test;
	swp_entry_t *entries;
	unsigned long nr, max;
};

static void put_slots(struct slot_list *slots)
{
	while (slots->nr)
		swap_put_entries_direct(slots->entries[--slots->nr], 1);
}

static void put_slots_action(void *slots)
{
	put_slots(slots);
}

static struct slot_list *new_slot_list(struct kunit *test, unsigned long max)
{
	struct slot_list *slots = kunit_kzalloc(test, sizeof(*slots), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, slots);
	slots->max = max;
	slots->entries = kvcalloc(max, sizeof(*slots->entries), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slots->entries);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test,
			(kunit_action_t *)kvfree, slots->entries), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put_slots_action,
							slots), 0);
	return slots;
}

/* Swap @folio out again and again until @slots is full or nothing is left. */
static void fill_slots(struct slot_list *slots, struct folio *folio)
{
	while (slots->nr < slots->max) {
		swp_entry_t entry = swap_out(folio);

		if (!entry.val)
			return;
		slots->entries[slots->nr++] = entry;
		if (!(slots->nr % 1024))
			cond_resched();
	}
}

struct filler {
	struct kunit *test;
	struct slot_list *slots;
	struct folio *folio;
	struct completion done;
};

static int fill_and_tell(void *data)
{
	struct filler *filler = data;

	current->kunit_test = filler->test;
	fill_slots(filler->slots, filler->folio);
	current->kunit_test = NULL;
	complete(&filler->done);
	return 0;
}

/* The same, in a thread: the allocator might search for ever. */
static void fill_slots_in_time(struct kunit *test, struct slot_list *slots)
{
	struct filler *filler = kunit_kzalloc(test, sizeof(*filler), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, filler);
	*filler = (struct filler){ .test = test, .slots = slots };
	filler->folio = new_folio(test, 0);
	init_completion(&filler->done);
	task = kthread_run(fill_and_tell, filler, "vswap-fill");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&filler->done, 60 * HZ), 0);
}

/* No memory for a piece of the tables: swapping out fails, and nothing else. */
static void no_tables(struct kunit *test)
{
	struct slot_list *slots;
	long tables;

	no_workers(test);
	slots = new_slot_list(test, 64UL * SWAPFILE_CLUSTER);
	tables = vswap_nr_tables();
	kunit_activate_static_stub(test, vswap_may_alloc, fail_piece);

	for (failing_piece = 0; failing_piece < 3; failing_piece++) {
		if (failing_piece == 2 && mem_cgroup_disabled())
			continue;
		fill_slots_in_time(test, slots);
		KUNIT_EXPECT_LT(test, slots->nr, slots->max);
		KUNIT_EXPECT_LE(test, vswap_nr_tables(), tables + vswap_reserve_target);
		KUNIT_EXPECT_EQ(test, vswap_nr_reserved(), 0);
		KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
		/* The tables refill the reserve. */
		put_slots(slots);
	}
}

static bool fail_all(int piece, gfp_t gfp)
{
	return false;
}

/*
 * A cluster in use has all that its slots will ever need. So the allocator gets
 * each of them without memory, and does not find one that it cannot have: it
 * would look at the same cluster again and again.
 */
static void cluster_in_use_serves_all_slots(struct kunit *test)
{
	struct folio *large = new_folio(test, min(MAX_TEST_ORDER, 4));
	struct slot_list *slots;
	unsigned long room;

	no_workers(test);
	slots = new_slot_list(test, 64UL * SWAPFILE_CLUSTER);
	slots->max = SWAPFILE_CLUSTER + 1;
	fill_slots(slots, new_folio(test, 0));
	KUNIT_ASSERT_EQ(test, slots->nr, slots->max);
	/* Where there are large folios: a cluster that others use at last. */
	KUNIT_ASSERT_EQ(test, folio_alloc_swap(large), 0);
	/* The reserve is good for a cluster each. */
	room = (vswap_nr_tables() + vswap_nr_reserved()) * SWAPFILE_CLUSTER -
	       vswap_counted(VSWAP_NR_USED);
	KUNIT_EXPECT_GT(test, room, vswap_nr_reserved() * SWAPFILE_CLUSTER);

	kunit_activate_static_stub(test, vswap_may_alloc, fail_all);
	slots->max = 64UL * SWAPFILE_CLUSTER;
	fill_slots_in_time(test, slots);
	KUNIT_EXPECT_EQ(test, slots->nr, SWAPFILE_CLUSTER + 1 + room);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	put_slots(slots);
	swap_cache_del_folio(large);
}

/* Who refills the reserve, or has the space grown, has nothing killed for it */

static struct task_struct *watched;
static unsigned int nr_watched, nr_may_kill;

static void watch_gfp(gfp_t gfp)
{
	nr_watched++;
	nr_may_kill += gfp & __GFP_DIRECT_RECLAIM && !(gfp & __GFP_NORETRY);
}

static bool watch_piece(int piece, gfp_t gfp)
{
	watch_gfp(gfp);
	return true;
}

static void watch_page(void *unused, struct page *page, unsigned int order,
		       gfp_t gfp, int migratetype)
{
	/* Nothing is killed for what reclaim allocates. Debugging takes larger ones. */
	if (current == watched && !(current->flags & PF_MEMALLOC) && !order)
		watch_gfp(gfp);
}

static void stop_watching(void *unused)
{
	unregister_trace_mm_page_alloc(watch_page, NULL);
	tracepoint_synchronize_unregister();
}

static void refilling_kills_nobody(struct kunit *test)
{
	struct swap_cluster_info ci = {};

	no_workers(test);
	vswap_reserve_fill();
	KUNIT_ASSERT_EQ(test, vswap_nr_reserved(), vswap_reserve_target);
	spin_lock_init(&ci.lock);
	kunit_activate_static_stub(test, vswap_may_alloc, fail_all);
	KUNIT_ASSERT_EQ(test, vswap_cluster_populate(&ci, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, vswap_nr_reserved(), vswap_reserve_target - 1);

	nr_watched = 0;
	nr_may_kill = 0;
	kunit_activate_static_stub(test, vswap_may_alloc, watch_piece);
	vswap_reserve_fill();
	KUNIT_EXPECT_EQ(test, vswap_nr_reserved(), vswap_reserve_target);
	KUNIT_EXPECT_EQ(test, nr_watched, mem_cgroup_disabled() ? 2 : 3);
	KUNIT_EXPECT_EQ(test, nr_may_kill, 0);
	depopulate(&ci);
}

static void growing_kills_nobody(struct kunit *test)
{
	no_workers(test);
	watched = current;
	nr_watched = 0;
	nr_may_kill = 0;
	if (register_trace_mm_page_alloc(watch_page, NULL))
		kunit_skip(test, "there are no tracepoints");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_watching, NULL), 0);
	KUNIT_EXPECT_EQ(test, vswap_grow(), 0);
	KUNIT_EXPECT_GE(test, nr_watched, 1);
	KUNIT_EXPECT_EQ(test, nr_may_kill, 0);
}

/* The space */

static unsigned long slots_per_page(void)
{
	return PAGE_SIZE / sizeof(struct swap_cluster_info) * SWAPFILE_CLUSTER;
}

/* Without the work item the space still grows, when no cluster is free. */
static void grow_on_demand(struct kunit *test)
{
	unsigned int pages = vswap_space.nr_pages;
	struct slot_list *slots;

	no_workers(test);
	slots = new_slot_list(test, (pages + 1) * slots_per_page());
	fill_slots(slots, new_folio(test, 0));
	KUNIT_EXPECT_EQ(test, slots->nr, slots->max);
	KUNIT_EXPECT_GT(test, vswap_space.nr_pages, pages);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	put_slots(slots);
}

/* With it the space has grown before the last free cluster is taken. */
static void grow_ahead(struct kunit *test)
{
	unsigned int pages = vswap_space.nr_pages;
	struct folio *folio = new_folio(test, 0);
	struct slot_list *slots;

	/* There is no need, so nothing happens. */
	flush_work(&vswap_space.grow_work);
	KUNIT_EXPECT_EQ(test, vswap_grow(), 0);
	KUNIT_EXPECT_EQ(test, vswap_space.nr_pages, pages);

	slots = new_slot_list(test, (pages + 1) * slots_per_page());
	slots->max = 0;
	while (vswap_space.nr_pages == pages && vswap_free_clusters() > 0) {
		slots->max += SWAPFILE_CLUSTER / 4;
		KUNIT_ASSERT_LE(test, slots->max, (pages + 1) * slots_per_page());
		fill_slots(slots, folio);
		msleep(1);
	}
	KUNIT_EXPECT_GT(test, vswap_space.nr_pages, pages);
	KUNIT_EXPECT_GT(test, vswap_free_clusters(), 0);
	put_slots(slots);
}

/* All tables go when their clusters are empty; the array stays. */
static void tables_go(struct kunit *test)
{
	long tables = vswap_nr_tables();
	struct slot_list *slots;
	unsigned int pages;

	no_workers(test);
	slots = new_slot_list(test, 2 * slots_per_page());
	fill_slots(slots, new_folio(test, 0));
	KUNIT_ASSERT_EQ(test, slots->nr, slots->max);
	KUNIT_EXPECT_GT(test, vswap_nr_tables(), tables);
	pages = vswap_space.nr_pages;

	put_slots(slots);
	KUNIT_EXPECT_EQ(test, vswap_nr_tables(), tables);
	KUNIT_EXPECT_EQ(test, vswap_space.nr_pages, pages);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
}

/* Counters: what happens at the ends of their range */

/* The number that a file in /sys/kernel/mm/vswap has; it must be an unsigned one. */
static unsigned long shown(struct kunit *test, const char *name)
{
	struct kernfs_node *dir = sysfs_get_dirent(mm_kobj->sd, "vswap"), *file;
	char *buf = (char *)get_zeroed_page(GFP_KERNEL);
	struct kobj_attribute *attr;
	unsigned long value = 0;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_NOT_NULL(test, dir);
	file = sysfs_get_dirent(dir, name);
	KUNIT_ASSERT_NOT_NULL(test, file);
	attr = container_of((struct attribute *)file->priv, struct kobj_attribute, attr);
	attr->show(dir->priv, attr, buf);
	KUNIT_EXPECT_EQ_MSG(test, kstrtoul(buf, 10, &value), 0, "%s: %s", name, buf);
	sysfs_put(file);
	sysfs_put(dir);
	free_page((unsigned long)buf);
	return value;
}

static void add_on(unsigned int cpu, enum vswap_counter counter, long nr)
{
	per_cpu(vswap_counters, cpu).nr[counter] += nr;
}

/*
 * Slots that are taken on one CPU and freed on another make the counter of the
 * first larger and larger. When it wraps, the sum is still right.
 */
static void counters_wrap(struct kunit *test)
{
	static const enum vswap_counter counters[] = { VSWAP_NR_USED, VSWAP_NR_ZERO };
	unsigned long used = vswap_counted(VSWAP_NR_USED);
	unsigned long zero = vswap_counted(VSWAP_NR_ZERO);
	struct folio *folio = new_folio(test, 0);
	struct slot_list *slots = new_slot_list(test, 64);
	long moved[ARRAY_SIZE(counters)];
	unsigned int here, there, i;

	migrate_disable();
	here = smp_processor_id();
	there = cpumask_any_but(cpu_possible_mask, here);
	if (there >= nr_cpu_ids) {
		migrate_enable();
		kunit_skip(test, "there is only one counter");
	}
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		moved[i] = LONG_MAX - slots->max / 2 -
			   per_cpu(vswap_counters, here).nr[counters[i]];
		add_on(here, counters[i], moved[i]);
		add_on(there, counters[i], -moved[i]);
	}
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED), used);

	fill_slots(slots, folio);
	KUNIT_EXPECT_EQ(test, slots->nr, slots->max);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		KUNIT_EXPECT_LT(test, per_cpu(vswap_counters, here).nr[counters[i]], 0);
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED), used + slots->max);
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZERO), zero + slots->max);
	KUNIT_EXPECT_EQ(test, shown(test, "slots_used"), used + slots->max);
	KUNIT_EXPECT_EQ(test, shown(test, "zero"), zero + slots->max);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);

	put_slots(slots);
	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		KUNIT_EXPECT_GT(test, per_cpu(vswap_counters, here).nr[counters[i]], 0);
		add_on(here, counters[i], -moved[i]);
		add_on(there, counters[i], moved[i]);
	}
	migrate_enable();
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_USED), used);
	KUNIT_EXPECT_EQ(test, vswap_counted(VSWAP_NR_ZERO), zero);
}

/* Sums that cannot be: a reader that sees one is shown no negative number. */
static void counters_at_their_limits(struct kunit *test)
{
	static const char * const names[VSWAP_NR_COUNTERS] = {
		[VSWAP_NR_USED] = "slots_used", [VSWAP_NR_ZERO] = "zero",
		[VSWAP_NR_ZSWAP] = "zswap", [VSWAP_NR_PHYSICAL] = "physical",
	};
	static const long sums[] = { LONG_MIN, -1, 0, LONG_MAX };
	long before[VSWAP_NR_COUNTERS], tables = vswap_nr_tables();
	unsigned int max_pages = vswap_space.max_pages, c, i, turn;
	const long most = INT_MAX / 2 / SWAPFILE_CLUSTER;
	unsigned long bytes;

	no_workers(test);
	for (c = 0; c < VSWAP_NR_COUNTERS; c++)
		before[c] = vswap_counted(c);

	/* Each combination of sums, one in each digit of the number of the turn */
	for (turn = 0; turn < 1 << 2 * VSWAP_NR_COUNTERS; turn++) {
		for (c = 0; c < VSWAP_NR_COUNTERS; c++)
			add_on(0, c, sums[turn >> 2 * c & 3] - before[c]);
		for (c = 0; c < VSWAP_NR_COUNTERS; c++) {
			unsigned long sum = max(sums[turn >> 2 * c & 3], 0L);

			KUNIT_EXPECT_EQ(test, vswap_counted(c), sum);
			KUNIT_EXPECT_EQ(test, shown(test, names[c]), sum);
		}
		KUNIT_EXPECT_LE(test, shown(test, "cached"), (unsigned long)LONG_MAX);
		for (c = 0; c < VSWAP_NR_COUNTERS; c++)
			add_on(0, c, before[c] - sums[turn >> 2 * c & 3]);
	}

	/* A space that cannot grow and has no free cluster is full, or it is not. */
	vswap_space.max_pages = vswap_space.nr_pages;
	atomic_long_set(&vswap_tables_used, vswap_space.nr_clusters);
	for (i = 0; i < ARRAY_SIZE(sums); i++) {
		add_on(0, VSWAP_NR_USED, sums[i] - before[VSWAP_NR_USED]);
		KUNIT_EXPECT_EQ(test, vswap_space_is_full(), sums[i] == LONG_MAX);
		add_on(0, VSWAP_NR_USED, before[VSWAP_NR_USED] - sums[i]);
	}
	vswap_space.max_pages = max_pages;

	/* All clusters that there can be have tables. */
	atomic_long_set(&vswap_tables_used, 0);
	bytes = shown(test, "metadata_bytes");
	atomic_long_set(&vswap_tables_used, most);
	KUNIT_EXPECT_EQ(test, shown(test, "metadata_bytes"), bytes + most * vswap_table_bytes());
	KUNIT_EXPECT_LT(test, most * vswap_table_bytes(), 1UL << 40);
	atomic_long_set(&vswap_tables_used, tables);

	/* Ids of groups count their slots in an int. */
	KUNIT_EXPECT_LE(test, vswap_slots_max(), (unsigned long)INT_MAX / 2);
	for (c = 0; c < VSWAP_NR_COUNTERS; c++)
		KUNIT_EXPECT_EQ(test, vswap_counted(c), before[c]);
}

/*
 * Have the machine seem to have @nr anonymous pages. If it is less than none,
 * readers see none, whatever CPUs have yet to add.
 */
static const enum node_stat_item anon_items[] = { NR_ACTIVE_ANON, NR_INACTIVE_ANON };

static void pretend_anon(long nr, long *were)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(anon_items); i++) {
		were[i] = global_node_page_state(anon_items[i]);
		mod_node_page_state(NODE_DATA(first_online_node), anon_items[i], nr - were[i]);
	}
}

static void forget_anon(long nr, const long *were)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(anon_items); i++)
		mod_node_page_state(NODE_DATA(first_online_node), anon_items[i], were[i] - nr);
}

/*
 * How often refused pages are met is counted without an end. When it wraps,
 * nothing is known: nobody is killed for it, and counting begins anew.
 */
static void refusals_wrap(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);
	long nr = atomic_long_read(&vswap_refusals.nr);
	long were[ARRAY_SIZE(anon_items)];
	const long none = -4096, some = 1L << 20;

	no_workers(test);
	KUNIT_ASSERT_EQ(test, folio_alloc_swap(folio), 0);
	vswap_refusals.known_until = 0;
	atomic_long_set(&vswap_refusals.met, LONG_MAX);
	refuse(test, folio);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.met), LONG_MIN);
	KUNIT_EXPECT_EQ(test, shown(test, "refused"), nr + 1);

	pretend_anon(none, were);
	KUNIT_EXPECT_FALSE(test, vswap_nothing_left(NULL));
	KUNIT_EXPECT_EQ(test, vswap_refusals.known_until, 0);
	forget_anon(none, were);
	pretend_anon(some, were);
	KUNIT_EXPECT_FALSE(test, vswap_nothing_left(NULL));
	KUNIT_EXPECT_EQ(test, atomic_long_read(&vswap_refusals.met), 0);
	forget_anon(some, were);
	pretend_anon(none, were);
	/* It does count from there: all that are refused are met, and that is known. */
	while (atomic_long_read(&vswap_refusals.met) <= nr)
		refuse(test, folio);
	KUNIT_EXPECT_TRUE(test, vswap_nothing_left(NULL));
	forget_anon(none, were);

	vswap_refusals.known_until = 0;
	atomic_long_set(&vswap_refusals.met, 0);
	swap_cache_del_folio(folio);
	KUNIT_EXPECT_EQ(test, shown(test, "refused"), nr);
}

#ifdef CONFIG_MEMCG
static struct mem_cgroup *below_root(struct kunit *test)
{
	struct mem_cgroup *memcg;

	if (mem_cgroup_disabled())
		kunit_skip(test, "there are no groups");
	memcg = kunit_kzalloc(test, struct_size(memcg, nodeinfo, nr_node_ids), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memcg);
	memcg->css.parent = &root_mem_cgroup->css;
	memcg->css.flags = CSS_ONLINE;
	return memcg;
}

/* Counters of a group that is below the root, and goes away */
static void group_counters(struct kunit *test)
{
	static const long counts[] = { LONG_MIN, -1, 0, PAGE_SIZE, LONG_MAX };
	atomic_long_t *refused, *zswapped, *zeroes;
	struct mem_cgroup *memcg;
	struct vswap_group *group;
	long were_refused, were_zswapped, were_zeroes, gone;
	unsigned int i;

	memcg = below_root(test);
	/* The first group below the root does this. */
	if (!mem_cgroup_kmem_disabled())
		static_branch_enable(&memcg_kmem_online_key);
	group = vswap_memcg_group(memcg);
	if (group != &memcg->vswap)
		kunit_skip(test, "groups have no counters of their own");

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		atomic_long_set(&group->tables, counts[i]);
		KUNIT_EXPECT_EQ(test, vswap_memcg_tables(memcg),
				(unsigned long)max(counts[i], 0L) >> PAGE_SHIFT);
	}
	atomic_long_set(&group->tables, 0);

	/* What it has becomes the parent's, negative or not. */
	refused = &root_mem_cgroup->vswap.refusals.nr;
	zswapped = &vswap_memcg_group(root_mem_cgroup)->zswapped;
	zeroes = &root_mem_cgroup->vswap.zeroes;
	were_refused = atomic_long_read(refused);
	were_zswapped = atomic_long_read(zswapped);
	were_zeroes = atomic_long_read(zeroes);
	atomic_long_set(&group->refusals.nr, -3);
	atomic_long_set(&group->zswapped, 7);
	vswap_memcg_count_zero(memcg, 5);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&group->zeroes), 5);
	vswap_memcg_offline(memcg);
	KUNIT_EXPECT_EQ(test, atomic_long_read(refused), were_refused - 3);
	KUNIT_EXPECT_EQ(test, atomic_long_read(zswapped), were_zswapped + 7);
	KUNIT_EXPECT_EQ(test, atomic_long_read(zeroes), were_zeroes + 5);

	/*
	 * From then on its counts are far below zero. What all slots of the largest
	 * space add to them, or take away, does not bring them near another meaning.
	 */
	memcg->css.flags = 0;
	gone = atomic_long_read(&group->zswapped);
	KUNIT_EXPECT_EQ(test, gone, LONG_MIN / 2);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&group->refusals.nr), gone);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&group->zeroes), gone);
	/* What is freed later is the parent's. */
	vswap_memcg_count_zero(memcg, -5);
	KUNIT_EXPECT_EQ(test, atomic_long_read(zeroes), were_zeroes);
	for (i = 0; i < 2; i++) {
		atomic_long_add(i ? INT_MAX : -INT_MAX, &group->zswapped);
		atomic_long_add(i ? INT_MAX : -INT_MAX, &group->refusals.nr);
		vswap_memcg_count_zero(memcg, i ? INT_MAX : -INT_MAX);
		vswap_memcg_offline(memcg);
		KUNIT_EXPECT_EQ(test, atomic_long_read(&group->zeroes), gone);
		KUNIT_EXPECT_EQ(test, atomic_long_read(&group->zswapped), gone);
		KUNIT_EXPECT_EQ(test, atomic_long_read(zswapped), were_zswapped + 7);
		KUNIT_EXPECT_EQ(test, atomic_long_read(&group->refusals.nr), gone);
		KUNIT_EXPECT_EQ(test, atomic_long_read(refused), were_refused - 3);
	}
	KUNIT_EXPECT_EQ(test, atomic_long_read(zeroes), were_zeroes);
	atomic_long_sub(7, zswapped);
	atomic_long_add(3, refused);
}

/* The slots of a cluster's payer have one reference on its id together. */
static void owner_references(struct kunit *test)
{
	refcount_t *ref = &root_mem_cgroup->id.ref;
	struct slot_list *slots;
	unsigned int refs, i;

	if (mem_cgroup_disabled() || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		kunit_skip(test, "slots have no owners");
	slots = new_slot_list(test, 3 * SWAPFILE_CLUSTER);
	refs = refcount_read(ref);
	fill_slots(slots, new_folio(test, 0));
	KUNIT_EXPECT_EQ(test, slots->nr, slots->max);
	KUNIT_EXPECT_GE(test, refcount_read(ref), refs + 2);
	KUNIT_EXPECT_LE(test, refcount_read(ref), refs + 5);

	for (i = 0; i < slots->nr; i += 2)
		swap_put_entries_direct(slots->entries[i], 1);
	KUNIT_EXPECT_GE(test, refcount_read(ref), refs + 2);
	KUNIT_EXPECT_LE(test, refcount_read(ref), refs + 5);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	for (i = 1; i < slots->nr; i += 2)
		swap_put_entries_direct(slots->entries[i], 1);
	slots->nr = 0;
	KUNIT_EXPECT_EQ(test, refcount_read(ref), refs);
}

struct marker {
	struct mem_cgroup *memcg;
	long left;
};

static int mark_two_take_one(void *data)
{
	struct marker *marker = data;

	while (!kthread_should_stop()) {
		vswap_memcg_count_zero(marker->memcg, 2);
		vswap_memcg_count_zero(marker->memcg, -1);
		WRITE_ONCE(marker->left, marker->left + 1);
		cond_resched();
	}
	return 0;
}

/* Slots are marked, and no longer, while the group goes away: none is lost. */
static void group_goes_while_marking(struct kunit *test)
{
	struct marker marker = { .memcg = below_root(test) };
	long were = atomic_long_read(&root_mem_cgroup->vswap.zeroes), before;
	struct task_struct *task;

	task = kthread_run(mark_two_take_one, &marker, "vswap-mark");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (READ_ONCE(marker.left) < 1000)
		cond_resched();
	vswap_memcg_offline(marker.memcg);
	before = READ_ONCE(marker.left);
	while (READ_ONCE(marker.left) < before + 1000)
		cond_resched();
	kthread_stop(task);
	marker.memcg->css.flags = 0;
	vswap_memcg_offline(marker.memcg);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&root_mem_cgroup->vswap.zeroes),
			were + marker.left);
	vswap_memcg_count_zero(root_mem_cgroup, -marker.left);
}
#else
static void owner_references(struct kunit *test)
{
	kunit_skip(test, "there are no owners");
}

static void group_goes_while_marking(struct kunit *test)
{
	kunit_skip(test, "there are no groups");
}

static void group_counters(struct kunit *test)
{
	kunit_skip(test, "there are no groups");
}
#endif

static unsigned int asked;

static bool count_and_want(struct folio *folio)
{
	asked++;
	return true;
}

static void count_questions(struct kunit *test)
{
	kunit_deactivate_static_stub(test, vswap_wanted);
	kunit_activate_static_stub(test, vswap_wanted, count_and_want);
}

/* Growing fails at each of its allocations */

#ifdef CONFIG_FAIL_PAGE_ALLOC
static struct page *array_page;
static long nr_array_pages;

static void watch_array_alloc(void *unused, struct page *page, unsigned int order,
			      gfp_t gfp, int migratetype)
{
	/* Nothing else that vswap_grow() allocates has these flags. */
	const gfp_t flags = __GFP_ZERO | __GFP_HIGH | __GFP_NOMEMALLOC |
			    __GFP_DIRECT_RECLAIM;

	if (current != watched || order || !page || (gfp & flags) != flags)
		return;
	array_page = page;
	nr_array_pages++;
}

static void watch_array_free(void *unused, struct page *page, unsigned int order)
{
	if (current != watched || page != array_page)
		return;
	array_page = NULL;
	nr_array_pages--;
}

static void stop_watching_array(void *unused)
{
	unregister_trace_mm_page_alloc(watch_array_alloc, NULL);
	unregister_trace_mm_page_free(watch_array_free, NULL);
	tracepoint_synchronize_unregister();
}

/* The variable behind a file of fault injection */
static void *fault_knob(const char *kind, const char *name)
{
	struct dentry *dir = debugfs_lookup(kind, NULL), *file;
	void *value = NULL;

	file = dir ? debugfs_lookup(name, dir) : NULL;
	if (file)
		value = d_inode(file)->i_private;
	dput(file);
	dput(dir);
	return value;
}

/* Does the next page of the array need a page table? */
static bool page_table_is_missing(void)
{
	unsigned long addr = (unsigned long)vswap_space.area->addr +
			     ((unsigned long)vswap_space.nr_pages << PAGE_SHIFT);
	pgd_t *pgd = pgd_offset_k(addr);
	p4d_t *p4d;
	pud_t *pud;

	if (pgd_none(*pgd))
		return true;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return true;
	pud = pud_offset(p4d, addr);
	return pud_none(*pud) || pmd_none(*pmd_offset(pud, addr));
}

/*
 * Have one allocation after the other fail until the space grows by a page.
 * Return: how often it did not.
 */
static unsigned int grow_at_last(struct kunit *test)
{
	unsigned int pages = vswap_space.nr_pages, clusters = vswap_space.nr_clusters;
	unsigned int max = vswap_si->max, failed, left;
	long array = nr_array_pages;
	int err;

	for (failed = 0; failed < 16; failed++) {
		/* For this task alone: that one, from now on, and no other. */
		current->fail_nth = failed + 1;
		err = vswap_grow();
		left = current->fail_nth;
		current->fail_nth = 0;
		if (!err)
			break;
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_EQ(test, left, 0);
		KUNIT_EXPECT_EQ(test, vswap_space.nr_pages, pages);
		KUNIT_EXPECT_EQ(test, vswap_space.nr_clusters, clusters);
		KUNIT_EXPECT_EQ(test, vswap_si->max, max);
		KUNIT_EXPECT_EQ(test, nr_array_pages, array);
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, vswap_space.nr_pages, pages + 1);
	KUNIT_EXPECT_GT(test, vswap_space.nr_clusters, clusters);
	KUNIT_EXPECT_EQ(test, vswap_si->max, vswap_space.nr_clusters * SWAPFILE_CLUSTER);
	KUNIT_EXPECT_EQ(test, nr_array_pages, array + 1);
	return failed;
}

/* How many pages are there, up to the first that may need a page table? */
static unsigned int pages_to_page_table(void)
{
	unsigned long addr = (unsigned long)vswap_space.area->addr +
			     ((unsigned long)vswap_space.nr_pages << PAGE_SHIFT);

	return (round_up(addr, PMD_SIZE) - addr) >> PAGE_SHIFT;
}

/*
 * The page of the array cannot be had, nor the page table for it: the space is
 * as it was, nothing is lost, and the next attempt succeeds. It stays large, so
 * this is the last case.
 */
static void growing_fails(struct kunit *test)
{
	/* Pages without a failure before the next ones; at last up to a page table. */
	static const unsigned int steps[] = { 0, 0, 1, 5, 30, 0, UINT_MAX };
	const long busy = INT_MAX / SWAPFILE_CLUSTER;
	bool *reclaim, *filter, was_reclaim, was_filter, table;
	struct folio *folio = new_folio(test, 0);
	unsigned int max_pages = vswap_space.max_pages, i, n, failed;
	unsigned long *verbose, was_verbose;
	u32 *order, was_order;

	no_workers(test);
	order = fault_knob("fail_page_alloc", "min-order");
	reclaim = fault_knob("fail_page_alloc", "ignore-gfp-wait");
	verbose = fault_knob("fail_page_alloc", "verbose");
	filter = fault_knob("failslab", "cache-filter");
	if (!order || !reclaim || !verbose)
		kunit_skip(test, "pages cannot be made to fail");
	watched = current;
	nr_array_pages = 0;
	if (register_trace_mm_page_alloc(watch_array_alloc, NULL))
		kunit_skip(test, "there are no tracepoints");
	if (register_trace_mm_page_free(watch_array_free, NULL)) {
		unregister_trace_mm_page_alloc(watch_array_alloc, NULL);
		kunit_skip(test, "there are no tracepoints");
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stop_watching_array, NULL), 0);

	was_order = *order;
	was_reclaim = *reclaim;
	was_verbose = *verbose;
	was_filter = filter ? *filter : false;
	*order = 0;
	*reclaim = false;
	*verbose = 0;
	if (filter)
		*filter = true;
	/* As if all clusters that there may ever be were in use. */
	atomic_long_add(busy, &vswap_tables_used);

	/* Each folio tries again. */
	count_questions(test);
	for (asked = 0, i = 1; i <= 2; i++) {
		current->fail_nth = 1;
		KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(folio));
		KUNIT_EXPECT_EQ(test, current->fail_nth, 0);
		KUNIT_EXPECT_EQ(test, asked, i);
	}
	current->fail_nth = 0;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		n = min(steps[i], pages_to_page_table());
		if (vswap_space.nr_pages + n + 2 > max_pages)
			break;
		while (n--)
			KUNIT_EXPECT_EQ(test, vswap_grow(), 0);
		table = page_table_is_missing();
		failed = grow_at_last(test);
		KUNIT_EXPECT_GE(test, failed, 1 + table);
		kunit_info(test, "%u pages, page table %s: failed %u times",
			   vswap_space.nr_pages - 1, table ? "missing" : "there", failed);
	}

	/* At the limit it fails without an allocation. */
	vswap_space.max_pages = vswap_space.nr_pages;
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, vswap_grow(), -ENOSPC);
	KUNIT_EXPECT_EQ(test, current->fail_nth, 1);
	current->fail_nth = 0;
	vswap_space.max_pages = max_pages;

	atomic_long_sub(busy, &vswap_tables_used);
	*order = was_order;
	*reclaim = was_reclaim;
	*verbose = was_verbose;
	if (filter)
		*filter = was_filter;
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
}
#else
static void growing_fails(struct kunit *test)
{
	kunit_skip(test, "pages cannot be made to fail");
}
#endif

/* Races */

struct racer {
	struct kunit *test;
	struct folio *folio;
	struct slot_list *slots;
	unsigned long rounds;
};

static int race_slots(void *data)
{
	struct racer *racer = data;

	/* The stub is for the tasks of this test. */
	current->kunit_test = racer->test;
	while (!kthread_should_stop()) {
		fill_slots(racer->slots, racer->folio);
		put_slots(racer->slots);
		racer->rounds++;
	}
	current->kunit_test = NULL;
	return 0;
}

static int race_lookups(void *data)
{
	struct racer *racer = data;
	unsigned long offset = 1;

	while (!kthread_should_stop()) {
		swp_entry_t entry = swp_entry(vswap_type, offset);
		struct swap_info_struct *si = get_swap_device(entry);

		/* Entries that may be anything by now. */
		offset = (offset * 69069 + 1) % READ_ONCE(vswap_si->max);
		if (!si)
			continue;
		swap_cache_has_folio(entry);
		swap_cluster_unlock(swap_cluster_lock(si, swp_offset(entry)));
		put_swap_device(si);
		racer->rounds++;
		cond_resched();
	}
	return 0;
}

/* Slots come and go while the space grows under lookups. */
static void race_resizing(struct kunit *test)
{
	struct task_struct *tasks[3];
	struct racer racers[3];
	unsigned int pages = vswap_space.nr_pages;
	unsigned long end;
	int i;

	/* Each of the two needs a page of clusters more than there are. */
	for (i = 0; i < 3; i++) {
		racers[i] = (struct racer){ .test = test };
		if (i == 2)
			continue;
		racers[i].folio = new_folio(test, 0);
		racers[i].slots = new_slot_list(test, (pages + 1) * slots_per_page());
	}
	for (i = 0; i < 3; i++) {
		tasks[i] = kthread_run(i < 2 ? race_slots : race_lookups,
				       &racers[i], "vswap-race/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(tasks[i]));
	}
	for (end = jiffies + 2 * HZ; time_before(jiffies, end); msleep(1))
		KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
	for (i = 0; i < 3; i++) {
		kthread_stop(tasks[i]);
		KUNIT_EXPECT_GT(test, racers[i].rounds, 0);
	}
	KUNIT_EXPECT_GT(test, vswap_space.nr_pages, pages);
}

/* Policy */

/*
 * One answer does for many pages of a group, within a tick and on one CPU. It
 * does not outlive a change of the policy, nor serve more pages than that.
 */
static void policy_is_asked_for_many(struct kunit *test)
{
	struct folio *small = new_folio(test, 0), *large;
	unsigned long tick;
	unsigned int i;

	count_questions(test);
	migrate_disable();
	do {
		tick = jiffies;
		asked = 0;
		for (i = 0; i < 4 * SWAP_CLUSTER_MAX; i++)
			KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(small));
	} while (tick != jiffies);
	/* One more or less for what an earlier turn has left. */
	KUNIT_EXPECT_GE(test, asked, 3);
	KUNIT_EXPECT_LE(test, asked, 5);

	do {
		tick = jiffies;
		for (asked = 0, i = 0; i < 4; i++) {
			if (i % 2)
				vswap_policy_changed();
			else
				vswap_limits_changed();
			KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(small));
		}
	} while (tick != jiffies);
	KUNIT_EXPECT_EQ(test, asked, 4);
	migrate_enable();

	if (1 << MAX_TEST_ORDER < SWAP_CLUSTER_MAX)
		return;
	large = new_folio(test, MAX_TEST_ORDER);
	asked = 0;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(large));
	KUNIT_EXPECT_EQ(test, asked, 3);
}

/* A cluster comes into use when @left are free. Is the policy asked again after that? */
static unsigned int asked_again(struct kunit *test, struct folio *folio, long left)
{
	struct swap_cluster_info ci = {};
	unsigned long tick;
	unsigned int i;
	long more;

	spin_lock_init(&ci.lock);
	more = vswap_free_clusters() - left;
	atomic_long_add(more, &vswap_tables_used);
	migrate_disable();
	do {
		tick = jiffies;
		KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(folio));
		KUNIT_EXPECT_EQ(test, vswap_cluster_populate(&ci, GFP_KERNEL), 0);
		asked = 0;
		for (i = 0; i < 2; i++)
			KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(folio));
		depopulate(&ci);
	} while (tick != jiffies);
	migrate_enable();
	atomic_long_sub(more, &vswap_tables_used);
	return asked;
}

/* Near the end of the space, and only there: growing ahead of need may have failed. */
static void policy_is_asked_near_the_end(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);

	no_workers(test);
	count_questions(test);
	KUNIT_EXPECT_EQ(test, asked_again(test, folio, 1000), 0);
	KUNIT_EXPECT_EQ(test, asked_again(test, folio, 2), 1);
}

static bool cannot_name_memory(void)
{
	return false;
}

static void enable_zswap(bool enable)
{
	char line[] = "zswap.enabled=?";

	line[sizeof(line) - 2] = enable ? 'Y' : 'N';
	parse_args("vswap test", line, __start___param,
		   __stop___param - __start___param, S16_MIN, S16_MAX, NULL, NULL);
}

/*
 * Where no backing word can name what zswap stores, zswap stores it for entries of
 * devices: these get no virtual slots while it is enabled.
 */
static void memory_out_of_reach(struct kunit *test)
{
	struct folio *folio = new_folio(test, 0);
	bool enabled = zswap_is_enabled();

	enable_zswap(false);
	kunit_deactivate_static_stub(test, vswap_wanted);
	kunit_activate_static_stub(test, vswap_can_name_memory, cannot_name_memory);
	/* A device has room. */
	atomic_long_inc(&nr_swap_pages);
	KUNIT_EXPECT_TRUE(test, vswap_wanted(folio));
	enable_zswap(true);
	KUNIT_EXPECT_TRUE(test, zswap_is_enabled());
	KUNIT_EXPECT_FALSE(test, vswap_wanted(folio));
	kunit_deactivate_static_stub(test, vswap_can_name_memory);
	KUNIT_EXPECT_TRUE(test, vswap_wanted(folio));
	enable_zswap(enabled);
	KUNIT_EXPECT_EQ(test, zswap_is_enabled(), enabled);
	atomic_long_dec(&nr_swap_pages);
}

/* Then nothing is prepared for it, and its entries have their places on devices. */
static void nothing_for_memory_out_of_reach(struct kunit *test)
{
	enum vswap_mode mode = vswap_mode;
	bool ready = vswap_ready;

	if (vswap_device_room() || zswap_never_enabled())
		kunit_skip(test, "needs zswap and no device");

	vswap_set_mode(VSWAP_AUTO);
	/* There is a device, which is full. */
	vswap_nr_tiers++;
	total_swap_pages++;
	kunit_activate_static_stub(test, vswap_can_name_memory, cannot_name_memory);
	vswap_ready = false;
	vswap_policy_changed();
	KUNIT_EXPECT_FALSE(test, vswap_ready);
	KUNIT_EXPECT_TRUE(test, __vswap_may_write_back(NULL));

	kunit_deactivate_static_stub(test, vswap_can_name_memory);
	KUNIT_EXPECT_FALSE(test, __vswap_may_write_back(NULL));
	vswap_policy_changed();
	KUNIT_EXPECT_TRUE(test, vswap_ready);

	total_swap_pages--;
	vswap_nr_tiers--;
	vswap_ready = ready;
	vswap_set_mode(mode);
}

/*
 * Device P has 1000 slots, all in use, and is being removed; device Q has 300
 * free ones. The total says that there is no room, which reclaim believes.
 */
static void room_during_swapoff(struct kunit *test)
{
	struct swap_info_struct *si = kunit_kzalloc(test, sizeof(*si), GFP_KERNEL);
	unsigned long leaving = vswap_leaving;
	long room = vswap_device_room();
	enum vswap_mode mode = vswap_mode;
	unsigned int type = MAX_SWAPFILES - 1;
	bool enabled = zswap_is_enabled();

	KUNIT_ASSERT_NOT_NULL(test, si);
	if (room || READ_ONCE(swap_info[type]))
		kunit_skip(test, "there are devices");

	/* Nothing but the devices takes data. */
	enable_zswap(false);
	atomic_long_set(&si->inuse_pages, 1000);
	WRITE_ONCE(swap_info[type], si);
	atomic_long_add(300 - 1000, &nr_swap_pages);
	KUNIT_EXPECT_EQ(test, vswap_device_room(), 300 - 1000);
	KUNIT_EXPECT_FALSE(test, vswap_can_swap(NULL, false));

	WRITE_ONCE(vswap_leaving, leaving | BIT(type));
	KUNIT_EXPECT_EQ(test, vswap_hidden_room(), 1000);
	KUNIT_EXPECT_EQ(test, vswap_device_room(), 300);
	KUNIT_EXPECT_TRUE(test, vswap_can_swap(NULL, false));
	vswap_set_mode(VSWAP_NEVER);
	KUNIT_EXPECT_FALSE(test, vswap_can_swap(NULL, false));
	vswap_set_mode(mode);

	/* All has been moved, and Q is full. */
	atomic_long_set(&si->inuse_pages, 0);
	atomic_long_add(1000 - 300, &nr_swap_pages);
	KUNIT_EXPECT_EQ(test, vswap_device_room(), 0);
	KUNIT_EXPECT_FALSE(test, vswap_can_swap(NULL, false));

	WRITE_ONCE(vswap_leaving, leaving);
	WRITE_ONCE(swap_info[type], NULL);
	enable_zswap(enabled);
}

static struct kunit_case vswap_cases[] = {
	KUNIT_CASE(policy_is_asked_for_many),
	KUNIT_CASE(policy_is_asked_near_the_end),
	KUNIT_CASE(memory_out_of_reach),
	KUNIT_CASE(nothing_for_memory_out_of_reach),
	KUNIT_CASE(room_during_swapoff),
	KUNIT_CASE(alloc_every_order),
	KUNIT_CASE(no_slot_before_all_is_ready),
	KUNIT_CASE(zero_slot),
	KUNIT_CASE(count_overflow),
	KUNIT_CASE(counters_wrap),
	KUNIT_CASE(counters_at_their_limits),
	KUNIT_CASE(refusals_wrap),
	KUNIT_CASE(group_counters),
	KUNIT_CASE(owner_references),
	KUNIT_CASE(group_goes_while_marking),
	KUNIT_CASE(release_in_runs),
	KUNIT_CASE(backing_transitions),
	KUNIT_CASE(large_folio_is_erased_in_parts),
	KUNIT_CASE(io_in_pieces),
	KUNIT_CASE(io_with_holes),
	KUNIT_CASE(large_folio_can_be_read),
	KUNIT_CASE(refusals_by_error),
	KUNIT_CASE(refused_page_is_mlocked),
	KUNIT_CASE(oom_is_put_off_rarely),
	KUNIT_CASE(oom_waits_for_compaction),
	KUNIT_CASE(holes_are_looked_for_again),
	KUNIT_CASE(shrinker_of_a_pool_is_waited_for),
	KUNIT_CASE(shmem_folio_of_former_entries),
	KUNIT_CASE(table_failures),
	KUNIT_CASE(lend_tables),
	KUNIT_CASE(no_tables),
	KUNIT_CASE(cluster_in_use_serves_all_slots),
	KUNIT_CASE(refilling_kills_nobody),
	KUNIT_CASE(growing_kills_nobody),
	KUNIT_CASE_SLOW(grow_on_demand),
	KUNIT_CASE_SLOW(grow_ahead),
	KUNIT_CASE_SLOW(tables_go),
	KUNIT_CASE_SLOW(race_resizing),
	KUNIT_CASE_SLOW(growing_fails),
	{}
};

static struct kunit_suite vswap_suite = {
	.name = "vswap_space",
	.init = vswap_test_init,
	.exit = vswap_test_exit,
	.test_cases = vswap_cases,
};
kunit_test_suite(vswap_suite);

/* Boot parameters: the parsers of the kernel, with inputs that nobody should give */

enum { BOOT_INPUTS = 4000, BOOT_INPUT_MAX = 2048 };

static const char boot_words[][9] __initconst = {
	"never", "auto", "always", "max", "on", "Y", "N", "0", "1", "64", "4096", ",", " ",
	"=", "\"", "\n", "%n%s", "--", "vswap", ".max_gb",
};

static const char boot_prefixes[][3] __initconst = {
	"", "", "", "+", "-", "0", "0x", "++", " ",
};

static const char boot_suffixes[][3] __initconst = {
	"", "", "", "\n", "G", " ", "\n\n", ".", "e3",
};

static u32 __init below(struct rnd_state *rnd, u32 limit)
{
	return prandom_u32_state(rnd) % limit;
}

/* A string of at most BOOT_INPUT_MAX characters. */
static void __init make_input(struct rnd_state *rnd, char *to)
{
	static const char * const formats[] = {
		"%s%llu%s", "%s%lld%s", "%s%llx%s", "%s%#llx%s", "%s%#llo%s",
	};
	static const char fillers[] = "A90\xff, ";
	unsigned int len, i;
	u64 number;

	*to = '\0';
	switch (prandom_u32_state(rnd) % 8) {
	case 0:
	case 1:
	case 2:	/* words, one of which may be spoilt */
		for (i = prandom_u32_state(rnd) % 3; i < 3; i++)
			strlcat(to, boot_words[below(rnd, ARRAY_SIZE(boot_words))], BOOT_INPUT_MAX);
		len = strlen(to);
		if (len && prandom_u32_state(rnd) % 2)
			to[prandom_u32_state(rnd) % len] = 1 + prandom_u32_state(rnd) % 255;
		break;
	case 3:	/* one word, which may be right */
		strscpy(to, boot_words[below(rnd, ARRAY_SIZE(boot_words))], BOOT_INPUT_MAX);
		break;
	case 4:
	case 5:	/* a number of any size */
		number = (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
		number >>= prandom_u32_state(rnd) % 64;
		if (prandom_u32_state(rnd) % 4 == 0)
			number = (1ULL << prandom_u32_state(rnd) % 64) - 1 +
				 prandom_u32_state(rnd) % 3;
		snprintf(to, BOOT_INPUT_MAX, formats[below(rnd, ARRAY_SIZE(formats))],
			 boot_prefixes[below(rnd, ARRAY_SIZE(boot_prefixes))], number,
			 boot_suffixes[below(rnd, ARRAY_SIZE(boot_suffixes))]);
		break;
	case 6:	/* noise */
		len = prandom_u32_state(rnd) % 64;
		for (i = 0; i < len; i++)
			to[i] = 1 + prandom_u32_state(rnd) % 255;
		to[len] = '\0';
		break;
	case 7:	/* long */
		len = 255 + prandom_u32_state(rnd) % (BOOT_INPUT_MAX - 255);
		memset(to, fillers[below(rnd, sizeof(fillers))], len);
		to[len] = '\0';
		break;
	}
}

/* What a number is to boot parameters, or -1: written down once more. */
static long long __init number_in(const char *text)
{
	unsigned int base = 10, digits = 0;
	unsigned long long value = 0;

	if (*text == '+')
		text++;
	if (*text == '0') {
		base = 8;
		if ((text[1] == 'x' || text[1] == 'X') && isxdigit(text[2])) {
			base = 16;
			text += 2;
		}
	}
	for (; isxdigit(*text) && hex_to_bin(*text) < base; text++, digits++) {
		if (value <= UINT_MAX)
			value = value * base + hex_to_bin(*text);
	}
	if (*text == '\n')
		text++;
	return !digits || *text || value > UINT_MAX ? -1 : (long long)value;
}

static int (*boot_set_mode)(char *mode);
static const struct kernel_param *boot_max_gb;

static bool __init find_parsers(void)
{
	const struct obs_kernel_param *setup;
	const struct kernel_param *param;

	for (setup = __setup_start; setup < __setup_end; setup++)
		if (!strcmp(setup->str, "vswap="))
			boot_set_mode = setup->setup_func;
	for (param = __start___param; param < __stop___param; param++)
		if (!strcmp(param->name, "vswap.max_gb"))
			boot_max_gb = param;
	return boot_set_mode && boot_max_gb;
}

/* What the kernel does with a word that is no parameter of a module */
static int __init boot_unknown(char *param, char *val, const char *doing, void *arg)
{
	if (val && parameq(param, "vswap"))
		boot_set_mode(val);
	return 0;
}

static int vswap_boot_init(struct kunit *test)
{
	mode_before = vswap_mode;
	return 0;
}

static void vswap_boot_exit(struct kunit *test)
{
	vswap_set_mode(mode_before);
	KUNIT_EXPECT_EQ(test, vswap_verify(), 0);
}

/*
 * A mode is one of three words and a size is a number: they are taken, and
 * everything else changes nothing.
 */
static void __init boot_parameters(struct kunit *test)
{
	static const char * const modes[] = {
		[VSWAP_NEVER] = "never", [VSWAP_AUTO] = "auto", [VSWAP_ALWAYS] = "always",
	};
	unsigned int *max_gb, max_gb_before, taken = 0, refused = 0, i;
	int loglevel = console_loglevel;
	struct rnd_state rnd;
	char *input, *line;

	KUNIT_ASSERT_TRUE(test, find_parsers());
	max_gb = boot_max_gb->arg;
	max_gb_before = *max_gb;
	input = kunit_kzalloc(test, BOOT_INPUT_MAX + 1, GFP_KERNEL);
	line = kunit_kzalloc(test, 2 * BOOT_INPUT_MAX + 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, input);
	KUNIT_ASSERT_NOT_NULL(test, line);
	prandom_seed_state(&rnd, 20261124);
	/* Each of them is complained of. */
	console_loglevel = CONSOLE_LOGLEVEL_SILENT;

	for (i = 0; i < BOOT_INPUTS; i++) {
		enum vswap_mode wanted = vswap_mode;
		unsigned int size = *max_gb;
		long long number;
		bool known = false;
		unsigned int mode;
		int err;

		make_input(&rnd, input);
		for (mode = 0; mode < ARRAY_SIZE(modes); mode++) {
			if (!strcmp(input, modes[mode])) {
				wanted = mode;
				known = true;
			}
		}
		strscpy(line, input, BOOT_INPUT_MAX + 1);
		KUNIT_EXPECT_EQ(test, boot_set_mode(line), 1);
		KUNIT_EXPECT_EQ_MSG(test, vswap_mode, wanted, "%*pE", (int)strlen(input), input);
		*(known ? &taken : &refused) += 1;

		number = number_in(input);
		strscpy(line, input, BOOT_INPUT_MAX + 1);
		err = boot_max_gb->ops->set(line, boot_max_gb);
		KUNIT_EXPECT_EQ_MSG(test, !err, number >= 0, "%*pE", (int)strlen(input), input);
		KUNIT_EXPECT_EQ_MSG(test, *max_gb, number >= 0 ? (unsigned int)number : size,
				    "%*pE", (int)strlen(input), input);
		*(number >= 0 ? &taken : &refused) += 1;

		/* And as they come at boot: quotes and spaces divide the line. */
		snprintf(line, 2 * BOOT_INPUT_MAX + 64, "vswap=%s vswap.max_gb=%s", input, input);
		parse_args("vswap test", line, boot_max_gb, 1, -1, -1, NULL, boot_unknown);
		KUNIT_EXPECT_LE(test, (unsigned int)vswap_mode, VSWAP_ALWAYS);
		if (!(i % 64))
			cond_resched();
	}
	*max_gb = max_gb_before;
	/* What waits to be printed is not to be printed either. */
	console_lock();
	console_unlock();
	console_loglevel = loglevel;
	KUNIT_EXPECT_GT(test, taken, BOOT_INPUTS / 40);
	KUNIT_EXPECT_GT(test, refused, BOOT_INPUTS);
	kunit_info(test, "%u boot parameters refused, %u taken", refused, taken);
}

/* Whatever size was asked for, the space has one that its types can count. */
static void __init boot_sizes(struct kunit *test)
{
	static const unsigned int sizes[] __initconst = {
		0, 1, 2, 63, 64, 1U << 14, UINT_MAX,	/* GiB; the last but one is 2^32 pages */
	};
	struct vswap_space before;
	unsigned long slots, most;
	unsigned int *max_gb, max_gb_before, i;

	if (!vswap_si)
		kunit_skip(test, "the space was not set up");
	KUNIT_ASSERT_TRUE(test, find_parsers());
	max_gb = boot_max_gb->arg;
	max_gb_before = *max_gb;
	/* Nothing looks at the space while another one is in its place. */
	no_workers(test);
	before = vswap_space;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* Their shadow memory may be more than there is. */
		if (sizes[i] > 64 && IS_ENABLED(CONFIG_KASAN_VMALLOC) && !IS_ENABLED(CONFIG_UML))
			break;
		*max_gb = sizes[i];
		most = min3((unsigned long)sizes[i] << (30 - PAGE_SHIFT), swapfile_maximum_size,
			    INT_MAX / 2UL);
		if (vswap_space_init(before.grow_work.func)) {
			/* There may be no addresses for the large ones. */
			KUNIT_EXPECT_TRUE(test, !sizes[i] || sizes[i] > 64);
			vswap_space = before;
			continue;
		}
		KUNIT_EXPECT_GT(test, sizes[i], 0);
		slots = vswap_slots_max();
		KUNIT_EXPECT_LE(test, slots, most);
		KUNIT_EXPECT_GT(test, slots + 2 * SWAPFILE_CLUSTER + slots_per_page(), most);
		vswap_space_destroy();
		vswap_space = before;
		vm_unmap_aliases();
	}
	*max_gb = max_gb_before;
}

static struct kunit_case __refdata vswap_boot_cases[] = {
	KUNIT_CASE_SLOW(boot_parameters),
	KUNIT_CASE(boot_sizes),
	{}
};

static struct kunit_suite vswap_boot_suite = {
	.name = "vswap_boot",
	.init = vswap_boot_init,
	.exit = vswap_boot_exit,
	.test_cases = vswap_boot_cases,
};
kunit_test_init_section_suite(vswap_boot_suite);

MODULE_DESCRIPTION("KUnit tests of virtual swap");
MODULE_LICENSE("GPL");
