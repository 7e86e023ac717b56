/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What swapcheck writes into pages.
 *
 * A page's content is a pure function of the run's seed and mixture and of the
 * page's name (region, page index, generation), so checking needs no copy.
 * Every page but a zero page begins with its name:
 *
 *	bits 63..52  51..36   35..28      27..0
 *	  0xc5e      region   generation  page index
 *
 * A same-filled page repeats that word; any other page has a word hashed from
 * seed and name next, and then the body its kind asks for.
 */
#ifndef WORKLOADS_CONTENT_H
#define WORKLOADS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

#define REGION_LIMIT	(1U << 16)
#define PAGE_LIMIT	(1U << 28)

struct mixture {
	uint64_t seed;
	double zero, same, text, random;	/* percent; the rest has .ratio */
	double ratio;				/* what those pages compress to, R:1 */
};

struct page_name {
	uint32_t region;
	uint32_t page;
	uint8_t generation;
};

/* Write the page @name into the PAGE_BYTES at @page. */
void content_make(const struct mixture *mix, struct page_name name, void *page);

/* The byte offset of the first difference between two pages; -1 if they are equal. */
int content_differs(const void *a, const void *b, unsigned int *bytes);

/* Say what @page holds: nothing (zero), another page (whole or in part), or garbage. */
void content_describe(const struct mixture *mix, const void *page, char *buf, size_t len);

#endif
