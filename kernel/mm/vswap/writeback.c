// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: writing compressed data back to a device.
 *
 * Reclaim prepares pages to be written, and neither waits for a device nor
 * allocates memory: pages and descriptors ("flights") come from a pool that is
 * filled when there is a device. Reclaim stops at once when the pool is empty
 * or the devices have no room. A work item sorts, merges and submits the pages
 * that are ready; another one ends the flights whose data has been written.
 *
 * Compressed data backs its slot until it is on the device. The slot is held in
 * the swap cache only while its data is decompressed. From then on the slot may
 * be read, written or freed. This takes the former backing word back from the
 * flight, which is "overtaken". At its end an overtaken flight finds that it
 * has no word, and frees the slot of the device. Only then does the flight
 * return to the pool: a pointer in a backing word is never that of an earlier
 * flight.
 */
#include <linux/blk-cgroup.h>
#include <linux/blkdev.h>
#include <linux/kthread.h>
#include <linux/list_sort.h>
#include <linux/llist.h>
#include <linux/memcontrol.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/swap_ops.h>

#include "internal.h"
#include "zswap.h"

/**
 * struct vswap_flight - a page on its way from zswap to a device
 * @list: in the pool, or among those that are ready to be written
 * @word: the backing word that it has replaced until the end; 0 when overtaken.
 *	  Protected by the lock of @virt's cluster
 * @size: of the compressed data
 * @virt: the virtual slot
 * @slot: the slot of a device; its reverse map names @virt, and nothing else
 *	  names it before the end
 * @id: the owner of @virt
 * @memcg: the same, charged for @slot; referenced
 * @folio: the data; of order 0
 */
struct vswap_flight {
	struct list_head list;
	unsigned long word;
	unsigned int size;
	swp_entry_t virt;
	swp_entry_t slot;
	unsigned short id;
	struct mem_cgroup *memcg;
	struct folio *folio;
};

/* Flights that are contiguous on the device, written by one request. */
struct vswap_request {
	struct swap_iocb sio;
	struct list_head list;		/* in the pool */
	struct llist_node done;
	bool failed;
	unsigned int nr;
	struct vswap_flight *flights[SWAP_CLUSTER_MAX];
};

#define VSWAP_REQUESTS	16

/* The lock protects the lists and the numbers that follow. */
static DEFINE_SPINLOCK(vswap_flight_lock);
static LIST_HEAD(vswap_pool);
static LIST_HEAD(vswap_requests);
static LIST_HEAD(vswap_ready_flights);
static unsigned int vswap_nr_ready;
static unsigned int vswap_nr_flights;	/* of the pool, wherever they are */
static unsigned int vswap_want_flights;

/* How many slots of each device flights hold */
static atomic_t vswap_in_flight[MAX_SWAPFILES];

static LLIST_HEAD(vswap_done);
static DECLARE_WAIT_QUEUE_HEAD(vswap_landed);
/* Writeback pauses after an error: data that cannot be written stays. */
static unsigned long vswap_paused_until = INITIAL_JIFFIES;
/* Has the last request failed? */
static bool vswap_failing;

static void vswap_submit_work(struct work_struct *work);
static void vswap_done_work(struct work_struct *work);
static DECLARE_WORK(vswap_submitter, vswap_submit_work);
static DECLARE_WORK(vswap_finisher, vswap_done_work);

/* The pool */

static bool vswap_is_paused(void)
{
	return time_before(jiffies, READ_ONCE(vswap_paused_until));
}

/**
 * vswap_writes_fail - does data that is to be written stay in zswap?
 *
 * Return: true if the last request failed.
 */
bool vswap_writes_fail(void)
{
	return READ_ONCE(vswap_failing);
}

static struct vswap_flight *vswap_take_flight(void)
{
	struct vswap_flight *flight;

	if (vswap_is_paused())
		return NULL;
	spin_lock(&vswap_flight_lock);
	flight = list_first_entry_or_null(&vswap_pool, struct vswap_flight, list);
	if (flight)
		list_del(&flight->list);
	spin_unlock(&vswap_flight_lock);
	return flight;
}

