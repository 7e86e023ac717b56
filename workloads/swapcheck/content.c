// SPDX-License-Identifier: GPL-2.0
/* What swapcheck writes into pages: see content.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "content.h"

#define MAGIC		0xc5eULL
#define HEADER_WORDS	2
/* What a compressor adds for the filler and the ends of the literals. */
#define RATIO_OVERHEAD	24

enum kind { KIND_ZERO, KIND_SAME, KIND_TEXT, KIND_RANDOM, KIND_RATIO };

static const char * const words[] = {
	"page", "memory", "swap", "the", "of", "a", "kernel", "cluster", "slot", "entry",
	"folio", "backing", "and", "writes", "reads", "compressed", "when", "it", "is",
	"returned", "before", "after", "device", "table", "counts", "every", "process",
	"shares", "reclaim", "pressure", "under", "with", "without", "lock", "held",
	"then", "zero", "filled", "moves", "to", "from", "disk", "cache", "shadow",
	"refault", "cold", "hot", "young", "old", "range", "unmapped", "child", "parent",
	"fork", "copies", "on", "write", "may", "not", "be", "lost", "again", "must",
	"verify",
};

static uint64_t encode(struct page_name name)
{
	return MAGIC << 52 | (uint64_t)name.region << 36 |
	       (uint64_t)name.generation << 28 | name.page;
}

static bool decode(uint64_t word, struct page_name *name)
{
	if (word >> 52 != MAGIC)
		return false;
	name->region = (uint32_t)(word >> 36) & (REGION_LIMIT - 1);
	name->generation = (uint8_t)(word >> 28);
	name->page = (uint32_t)word & (PAGE_LIMIT - 1);
	return true;
}

static enum kind kind_of(const struct mixture *mix, uint64_t hash)
{
	/* A number in [0, 100) from bits nothing else uses. */
	double at = (double)(mix64(hash ^ 0x6b696e64) >> 40) * 100.0 / (1 << 24);

	if ((at -= mix->zero) < 0)
		return KIND_ZERO;
	if ((at -= mix->same) < 0)
		return KIND_SAME;
	if ((at -= mix->text) < 0)
		return KIND_TEXT;
	if ((at -= mix->random) < 0)
		return KIND_RANDOM;
	return KIND_RATIO;
}

static void fill_random(uint64_t *out, const uint64_t *end, uint64_t state)
{
	/* xorshift64*: fast, and nothing a compressor finds a pattern in. */
	state |= 1;
	for (; out < end; out++) {
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		*out = state * 0x2545f4914f6cdd1dULL;
	}
}

static void fill_word(uint64_t *out, const uint64_t *end, uint64_t word)
{
	while (out < end)
		*out++ = word;
}

static void fill_text(char *out, const char *end, uint64_t state)
{
	while (out < end) {
		const char *word = words[(state >> 33) % ARRAY_SIZE(words)];

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		while (*word && out < end)
			*out++ = *word++;
		if (out < end)
			*out++ = state >> 61 ? ' ' : '\n';
	}
}

/*
 * The filler comes first: LZO and LZ4 take ever larger strides through bytes
 * that do not match, and would notice a filler after them late.
 */
static void fill_ratio(const struct mixture *mix, uint64_t *body, const uint64_t *end,
		       uint64_t hash)
{
	size_t keep = (size_t)((double)PAGE_BYTES / mix->ratio);
	size_t used = HEADER_WORDS * sizeof(uint64_t) + RATIO_OVERHEAD;
	size_t words_kept = keep > used ? (keep - used) / sizeof(uint64_t) : 0;
	uint64_t *split = (uint64_t *)end - words_kept;

	if (keep >= PAGE_BYTES)
		split = body;
	fill_word(body, split, mix64(hash));
	fill_random(split, end, hash);
}

void content_make(const struct mixture *mix, struct page_name name, void *page)
{
	uint64_t word = encode(name);
	uint64_t hash = mix64(word ^ mix64(mix->seed));
	enum kind kind = kind_of(mix, hash);
	uint64_t *out = page;
	uint64_t *body = out + HEADER_WORDS;
	uint64_t *end = out + PAGE_WORDS;

	if (kind == KIND_ZERO || kind == KIND_SAME) {
		fill_word(out, end, kind == KIND_ZERO ? 0 : word);
		return;
	}
	out[0] = word;
	out[1] = hash;
	if (kind == KIND_TEXT)
		fill_text((char *)body, (const char *)end, hash);
	else if (kind == KIND_RANDOM)
		fill_random(body, end, hash);
	else
		fill_ratio(mix, body, end, hash);
}

int content_differs(const void *a, const void *b, unsigned int *bytes)
{
	const unsigned char *x = a, *y = b;
	int first = -1;
	unsigned int i;

	*bytes = 0;
	if (!memcmp(a, b, PAGE_BYTES))
		return -1;
	for (i = 0; i < PAGE_BYTES; i++) {
		if (x[i] == y[i])
			continue;
		if (first < 0)
			first = (int)i;
		++*bytes;
	}
	return first;
}

void content_describe(const struct mixture *mix, const void *page, char *buf, size_t len)
{
	static _Thread_local uint64_t other[PAGE_WORDS];
	uint64_t head[HEADER_WORDS];
	struct page_name name;
	unsigned int bytes;

	memset(other, 0, sizeof(other));
	memcpy(head, page, sizeof(head));
	if (content_differs(page, other, &bytes) < 0) {
		snprintf(buf, len, "a page of zeroes");
		return;
	}
	if (!decode(head[0], &name)) {
		snprintf(buf, len, "no page of ours (first word %#018" PRIx64 ")", head[0]);
		return;
	}
	content_make(mix, name, other);
	content_differs(page, other, &bytes);
	if (!bytes)
		snprintf(buf, len, "page %u of region %u, generation %u", name.page,
			 name.region, name.generation);
	else
		snprintf(buf, len, "page %u of region %u, generation %u, but for %u bytes%s",
			 name.page, name.region, name.generation, bytes,
			 head[1] != other[1] ? " (written with another seed?)" : "");
}
