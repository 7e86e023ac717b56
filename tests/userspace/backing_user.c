// SPDX-License-Identifier: GPL-2.0
/*
 * The backing words of a cluster in user space, under ASAN and UBSAN: objects
 * are stored behind slots, replaced, taken back in runs and freed. Every object
 * is freed exactly once, or a sanitizer ends the program with an error.
 *
 *   backing_user SEED [leak|double]
 *
 * With "leak" one run is forgotten, with "double" one is freed twice: the
 * program must then fail, which shows that the sanitizers watch.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "backing.h"

enum { SLOTS = 512, ROUNDS = 20000, RUN_MAX = 32 };

static unsigned long words[SLOTS];
static unsigned int *objects[ROUNDS];	/* by their handles */
static unsigned long live, stored, freed;
static const char *fault = "";

static uint64_t seed;

static unsigned int rnd(unsigned int below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 33) % below;
}

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "backing_user: %s\n", what);
	exit(1);
}

static void drop(unsigned long word, unsigned int slot)
{
	unsigned long nr = vswap_backing_to_handle(word) >> VSWAP_HANDLE_ALIGN;
	unsigned int *object;

	check(nr && nr <= stored &&
	      vswap_backing_to_length(word) == 1 + slot % PAGE_SIZE &&
	      vswap_backing_to_pool(word) == slot % VSWAP_NR_POOLS,
	      "a word changed");
	object = objects[nr - 1];
	objects[nr - 1] = NULL;
	check(*object == slot, "a slot had the object of another");
	freed++;
	live--;
	if (!strcmp(fault, "leak") && freed == 1000)
		return;
	free(object);
	if (!strcmp(fault, "double") && freed == 1000)
		free(object);
}

static void store(unsigned int slot)
{
	unsigned int *object = malloc(sizeof(*object));
	unsigned long old = words[slot];

	check(object, "out of memory");
	*object = slot;
	objects[stored] = object;
	words[slot] = vswap_zswap_to_backing((stored + 1) << VSWAP_HANDLE_ALIGN,
					     1 + slot % PAGE_SIZE, slot % VSWAP_NR_POOLS);
	check(vswap_backing_is_valid(words[slot]), "an invalid word");
	stored++;
	live++;
	if (vswap_backing_tag(old) == VSWAP_ZSWAP)
		drop(old, slot);
}

static void point_to_device(unsigned int slot)
{
	if (!words[slot])
		words[slot] = vswap_slot_to_backing(slot % 29, slot + 1);
}

static void release(unsigned int off, unsigned int nr)
{
	unsigned int end = off + nr, len, i;
	unsigned long run[RUN_MAX];

	for (; off < end; off += len) {
		enum vswap_tag tag = vswap_backing_tag(words[off]);

		len = vswap_backing_take_run(&words[off], end - off, run, RUN_MAX);
		check(len >= 1 && off + len <= end, "a run out of bounds");
		for (i = 0; i < len; i++) {
			check(!words[off + i], "a taken word is still there");
			if (tag == VSWAP_ZSWAP)
				drop(run[i], off + i);
			if (tag == VSWAP_SLOT)
				check(vswap_backing_to_offset(run[i]) == off + i + 1 &&
				      vswap_backing_to_type(run[i]) == (off + i) % 29,
				      "a slot word changed");
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int round, off;

	if (argc < 2) {
		fprintf(stderr, "usage: backing_user SEED [leak|double]\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		fault = argv[2];

	for (round = 0; round < ROUNDS; round++) {
		off = rnd(SLOTS);
		if (rnd(3))
			store(off);
		else if (rnd(2))
			point_to_device(off);
		else
			release(off, 1 + rnd(SLOTS - off));
	}
	release(0, SLOTS);
	check(!live && stored == freed, "objects are missing");
	for (off = 0; off < SLOTS; off++)
		check(!words[off], "a word is left");
	printf("%lu objects stored and freed\n", stored);
	return 0;
}