/**
 * vswap_can_fly - would vswap_writeback() find a page to start with?
 *
 * Return: false if it would not, for now.
 */
bool vswap_can_fly(void)
{
	return !list_empty_careful(&vswap_pool) && !vswap_is_paused();
}

static void vswap_free_flight(struct vswap_flight *flight)
{
	folio_put(flight->folio);
	kfree(flight);
}

static void vswap_put_flight(struct vswap_flight *flight)
{
	bool surplus;

	spin_lock(&vswap_flight_lock);
	surplus = vswap_nr_flights > vswap_want_flights;
	if (surplus)
		vswap_nr_flights--;
	else
		list_add_tail(&flight->list, &vswap_pool);
	spin_unlock(&vswap_flight_lock);
	if (surplus)
		vswap_free_flight(flight);
	if (wq_has_sleeper(&vswap_landed))
		wake_up_all(&vswap_landed);
}

static struct vswap_flight *vswap_new_flight(void)
{
	struct vswap_flight *flight = kzalloc_obj(*flight, GFP_KERNEL | __GFP_NORETRY |
						  __GFP_NOWARN);

	if (!flight)
		return NULL;
	flight->folio = folio_alloc(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN, 0);
	if (!flight->folio) {
		kfree(flight);
		return NULL;
	}
	__folio_set_swapbacked(flight->folio);
	return flight;
}

/* They take 16 KB and are never freed. Return: whether there are any. */
static bool vswap_have_requests(void)
{
	static unsigned int nr;

	while (nr < VSWAP_REQUESTS) {
		struct vswap_request *req = kzalloc_obj(*req, GFP_KERNEL |
							__GFP_NORETRY | __GFP_NOWARN);

		if (!req)
			break;
		nr++;
		spin_lock(&vswap_flight_lock);
		list_add(&req->list, &vswap_requests);
		spin_unlock(&vswap_flight_lock);
	}
	return nr;
}

/**
 * vswap_resize_pool - have flights for a machine of this size, or none
 * @wanted: is there a device that entries can be written to?
 *
 * Context: Process context, one at a time.
 * Return: false if memory is missing.
 */
bool vswap_resize_pool(bool wanted)
{
	struct vswap_flight *flight;
	unsigned int want = 0;

	if (wanted && vswap_have_requests())
		want = clamp(totalram_pages() / 256, 64UL, SZ_4M >> PAGE_SHIFT);
	spin_lock(&vswap_flight_lock);
	vswap_want_flights = want;
	spin_unlock(&vswap_flight_lock);

	while (READ_ONCE(vswap_nr_flights) < want) {
		flight = vswap_new_flight();
		if (!flight)
			return false;
		spin_lock(&vswap_flight_lock);
		vswap_nr_flights++;
		spin_unlock(&vswap_flight_lock);
		vswap_put_flight(flight);
	}
	/* Flights under way are freed when they land. */
	spin_lock(&vswap_flight_lock);
	while (vswap_nr_flights > want && !list_empty(&vswap_pool)) {
		flight = list_first_entry(&vswap_pool, struct vswap_flight, list);
		list_del(&flight->list);
		vswap_nr_flights--;
		spin_unlock(&vswap_flight_lock);
		vswap_free_flight(flight);
		spin_lock(&vswap_flight_lock);
	}
	spin_unlock(&vswap_flight_lock);
	return want || !wanted;
}

/* From zswap to a page that is ready to be written */

/* Does @word, which may be outdated, back slot @off of a locked cluster? */
static bool vswap_backs(struct swap_cluster_info *ci, unsigned int off,
			unsigned long word)
{
	return ci->backing && vswap_backing_same(ci->backing[off], word);
}

static void vswap_give_slot_back(struct vswap_flight *flight)
{
	vswap_free_slots(flight->slot, 1);
	atomic_dec(&vswap_in_flight[swp_type(flight->slot)]);
	vswap_memcg_charge(flight->memcg, -1, false);
}

