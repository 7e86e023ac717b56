// SPDX-License-Identifier: GPL-2.0
/* What went wrong, and the result as lines and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "json.h"
#include "swapcheck.h"

const char * const phase_names[NR_PHASES] = {
	[PHASE_NONE] = "start", [PHASE_FILL] = "fill", [PHASE_PRESSURE] = "pressure",
	[PHASE_HOLD] = "hold", [PHASE_WORK] = "work", [PHASE_VERIFY] = "verify",
};

void note_failure(struct results *results, const char *format, ...)
{
	uint32_t slot = atomic_fetch_add(&results->nr_failures, 1);
	va_list args;

	if (slot >= MAX_NOTES)
		return;
	va_start(args, format);
	vsnprintf(results->failures[slot], sizeof(results->failures[slot]), format, args);
	va_end(args);
}

void note_end(struct results *results, const char *who, int wait_status)
{
	char how[96];
	uint32_t slot;

	if (WIFEXITED(wait_status) && (WEXITSTATUS(wait_status) == EXIT_FAILED ||
				       WEXITSTATUS(wait_status) == EXIT_SKIPPED))
		return;
	describe_end(wait_status, how, sizeof(how));
	note_failure(results, "%s %s", who, how);
	if (!WIFSIGNALED(wait_status))
		return;
	slot = atomic_fetch_add(&results->nr_killed, 1);
	if (slot >= MAX_NOTES)
		return;
	snprintf(results->killed[slot].who, sizeof(results->killed[slot].who), "%s", who);
	results->killed[slot].signal = WTERMSIG(wait_status);
}

static uint32_t noted(uint32_t count)
{
	return count < MAX_NOTES ? count : MAX_NOTES;
}

/* The phase's time in the slowest process. */
static double phase_seconds(const struct options *opt, const struct results *res,
			    enum phase phase)
{
	double most = 0;
	unsigned int i;

	for (i = 0; i < opt->processes; i++)
		if (res->workers[i].seconds[phase] > most)
			most = res->workers[i].seconds[phase];
	return most;
}

static const char *status_of(const struct outcome *o)
{
	return o->skipped ? "skipped" : o->verified ? "ok" : "failed";
}

/* Where lines for people go: not between the JSON. */
static FILE *lines_to(const struct options *opt)
{
	return opt->json && !opt->json_file ? stderr : stdout;
}

void report_mode(const struct options *opt, const struct outcome *o)
{
	FILE *out = lines_to(opt);
	const struct results *res = o->results;
	uint64_t pages = res->pages_filled;
	uint32_t i;

	fprintf(out, "%-10s %s: %" PRIu64 " pages (%" PRIu64 " MiB), %" PRIu64
		" checks, %" PRIu64 " MiB in swap; fill %.2f s, pressure %.2f s, "
		"work %.2f s, verify %.2f s\n",
		o->mode->name, o->skipped ? "SKIPPED" : o->verified ? "ok" : "FAILED",
		pages, pages * PAGE_BYTES >> 20, res->pages_checked, o->swapped >> 20,
		phase_seconds(opt, res, PHASE_FILL), phase_seconds(opt, res, PHASE_PRESSURE),
		phase_seconds(opt, res, PHASE_WORK), phase_seconds(opt, res, PHASE_VERIFY));
	if (o->skipped)
		fprintf(out, "  skipped: %s\n", res->skip_reason);
	for (i = 0; i < noted(res->nr_failures); i++)
		fprintf(out, "  %s\n", res->failures[i]);
	for (i = 0; i < noted(res->noted_mismatches); i++) {
		const struct mismatch *m = &res->mismatches[i];

		fprintf(out, "  process %u, page %" PRIu64 " of region %u differs from byte %u"
			" on, in %u bytes: %s\n", m->worker, m->page, m->region, m->offset,
			m->bytes, m->text);
	}
	if (res->nr_mismatches)
		fprintf(out, "  %" PRIu64 " mismatches in all\n", res->nr_mismatches);
	fflush(out);
}

