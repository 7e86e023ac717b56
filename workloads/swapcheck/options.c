// SPDX-License-Identifier: GPL-2.0
/* swapcheck's command line. */
#include <getopt.h>
#include <string.h>

#include "swapcheck.h"

static const char help_start[] =
"Usage: swapcheck [OPTIONS]\n"
"Fill memory with content that can be checked, and verify every byte of it after it has\n"
"been swapped out: because --size is more than the machine (or cgroup) has, or by force.\n"
"\n"
"What is done:\n"
"  -m, --mode NAME[,NAME]  modes to run, one after the other (default anon; may be repeated);\n"
"                          'all' is every mode\n"
"  -s, --size SIZE         memory of all processes together (default 64M; K, M, G, T)\n"
"  -P, --processes N       worker processes, each with its share of the size (default 1)\n"
"      --children N        children of each worker in the modes fork (default 8) and\n"
"                          fork-many (default 64: more than a swap count within its word)\n"
"      --threads N         threads of each worker in mode churn (default 2)\n"
"      --seconds S         how long mode churn works (default 10)\n"
"      --reads P           P percent of its steps only verify (default 0); of the others\n"
"                          42 percent do\n"
"      --seed N            another seed, other content (default 1)\n"
"      --hugepage          ask for huge pages (MADV_HUGEPAGE)\n"
"\n"
"Content, in percent of the pages; all others compress to about R:1:\n"
"      --zero P            zero pages\n"
"      --same P            one word repeated\n"
"      --text P            text-like\n"
"      --random P          not compressible\n"
"      --ratio R           (default 3; 1 is not compressible)\n"
"\n"
"Pressure and checking:\n"
"      --pageout           push out by MADV_PAGEOUT, after filling and between passes\n"
"      --reclaim           the same by the own cgroup's memory.reclaim (cgroup v2, root):\n"
"                          reaches shared pages, which MADV_PAGEOUT leaves alone\n"
"      --passes N          verify N times (default 2)\n"
"      --stop-file FILE    or until FILE exists, at least once (mode anon)\n"
"      --order ORDER       sequential, random or alternate (default alternate)\n"
"      --rewrite P         rewrite P percent of the pages between passes (default 0)\n"
"      --min-swapped SIZE  fail if less was in swap when all was filled and pushed out\n"
"      --tmpdir DIR        the tmpfs of mode shm-tmpfs (default /dev/shm)\n"
"      --ksm-wait S        how long mode ksm waits for merged pages (default 20)\n"
"      --allow-skip        a mode that cannot run here is no failure\n"
"\n"
"For a driver (with one mode): when all is filled and pushed out,\n"
"      --ready-file FILE   create FILE\n"
"      --hold SECONDS      wait\n"
"      --wait-file FILE    wait until FILE exists\n"
"      --wait-timeout S    at most this long (default 600)\n"
"\n"
"Output:\n"
"      --json[=FILE]       one JSON object on standard output (lines go to standard\n"
"                          error), or into FILE\n"
"  -h, --help              this text\n"
"\n"
"To test this program:\n"
"      --dump FILE         write the first worker's content to FILE and test nothing\n"
"      --corrupt PAGE[:flip|zero|other]  spoil that page just before it is checked\n"
"\n"
"Modes:\n";

static const char help_end[] =
"\n"
"Exit codes: 0 verified, 1 something was not (or a process failed, or was killed, or a\n"
"mode was skipped without --allow-skip), 2 usage.\n";

enum {
	OPT_CHILDREN = 256, OPT_THREADS, OPT_SECONDS, OPT_SEED, OPT_HUGEPAGE, OPT_ZERO,
	OPT_SAME, OPT_TEXT, OPT_RANDOM, OPT_RATIO, OPT_PAGEOUT, OPT_RECLAIM, OPT_PASSES,
	OPT_ORDER, OPT_REWRITE, OPT_MIN_SWAPPED, OPT_TMPDIR, OPT_KSM_WAIT, OPT_ALLOW_SKIP,
	OPT_READY_FILE, OPT_HOLD, OPT_WAIT_FILE, OPT_WAIT_TIMEOUT, OPT_JSON, OPT_DUMP,
	OPT_CORRUPT, OPT_READS, OPT_STOP_FILE,
};

