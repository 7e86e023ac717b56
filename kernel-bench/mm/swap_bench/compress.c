// SPDX-License-Identifier: GPL-2.0-only
/*
 * Benchmark of the swap layer: what the compressor alone takes for pages like
 * those that are stored, in a pass of its own. What "store" takes beyond that is
 * the layer's, if zswap uses its default compressor.
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

/* That a page does not compress is no failure. */
static int compress_chunk(struct bench_worker *w, struct acomp_req *req, void *buffer)
{
	unsigned int i, j;
	int err = 0;

	phase_start(w);
	for (i = 0; i < w->nr_folios && !err; i++)
		for (j = 0; j < 1U << w->b->order && !err; j++) {
			err = compress_page(req, folio_page(w->folios[i], j), buffer);
			if (err == -ENOSPC)
				err = 0;
		}
	phase_end(w, COMPRESS, w->nr_folios << w->b->order);
	return err ? bench_fail(w, err, "crypto_acomp_compress") : 0;
}

/* Compress the pages of a chunk, and drop what comes of it. */
int bench_chunk_compress(struct bench_worker *w)
{
	void *buffer = kmalloc(PAGE_SIZE, GFP_KERNEL);
	struct crypto_acomp *acomp;
	struct acomp_req *req = NULL;
	int err;

	/* One that is done when it returns. */
	acomp = crypto_alloc_acomp(CONFIG_ZSWAP_COMPRESSOR_DEFAULT, 0, CRYPTO_ALG_ASYNC);
	if (!IS_ERR(acomp))
		req = acomp_request_alloc(acomp);
	if (buffer && req)
		err = compress_chunk(w, req, buffer);
	else
		err = bench_fail(w, IS_ERR(acomp) ? PTR_ERR(acomp) : -ENOMEM,
				 "crypto_alloc_acomp");
	acomp_request_free(req);
	if (!IS_ERR(acomp))
		crypto_free_acomp(acomp);
	kfree(buffer);
	return err;
}
