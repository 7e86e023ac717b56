// SPDX-License-Identifier: GPL-2.0
/*
 * usemem: write a lot of memory, time it, free it, time that.
 *
 * Every 8-byte word is written with its own index. Each of N processes has
 * its own memory. Options follow those used in published swap measurements.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crew.h"
#include "gate.h"
#include "json.h"
#include "util.h"

#define MAX_PROCESSES	1000

struct options {
	uint64_t bytes;		/* per process */
	unsigned int processes;
	unsigned int repeat;
	bool anonymous;
	bool init_time;
	bool sync_start;
	bool sync_free;
	bool random;
	bool read;
	bool json;
	const char *json_file;
};

/* What one process measured; in shared memory. */
struct result {
	double init_seconds;
	double start, end;	/* of the passes, on the monotonic clock */
	double write_seconds;
	double read_seconds;
	double free_seconds;
	uint64_t wrong_words;
	uint64_t first_wrong, first_found;
	int error;		/* errno of a failed allocation */
	int wait_status;	/* -1 until it ended badly */
	bool done;
};

struct run {
	const struct options *opt;
	struct gate gates[2];	/* before writing, before freeing */
	struct result results[];
};

enum { GATE_START, GATE_FREE };

static const char help[] =
"Usage: usemem [OPTIONS] SIZE\n"
"Write SIZE bytes (suffixes K, M, G, T) of memory per process: each 8-byte word gets\n"
"its own index. Reports the throughput and how long freeing the memory takes.\n"
"\n"
"  -n, --processes N  run N processes, each with SIZE bytes of its own (default 1)\n"
"  -O, --anonymous    take the memory with mmap (anonymous, private), not with malloc\n"
"      --init-time    leave the time to set the memory up out of the throughput\n"
"  -y, --sync-start   all processes wait for each other after allocating\n"
"  -x, --sync-free    and again before freeing\n"
"  -R, --random       visit the pages in random order (words of a page in sequence)\n"
"  -r, --read         read everything back after writing, verify and time it\n"
"      --repeat N     write (and read) N times before freeing (default 1)\n"
"      --json[=FILE]  one JSON object on standard output, or into FILE\n"
"  -h, --help         this text\n"
"\n"
"Throughput is in KB/s (1 KB = 1024 bytes); the total is everything written (or read)\n"
"over the slowest process's time. The free latency is the time of the munmap (or free),\n"
"in microseconds; its total is the slowest process's.\n"
"Exit codes: 0 done (and verified), 1 a process failed or read something wrong, 2 usage.\n";

static uint64_t page_at(const struct options *opt, uint64_t i, uint64_t pages,
			uint64_t key)
{
	return opt->random ? permute(i, pages, key) : i;
}

static void write_all(const struct options *opt, uint64_t *mem, uint64_t key)
{
	uint64_t pages = opt->bytes / PAGE_BYTES, i, w;

	for (i = 0; i < pages; i++) {
		uint64_t first = page_at(opt, i, pages, key) * PAGE_WORDS;

		for (w = first; w < first + PAGE_WORDS; w++)
			mem[w] = w;
	}
}

static void read_all(const struct options *opt, const uint64_t *mem, uint64_t key,
		     struct result *res)
{
	uint64_t pages = opt->bytes / PAGE_BYTES, i, w;

	for (i = 0; i < pages; i++) {
		uint64_t first = page_at(opt, i, pages, key) * PAGE_WORDS;

		for (w = first; w < first + PAGE_WORDS; w++) {
			if (mem[w] == w)
				continue;
			if (!res->wrong_words++) {
				res->first_wrong = w;
				res->first_found = mem[w];
			}
		}
	}
}

