// SPDX-License-Identifier: GPL-2.0
/* stopwatch: run a program, and write down how long it took and how it ended. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json.h"
#include "util.h"

static const char help[] =
"Usage: stopwatch --json=FILE -- COMMAND...\n"
"Run COMMAND and write one JSON object into FILE: seconds, user_seconds and sys_seconds (its\n"
"children included), major_faults, exit_code, and signal, the one that ended it or 0.\n"
"\n"
"Exit codes: COMMAND's own (128 + N after signal N), 2 usage, 127 COMMAND cannot be run.\n";

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static bool report(const char *path, double elapsed, const struct rusage *use, int status)
{
	FILE *out = fopen(path, "w");
	struct json j;
	bool ok;

	if (!out)
		return false;
	json_start(&j, out);
	json_object(&j, NULL);
	json_text(&j, "program", "stopwatch");
	json_real(&j, "seconds", elapsed);
	json_real(&j, "user_seconds", seconds(&use->ru_utime));
	json_real(&j, "sys_seconds", seconds(&use->ru_stime));
	json_uint(&j, "major_faults", (uint64_t)use->ru_majflt);
	json_uint(&j, "exit_code", WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0);
	json_uint(&j, "signal", WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0);
	json_end_object(&j);
	ok = json_finish(&j);
	return !fclose(out) && ok;
}

static int measure(const char *path, char **argv)
{
	double start = now_seconds();
	struct rusage use;
	pid_t pid = fork();
	int status;

	if (pid < 0) {
		perror("stopwatch: fork");
		return EXIT_FAILED;
	}
	if (!pid) {
		execvp(argv[0], argv);
		fprintf(stderr, "stopwatch: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	/* Of children that were waited for, by us or by theirs: wait4() counts no more than that. */
	while (wait4(pid, &status, 0, &use) < 0) {
		if (errno != EINTR) {
			perror("stopwatch: wait4");
			return EXIT_FAILED;
		}
	}
	if (!report(path, now_seconds() - start, &use, status)) {
		fprintf(stderr, "stopwatch: cannot write %s: %s\n", path, strerror(errno));
		return EXIT_FAILED;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const struct option long_options[] = {
	{ "json", required_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

int main(int argc, char **argv)
{
	const char *path = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "+h", long_options, NULL)) != -1) {
		switch (c) {
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		case 'j':
			path = optarg;
			break;
		default:
			return EXIT_USAGE;
		}
	}
	if (!path)
		return usage_error("stopwatch", "--json=FILE is missing", NULL);
	if (optind == argc)
		return usage_error("stopwatch", "COMMAND is missing", NULL);
	return measure(path, argv + optind);
}