/* Take a slot of a device, for the owner of the virtual slot. */
static int vswap_take_slot(struct vswap_flight *flight, unsigned long word)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(flight->virt);
	unsigned int off = swp_cluster_offset(flight->virt);
	int err = 0;

	flight->memcg = NULL;
	spin_lock(&ci->lock);
	if (!vswap_backs(ci, off, word)) {
		err = -ENOENT;
	} else if (swp_tb_is_folio(__swap_table_get(ci, off))) {
		err = -EEXIST;
	} else {
		flight->id = __swap_cgroup_get(ci, off);
		flight->memcg = vswap_memcg_get(flight->id);
	}
	spin_unlock(&ci->lock);
	if (err)
		return err;

	/* The limit of this owner need not be that of the others. */
	if (vswap_memcg_charge(flight->memcg, 1, false))
		return -ENOMEM;
	flight->slot = vswap_alloc_slots(flight->virt, 0, true);
	if (flight->slot.val) {
		atomic_inc(&vswap_in_flight[swp_type(flight->slot)]);
		return 0;
	}
	vswap_memcg_charge(flight->memcg, -1, false);
	return -EAGAIN;
}

/* Hold the slot: add the folio to the swap cache there. */
static int vswap_hold_slot(struct vswap_flight *flight, unsigned long word,
			   void **shadow)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(flight->virt);
	unsigned int off = swp_cluster_offset(flight->virt);
	int err;

	/* A lookup at its former slot may still hold the folio. */
	if (!folio_trylock(flight->folio))
		return -EBUSY;
	*shadow = NULL;
	spin_lock(&ci->lock);
	err = __swap_cache_add_check(ci, flight->virt, 1, shadow, NULL);
	/*
	 * Has the slot been freed and allocated again? Perhaps by a new group that
	 * has the id of one that is gone: that has none.
	 */
	if (!err && (!vswap_backs(ci, off, word) ||
		     __swap_cgroup_get(ci, off) != flight->id ||
		     (flight->memcg &&
		      mem_cgroup_private_id(flight->memcg) != flight->id)))
		err = -ENOENT;
	if (!err)
		__swap_cache_do_add_folio(ci, flight->folio, flight->virt);
	spin_unlock(&ci->lock);
	if (err)
		folio_unlock(flight->folio);
	return err;
}

/*
 * Let the slot go and, unless @word is 0, make the flight its backing. Return:
 * false if the flight was overtaken at once, because the slot is no longer
 * used.
 */
static bool vswap_let_slot_go(struct vswap_flight *flight, unsigned long word,
			      void *shadow)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(flight->virt);
	struct folio *folio = flight->folio;
	bool under_way;

	spin_lock(&ci->lock);
	flight->word = word;
	if (word) {
		vswap_memcg_in_flight(flight->memcg, flight->size);
		WRITE_ONCE(ci->backing[swp_cluster_offset(flight->virt)],
			   vswap_flight_to_backing(flight));
	}
	__swap_cache_do_del_folio(ci, folio, flight->virt, shadow);
	under_way = flight->word;
	spin_unlock(&ci->lock);

	folio_unlock(folio);
	folio_put(folio);
	return under_way;
}

static int vswap_load_flight(struct vswap_flight *flight, unsigned long word)
{
	void *shadow;
	bool ok;
	int err;

	err = vswap_hold_slot(flight, word, &shadow);
	if (err)
		return err;
	ok = vswap_decompress(word, flight->virt, &flight->folio->page);
	if (vswap_let_slot_go(flight, ok ? word : 0, shadow))
		return 0;
	return ok ? -ENOENT : -EIO;
}

static void vswap_queue_flight(struct vswap_flight *flight)
{
	bool enough;

	spin_lock(&vswap_flight_lock);
	list_add_tail(&flight->list, &vswap_ready_flights);
	enough = ++vswap_nr_ready >= SWAP_CLUSTER_MAX && !list_empty(&vswap_requests);
	spin_unlock(&vswap_flight_lock);
	if (enough)
		queue_work(vswap_space.wq, &vswap_submitter);
}

