/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of a backing word, for spin: mm/vswap/backing.c, writeback.c and
 * swapoff.c under the locking rules of internal.h.
 *
 * An inline or a proctype stands for the kernel's function of that name, and so
 * does a comment with such a name and (). What begins with model_ is not in the
 * kernel. test_model.py looks the names up.
 *
 * States of a virtual slot: free, cached (NONE, with a folio), zero, ZSWAP, SLOT,
 * FLIGHT, REFUSED, LOST.
 *
 * Actors: a process that writes, forks and frees; threads that fault; reclaim;
 * writeback (one actor prepares a flight, one writes it and lands); the end of
 * reclaim's writes; swapoff, which a signal may end, and swapon.
 *
 * An atomic sequence is what is done under one hold of ci->lock, or of the lock
 * of the device's cluster, with what may as well happen at the same moment.
 * Anybody may run between two sequences. The lock of a folio is a variable.
 *
 * Checked:
 * - Two words never name the same data, and the reverse map says what the word
 *   says: vswap_verify_slot(), after changes.
 * - What is released was in use. When all actors rest, only what words name is
 *   in use: model_rest().
 * - A fault finds what was written last, or gets an error: do_swap_page().
 * - Actors do not wait for each other for ever: spin's invalid end states.
 *
 * Abstractions: a page of memory has one virtual slot, which is freed, and
 * allocated again with another content. There are a page of zeroes (0) and two
 * other contents; a hash is the content. Anybody who has a swap entry may fault.
 * A page has two users at most. There is one flight. Storing, and reading and
 * writing the device, may fail any time. With FEW a page has one content and one
 * user, and I/O on the device succeeds: that leaves room for two virtual slots.
 * All CPUs have the same spare slot.
 *
 * Not modelled: large folios, shmem, KSM, hibernation, memory order, owners and
 * charges, the second chance, further devices, counters, readahead, compressed
 * data that cannot be read, the lock of a flight's folio after its slot was let
 * go, a device that is full but can be written, clusters and their tables.
 *
 * Beware: an else in an if that begins an option counts as one of the outer if.
 * "true ->" before it helps.
 *
 * With BUG_... there is a bug that test_model.py expects to be found.
 */
#ifndef NV
#define NV	1		/* virtual slots */
#define ND	2		/* slots of the device */
#define THREADS	2
#endif
#define NO	2	/* compressed objects */

#define NONE	0		/* words */
#define ZSWAP	16
#define SLOT	32
#define LOST	48
#define FLIGHT	64
#define REFUSED	80
#define vswap_backing_tag(word) ((word) & 240)
#define model_num(word)	((word) & 15)
#define model_tag(v)	vswap_backing_tag(backing[v])

#define NOTHING	15		/* contents: of what is not in use, or not up to date */
#define GARBAGE	14		/* of a slot that could not be written */
#define NOBODY	15
#define SPARE	14		/* in the reverse map */
#define BESIDE	13		/* taken with another slot, to be spare */

#define FREE	0		/* what is in the swap cache: nothing, */
#define FOLIO	1		/* the page's folio, */
#define HELD	2		/* the flight's */

byte backing[NV];
byte count[NV];			/* the swap count */
byte cache[NV];
bit zero[NV];

bit locked[NV];			/* the page's folio */
bit dirty[NV];
bit writeback[NV];
byte mapped[NV];
byte ref[NV];			/* of those who are about to lock it */
byte data[NV] = NOTHING;
byte want[NV];			/* what was written to it last */

byte object[NO] = NOTHING;	/* compressed data */
byte disk[ND] = NOTHING;
byte rmap[ND] = NOBODY;
bit cache_only[ND];
bit writeok = 1;		/* SWP_WRITEOK */

#define POOL	0
#define TAKEN	1
#define READY	2
byte state;			/* the flight */
byte flight_word;
byte flight_virt = NOBODY;
byte flight_slot = NOBODY;
byte flight_data = NOTHING;
bit in_flight;			/* vswap_in_flight */

