// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the backing word, which is pure arithmetic.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../internal.h"

static void zswap_word(struct kunit *test)
{
	static const unsigned long handles[] = {
		8, 4096, BIT(32) + 64, BIT(VSWAP_HANDLE_BITS) - 8,
	};
	static const unsigned int lengths[] = { 1, 80, PAGE_SIZE - 1, PAGE_SIZE };
	unsigned long word;
	int i, j, pool;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			pool = (i * 7 + j) % VSWAP_NR_POOLS;
			word = vswap_zswap_to_backing(handles[i], lengths[j], pool);
			KUNIT_EXPECT_EQ(test, vswap_backing_tag(word), VSWAP_ZSWAP);
			KUNIT_EXPECT_EQ(test, vswap_backing_to_handle(word), handles[i]);
			KUNIT_EXPECT_EQ(test, vswap_backing_to_length(word), lengths[j]);
			KUNIT_EXPECT_EQ(test, vswap_backing_to_pool(word), pool);
			KUNIT_EXPECT_TRUE(test, word & VSWAP_REFERENCED);
			KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(word));
			KUNIT_EXPECT_TRUE(test, vswap_backing_same(word,
						word & ~VSWAP_REFERENCED));
			KUNIT_EXPECT_FALSE(test, vswap_backing_same(word,
						word ^ BIT(VSWAP_LENGTH_SHIFT)));
		}
	}
	/* Memory beyond what a word can name. */
	KUNIT_EXPECT_EQ(test, vswap_zswap_to_backing(BIT(VSWAP_HANDLE_BITS), 80, 0), 0);
}

static void slot_word(struct kunit *test)
{
	static const unsigned long offsets[] = { 1, 511, 512, 1UL << 31, UINT_MAX };
	unsigned int type;
	int i;

	for (type = 0; type < MAX_SWAPFILES; type++) {
		for (i = 0; i < ARRAY_SIZE(offsets); i++) {
			unsigned long word = vswap_slot_to_backing(type, offsets[i]);

			KUNIT_EXPECT_EQ(test, vswap_backing_tag(word), VSWAP_SLOT);
			KUNIT_EXPECT_EQ(test, vswap_backing_to_type(word), type);
			KUNIT_EXPECT_EQ(test, vswap_backing_to_offset(word),
					offsets[i]);
			KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(word));
		}
	}
}

static void invalid_words(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(0));
	KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(VSWAP_LOST));
	KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(VSWAP_REFUSED));
	KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(BIT(20) | VSWAP_REFUSED));
	KUNIT_EXPECT_TRUE(test, vswap_backing_is_valid(BIT(20) | VSWAP_FLIGHT));
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(VSWAP_FLIGHT));
	/* No tag but bits, a tag but no bits, a tag that means nothing. */
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(BIT(20)));
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(VSWAP_ZSWAP));
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(VSWAP_SLOT));
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(BIT(20) | 3));
	KUNIT_EXPECT_FALSE(test, vswap_backing_is_valid(BIT(20) | 7));
}

/* Runs end where the tag changes, at the end of the array, and at the limit. */
static void runs(struct kunit *test)
{
	unsigned long words[8] = {
		0, 0, 0x101, 0x201, 0x301, 0x402, 0, 0x501,
	};
	unsigned long run[2];

	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words, 8, run, 2), 2);
	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words + 2, 6, run, 2), 2);
	KUNIT_EXPECT_EQ(test, run[0], 0x101);
	KUNIT_EXPECT_EQ(test, run[1], 0x201);
	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words + 4, 4, run, 2), 1);
	KUNIT_EXPECT_EQ(test, run[0], 0x301);
	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words + 5, 1, run, 2), 1);
	KUNIT_EXPECT_EQ(test, run[0], 0x402);
	KUNIT_EXPECT_EQ(test, words[7], 0x501);
	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words, 7, run, 2), 7);
	KUNIT_EXPECT_EQ(test, vswap_backing_take_run(words, 1, run, 2), 1);
}

