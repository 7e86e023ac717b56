// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of the kernel's memory counters. The files stay open: opening one takes memory
 * that a machine under pressure may not have.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define MAX_FILES	48
#define SETTLE_STEP	0.1
#define ZRAM_STAT	"/sys/block/zram0/mm_stat"

/* One number per file. */
struct group {
	const char *name;
	const char *dir;
	unsigned int count;
	struct {
		char name[48];
		int fd;
		uint64_t value;
	} files[MAX_FILES];
};

static struct group vswap = { .name = "vswap", .dir = "/sys/kernel/mm/vswap" };
static struct group zswap = { .name = "zswap", .dir = "/sys/kernel/debug/zswap" };
static int meminfo = -1, vmstat = -1, zram = -1;
static char text[32 * 1024];

static const char * const meminfo_names[] = {
	"MemTotal", "MemFree", "MemAvailable", "SwapTotal", "SwapFree", "SwapCached",
	"AnonPages", "Shmem", "Zswap", "Zswapped", "Slab", "Unevictable", "Committed_AS",
	"Cached", "AnonHugePages", NULL,
};

/* Prefixes. */
static const char * const vmstat_names[] = {
	"vswap_", "zswp", "pswp", "swp", "swap_ra", "oom_kill", "allocstall", "pgmajfault",
	"pgscan_", "pgsteal_", "thp_swp", "workingset_refault_anon", "nr_swapcached", NULL,
};

static bool read_number(int fd, uint64_t *value)
{
	char buf[32], *end;
	ssize_t len = pread(fd, buf, sizeof(buf) - 1, 0);

	if (len <= 0)
		return false;
	buf[len] = '\0';
	*value = strtoull(buf, &end, 10);
	return end != buf && (*end == '\n' || !*end);
}

static void open_group(struct group *g)
{
	DIR *dir = opendir(g->dir);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)) && g->count < MAX_FILES) {
		int fd;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= sizeof(g->files[0].name))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (!read_number(fd, &g->files[g->count].value)) {
			close(fd);
			continue;
		}
		strcpy(g->files[g->count].name, entry->d_name);
		g->files[g->count++].fd = fd;
	}
	closedir(dir);
}

void sample_open(bool with_zram)
{
	open_group(&vswap);
	open_group(&zswap);
	if (with_zram)
		zram = open(ZRAM_STAT, O_RDONLY | O_CLOEXEC);
	meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	vmstat = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	if (meminfo < 0 || vmstat < 0)
		die("cannot open /proc/meminfo and /proc/vmstat: %s", strerror(errno));
}

static void send_group(struct group *g)
{
	unsigned int i;

	if (!g->count)
		return;
	msg_object(g->name);
	for (i = 0; i < g->count; i++) {
		if (read_number(g->files[i].fd, &g->files[i].value))
			msg_uint(g->files[i].name, g->files[i].value);
	}
	msg_end_object();
}

/* The first numbers of the file: bytes of data, of it compressed, and of memory taken. */
static void send_zram(void)
{
	unsigned long long data, compressed, memory;
	char buf[128];
	ssize_t len;

	len = zram < 0 ? -1 : pread(zram, buf, sizeof(buf) - 1, 0);
	if (len <= 0)
		return;
	buf[len] = '\0';
	if (sscanf(buf, "%llu %llu %llu", &data, &compressed, &memory) != 3)
		return;
	msg_object("zram");
	msg_uint("data_bytes", data);
	msg_uint("compressed_bytes", compressed);
	msg_uint("memory_bytes", memory);
	msg_end_object();
}

static bool wanted(const char *key, const char * const *names, bool prefix)
{
	for (; *names; names++) {
		if (prefix ? !strncmp(key, *names, strlen(*names)) : !strcmp(key, *names))
			return true;
	}
	return false;
}

/* "Key:  123 kB" and "key 123". */
static void send_table(const char *name, int fd, const char * const *names, bool prefix)
{
	size_t used = 0;
	ssize_t got;
	char *rest = text, *line, *value;

	/* /proc/vmstat comes in several pieces. */
	while (used < sizeof(text) - 1 &&
	       (got = pread(fd, text + used, sizeof(text) - 1 - used, (off_t)used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	msg_object(name);
	while ((line = strsep(&rest, "\n"))) {
		size_t len = strcspn(line, ": ");

		if (!line[len])
			continue;
		value = line + len + 1;
		line[len] = '\0';
		if (!wanted(line, names, prefix))
			continue;
		msg_uint(line, strtoull(value, &value, 10) *
			 (strstr(value, "kB") ? 1024 : 1));
	}
	msg_end_object();
}

void sample_send(const char *phase)
{
	msg_begin("sample");
	msg_text("phase", phase);
	/* First what changes fastest, so that the counters of one sample belong together. */
	send_group(&vswap);
	send_zram();
	send_table("meminfo", meminfo, meminfo_names, false);
	send_table("vmstat", vmstat, vmstat_names, true);
	send_group(&zswap);
	msg_send();
}

static uint64_t value_of(struct group *g, const char *name)
{
	unsigned int i;

	for (i = 0; i < g->count; i++) {
		if (!strcmp(g->files[i].name, name) &&
		    read_number(g->files[i].fd, &g->files[i].value))
			return g->files[i].value;
	}
	return 0;
}

/* Until no slot is in use and the metadata has not changed for a while. */
void sample_settle(double seconds)
{
	double limit = uptime() + seconds;
	uint64_t before = ~0ULL;
	unsigned int same = 0;

	while (uptime() < limit && same < 3) {
		uint64_t metadata = value_of(&vswap, "metadata_bytes");

		same = metadata == before && !value_of(&vswap, "slots_used") ? same + 1 : 0;
		before = metadata;
		usleep((useconds_t)(SETTLE_STEP * 1e6));
	}
}
