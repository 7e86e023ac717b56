// SPDX-License-Identifier: GPL-2.0
/* zswap's settings and the swap device: a disk that the host attached, or zram. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/swap.h>
#include <unistd.h>

#include "init.h"

#define ZSWAP		"/sys/module/zswap/parameters/"
#define ZRAM		"/sys/block/zram0/"
#define VSWAP_MODE	"/sys/kernel/mm/vswap/mode"
#define PAGE_BYTES	4096
#define WAIT_SECONDS	10

/* The header page that mkswap(8) writes. */
struct swap_header {
	char boot[1024];
	uint32_t version;
	uint32_t last_page;
	uint32_t nr_badpages;
	unsigned char uuid[16];
	char label[16];
	char padding[PAGE_BYTES - 1024 - 3 * 4 - 2 * 16 - 10];
	char magic[10];
};
_Static_assert(sizeof(struct swap_header) == PAGE_BYTES, "one page");

static void set(const char *path, const char *value)
{
	int err = file_write(path, value);

	if (err)
		refuse("cannot set %s to %s: %s", path, value, strerror(-err));
}

static void set_up_zswap(const struct job *job)
{
	const char *enabled = job->zswap ? "Y" : "N";
	char percent[16], actual[32];

	if (!file_exists(ZSWAP "enabled")) {
		if (job->zswap)
			refuse("the kernel has no zswap");
		return;
	}
	if (*job->compressor && job->zswap)
		set(ZSWAP "compressor", job->compressor);
	if (job->pool_percent) {
		snprintf(percent, sizeof(percent), "%u", job->pool_percent);
		set(ZSWAP "max_pool_percent", percent);
	}
	/* Being told "N" sets zswap up as well: one that was never on costs less. */
	if (file_read(ZSWAP "enabled", actual, sizeof(actual)) < 0 ||
	    *actual != *enabled)
		set(ZSWAP "enabled", enabled);
	/* Before it is enabled it takes any name, and then falls back to the default. */
	if (*job->compressor && job->zswap &&
	    (file_read(ZSWAP "compressor", actual, sizeof(actual)) < 0 ||
	     strcmp(actual, job->compressor)))
		refuse("this kernel's zswap has no compressor %s", job->compressor);
}

static void set_up_zram(const struct job *job)
{
	char size[32];

	if (!file_wait(ZRAM "disksize", WAIT_SECONDS))
		refuse("the kernel has no zram");
	if (*job->compressor)
		set(ZRAM "comp_algorithm", job->compressor);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)job->zram_bytes);
	set(ZRAM "disksize", size);
}

static void make_swap(const char *device)
{
	static struct swap_header header = { .version = 1, .magic = "SWAPSPACE2" };
	int fd = open(device, O_RDWR | O_CLOEXEC);
	uint64_t bytes;

	if (fd < 0 || ioctl(fd, BLKGETSIZE64, &bytes))
		die("%s: %s", device, strerror(errno));
	if (bytes < 16 * PAGE_BYTES)
		refuse("%s is too small to swap to", device);
	header.last_page = (uint32_t)(bytes / PAGE_BYTES - 1);
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header) || fsync(fd))
		die("cannot write to %s: %s", device, strerror(errno));
	close(fd);
}

void swap_set_up(const struct job *job)
{
	set_up_zswap(job);
	if (job->swap == SWAP_NONE)
		return;
	if (job->swap == SWAP_ZRAM)
		set_up_zram(job);
	if (!file_wait(job->swap_device, WAIT_SECONDS))
		die("there is no %s", job->swap_device);
	make_swap(job->swap_device);
	if (swapon(job->swap_device, 0))
		die("swapon %s: %s", job->swap_device, strerror(errno));
}

static void hello_setting(const char *key, const char *path)
{
	char text[128];

	if (file_read(path, text, sizeof(text)) < 0)
		msg_null(key);
	else
		msg_text(key, text);
}

/* The file lists all, the one in use in brackets: "lzo [lz4] zstd". */
static void hello_zram(void)
{
	char text[256], *name = NULL;

	if (file_read(ZRAM "comp_algorithm", text, sizeof(text)) > 0 && (name = strchr(text, '[')))
		name = strtok(name + 1, "]");
	if (name)
		msg_text("zram_compressor", name);
	else
		msg_null("zram_compressor");
}

void swap_hello(const struct job *job)
{
	hello_setting("zswap", ZSWAP "enabled");
	hello_setting("compressor", ZSWAP "compressor");
	hello_setting("pool_percent", ZSWAP "max_pool_percent");
	hello_setting("mode", VSWAP_MODE);
	if (job->swap == SWAP_ZRAM)
		hello_zram();
}

void swap_take_away(const struct job *job)
{
	double start = uptime();
	int failed = swapoff(job->swap_device) ? errno : 0;

	msg_begin("swapoff");
	msg_real("seconds", uptime() - start);
	if (failed == EINVAL)
		msg_text("error", "the workload took it away");
	else if (failed)
		msg_text("error", strerror(failed));
	else
		msg_null("error");
	msg_send();
}