/* Whatever the words: each is taken once, in order, and runs have one tag. */
static void random_runs(struct kunit *test)
{
	enum { NR = 64, MAX = 5 };
	unsigned long words[NR], copy[NR], run[MAX];
	unsigned int off, len, i, round;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 20261121);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < NR; i++) {
			u32 r = prandom_u32_state(&rnd);

			words[i] = r % 3 ? ((unsigned long)(r >> 8 | 1) << 3 | r % 3) : 0;
		}
		memcpy(copy, words, sizeof(copy));
		for (off = 0; off < NR; off += len) {
			len = vswap_backing_take_run(words + off, NR - off, run, MAX);
			KUNIT_ASSERT_GE(test, len, 1);
			KUNIT_ASSERT_LE(test, off + len, (unsigned int)NR);
			for (i = 0; i < len; i++) {
				KUNIT_ASSERT_EQ(test, vswap_backing_tag(copy[off + i]),
						vswap_backing_tag(copy[off]));
				if (copy[off])
					KUNIT_ASSERT_EQ(test, run[i], copy[off + i]);
				KUNIT_ASSERT_EQ(test, words[off + i], 0);
			}
		}
	}
}

/* Runs of slots end where the device changes, the offset jumps or its cluster ends. */
static void slot_runs(struct kunit *test)
{
	unsigned long words[] = {
		vswap_slot_to_backing(1, 509), vswap_slot_to_backing(1, 510),
		vswap_slot_to_backing(1, 511), vswap_slot_to_backing(1, 512),
		vswap_slot_to_backing(2, 513), vswap_slot_to_backing(2, 515),
		VSWAP_LOST,
	};

	KUNIT_EXPECT_EQ(test, vswap_backing_slot_run(words, 7, 512), 3);
	KUNIT_EXPECT_EQ(test, vswap_backing_slot_run(words, 7, UINT_MAX), 4);
	KUNIT_EXPECT_EQ(test, vswap_backing_slot_run(words, 2, 512), 2);
	KUNIT_EXPECT_EQ(test, vswap_backing_slot_run(words + 4, 3, 512), 1);
	KUNIT_EXPECT_EQ(test, vswap_backing_slot_run(words + 5, 2, 512), 1);
}

/* A word of the reverse map is nothing else that a swap table may hold. */
static void rmap_word(struct kunit *test)
{
	static const unsigned long offsets[] = { 1, 511, 512, 1UL << 31, UINT_MAX };
	int i, cached;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		for (cached = 0; cached < 2; cached++) {
			unsigned long word = vswap_to_rmap(offsets[i], cached);

			KUNIT_EXPECT_TRUE(test, swp_tb_is_rmap(word));
			KUNIT_EXPECT_EQ(test, vswap_rmap_to_offset(word), offsets[i]);
			KUNIT_EXPECT_EQ(test, swp_tb_only_cached(word), cached);
			KUNIT_EXPECT_FALSE(test, swp_tb_is_spare(word));
			KUNIT_EXPECT_FALSE(test, swp_tb_is_null(word) ||
					   swp_tb_is_folio(word) ||
					   swp_tb_is_shadow(word) ||
					   swp_tb_is_bad(word) ||
					   swp_tb_is_countable(word));
		}
	}
	KUNIT_EXPECT_FALSE(test, swp_tb_is_rmap(null_to_swp_tb()));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_rmap(SWP_TB_BAD));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_rmap(pfn_to_swp_tb(4711, 3)));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_rmap(shadow_to_swp_tb(NULL, 1)));
}

/* There is no virtual slot 0: a word that names it is that of a spare slot. */
static void spare_word(struct kunit *test)
{
	unsigned long word = vswap_to_rmap(0, false);

	KUNIT_EXPECT_TRUE(test, swp_tb_is_spare(word));
	KUNIT_EXPECT_TRUE(test, swp_tb_is_rmap(word));
	KUNIT_EXPECT_FALSE(test, swp_tb_only_cached(word));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_null(word));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_spare(null_to_swp_tb()));
	KUNIT_EXPECT_FALSE(test, swp_tb_is_spare(SWP_TB_BAD));
}

static struct kunit_case backing_cases[] = {
	KUNIT_CASE(slot_runs),
	KUNIT_CASE(rmap_word),
	KUNIT_CASE(spare_word),
	KUNIT_CASE(zswap_word),
	KUNIT_CASE(slot_word),
	KUNIT_CASE(invalid_words),
	KUNIT_CASE(runs),
	KUNIT_CASE(random_runs),
	{}
};

static struct kunit_suite backing_suite = {
	.name = "vswap_backing",
	.test_cases = backing_cases,
};
kunit_test_suite(backing_suite);

MODULE_DESCRIPTION("KUnit tests of the backing word of virtual swap");
MODULE_LICENSE("GPL");
