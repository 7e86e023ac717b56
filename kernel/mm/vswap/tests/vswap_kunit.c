// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of virtual swap: the space, the tables, slots and their backing.
 *
 * They work on the virtual device itself, which nothing else uses while the
 * machine boots. Each ends with the walk over all invariants.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/swap_ops.h>
#include <trace/events/kmem.h>

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
	KUNIT_ASSERT_NOT_NULL(test, vswap_si);
	mode_before = vswap_mode;
	vswap_set_mode(VSWAP_ALWAYS);
	kunit_activate_static_stub(test, vswap_wanted, always_wanted);
	test->priv = (void *)vswap_counted(VSWAP_NR_USED);
	return 0;
}

static void vswap_test_exit(struct kunit *test)
{
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
	while (!READ_ONCE(waiter.go))
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
	vswap_zswap_erase(large);
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
 * Of 40 anonymous pages 30 are on no list: they are locked, unless the locked
 * pages are those of files.
 */
static void locked_pages(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, vswap_locked(30, 40, 10), 30);
	KUNIT_EXPECT_EQ(test, vswap_locked(50, 40, 10), 30);
	KUNIT_EXPECT_EQ(test, vswap_locked(20, 40, 10), 20);
	KUNIT_EXPECT_EQ(test, vswap_locked(30, 40, 40), 0);
	/* The numbers are not read at the same time. */
	KUNIT_EXPECT_EQ(test, vswap_locked(30, 40, 41), 0);
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
	unsigned long end;
	int i;

	for (i = 0; i < 3; i++) {
		racers[i] = (struct racer){ .test = test };
		if (i == 2)
			continue;
		racers[i].folio = new_folio(test, 0);
		racers[i].slots = new_slot_list(test, 2 * slots_per_page());
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
}

/* Policy */

static unsigned int asked;

static bool count_and_want(struct folio *folio)
{
	asked++;
	return true;
}

/*
 * One answer does for many pages of a group, within a tick and on one CPU. It
 * does not outlive a change of the policy, nor serve more pages than that.
 */
static void policy_is_asked_for_many(struct kunit *test)
{
	struct folio *small = new_folio(test, 0), *large;
	unsigned long tick;
	unsigned int i;

	kunit_deactivate_static_stub(test, vswap_wanted);
	kunit_activate_static_stub(test, vswap_wanted, count_and_want);
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
		for (asked = 0, i = 0; i < 3; i++) {
			vswap_policy_changed();
			KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(small));
		}
	} while (tick != jiffies);
	KUNIT_EXPECT_EQ(test, asked, 3);
	migrate_enable();

	if (1 << MAX_TEST_ORDER < SWAP_CLUSTER_MAX)
		return;
	large = new_folio(test, MAX_TEST_ORDER);
	asked = 0;
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, __vswap_prepare_alloc(large));
	KUNIT_EXPECT_EQ(test, asked, 3);
}

static struct kunit_case vswap_cases[] = {
	KUNIT_CASE(policy_is_asked_for_many),
	KUNIT_CASE(alloc_every_order),
	KUNIT_CASE(no_slot_before_all_is_ready),
	KUNIT_CASE(zero_slot),
	KUNIT_CASE(count_overflow),
	KUNIT_CASE(release_in_runs),
	KUNIT_CASE(backing_transitions),
	KUNIT_CASE(large_folio_is_erased_in_parts),
	KUNIT_CASE(io_in_pieces),
	KUNIT_CASE(io_with_holes),
	KUNIT_CASE(large_folio_can_be_read),
	KUNIT_CASE(refusals_by_error),
	KUNIT_CASE(locked_pages),
	KUNIT_CASE(oom_is_put_off_rarely),
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
	{}
};

static struct kunit_suite vswap_suite = {
	.name = "vswap_space",
	.init = vswap_test_init,
	.exit = vswap_test_exit,
	.test_cases = vswap_cases,
};
kunit_test_suite(vswap_suite);

MODULE_DESCRIPTION("KUnit tests of virtual swap");
MODULE_LICENSE("GPL");