byte busy;			/* actors at work */
hidden byte i, nr;

#define model_some(v, cond) \
	if \
	:: cond(0) -> v = 0 \
	:: NV > 1 && cond(NV - 1) -> v = NV - 1 \
	fi
#define model_word(v) (backing[v] == FLIGHT -> flight_word : backing[v])
#define model_names(word) (vswap_backing_tag(word) == ZSWAP || vswap_backing_tag(word) == SLOT)

inline vswap_verify_slot(v)
{
	assert(cache[v] || count[v] || (!backing[v] && !zero[v]));
	assert(!zero[v] || !backing[v]);
	assert(cache[v] == FOLIO || zero[v] || backing[v] || (!cache[v] && !count[v]));
	assert(model_tag(v) != REFUSED || cache[v] == FOLIO);
	assert(backing[v] != FLIGHT || (flight_virt == v && vswap_backing_tag(flight_word) == ZSWAP));
	assert(!flight_word || backing[flight_virt] == FLIGHT);
	assert(vswap_backing_tag(model_word(v)) != ZSWAP || object[model_num(model_word(v))] != NOTHING);
	assert(model_tag(v) != SLOT || rmap[model_num(backing[v])] == v);
	assert(model_tag(v) != SLOT || cache_only[model_num(backing[v])] == !count[v]);
	assert(NV == 1 || !model_names(model_word(v)) || model_word(0) != model_word(NV - 1))
}

/* An actor has nothing in its hands any more. */
inline model_rest()
{
	busy--;
	if
	:: !busy && state == POOL ->
		nr = 0;
		for (i : 0 .. NO - 1) { nr = nr + (object[i] != NOTHING) }
		for (i : 0 .. ND - 1) { nr = nr + (rmap[i] != NOBODY && rmap[i] != SPARE) }
		for (i : 0 .. NV - 1) { nr = nr - model_names(backing[i]) }
		assert(!nr && !in_flight && !flight_word);
		i = 0
	:: else
	fi
}

/* What words name */

inline vswap_zswap_free(word)
{
	assert(object[model_num(word)] != NOTHING);
	object[model_num(word)] = NOTHING
}

inline vswap_free_slots(s)
{
	assert(rmap[s] != NOBODY);
	rmap[s] = NOBODY; cache_only[s] = 0; disk[s] = NOTHING
}

inline swap_alloc_backing(v, s)
{
	if
	:: writeok && rmap[0] == NOBODY -> s = 0; rmap[s] = v;
		if
		:: ND > 1 && rmap[ND - 1] == NOBODY -> rmap[ND - 1] = BESIDE	/* vswap_set_spare() */
		:: true
		fi
	:: writeok && rmap[0] != NOBODY && rmap[ND - 1] == NOBODY -> s = ND - 1; rmap[s] = v
	:: s = NOBODY
	fi
}

inline vswap_keep_spare(s)
{
	atomic {
		if
		:: ND > 1 && s == 0 && rmap[ND - 1] == BESIDE -> rmap[ND - 1] = SPARE
		:: ND > 1 && s == 0 && rmap[ND - 1] == BESIDE -> rmap[ND - 1] = NOBODY	/* it has some */
		:: else
		fi }
}

inline vswap_alloc_slots(v, s)
{
	if
	:: ND > 1 && rmap[ND - 1] == SPARE -> s = ND - 1; rmap[s] = v	/* vswap_take_spare() */
	:: ND == 1 || rmap[ND - 1] != SPARE -> swap_alloc_backing(v, s)
	fi
}

inline vswap_note_cache_only(v)
{
	if :: model_tag(v) == SLOT -> cache_only[model_num(backing[v])] = !count[v] :: else fi
}

inline vswap_install_slot(v, s, from)
{
	assert(model_tag(v) == from);
	backing[v] = SLOT + s; vswap_note_cache_only(v)
}

