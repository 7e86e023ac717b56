// SPDX-License-Identifier: GPL-2.0
/* Pushing memory out, and seeing how much is out. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reclaim.h"
#include "util.h"

/* The path of the cgroup's memory.reclaim; false if there is no cgroup v2 here. */
static bool reclaim_path(char *path, size_t len)
{
	char text[512], *own;

	if (!read_text("/proc/self/cgroup", text, sizeof(text)))
		return false;
	own = strstr(text, "0::");
	if (!own)
		return false;
	own[strcspn(own, "\n")] = '\0';
	return snprintf(path, len, "/sys/fs/cgroup%s/memory.reclaim", own + 3) < (int)len;
}

bool reclaim_memory(uint64_t bytes, enum reclaim_what what, char *why, size_t len)
{
	char path[640], request[64];
	bool asked;
	int fd, n;

	if (!reclaim_path(path, sizeof(path))) {
		snprintf(why, len, "no cgroup v2 here");
		return false;
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, len, "%.100s: %s", path, strerror(errno));
		return false;
	}
	n = snprintf(request, sizeof(request), "%" PRIu64 "%s", bytes,
		     what == RECLAIM_ANON ? " swappiness=max" : "");
	/* EAGAIN: less than asked for could be reclaimed. */
	asked = write(fd, request, (size_t)n) == n || errno == EAGAIN;
	if (!asked)
		snprintf(why, len, "%.100s: %s", path, strerror(errno));
	close(fd);
	return asked;
}

/* The bytes that a line "@name: N kB" of a file in /proc says; 0 if there is none. */
static uint64_t proc_bytes(const char *path, const char *name)
{
	FILE *in = fopen(path, "re");
	size_t len = strlen(name);
	uint64_t kb = 0;
	char line[256];

	while (in && fgets(line, sizeof(line), in))
		if (!strncmp(line, name, len) && sscanf(line + len, ": %" SCNu64, &kb) == 1)
			break;
	if (in)
		fclose(in);
	return kb * 1024;
}

uint64_t swapped_bytes(void)
{
	return proc_bytes("/proc/self/smaps_rollup", "Swap");
}

uint64_t swap_cached_bytes(void)
{
	return proc_bytes("/proc/meminfo", "SwapCached");
}
