// SPDX-License-Identifier: GPL-2.0-only
/*
 * Virtual swap: which compressed data is written to a device.
 *
 * There is no list of it. For each group a hand goes round through the clusters,
 * which were filled one after the other: data that it meets for the first time
 * gets a second chance, the rest is written back. So neighbours are written
 * together, and are neighbours on the device when they are read ahead.
 */
#include <linux/memcontrol.h>
#include <linux/zswap.h>

#include "internal.h"
#include "zswap.h"

/* Slots of a cluster that are to be written back, in order. */
struct vswap_victims {
	unsigned int nr;
	unsigned short off[SWAP_CLUSTER_MAX];
	unsigned long word[SWAP_CLUSTER_MAX];
};

/* Does anything in @ci belong to the group? A hint, without the lock. */
static bool vswap_may_have(struct swap_cluster_info *ci,
			   const struct vswap_owner_filter *filter)
{
	return data_race(ci->backing) && data_race(ci->owners) & filter->bits;
}

/*
 * Look at the slots of a cluster from *@off on. Return: how many have data of
 * the group; *@off is where to go on.
 */
static unsigned int vswap_pick(struct swap_cluster_info *ci, unsigned int *off,
			       struct vswap_owner_filter *filter,
			       unsigned long nr_to_scan,
			       struct vswap_victims *victims)
{
	unsigned int seen = 0;

	victims->nr = 0;
	spin_lock(&ci->lock);
	for (; ci->backing && *off < SWAPFILE_CLUSTER; (*off)++) {
		unsigned long word = ci->backing[*off];

		if (vswap_backing_tag(word) != VSWAP_ZSWAP ||
		    !vswap_filter_matches(filter, __swap_cgroup_get(ci, *off)))
			continue;
		if (seen == nr_to_scan || victims->nr == SWAP_CLUSTER_MAX)
			goto unlock;
		seen++;
		if (word & VSWAP_REFERENCED) {
			WRITE_ONCE(ci->backing[*off], word & ~VSWAP_REFERENCED);
			continue;
		}
		victims->off[victims->nr] = *off;
		victims->word[victims->nr++] = word;
	}
	*off = SWAPFILE_CLUSTER;
unlock:
	spin_unlock(&ci->lock);
	return seen;
}

/* Return: true to go on. */
static bool vswap_write_victims(unsigned int idx, const struct vswap_victims *victims,
				unsigned long *written, bool *met_cached)
{
	unsigned long first = (unsigned long)idx * SWAPFILE_CLUSTER;
	unsigned int i;
	int err;

	for (i = 0; i < victims->nr; i++) {
		err = vswap_writeback(victims->word[i],
				      swp_entry(vswap_type, first + victims->off[i]));
		if (!err) {
			zswap_written_back_pages++;
			(*written)++;
			continue;
		}
		zswap_reject_reclaim_fail++;
		if (err == -EAGAIN)
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
	unsigned int nr_clusters = READ_ONCE(vswap_space.nr_clusters), left;
	unsigned int hand = READ_ONCE(group->hand);
	unsigned int idx = hand / SWAPFILE_CLUSTER, off = hand % SWAPFILE_CLUSTER;
	struct vswap_owner_filter filter;
	struct vswap_victims victims;
	struct swap_cluster_info *ci;
	unsigned long written = 0;
	bool more = true;

	if (atomic_long_read(&group->zswapped) <= 0)
		return 0;
	vswap_filter_init(&filter, memcg);
	/* Once round, and what of the first cluster was passed by. */
	for (left = nr_clusters; *nr_to_scan && more && left;) {
		if (idx >= nr_clusters || off == SWAPFILE_CLUSTER) {
			idx = idx + 1 < nr_clusters ? idx + 1 : 1;
			off = 0;
			if (!(--left % 64))
				cond_resched();
		}
		ci = &vswap_si->cluster_info[idx];
		if (!vswap_may_have(ci, &filter)) {
			off = SWAPFILE_CLUSTER;
			continue;
		}
		*nr_to_scan -= vswap_pick(ci, &off, &filter, *nr_to_scan, &victims);
		more = vswap_write_victims(idx, &victims, &written, met_cached);
	}
	/* Of several at a time, the last one's: some is met twice, or later. */
	WRITE_ONCE(group->hand, min(idx * SWAPFILE_CLUSTER + off,
				    nr_clusters * SWAPFILE_CLUSTER - 1));
	return written;
}

/* See vswap_shrink_count(). */
unsigned long __vswap_shrink_count(struct mem_cgroup *memcg)
{
	long nr = atomic_long_read(&vswap_memcg_group(memcg)->zswapped);

	return max(nr, 0L) / num_node_state(N_MEMORY);
}