/* The flight is over, and no longer has a slot of a device. */
static void vswap_end_flight(struct vswap_flight *flight)
{
	vswap_memcg_put(flight->memcg);
	vswap_put_flight(flight);
}

/**
 * vswap_writeback - start to write compressed data to a device
 * @word: the backing word that names it; nothing happens if it is outdated
 * @virt: the virtual slot where it was seen
 *
 * Context: Process context, no locks held. Does not wait for a device.
 * Return: 0 if it will be written; -EAGAIN if nothing can be, for now; -ENOMEM
 * if its owner may not have a slot; -EEXIST if the slot is in the swap cache;
 * another error if there is nothing to do.
 */
int vswap_writeback(unsigned long word, swp_entry_t virt)
{
	struct vswap_flight *flight;
	int err;

	/* Without room a charge would just be seen in memory.swap.peak. */
	if (vswap_device_room() <= 0)
		return -EAGAIN;
	flight = vswap_take_flight();
	if (!flight)
		return -EAGAIN;
	flight->virt = virt;
	flight->size = vswap_backing_to_length(word);
	err = vswap_take_slot(flight, word);
	if (!err) {
		err = vswap_load_flight(flight, word);
		if (!err) {
			vswap_queue_flight(flight);
			return 0;
		}
		vswap_give_slot_back(flight);
	}
	vswap_end_flight(flight);
	return err;
}

/* See vswap_writeback_flush(). */
void __vswap_writeback_flush(void)
{
	if (READ_ONCE(vswap_nr_ready))
		queue_work(vswap_space.wq, &vswap_submitter);
}

/* See vswap_writeback_throttle(). */
void __vswap_writeback_throttle(void)
{
	wait_event_idle_timeout(vswap_landed, !list_empty_careful(&vswap_pool) ||
				!READ_ONCE(vswap_nr_flights), HZ);
}

/* Landing */

/*
 * The slot of the device backs the virtual slot from now on; if writing failed,
 * compressed data still does. Return: the word of compressed data that is to be
 * freed, or 0.
 */
static unsigned long vswap_land(struct vswap_flight *flight, bool failed)
{
	struct swap_cluster_info *ci = __swap_entry_to_cluster(flight->virt);
	unsigned int off = swp_cluster_offset(flight->virt);
	unsigned long word;

	spin_lock(&ci->lock);
	word = flight->word;
	flight->word = 0;
	if (word)
		vswap_memcg_in_flight(flight->memcg, -(long)flight->size);
	if (word && failed) {
		WRITE_ONCE(ci->backing[off], word);
	} else if (word) {
		vswap_count(VSWAP_NR_ZSWAP, -1);
		vswap_install_slot(ci, flight->virt, flight->slot, VSWAP_FLIGHT);
		atomic_dec(&vswap_in_flight[swp_type(flight->slot)]);
	}
	spin_unlock(&ci->lock);

	if (!word || failed) {
		vswap_give_slot_back(flight);
		return 0;
	}
	zswap_written_back_pages++;
	count_vm_event(ZSWPWB);
	vswap_memcg_event(flight->memcg, ZSWPWB);
	return word;
}

static void vswap_land_request(struct vswap_request *req)
{
	struct vswap_flight *flight;
	unsigned long word;
	unsigned int i;

	WRITE_ONCE(vswap_failing, req->failed);
	if (req->failed)
		WRITE_ONCE(vswap_paused_until, jiffies + HZ / 10);
	for (i = 0; i < req->nr; i++) {
		flight = req->flights[i];
		word = vswap_land(flight, req->failed);
		/*
		 * One at a time: without a lock memory may be offlined between
		 * the look at several objects and their end.
		 */
		if (word)
			vswap_zswap_free(&word, 1, flight->memcg);
		vswap_end_flight(flight);
	}
}

/*
 * While the pool is full, data is written until it has fewer pages. What is freed
 * leaves holes: fill them now and then, so that no more is written than needed.
 */