inline vswap_overtake(v)
{
	assert(flight_word && flight_virt == v);
	backing[v] = flight_word; flight_word = 0
}

inline vswap_release_backing(v, tags)
{
	if :: backing[v] == FLIGHT && tags != SLOT -> vswap_overtake(v) :: else fi;
	if
	:: model_tag(v) == ZSWAP && tags != SLOT -> vswap_zswap_free(backing[v]); backing[v] = NONE
	:: model_tag(v) == SLOT && tags != ZSWAP -> vswap_free_slots(model_num(backing[v])); backing[v] = NONE
	:: !tags && !model_names(backing[v]) -> backing[v] = NONE
	:: else
	fi
}

/* The swap cache and the count; ci is locked, and so is the folio. */

inline __swap_cluster_free_entries(v) { vswap_release_backing(v, 0); zero[v] = 0 }

inline __swap_cache_do_del_folio(v)
{
	cache[v] = FREE;
	if :: !count[v] -> __swap_cluster_free_entries(v) :: else fi
}

inline model_page_gone(v) { data[v] = NOTHING; dirty[v] = 0 }

inline __try_to_reclaim_swap(v)
{
	if
	:: cache[v] == FOLIO && !count[v] && !writeback[v] ->
		__swap_cache_do_del_folio(v); dirty[v] = 1;
		if :: !mapped[v] -> model_page_gone(v) :: else fi
	:: else
	fi
}

/* Reading. The folio was added to the swap cache, locked. */
inline swap_read_folio(v)
{
	if
	:: atomic { zero[v] -> data[v] = 0 }
	:: atomic {	/* vswap_read_folio() */
		model_tag(v) == ZSWAP || backing[v] == FLIGHT;
		if :: backing[v] == FLIGHT -> vswap_overtake(v) :: else fi;	/* vswap_word() */
		data[v] = object[model_num(backing[v])]; dirty[v] = 1;
		assert(data[v] != NOTHING) };
		atomic { vswap_release_backing(v, ZSWAP); vswap_verify_slot(v) }	/* __vswap_zswap_erase() */
	:: atomic { model_tag(v) == SLOT -> data[v] = disk[model_num(backing[v])]; assert(data[v] != NOTHING) }
#ifndef FEW
	:: model_tag(v) == SLOT			/* cannot be read */
#endif
	:: backing[v] == LOST			/* vswap_read_page() */
	fi;
	locked[v] = 0
}

inline swap_cache_alloc_folio(v)
{
	assert(!mapped[v] && !locked[v] && !dirty[v]);
	cache[v] = FOLIO; locked[v] = 1; ref[v]++
}

#define model_unused(v)	(!mapped[v] && !count[v] && !cache[v] && !ref[v] && !locked[v])
#define model_own(v)	(mapped[v] == 1 && !count[v])
#define model_alone(v)	(mapped[v] + count[v] == 1)
#define model_mapped(v)	(mapped[v])
#define model_swapped(v) (count[v])
#define model_lockable(v) (mapped[v] && cache[v] == FOLIO && model_tag(v) == REFUSED)

inline model_write(v)
{
	mapped[v] = 1;
#ifdef FEW
	want[v] = v + 1;
#else
	if
	:: want[v] = 0
	:: want[v] = (want[v] == 1 -> 2 : 1)
	fi;
#endif
	data[v] = want[v]; dirty[v] = 1
}

