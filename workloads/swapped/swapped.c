// SPDX-License-Identifier: GPL-2.0
/* swapped: have memory swapped out, then time what is done with it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "swapped.h"
#include "util.h"

static const char help[] =
"Usage: swapped --mode MODE [OPTIONS] SIZE\n"
"Fill SIZE bytes (suffixes K, M, G, T) of memory with data that compresses about 3.5:1, have all\n"
"of it swapped out (MADV_PAGEOUT), and time:\n"
"\n"
"  touch  the first access to each page, in random order, alternately a read and a write:\n"
"         percentiles in microseconds\n"
"  fork   fork(), and the end of a child that does nothing (medians)\n"
"  exit   the end of a process that has it all\n"
"  hold   nothing: write the ready file, wait for the other one, check all data\n"
"  file   writing a file of that size (in tmpfs, say), reading it back, removing it\n"
"\n"
"      --touches N        touch N pages (default: all)\n"
"      --repeat N         fork N times (default 5)\n"
"  -R, --random           fill the pages in random order\n"
"      --stay             for mode hold: leave swapping out to others, in the time between the files\n"
"      --file PATH        for mode file; must not exist\n"
"      --ready-file PATH, --wait-file PATH   for mode hold\n"
"      --json[=FILE]      the result into FILE, not to standard output\n"
"  -h, --help             this text\n"
"\n"
"The result is one JSON object; the data is verified (fork: every 16th page, exit: every 64th).\n"
"Exit codes: 0 done and verified, 1 failed or read something wrong, 2 usage.\n";

enum { OPT_MODE = 256, OPT_TOUCHES, OPT_REPEAT, OPT_STAY, OPT_FILE, OPT_READY, OPT_WAIT, OPT_JSON };

static const struct option long_options[] = {
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "touches", required_argument, NULL, OPT_TOUCHES },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "random", no_argument, NULL, 'R' },
	{ "stay", no_argument, NULL, OPT_STAY },
	{ "file", required_argument, NULL, OPT_FILE },
	{ "ready-file", required_argument, NULL, OPT_READY },
	{ "wait-file", required_argument, NULL, OPT_WAIT },
	{ "json", optional_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static bool take_option(struct swapped_options *opt, int c, const char *value)
{
	uint64_t number = 0;

	switch (c) {
	case OPT_MODE:
		opt->mode = value;
		return find_mode(value) != NULL;
	case OPT_TOUCHES:
		return parse_number(value, 2, 1ULL << 32, &opt->touches);
	case OPT_REPEAT:
		if (!parse_number(value, 1, 1000, &number))
			return false;
		opt->repeat = (unsigned int)number;
		break;
	case 'R':
		opt->random = true;
		break;
	case OPT_STAY:
		opt->stay = true;
		break;
	case OPT_FILE:
		opt->file = value;
		break;
	case OPT_READY:
		opt->ready_file = value;
		break;
	case OPT_WAIT:
		opt->wait_file = value;
		break;
	case OPT_JSON:
		opt->json_file = value;
		break;
	}
	return true;
}

/* Returns -1 to go on, or an exit code. */
static int check_options(struct swapped_options *opt, int argc, char **argv)
{
	int code;

	if (!opt->mode)
		return usage_error("swapped", "--mode is missing", NULL);
	code = take_size("swapped", argc, argv, 64 * 1024, &opt->bytes);
	if (code >= 0)
		return code;
	if (!strcmp(opt->mode, "file") && !opt->file)
		return usage_error("swapped", "mode file needs --file", NULL);
	if (opt->stay && strcmp(opt->mode, "hold"))
		return usage_error("swapped", "--stay is for mode hold", NULL);
	if (!strcmp(opt->mode, "hold") && !(opt->ready_file && opt->wait_file))
		return usage_error("swapped", "mode hold needs --ready-file and --wait-file", NULL);
	return -1;
}

static int take_options(struct swapped_options *opt, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "Rh", long_options, NULL)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (!take_option(opt, c, optarg))
			return usage_error("swapped", "bad value", optarg);
	}
	return check_options(opt, argc, argv);
}

int main(int argc, char **argv)
{
	struct swapped_options opt = { .repeat = 5 };
	char why[WHY_LEN] = "";
	uint64_t wrong = 0;
	FILE *out = stdout;
	bool measured, ok;
	struct json j;
	int code;

	code = take_options(&opt, argc, argv);
	if (code >= 0)
		return code;
	if (opt.json_file)
		out = fopen(opt.json_file, "w");
	if (!out) {
		fprintf(stderr, "swapped: cannot write %s: %s\n", opt.json_file, strerror(errno));
		return EXIT_FAILED;
	}
	json_start(&j, out);
	json_object(&j, NULL);
	json_text(&j, "program", "swapped");
	json_text(&j, "mode", opt.mode);
	json_uint(&j, "bytes", opt.bytes);
	/* A child of ours must not write what is in the buffer once more. */
	fflush(out);
	measured = find_mode(opt.mode)(&opt, &j, why, &wrong);
	json_uint(&j, "wrong_pages", wrong);
	json_bool(&j, "verified", measured && !wrong);
	json_text(&j, "failure", measured ? NULL : why);
	json_end_object(&j);
	ok = json_finish(&j);
	if (out != stdout)
		ok = !fclose(out) && ok;
	if (!measured)
		fprintf(stderr, "swapped: %s\n", why);
	return ok && measured && !wrong ? EXIT_OK : EXIT_FAILED;
}