static const struct option long_options[] = {
	{ "mode", required_argument, NULL, 'm' },
	{ "size", required_argument, NULL, 's' },
	{ "processes", required_argument, NULL, 'P' },
	{ "children", required_argument, NULL, OPT_CHILDREN },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "seconds", required_argument, NULL, OPT_SECONDS },
	{ "reads", required_argument, NULL, OPT_READS },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "hugepage", no_argument, NULL, OPT_HUGEPAGE },
	{ "zero", required_argument, NULL, OPT_ZERO },
	{ "same", required_argument, NULL, OPT_SAME },
	{ "text", required_argument, NULL, OPT_TEXT },
	{ "random", required_argument, NULL, OPT_RANDOM },
	{ "ratio", required_argument, NULL, OPT_RATIO },
	{ "pageout", no_argument, NULL, OPT_PAGEOUT },
	{ "reclaim", no_argument, NULL, OPT_RECLAIM },
	{ "passes", required_argument, NULL, OPT_PASSES },
	{ "stop-file", required_argument, NULL, OPT_STOP_FILE },
	{ "order", required_argument, NULL, OPT_ORDER },
	{ "rewrite", required_argument, NULL, OPT_REWRITE },
	{ "min-swapped", required_argument, NULL, OPT_MIN_SWAPPED },
	{ "tmpdir", required_argument, NULL, OPT_TMPDIR },
	{ "ksm-wait", required_argument, NULL, OPT_KSM_WAIT },
	{ "allow-skip", no_argument, NULL, OPT_ALLOW_SKIP },
	{ "ready-file", required_argument, NULL, OPT_READY_FILE },
	{ "hold", required_argument, NULL, OPT_HOLD },
	{ "wait-file", required_argument, NULL, OPT_WAIT_FILE },
	{ "wait-timeout", required_argument, NULL, OPT_WAIT_TIMEOUT },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "dump", required_argument, NULL, OPT_DUMP },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static bool add_mode(struct options *opt, const char *name, size_t len)
{
	bool all = len == 3 && !memcmp(name, "all", 3);
	bool found = false;
	unsigned int i;

	for (i = 0; i < nr_modes; i++) {
		if (!all && (strlen(modes[i].name) != len ||
			     memcmp(modes[i].name, name, len)))
			continue;
		if (opt->nr_modes == MAX_MODES)
			return false;
		opt->modes[opt->nr_modes++] = &modes[i];
		found = true;
	}
	return found;
}

static bool add_modes(struct options *opt, const char *list)
{
	size_t len;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		if (!add_mode(opt, list, len))
			return false;
		if (!list[len])
			return true;
	}
}

static bool take_unsigned(unsigned int *to, const char *value, uint64_t max)
{
	uint64_t number;

	if (!parse_number(value, 1, max, &number))
		return false;
	*to = (unsigned int)number;
	return true;
}

static bool take_order(struct options *opt, const char *value)
{
	static const char * const names[] = { "alternate", "sequential", "random" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]))
			continue;
		opt->order = (enum order)i;
		return true;
	}
	return false;
}

static bool take_corrupt(struct options *opt, const char *value)
{
	static const char * const names[] = { "", ":flip", ":zero", ":other" };
	char number[24];
	size_t len = strcspn(value, ":");
	unsigned int i;

	if (len >= sizeof(number))
		return false;
	memcpy(number, value, len);
	number[len] = '\0';
	if (!parse_number(number, 0, PAGE_LIMIT - 2, &opt->corrupt_page))
		return false;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value + len, names[i]))
			continue;
		opt->corruption = i ? (enum corruption)i : CORRUPT_FLIP;
		return true;
	}
	return false;
}

/* Options without a value, and those that are just a text. */
static void take_plain(struct options *opt, int c, const char *value)
{
	switch (c) {
	case OPT_HUGEPAGE:	opt->hugepage = true; break;
	case OPT_PAGEOUT:	opt->pageout = true; break;
	case OPT_RECLAIM:	opt->reclaim = true; break;
	case OPT_ALLOW_SKIP:	opt->allow_skip = true; break;
	case OPT_TMPDIR:	opt->tmpdir = value; break;
	case OPT_READY_FILE:	opt->ready_file = value; break;
	case OPT_WAIT_FILE:	opt->wait_file = value; break;
	case OPT_STOP_FILE:	opt->stop_file = value; break;
	case OPT_DUMP:		opt->dump = value; break;
	case OPT_JSON:
		opt->json = true;
		opt->json_file = value;
		break;
	}
}