active proctype model_process()
{
	byte v;

end:	do
	:: atomic { model_some(v, model_unused); model_write(v); v = 0 }
#ifndef FEW
	:: atomic { model_some(v, model_own); model_write(v); v = 0 }
	:: atomic {	/* fork */
		model_some(v, model_alone);
		if :: mapped[v] -> mapped[v]++ :: else -> count[v]++ fi;
		v = 0 }
#endif
	:: atomic {	/* a page is unmapped */
		model_some(v, model_mapped); mapped[v]--;
		if
		:: !mapped[v] && cache[v] != FOLIO -> model_page_gone(v)
		:: !mapped[v] && cache[v] == FOLIO && !locked[v] -> __try_to_reclaim_swap(v)
		:: else
		fi;
		vswap_verify_slot(v); v = 0 }
	/* Of a folio that others may have locked */
	:: atomic { model_some(v, model_lockable); backing[v] = NONE; v = 0 }	/* __vswap_mlock_folio() */
	:: atomic {	/* a swap entry is freed */
		model_some(v, model_swapped); count[v]--; vswap_note_cache_only(v);
		if
		:: !count[v] && !cache[v] -> __swap_cluster_free_entries(v)
		:: !count[v] && cache[v] == FOLIO && !locked[v] -> __try_to_reclaim_swap(v)
		:: else
		fi;
		vswap_verify_slot(v); v = 0 }
	od
}

active [THREADS] proctype do_swap_page()
{
	byte v;

end:	do
	:: atomic { model_some(v, model_swapped); busy++ };
		if
		:: atomic { cache[v] == FOLIO -> ref[v]++ }
		:: atomic { cache[v] == FREE && count[v] -> swap_cache_alloc_folio(v) };
			swap_read_folio(v)
		:: cache[v] == HELD -> cache[v] != HELD; goto out
		:: cache[v] == FREE && !count[v] -> goto out
		fi;
		atomic {
			!locked[v] -> locked[v] = 1;
			if
			:: cache[v] == FOLIO && count[v] && data[v] != NOTHING ->
				assert(data[v] == want[v]);
				count[v]--; mapped[v]++; vswap_note_cache_only(v)
			:: else
			fi;
			vswap_verify_slot(v) };
		atomic {
			if :: true -> __try_to_reclaim_swap(v) :: true fi;	/* folio_free_swap */
			locked[v] = 0; ref[v]--; vswap_verify_slot(v) };
out:		atomic { model_rest(); v = 0 }
	od
}

#define model_free_object(n) \
	if \
	:: object[0] == NOTHING -> n = 0 \
	:: object[0] != NOTHING && object[1] == NOTHING -> n = 1 \
	fi

/* Reclaim. Here n is an object, then a slot of the device. */

inline swap_writeout(v, n)
{
	if
	:: atomic { !count[v] -> __try_to_reclaim_swap(v); goto unlock }
	:: atomic { count[v] && data[v] == 0 ->		/* swap_zeromap_folio_set() */
		vswap_release_backing(v, 0); zero[v] = 1; goto unlock }
	:: atomic { count[v] && data[v] != 0 -> zero[v] = 0 }
	fi;
	if	/* zswap_store() */
	:: atomic { model_free_object(n); object[n] = data[v] };
		atomic {	/* vswap_back_by_zswap() */
			vswap_release_backing(v, 0); backing[v] = ZSWAP + n; goto unlock }
	:: atomic {
		if
		:: !writeok && (model_tag(v) == NONE || model_tag(v) == REFUSED) ->
			backing[v] = REFUSED + data[v]			/* __vswap_refuse() */
		:: true -> vswap_release_backing(v, ZSWAP)		/* __vswap_zswap_erase() */
		fi;
		vswap_verify_slot(v) }
	fi;
	atomic {	/* __vswap_get_slots() */
		n = NOBODY;
		if
		:: model_tag(v) == SLOT -> writeback[v] = 1; goto unlock
		:: model_tag(v) == REFUSED && !writeok
		:: model_tag(v) == REFUSED && writeok -> backing[v] = NONE	/* vswap_take_refusals_back() */
		:: else -> vswap_alloc_slots(v, n)
		fi;
		if :: n == NOBODY -> dirty[v] = 1; goto unlock :: else fi };
	vswap_keep_spare(n);
	atomic { vswap_install_slot(v, n, NONE); writeback[v] = 1 }
}

#define model_reclaimable(v) \
	((mapped[v] || cache[v] == FOLIO) && !locked[v] && !writeback[v] && !model_is_refused(v))
