// SPDX-License-Identifier: GPL-2.0
/* Mode anon: private anonymous memory. */
#include "swapcheck.h"

int mode_anon(struct worker *w)
{
	struct region r;

	if (!region_map(w, &r, w->pages, 0))
		return worker_fails(w, "cannot map the memory");
	region_fill(w, &r, expect_first, NULL);
	worker_filled(w, &r);
	region_passes(w, &r);
	region_unmap(&r);
	return worker_status(w);
}