static void vswap_compact_landed(unsigned int nr)
{
	static unsigned int landed;

	landed += nr;
	if (landed < max(256UL, zswap_max_pages() / 256))
		return;
	landed = 0;
	if (!zswap_has_room(NULL))
		vswap_kick_compact();
}

static void vswap_done_work(struct work_struct *work)
{
	struct llist_node *done = llist_reverse_order(llist_del_all(&vswap_done));
	struct vswap_request *req, *next;

	llist_for_each_entry_safe(req, next, done, done) {
		vswap_land_request(req);
		vswap_compact_landed(req->nr);
		spin_lock(&vswap_flight_lock);
		list_add(&req->list, &vswap_requests);
		spin_unlock(&vswap_flight_lock);
		/* The submitter may have run out of requests. */
		__vswap_writeback_flush();
		cond_resched();
	}
}

/* Called at the end of I/O, by the device: in any context. */
static bool vswap_request_end(struct swap_iocb **sio, bool *failed)
{
	struct vswap_request *req = container_of(*sio, struct vswap_request, sio);

	req->failed = *failed;
	llist_add(&req->done, &vswap_done);
	queue_work(vswap_space.wq, &vswap_finisher);
	return true;
}

/* Submitting */

static int vswap_flight_cmp(void *priv, const struct list_head *a,
			    const struct list_head *b)
{
	unsigned long x = list_entry(a, struct vswap_flight, list)->slot.val;
	unsigned long y = list_entry(b, struct vswap_flight, list)->slot.val;

	return x < y ? -1 : x > y;
}

static struct vswap_request *vswap_take_request(void)
{
	struct vswap_request *req;

	spin_lock(&vswap_flight_lock);
	req = list_first_entry_or_null(&vswap_requests, struct vswap_request, list);
	if (req)
		list_del(&req->list);
	spin_unlock(&vswap_flight_lock);
	return req;
}

/* Take flights from a sorted list as long as one request can write them. */
static void vswap_fill_request(struct vswap_request *req, struct list_head *ready)
{
	struct vswap_flight *flight, *next, *last = NULL;

	req->nr = 0;
	list_for_each_entry_safe(flight, next, ready, list) {
		if (last && (flight->memcg != last->memcg ||
			     !vswap_slots_adjoin(last->slot, flight->slot)))
			break;
		list_del(&flight->list);
		req->flights[req->nr] = flight;
		bvec_set_folio(&req->sio.bvecs[req->nr], flight->folio, PAGE_SIZE, 0);
		last = flight;
		if (++req->nr == ARRAY_SIZE(req->flights))
			break;
	}
	req->sio.nr_bvecs = req->nr;
	req->sio.len = req->nr * PAGE_SIZE;
	req->sio.entry = req->flights[0]->slot;
	req->sio.end_io = vswap_request_end;
}

static void vswap_submit_request(struct vswap_request *req)
{
	struct swap_io_ctx ctx = {
		.sio = &req->sio,
		.sis = __swap_entry_to_info(req->flights[0]->slot),
	};
	struct mem_cgroup *memcg = req->flights[0]->memcg;
	struct cgroup_subsys_state *css = vswap_memcg_blkcg(memcg);
	unsigned int i, nr = req->nr;

	count_vm_events(PSWPOUT, nr);
	for (i = 0; i < nr; i++)
		vswap_memcg_event(memcg, PSWPOUT);
	if (css)
		kthread_associate_blkcg(css);
	/* @req may be gone then. */
	swap_write_submit(&ctx);
	if (css) {
		kthread_associate_blkcg(NULL);
		css_put(css);
	}
}

/* @flight, which no list has any longer, is over before it was submitted. */
static void vswap_cancel_flight(struct vswap_flight *flight)
{
	vswap_land(flight, true);
	vswap_end_flight(flight);
}

/* Flights that were overtaken need not be written. */
static void vswap_cancel_overtaken(struct list_head *ready)
{
	struct vswap_flight *flight, *next;

	list_for_each_entry_safe(flight, next, ready, list) {
		if (READ_ONCE(flight->word))
			continue;
		list_del(&flight->list);
		vswap_cancel_flight(flight);
	}
}

