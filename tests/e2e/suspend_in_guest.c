// SPDX-License-Identifier: GPL-2.0
/*
 * Suspends a guest to disk, from a directory in memory: 9p, which has the guest's root, does not
 * answer any more once its device was frozen.
 *
 *   suspend_in_guest disk FILE...      a whole suspend: the image is written to the first swap device,
 *                                      read back and restored. Then the FILEs are made, for which the
 *                                      processes that this one inherited wait; they are waited for.
 *   suspend_in_guest image NEW OLD     with 8 MB of memory swapped out move from the control group OLD
 *                                      to NEW, remove OLD, have an image made as uswsusp does, read half
 *                                      of the memory while it exists, and the rest when it is gone.
 *
 * Prints one JSON object. Exit codes: 0 done, 1 something failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/suspend_ioctls.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reclaim.h"
#include "swapped.h"
#include "util.h"

#define PAGES	2048UL

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "suspend_in_guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Returns 0, or the error of writing. */
static int try_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), error = 0;

	if (fd < 0)
		die(path);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = errno;
	close(fd);
	return error;
}

static void put(const char *path, const char *text)
{
	errno = try_put(path, text);
	if (errno)
		die(path);
}

/* Pages of the swap device that are in use. */
static unsigned long used(void)
{
	FILE *file = fopen("/proc/swaps", "re");
	unsigned long kb;

	if (!file || fscanf(file, "%*[^\n] %*s %*s %*s %lu", &kb) != 1)
		die("/proc/swaps");
	fclose(file);
	return kb * 1024 / PAGE_BYTES;
}

static int suspend_whole(char **files)
{
	unsigned int children = 0, failed = 0;
	int status, error;

	put("/sys/power/disk", "test_resume");
	error = try_put("/sys/power/state", "disk");
	for (; *files; files++)
		put(*files, "");
	for (; wait(&status) > 0; children++)
		failed += status != 0;
	printf("{\"error\": %d, \"children\": %u, \"failed\": %u}\n", error, children, failed);
	return 0;
}

static unsigned long wrong_pages(const uint64_t *memory, unsigned long page, unsigned long end)
{
	unsigned long wrong = 0;

	for (; page < end; page++)
		wrong += !page_good(memory + page * PAGE_WORDS, page, 0);
	return wrong;
}

static unsigned long resident(void *memory)
{
	static unsigned char seen[PAGES];
	unsigned long page, count = 0;

	if (mincore(memory, PAGES * PAGE_BYTES, seen))
		die("mincore");
	for (page = 0; page < PAGES; page++)
		count += seen[page] & 1;
	return count;
}

/*
 * Until nothing is in the swap cache: what was written to a device stays there until it is reclaimed.
 * memory_swap_out() leaves a page or so, and here each slot is counted.
 */
static void swap_out(void *memory)
{
	char why[WHY_LEN];
	unsigned int i;

	for (i = 0; i < 100; i++) {
		if (madvise(memory, PAGES * PAGE_BYTES, MADV_PAGEOUT))
			die("MADV_PAGEOUT");
		if (!resident(memory))
			return;
		if (!reclaim_memory(64 << 20, RECLAIM_ALL, why, sizeof(why)))
			die(why);
		sleep_seconds(0.1);
	}
	errno = ETIMEDOUT;
	die("swapping out");
}

static int read_beside_image(const char *new, const char *old)
{
	unsigned long before, during, after, wrong;
	char path[256], why[WHY_LEN];
	struct memory memory;
	int fd, made = 0;

	if (!memory_take(&memory, PAGES * PAGE_BYTES, why))
		die(why);
	memory_fill(&memory, false);
	swap_out(memory.words);
	snprintf(path, sizeof(path), "%s/cgroup.procs", new);
	put(path, "0");
	if (rmdir(old))
		die(old);

	fd = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("/dev/snapshot");
	if (ioctl(fd, SNAPSHOT_FREEZE))
		die("SNAPSHOT_FREEZE");
	if (ioctl(fd, SNAPSHOT_CREATE_IMAGE, &made))
		die("SNAPSHOT_CREATE_IMAGE");
	before = used();
	wrong = wrong_pages(memory.words, 0, PAGES / 2);
	during = used();
	if (ioctl(fd, SNAPSHOT_FREE) || ioctl(fd, SNAPSHOT_UNFREEZE))
		die("SNAPSHOT_UNFREEZE");
	close(fd);
	wrong += wrong_pages(memory.words, PAGES / 2, PAGES);
	after = used();
	printf("{\"made\": %d, \"wrong\": %lu, \"used\": [%lu, %lu, %lu]}\n", made, wrong, before, during,
	       after);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "disk"))
		return suspend_whole(argv + 2);
	if (argc == 4 && !strcmp(argv[1], "image"))
		return read_beside_image(argv[2], argv[3]);
	fprintf(stderr, "suspend_in_guest: see the top of its source\n");
	return 1;
}