/* Take one option: false when its value is bad. */
static bool take_option(struct options *opt, int c, const char *value)
{
	switch (c) {
	case 'm':		return add_modes(opt, value);
	case 's':		return parse_size(value, &opt->bytes);
	case 'P':		return take_unsigned(&opt->processes, value, MAX_WORKERS);
	case OPT_CHILDREN:	return take_unsigned(&opt->children, value, MAX_CHILDREN);
	case OPT_THREADS:	return take_unsigned(&opt->threads, value, MAX_THREADS);
	case OPT_PASSES:	return take_unsigned(&opt->passes, value, MAX_PASSES);
	case OPT_SEED:		return parse_number(value, 0, UINT64_MAX, &opt->mix.seed);
	case OPT_ZERO:		return parse_decimal(value, 100, &opt->mix.zero);
	case OPT_SAME:		return parse_decimal(value, 100, &opt->mix.same);
	case OPT_TEXT:		return parse_decimal(value, 100, &opt->mix.text);
	case OPT_RANDOM:	return parse_decimal(value, 100, &opt->mix.random);
	case OPT_RATIO:
		return parse_decimal(value, 1000, &opt->mix.ratio) && opt->mix.ratio >= 1;
	case OPT_REWRITE:	return parse_decimal(value, 100, &opt->rewrite);
	case OPT_READS:		return parse_decimal(value, 100, &opt->reads);
	case OPT_SECONDS:	return parse_decimal(value, 1e6, &opt->seconds);
	case OPT_HOLD:		return parse_decimal(value, 1e6, &opt->hold);
	case OPT_WAIT_TIMEOUT:	return parse_decimal(value, 1e6, &opt->wait_timeout);
	case OPT_KSM_WAIT:	return parse_decimal(value, 1e6, &opt->ksm_wait);
	case OPT_MIN_SWAPPED:	return parse_size(value, &opt->min_swapped);
	case OPT_ORDER:		return take_order(opt, value);
	case OPT_CORRUPT:	return take_corrupt(opt, value);
	}
	take_plain(opt, c, value);
	return true;
}

static void print_help(void)
{
	unsigned int i;

	fputs(help_start, stdout);
	for (i = 0; i < nr_modes; i++)
		printf("  %-10s  %s\n", modes[i].name, modes[i].what);
	fputs(help_end, stdout);
}

/* What is wrong with the options taken together; NULL if nothing. */
static const char *contradiction(const struct options *opt)
{
	const struct mixture *mix = &opt->mix;
	uint64_t share = opt->bytes / PAGE_BYTES / opt->processes;

	if (mix->zero + mix->same + mix->text + mix->random > 100)
		return "--zero, --same, --text and --random are more than 100 percent";
	if (share < 2 * RUN_BLOCK)
		return "--size is less than 512K for each process";
	if (share >= PAGE_LIMIT / 2)
		return "--size is too large";
	if ((opt->ready_file || opt->wait_file || opt->hold > 0) && opt->nr_modes > 1)
		return "--ready-file, --wait-file and --hold want one mode";
	if (opt->stop_file && (opt->nr_modes > 1 || opt->modes[0]->run != mode_anon))
		return "--stop-file wants mode anon";
	if (opt->corruption && opt->corrupt_page >= share)
		return "--corrupt names a page that is not there";
	return NULL;
}

int options_parse(struct options *opt, int argc, char **argv)
{
	const char *wrong;
	char message[64];
	int c, index;

	*opt = (struct options){
		.bytes = 64 << 20, .processes = 1, .threads = 2, .passes = 2,
		.mix = { .seed = 1, .ratio = 3 }, .seconds = 10, .wait_timeout = 600,
		.tmpdir = "/dev/shm", .ksm_wait = 20,
	};
	while ((c = getopt_long(argc, argv, "m:s:P:h", long_options, &index)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		if (c == 'h') {
			print_help();
			return EXIT_OK;
		}
		if (take_option(opt, c, optarg))
			continue;
		for (index = 0; long_options[index].val != c; index++)
			;
		snprintf(message, sizeof(message), "bad value for --%s",
			 long_options[index].name);
		return usage_error("swapcheck", message, optarg);
	}
	if (optind < argc)
		return usage_error("swapcheck", "what is this", argv[optind]);
	if (!opt->nr_modes)
		add_mode(opt, "anon", 4);
	wrong = contradiction(opt);
	return wrong ? usage_error("swapcheck", wrong, NULL) : -1;
}