static void json_mismatches(struct json *j, const struct results *res)
{
	uint32_t i;

	json_uint(j, "mismatches", res->nr_mismatches);
	json_array(j, "first_mismatches");
	for (i = 0; i < noted(res->noted_mismatches); i++) {
		const struct mismatch *m = &res->mismatches[i];

		json_object(j, NULL);
		json_uint(j, "process", m->worker);
		json_uint(j, "region", m->region);
		json_uint(j, "page", m->page);
		json_uint(j, "offset", m->offset);
		json_uint(j, "bytes", m->bytes);
		json_text(j, "text", m->text);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_failures(struct json *j, const struct results *res)
{
	char name[32];
	uint32_t i;

	json_uint(j, "failures", res->nr_failures);
	json_array(j, "first_failures");
	for (i = 0; i < noted(res->nr_failures); i++)
		json_text(j, NULL, res->failures[i]);
	json_end_array(j);
	json_array(j, "killed");
	for (i = 0; i < noted(res->nr_killed); i++) {
		signal_name(res->killed[i].signal, name, sizeof(name));
		json_object(j, NULL);
		json_text(j, "who", res->killed[i].who);
		json_uint(j, "signal", (uint64_t)res->killed[i].signal);
		json_text(j, "name", name);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_mode(struct json *j, const struct options *opt, const struct outcome *o)
{
	const struct results *res = o->results;
	unsigned int phase;

	json_object(j, NULL);
	json_text(j, "mode", o->mode->name);
	json_text(j, "status", status_of(o));
	json_bool(j, "verified", o->verified);
	json_text(j, "skip_reason", o->skipped ? res->skip_reason : NULL);
	json_uint(j, "bytes", res->pages_filled * PAGE_BYTES);
	json_uint(j, "pages", res->pages_filled);
	json_uint(j, "checks", res->pages_checked);
	json_uint(j, "swapped_bytes", o->swapped);
	json_mismatches(j, res);
	json_failures(j, res);
	json_object(j, "seconds");
	for (phase = PHASE_FILL; phase < NR_PHASES; phase++)
		json_real(j, phase_names[phase], phase_seconds(opt, res, phase));
	json_real(j, "total", o->seconds);
	json_end_object(j);
	json_end_object(j);
}

static void json_sums(struct json *j, const struct options *opt,
		      const struct outcome *outcomes)
{
	uint64_t pages = 0, checks = 0, mismatches = 0;
	double seconds = 0;
	unsigned int i;

	for (i = 0; i < opt->nr_modes; i++) {
		pages += outcomes[i].results->pages_filled;
		checks += outcomes[i].results->pages_checked;
		mismatches += outcomes[i].results->nr_mismatches;
		seconds += outcomes[i].seconds;
	}
	json_uint(j, "bytes", pages * PAGE_BYTES);
	json_uint(j, "pages", pages);
	json_uint(j, "checks", checks);
	json_uint(j, "mismatches", mismatches);
	json_real(j, "seconds", seconds);
}

static bool report_json(const struct options *opt, const struct outcome *outcomes,
			bool verified, FILE *out)
{
	struct json j;
	unsigned int i;

	json_start(&j, out);
	json_object(&j, NULL);
	json_text(&j, "program", "swapcheck");
	json_text(&j, "mode", opt->nr_modes == 1 ? opt->modes[0]->name : "several");
	json_uint(&j, "seed", opt->mix.seed);
	json_uint(&j, "size", opt->bytes);
	json_uint(&j, "processes", opt->processes);
	json_real(&j, "ratio", opt->mix.ratio);
	json_bool(&j, "verified", verified);
	json_sums(&j, opt, outcomes);
	json_array(&j, "modes");
	for (i = 0; i < opt->nr_modes; i++)
		json_mode(&j, opt, &outcomes[i]);
	json_end_array(&j);
	json_end_object(&j);
	return json_finish(&j);
}

bool report(const struct options *opt, const struct outcome *outcomes, bool verified)
{
	FILE *out = stdout;
	bool ok;

	fprintf(lines_to(opt), "%s (seed %" PRIu64 ")\n",
		verified ? "verified" : "NOT VERIFIED", opt->mix.seed);
	if (!opt->json)
		return true;
	if (opt->json_file)
		out = fopen(opt->json_file, "we");
	ok = out && report_json(opt, outcomes, verified, out);
	if (out && out != stdout && fclose(out))
		ok = false;
	if (!ok)
		fprintf(stderr, "swapcheck: cannot write %s: %s\n",
			opt->json_file ? opt->json_file : "the JSON", strerror(errno));
	return ok;
}