static void vswap_submit_work(struct work_struct *work)
{
	struct vswap_request *req;
	unsigned int noreclaim;
	struct blk_plug plug;
	LIST_HEAD(ready);
	bool again;

	spin_lock(&vswap_flight_lock);
	list_splice_init(&vswap_ready_flights, &ready);
	vswap_nr_ready = 0;
	spin_unlock(&vswap_flight_lock);

	vswap_cancel_overtaken(&ready);
	list_sort(NULL, &ready, vswap_flight_cmp);
	/*
	 * As in reclaim, because this frees memory; around the plug, in which
	 * an interrupt may set a flag of the task.
	 */
	noreclaim = memalloc_noreclaim_save();
	blk_start_plug(&plug);
	while (!list_empty(&ready)) {
		req = vswap_take_request();
		if (!req)
			break;
		vswap_fill_request(req, &ready);
		vswap_submit_request(req);
	}
	blk_finish_plug(&plug);
	memalloc_noreclaim_restore(noreclaim);

	/* The rest is submitted when a request has ended: vswap_done_work(). */
	if (list_empty(&ready))
		return;
	spin_lock(&vswap_flight_lock);
	vswap_nr_ready += list_count_nodes(&ready);
	list_splice(&ready, &vswap_ready_flights);
	again = !list_empty(&vswap_requests);
	spin_unlock(&vswap_flight_lock);
	if (again)
		queue_work(vswap_space.wq, &vswap_submitter);
}

/* What is not being written to a device yet stays in zswap. */
static void vswap_cancel_flights(unsigned int type)
{
	struct vswap_flight *flight, *next;
	LIST_HEAD(cancelled);

	spin_lock(&vswap_flight_lock);
	list_for_each_entry_safe(flight, next, &vswap_ready_flights, list) {
		if (swp_type(flight->slot) == type) {
			list_move_tail(&flight->list, &cancelled);
			vswap_nr_ready--;
		}
	}
	spin_unlock(&vswap_flight_lock);
	list_for_each_entry_safe(flight, next, &cancelled, list)
		vswap_cancel_flight(flight);
}

/**
 * vswap_wait_for_flights - wait until no flight has a slot of a device
 * @type: the device; nothing is allocated there any more, but for spare slots that a
 * CPU was about to keep
 *
 * What has not been submitted is not written to a device that is to be removed;
 * and requests may all be with another, which hangs. The submitter may have some
 * in hand for a moment: look again.
 *
 * Return: 0, or -ERESTARTSYS after a signal.
 */
int vswap_wait_for_flights(unsigned int type)
{
	long left;

	do {
		vswap_cancel_flights(type);
		left = wait_event_interruptible_timeout(vswap_landed,
				!atomic_read(&vswap_in_flight[type]), HZ / 10);
	} while (!left);
	return min(left, 0L);
}

/**
 * vswap_overtake - take the data of a flight back
 * @ci: the cluster, locked
 * @off: the slot, whose backing word names a flight
 *
 * The compressed data backs the slot as before the flight, and no longer counts
 * as about to leave.
 */
void vswap_overtake(struct swap_cluster_info *ci, unsigned int off)
{
	struct vswap_flight *flight = vswap_backing_to_flight(ci->backing[off]);
	unsigned long word = flight->word;

	lockdep_assert_held(&ci->lock);
	VM_WARN_ON_ONCE(!word);
	WRITE_ONCE(flight->word, 0);
	WRITE_ONCE(ci->backing[off], word);
	vswap_memcg_in_flight(flight->memcg, -(long)flight->size);
	count_vm_event(VSWAP_OVERTAKE);
}

/**
 * vswap_flight_word - the data behind a slot that is being written back
 * @word: the backing word; the cluster is locked
 *
 * Return: the word that it has replaced.
 */
unsigned long vswap_flight_word(unsigned long word)
{
	struct vswap_flight *flight = vswap_backing_to_flight(word);

	return flight->word;
}