#define model_is_refused(v)	/* __vswap_is_refused() */ \
	(model_tag(v) == REFUSED && model_num(backing[v]) == data[v] && (mapped[v] || count[v]))

active proctype shrink_folio_list()
{
	byte v, n;

end:	do
	:: atomic {
		model_some(v, model_reclaimable); busy++; locked[v] = 1;
		if
		:: cache[v] == FREE -> cache[v] = FOLIO; dirty[v] = 1	/* folio_alloc_swap() */
		:: model_tag(v) == REFUSED && (mapped[v] || count[v]) -> backing[v] = NONE
		:: else
		fi;
		count[v] = count[v] + mapped[v]; mapped[v] = 0;		/* folio_dup_swap() */
		vswap_note_cache_only(v); vswap_verify_slot(v) };
		atomic {
			if
			:: dirty[v] && !ref[v] -> dirty[v] = 0	/* pageout() */
			:: dirty[v] && ref[v] -> goto unlock
			:: !dirty[v] && !ref[v] ->		/* it is clean */
				__swap_cache_do_del_folio(v); model_page_gone(v);
				vswap_verify_slot(v); locked[v] = 0; model_rest(); v = 0;
				goto end
			:: else -> goto unlock
			fi };
		swap_writeout(v, n);
unlock:
		atomic { vswap_verify_slot(v); locked[v] = 0; model_rest(); v = 0; n = 0 }
	od
}

#define model_written(v) (writeback[v])

active proctype swap_write_end()
{
	byte v;

end:	do
	:: atomic {
		model_some(v, model_written);
		assert(model_tag(v) == SLOT);
		if
		:: disk[model_num(backing[v])] = data[v]
#ifndef FEW
		:: disk[model_num(backing[v])] = GARBAGE; dirty[v] = 1
#endif
		fi;
		writeback[v] = 0; v = 0 }
	od
}

/* Writeback of compressed data */

/* vswap_pick(): what it has seen may be outdated when it is used. */
#define model_pick(v) (model_tag(v) == ZSWAP && !cache[v] && state == POOL)

inline vswap_take_slot(v, word)
{
	atomic {
		if :: backing[v] == word && !cache[v] -> vswap_alloc_slots(v, flight_slot) :: else fi;
		if :: flight_slot == NOBODY -> goto over :: else fi };
	vswap_keep_spare(flight_slot);
	in_flight = 1
}

/* The data is read here as well: vswap_decompress(). */
inline vswap_hold_slot(v, word)
{
	atomic {
		if
#ifndef BUG_HOLD_UNCHECKED
		:: !cache[v] && count[v] && backing[v] == word ->
#else
		:: !cache[v] && count[v] ->
#endif
			cache[v] = HELD; flight_data = object[model_num(word)];
			assert(flight_data != NOTHING)
		:: else -> goto give_back
		fi }
}

inline vswap_let_slot_go(v, word)
{
	atomic {
		flight_word = word; flight_virt = v; backing[v] = FLIGHT;
		__swap_cache_do_del_folio(v); vswap_verify_slot(v);
		if
		:: flight_word -> state = READY; goto rest
		:: else			/* overtaken at once */
		fi }
}

inline vswap_give_slot_back()
{
	vswap_free_slots(flight_slot); flight_slot = NOBODY; in_flight = 0
}

inline vswap_end_flight()
{
	state = POOL; flight_virt = NOBODY; flight_slot = NOBODY; flight_data = NOTHING
}

active proctype vswap_writeback()
{
	byte v, word;

end:	do
	:: atomic {
		model_some(v, model_pick); word = backing[v]; state = TAKEN; busy++ };
		vswap_take_slot(v, word); vswap_hold_slot(v, word);
		vswap_let_slot_go(v, word);
give_back:
		atomic { vswap_give_slot_back() };
over:
		atomic { vswap_end_flight() };
rest:
		atomic { model_rest(); v = 0; word = 0 }
	od
}