static uint64_t *take_memory(const struct options *opt)
{
	void *mem;

	if (!opt->anonymous)
		/* Page-aligned, so that a page of ours is a page of the kernel's. */
		return aligned_alloc(PAGE_BYTES, opt->bytes);
	mem = mmap(NULL, opt->bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

static void give_back(const struct options *opt, uint64_t *mem, struct result *res)
{
	double start = now_seconds();

	if (opt->anonymous)
		munmap(mem, opt->bytes);
	else
		free(mem);
	res->free_seconds = now_seconds() - start;
}

static void run_passes(const struct options *opt, uint64_t *mem, struct result *res)
{
	unsigned int pass;
	double t;

	for (pass = 0; pass < opt->repeat; pass++) {
		t = now_seconds();
		write_all(opt, mem, pass);
		res->write_seconds += now_seconds() - t;
		if (!opt->read)
			continue;
		t = now_seconds();
		read_all(opt, mem, mix64(pass), res);
		res->read_seconds += now_seconds() - t;
	}
}

static int process(void *arg, unsigned int index)
{
	struct run *run = arg;
	const struct options *opt = run->opt;
	struct result *res = &run->results[index];
	double entered = now_seconds();
	uint64_t *mem = take_memory(opt);

	res->error = mem ? 0 : errno;
	res->init_seconds = now_seconds() - entered;
	if (opt->sync_start)
		gate_pass(&run->gates[GATE_START]);
	if (!mem)
		return EXIT_FAILED;
	res->start = now_seconds();
	if (!opt->init_time)
		res->start -= res->init_seconds;
	run_passes(opt, mem, res);
	res->end = now_seconds();
	if (opt->sync_free)
		gate_pass(&run->gates[GATE_FREE]);
	give_back(opt, mem, res);
	res->done = true;
	return res->wrong_words ? EXIT_FAILED : EXIT_OK;
}

static void process_failed(void *arg, unsigned int index, int wait_status)
{
	struct run *run = arg;

	run->results[index].wait_status = wait_status;
}

static double kb_per_second(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / 1024 / seconds : 0;
}

static uint64_t micros(double seconds)
{
	return (uint64_t)(seconds * 1e6 + 0.5);
}

/* The bytes one process writes (and, with --read, reads as well). */
static uint64_t pass_bytes(const struct options *opt)
{
	return opt->bytes * opt->repeat;
}

static double write_time(const struct options *opt, const struct result *res)
{
	return res->write_seconds + (opt->init_time ? 0 : res->init_seconds);
}

struct total {
	uint64_t bytes;
	double seconds;		/* first start to last end of the passes */
	double write_seconds, read_seconds, free_seconds;	/* the slowest process */
	uint64_t wrong_words;
	unsigned int failed;
};

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static struct total add_up(const struct run *run)
{
	const struct options *opt = run->opt;
	double start = 0, end = 0;
	struct total t = { 0 };
	unsigned int i;

	for (i = 0; i < opt->processes; i++) {
		const struct result *res = &run->results[i];

		t.wrong_words += res->wrong_words;
		if (!res->done) {
			t.failed++;
			continue;
		}
		t.bytes += pass_bytes(opt);
		if (!end || res->start < start)
			start = res->start;
		end = larger(end, res->end);
		t.write_seconds = larger(t.write_seconds, write_time(opt, res));
		t.read_seconds = larger(t.read_seconds, res->read_seconds);
		t.free_seconds = larger(t.free_seconds, res->free_seconds);
	}
	t.seconds = end - start;
	return t;
}

static const char *failure_of(const struct result *res, char *buf, size_t len)
{
	if (res->error)
		snprintf(buf, len, "cannot take the memory: %s", strerror(res->error));
	else if (!res->done && res->wait_status < 0)
		snprintf(buf, len, "could not be started");
	else if (!res->done)
		describe_end(res->wait_status, buf, len);
	else if (res->wrong_words)
		snprintf(buf, len, "%" PRIu64 " words wrong, first: word %" PRIu64
			 " reads %" PRIu64, res->wrong_words, res->first_wrong,
			 res->first_found);
	else
		return NULL;
	return buf;
}

static void json_process(struct json *j, const struct options *opt,
			 const struct result *res)
{
	uint64_t bytes = res->done ? pass_bytes(opt) : 0;
	char why[160];

	json_object(j, NULL);
	json_bool(j, "done", res->done);
	json_uint(j, "bytes", bytes);
	json_uint(j, "init_us", micros(res->init_seconds));
	json_uint(j, "write_us", micros(res->write_seconds));
	json_real(j, "throughput_kb_s", kb_per_second(bytes, write_time(opt, res)));
	if (opt->read) {
		json_uint(j, "read_us", micros(res->read_seconds));
		json_real(j, "read_kb_s", kb_per_second(bytes, res->read_seconds));
	}
	json_uint(j, "free_us", micros(res->free_seconds));
	json_text(j, "failure", failure_of(res, why, sizeof(why)));
	json_end_object(j);
}

static bool report_json(const struct run *run, const struct total *t, FILE *out)
{
	const struct options *opt = run->opt;
	struct json j;
	unsigned int i;

	json_start(&j, out);
	json_object(&j, NULL);
	json_text(&j, "program", "usemem");
	json_uint(&j, "processes", opt->processes);
	json_uint(&j, "bytes_per_process", opt->bytes);
	json_uint(&j, "repeat", opt->repeat);
	json_text(&j, "order", opt->random ? "random" : "sequential");
	json_bool(&j, "init_time", opt->init_time);
	json_uint(&j, "bytes", t->bytes);
	json_real(&j, "seconds", t->seconds);
	json_real(&j, "throughput_kb_s", kb_per_second(t->bytes, t->write_seconds));
	if (opt->read)
		json_real(&j, "read_kb_s", kb_per_second(t->bytes, t->read_seconds));
	json_uint(&j, "free_us", micros(t->free_seconds));
	json_bool(&j, "verified", opt->read && !t->failed && !t->wrong_words);
	json_uint(&j, "failed", t->failed);
	json_array(&j, "per_process");
	for (i = 0; i < opt->processes; i++)
		json_process(&j, opt, &run->results[i]);
	json_end_array(&j);
	json_end_object(&j);
	return json_finish(&j);
}

static void report_lines(const struct run *run, const struct total *t, FILE *out)
{
	const struct options *opt = run->opt;
	unsigned int i;
	char why[160];

	for (i = 0; i < opt->processes; i++) {
		const struct result *res = &run->results[i];

		if (failure_of(res, why, sizeof(why))) {
			fprintf(out, "process %u: %s\n", i, why);
			continue;
		}
		fprintf(out, "process %u: wrote %" PRIu64 " bytes in %" PRIu64 " us: %.0f KB/s",
			i, pass_bytes(opt), micros(write_time(opt, res)),
			kb_per_second(pass_bytes(opt), write_time(opt, res)));
		if (opt->read)
			fprintf(out, ", read at %.0f KB/s",
				kb_per_second(pass_bytes(opt), res->read_seconds));
		fprintf(out, ", freed in %" PRIu64 " us\n", micros(res->free_seconds));
	}
	fprintf(out, "total: %" PRIu64 " bytes: %.0f KB/s", t->bytes,
		kb_per_second(t->bytes, t->write_seconds));
	if (opt->read)
		fprintf(out, ", read at %.0f KB/s%s",
			kb_per_second(t->bytes, t->read_seconds),
			t->failed || t->wrong_words ? "" : " and verified");
	fprintf(out, ", freed in %" PRIu64 " us, %u of %u processes failed\n",
		micros(t->free_seconds), t->failed, opt->processes);
}

enum { OPT_INIT_TIME = 256, OPT_REPEAT, OPT_JSON };

static const struct option long_options[] = {
	{ "processes", required_argument, NULL, 'n' },
	{ "anonymous", no_argument, NULL, 'O' },
	{ "init-time", no_argument, NULL, OPT_INIT_TIME },
	{ "sync-start", no_argument, NULL, 'y' },
	{ "sync-free", no_argument, NULL, 'x' },
	{ "random", no_argument, NULL, 'R' },
	{ "read", no_argument, NULL, 'r' },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

/* Take one option: false when its value is bad. */
static bool take_option(struct options *opt, int c, const char *value)
{
	uint64_t number = 0;

	switch (c) {
	case 'n':
		if (!parse_number(value, 1, MAX_PROCESSES, &number))
			return false;
		opt->processes = (unsigned int)number;
		break;
	case OPT_REPEAT:
		if (!parse_number(value, 1, 1000000, &number))
			return false;
		opt->repeat = (unsigned int)number;
		break;
	case 'O':
		opt->anonymous = true;
		break;
	case OPT_INIT_TIME:
		opt->init_time = true;
		break;
	case 'y':
		opt->sync_start = true;
		break;
	case 'x':
		opt->sync_free = true;
		break;
	case 'R':
		opt->random = true;
		break;
	case 'r':
		opt->read = true;
		break;
	case OPT_JSON:
		opt->json = true;
		opt->json_file = value;
		break;
	}
	return true;
}

/* Returns -1 to go on, or an exit code. */
static int take_options(struct options *opt, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "n:OyxRrh", long_options, NULL)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (!take_option(opt, c, optarg))
			return usage_error("usemem", "bad number", optarg);
	}
	return take_size("usemem", argc, argv, PAGE_BYTES, &opt->bytes);
}

static bool report(const struct run *run, const struct total *t)
{
	const struct options *opt = run->opt;
	FILE *out = stdout;
	bool ok;

	if (!opt->json || opt->json_file)
		report_lines(run, t, stdout);
	if (!opt->json)
		return true;
	if (opt->json_file)
		out = fopen(opt->json_file, "w");
	ok = out && report_json(run, t, out);
	if (out && out != stdout && fclose(out))
		ok = false;
	if (!ok)
		fprintf(stderr, "usemem: cannot write %s: %s\n",
			opt->json_file ? opt->json_file : "the JSON", strerror(errno));
	return ok;
}

int main(int argc, char **argv)
{
	struct options opt = { .processes = 1, .repeat = 1 };
	struct crew crew;
	struct total total;
	struct run *run;
	unsigned int i;
	int code;

	code = take_options(&opt, argc, argv);
	if (code >= 0)
		return code;
	run = shared_alloc(sizeof(*run) + opt.processes * sizeof(run->results[0]));
	if (!run) {
		perror("usemem");
		return EXIT_FAILED;
	}
	run->opt = &opt;
	for (i = 0; i < opt.processes; i++)
		run->results[i].wait_status = -1;
	gate_init(&run->gates[GATE_START], opt.processes);
	gate_init(&run->gates[GATE_FREE], opt.processes);
	crew_init(&crew, process_failed, run, run->gates, ARRAY_SIZE(run->gates));
	for (i = 0; i < opt.processes && crew_spawn(&crew, process, run); i++)
		;
	if (i < opt.processes) {
		perror("usemem: cannot start all processes");
		gate_open(&run->gates[GATE_START]);
		gate_open(&run->gates[GATE_FREE]);
		crew.bad = true;
	}
	crew_wait(&crew, 0);
	total = add_up(run);
	return report(run, &total) && !crew.bad ? EXIT_OK : EXIT_FAILED;
}
