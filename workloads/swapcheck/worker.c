// SPDX-License-Identifier: GPL-2.0
/* A worker's own books: phases, the hold point, how it ends. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "reclaim.h"
#include "swapcheck.h"

void worker_phase(struct worker *w, enum phase phase)
{
	double now = now_seconds();

	w->result->seconds[w->phase] += now - w->phase_start;
	w->phase = phase;
	w->phase_start = now;
}

void worker_became_child(struct worker *w)
{
	static struct worker_result scratch;

	w->result = &scratch;
	w->wrong = 0;
}

void worker_filled(struct worker *w, struct region *r)
{
	atomic_fetch_add(&w->results->pages_filled, w->pages);
	worker_phase(w, PHASE_PRESSURE);
	pressure(w, r);
	w->result->swapped = swapped_bytes();
	worker_phase(w, PHASE_HOLD);
	gate_arrive(&w->results->filled);
	gate_wait(&w->results->go);
	worker_phase(w, PHASE_WORK);
}

int worker_fails(struct worker *w, const char *what)
{
	note_failure(w->results, "process %u: %s: %s", w->index, what, strerror(errno));
	return EXIT_FAILED;
}

int worker_skips(struct worker *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!atomic_exchange(&w->results->skipped, 1))
		vsnprintf(w->results->skip_reason, sizeof(w->results->skip_reason),
			  format, args);
	va_end(args);
	return EXIT_SKIPPED;
}

int worker_status(const struct worker *w)
{
	return w->wrong ? EXIT_FAILED : EXIT_OK;
}