/* Then word is what is to be freed. */
inline vswap_land(word, failed)
{
	assert(flight_slot != NOBODY);
	word = flight_word; flight_word = 0;
	if
	:: word && failed -> backing[flight_virt] = word; word = 0
#ifndef BUG_LAND_OVERTAKEN
	:: word && !failed ->
#else
	:: !failed ->
#endif
		vswap_install_slot(flight_virt, flight_slot, FLIGHT);
		flight_slot = NOBODY; in_flight = 0
	:: else
	fi;
	vswap_verify_slot(0); vswap_verify_slot(NV - 1)
}

/* With vswap_land_request() */
active proctype vswap_submit_work()
{
	byte word;
	bit failed;

end:	do
	:: atomic {
		state == READY -> busy++;
		if
		:: !flight_word -> failed = 1		/* vswap_cancel_overtaken() */
		:: disk[flight_slot] = flight_data
		:: failed = 1
		fi;
#ifdef BUG_FLIGHT_EARLY
		state = POOL;
#endif
		};
		atomic { vswap_land(word, failed) };
		atomic {
			if
			:: word -> vswap_zswap_free(word)
			:: else -> vswap_give_slot_back()
			fi;
			vswap_end_flight(); model_rest(); word = 0; failed = 0 }
	od
}

/* swapoff */

inline vswap_batch_add(v)
{
	if
	:: atomic { cache[v] == FOLIO -> ref[v]++ }
	:: atomic { cache[v] == FREE && count[v] -> swap_cache_alloc_folio(v) };
		swap_read_folio(v)
	:: cache[v] == HELD -> cache[v] != HELD; goto next
	:: cache[v] == FREE && !count[v] -> goto next
	fi
}

inline vswap_leave_device(v)
{
	if :: data[v] != NOTHING -> dirty[v] = 1 :: else fi;
	if
	:: model_tag(v) == SLOT ->
		vswap_release_backing(v, 0);
		backing[v] = (data[v] == NOTHING -> LOST : NONE)
	:: else
	fi;
	vswap_verify_slot(v)
}

inline vswap_evacuate_folio(v)
{
	atomic { !locked[v] -> locked[v] = 1 };
	atomic {
		!writeback[v];
		if :: cache[v] == FOLIO -> vswap_leave_device(v) :: else fi;
		locked[v] = 0; ref[v]-- }
}

#ifndef NO_SWAPOFF
active proctype __vswap_evacuate()
{
	byte v, s;
	bit met;

end:	do
	:: atomic { writeok -> writeok = 0; busy++ };
pass:
		atomic {	/* vswap_leave_spare() */
			if :: ND > 1 && rmap[ND - 1] == SPARE -> rmap[ND - 1] = NOBODY :: else fi };
		if
		:: atomic { !in_flight -> s = 0; met = 0 }	/* vswap_wait_for_flights() */
		:: goto out					/* a signal */
		fi;
		do
#ifndef BUG_SPARE_STAYS
		:: atomic { s < ND && (rmap[s] == SPARE || rmap[s] == BESIDE) -> met = 1; s++ }	/* vswap_is_spare() */
#else
		:: atomic { s < ND && (rmap[s] == SPARE || rmap[s] == BESIDE) -> s++ }
#endif
		:: atomic { s < ND && rmap[s] < NV -> met = 1; v = rmap[s] };
			vswap_batch_add(v); vswap_evacuate_folio(v);
next:			atomic { s++; v = 0 }
		:: atomic { s < ND && rmap[s] == NOBODY -> s++ }
		:: atomic { s == ND && met -> goto pass }
		:: atomic { s == ND && !met -> break }
		od;
		/* The device is taken away. */
		assert(rmap[0] == NOBODY && rmap[ND - 1] == NOBODY);
out:
		atomic { writeok = 1; s = 0; met = 0; model_rest() }
	od
}
#endif
