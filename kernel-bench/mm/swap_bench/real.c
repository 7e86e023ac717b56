// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: pages like those of programs, all of whose bytes
 * follow from a seed. Half are text, lines of a log; half are records, with
 * pointers to each other, small numbers, names, and a hash that is noise.
 *
 * LZ4 compresses them 3.1:1, zstd 4.8:1: matches are of many lengths, with
 * literals in between, as in real data. A word repeated is one match, and tells
 * nothing of what compressing costs.
 */
#include <linux/string.h>
#include <linux/types.h>

#include "real.h"

#define NR_ELEMENTS(array)	(sizeof(array) / sizeof((array)[0]))

struct record {
	u64 next, prev;
	u32 hash;
	u32 flags;
	u64 refs;
	char name[16];
	u64 reserved[2];
};

static const char * const lines[] = {
	"reclaim: scanned # of # pages, # written back\n",
	"GET /index.html HTTP/1.1 200 # bytes in # us\n",
	"swap: cluster # has # slots in use, next is #\n",
	"connection # from 192.168.#.# closed by peer\n",
	"worker #: job # done, # left in the queue\n",
	"INSERT INTO orders VALUES (#, #, 'pending');\n",
	"cache miss for key user:#:profile, reading block #\n",
	"the quick brown fox jumps over # lazy dogs and # more\n",
};

static const char * const names[] = {
	"inode_cache", "dentry", "anon_vma", "buffer_head", "account", "request",
	"response", "symbol",
};

/* xorshift64*: fast, and the same everywhere. */
static u64 next_random(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1DULL;
}

/* Return: where the text goes on after @number in decimal. */
static char *put_number(char *out, const char *end, unsigned int number)
{
	char digits[10];
	unsigned int n = 0;

	do {
		digits[n++] = '0' + number % 10;
		number /= 10;
	} while (number);
	while (n && out < end)
		*out++ = digits[--n];
	return out;
}

static void fill_text(char *out, const char *end, u64 state)
{
	const char *line = "";

	while (out < end) {
		if (!*line)
			line = lines[(next_random(&state) >> 32) % NR_ELEMENTS(lines)];
		if (*line == '#')
			out = put_number(out, end, (next_random(&state) >> 32) % 100);
		else
			*out++ = *line;
		line++;
	}
}

static void fill_records(struct record *out, const struct record *end, u64 state)
{
	u64 base = 0xffff888000000000ULL + (next_random(&state) >> 40 << 12);
	u64 random;

	for (; out < end; out++) {
		random = next_random(&state);
		memset(out, 0, sizeof(*out));
		out->next = base + (random & 63) * sizeof(*out);
		out->prev = random >> 6 & 7 ? 0 : base;
		out->flags = 1U << (random >> 12 & 3);
		out->refs = random >> 24 & 1;
		out->hash = next_random(&state) >> 32;
		strscpy(out->name, names[(random >> 32) % NR_ELEMENTS(names)]);
	}
}

/* Fill the page at @page. @seed is not zero. */
void bench_real_fill(void *page, u64 seed)
{
	if (next_random(&seed) >> 63)
		fill_text(page, page + REAL_BYTES, seed);
	else
		fill_records(page, page + REAL_BYTES, seed);
}
