// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: which compressed data is written to a device.
 *
 * There is no list of compressed data. For each group a hand goes round through
 * the clusters, which were filled one after the other. Data that the hand meets
 * for the first time gets a second chance; the rest is written back. Neighbours
 * are written together, and are neighbours on the device for readahead.
 */
#include <linux/memcontrol.h>
#include <linux/zswap.h>

#include "internal.h"
#include "zswap.h"

/* The slots of a step of the hand, which does not go beyond a cluster. */
#define VSWAP_STEP	SWAP_CLUSTER_MAX

/*
 * The limits of one call, in steps, and in clusters without data of the group:
 * a group that has little data among much of others would search for long.
 */
#define VSWAP_STEPS_MAX	4096
#define VSWAP_SKIPS_MAX	8192

/* Slots that are to be written back, in order. */
struct vswap_victims {
	bool of_a_group;		/* with one limit for all of them */
	unsigned int nr;
	unsigned int slot[VSWAP_STEP];
	unsigned long word[VSWAP_STEP];
};

/* Does anything in @ci belong to the group? A hint, without the lock. */
static bool vswap_may_have(struct swap_cluster_info *ci,
			   const struct vswap_owner_filter *filter)
{
	/* A hint: vswap_pick() looks again, under the lock. */
	return data_race(ci->backing) && data_race(ci->owners) & filter->bits;
}

/*
 * Move the hand on, by a step or over a cluster without data of the group. The
 * slots that it passes belong to the caller; another caller gets the next ones.
 * Return: how many slots, from *@slot on.
 */
static unsigned int vswap_move_hand(struct vswap_group *group,
				    const struct vswap_owner_filter *filter,
				    unsigned int *slot)
{
	unsigned int end = READ_ONCE(vswap_space.nr_clusters) * SWAPFILE_CLUSTER;
	unsigned int hand = READ_ONCE(group->hand), next;
	struct swap_cluster_info *ci;

	do {
		/* There is nothing in the first cluster. */
		*slot = hand >= SWAPFILE_CLUSTER && hand < end ? hand : SWAPFILE_CLUSTER;
		ci = &vswap_si->cluster_info[*slot / SWAPFILE_CLUSTER];
		next = round_up(*slot + 1, vswap_may_have(ci, filter) ?
				VSWAP_STEP : SWAPFILE_CLUSTER);
	} while (!try_cmpxchg(&group->hand, &hand, next));
	return next - *slot;
}

/* Return: how many of the slots have data of the group. */
static unsigned int vswap_pick(unsigned int slot, unsigned int nr,
			       struct vswap_owner_filter *filter,
			       struct vswap_victims *victims)
{
	struct swap_cluster_info *ci = &vswap_si->cluster_info[slot / SWAPFILE_CLUSTER];
	unsigned int off = slot % SWAPFILE_CLUSTER, seen = 0;

	/* Since the last time, an id may have been freed and got by another group. */
	filter->id = 0;
	/* A limit that keeps one page of a group from a device keeps them all. */
	victims->of_a_group = filter->memcg;
	victims->nr = 0;
	spin_lock(&ci->lock);
	for (; ci->backing && nr; nr--, off++, slot++) {
		unsigned long word = ci->backing[off];

		if (vswap_backing_tag(word) != VSWAP_ZSWAP ||
		    !vswap_filter_matches(filter, __swap_cgroup_get(ci, off)))
			continue;
		seen++;
		/* It is in use. */
		if (swp_tb_is_folio(__swap_table_get(ci, off)))
			continue;
		if (word & VSWAP_REFERENCED) {
			WRITE_ONCE(ci->backing[off], word & ~VSWAP_REFERENCED);
			continue;
		}
		victims->slot[victims->nr] = slot;
		victims->word[victims->nr++] = word;
	}
	spin_unlock(&ci->lock);
	return seen;
}

/* Return: true to go on. */
static bool vswap_write_victims(const struct vswap_victims *victims,
				unsigned long *written, bool *met_cached)
{
	unsigned int i;
	int err;

	for (i = 0; i < victims->nr; i++) {
		err = vswap_writeback(victims->word[i],
				      swp_entry(vswap_type, victims->slot[i]));
		if (!err) {
			(*written)++;
			continue;
		}
		zswap_reject_reclaim_fail++;
		/* Nothing can be written for now, or the group may have no more slots. */
		if (err == -EAGAIN || (err == -ENOMEM && victims->of_a_group))
			return false;
		/* It is in use: see shrink_memcg_cb(). */
		if (err == -EEXIST && met_cached) {
			*met_cached = true;
			return false;
		}
	}
	return true;
}

/* See vswap_shrink(). */
unsigned long __vswap_shrink(struct mem_cgroup *memcg, unsigned long *nr_to_scan,
			     bool *met_cached)
{
	struct vswap_group *group = vswap_memcg_group(memcg);
	unsigned long left = READ_ONCE(vswap_space.nr_clusters) * SWAPFILE_CLUSTER;
	unsigned int steps = VSWAP_STEPS_MAX, skips = VSWAP_SKIPS_MAX;
	unsigned int slot, nr, seen;
	struct vswap_owner_filter filter;
	struct vswap_victims victims;
	unsigned long written = 0;
	bool more = true;

	if (atomic_long_read(&group->zswapped) <= 0)
		return 0;
	vswap_filter_init(&filter, memcg);
	/*
	 * Once round at most. Data keeps its second chance if nothing can be
	 * written.
	 */
	while (*nr_to_scan && more && left && vswap_can_fly()) {
		nr = vswap_move_hand(group, &filter, &slot);
		left -= min(left, nr);
		if (nr > VSWAP_STEP) {
			if (!--skips)
				break;
			continue;
		}
		seen = vswap_pick(slot, nr, &filter, &victims);
		*nr_to_scan -= min(*nr_to_scan, seen);
		more = vswap_write_victims(&victims, &written, met_cached);
		if (!--steps)
			break;
		if (!(steps % 64))
			cond_resched();
	}
	/* There may be more, but not now, or it has taken long enough. */
	if (!steps || !skips || !vswap_can_fly())
		*nr_to_scan = 0;
	/* What a device does not take comes back: it makes no room. */
	return vswap_writes_fail() ? 0 : written;
}

/*
 * See vswap_shrink_count(). Only zsmalloc knows the node of a page's data:
 * reclaim of any node takes the data that the hand meets.
 */
unsigned long __vswap_shrink_count(struct mem_cgroup *memcg)
{
	long nr = atomic_long_read(&vswap_memcg_group(memcg)->zswapped);

	return max(nr, 0L) / num_node_state(N_MEMORY);
}
