// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: what the compressor alone takes for the pages
 * that were stored. What "store" takes beyond that is the layer's.
 *
 * It is zswap's default compressor, called as zswap calls it.
 */
#include <crypto/acompress.h>
#include <linux/err.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "bench.h"

static int compress_page(struct acomp_req *req, struct page *page, void *buffer)
{
	struct scatterlist in, out;

	sg_init_table(&in, 1);
	sg_set_page(&in, page, PAGE_SIZE, 0);
	sg_init_one(&out, buffer, PAGE_SIZE);
	acomp_request_set_params(req, &in, &out, PAGE_SIZE, PAGE_SIZE);
	return crypto_acomp_compress(req);
}

/* As stored by now: a page that does not compress does not count as failed. */
static void compress_chunk(struct bench_worker *w, struct acomp_req *req, void *buffer)
{
	unsigned int i, j;

	phase_start(w);
	for (i = 0; i < w->nr_folios; i++)
		for (j = 0; j < 1U << w->b->order; j++)
			compress_page(req, folio_page(w->folios[i], j), buffer);
	phase_end(w, COMPRESS, w->nr_folios << w->b->order);
}

/* Compress the pages of a chunk, and drop what comes of it. */
int bench_chunk_compress(struct bench_worker *w)
{
	void *buffer = kmalloc(PAGE_SIZE, GFP_KERNEL);
	struct crypto_acomp *acomp;
	struct acomp_req *req = NULL;

	acomp = crypto_alloc_acomp(CONFIG_ZSWAP_COMPRESSOR_DEFAULT, 0, 0);
	if (!IS_ERR(acomp))
		req = acomp_request_alloc(acomp);
	if (buffer && req)
		compress_chunk(w, req, buffer);
	acomp_request_free(req);
	if (!IS_ERR(acomp))
		crypto_free_acomp(acomp);
	kfree(buffer);
	return req ? 0 : bench_fail(w, -ENOMEM, "crypto_alloc_acomp");
}
