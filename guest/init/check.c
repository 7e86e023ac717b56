// SPDX-License-Identifier: GPL-2.0
/* After the workload: its result files, and what the kernel says about its own state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define VERIFY		"/sys/kernel/debug/vswap/verify"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define CHUNK		8192
#define MAX_BYTES	(8UL << 20)	/* of one file */

/* The file's content in messages of type @type; false if it cannot be read. */
static bool send_content(const char *type, const char *name, int fd)
{
	static char buf[CHUNK];
	size_t sent = 0;
	ssize_t len;

	while (sent < MAX_BYTES && (len = read(fd, buf, sizeof(buf))) > 0) {
		msg_begin(type);
		msg_text("name", name);
		msg_bytes("data", buf, (size_t)len);
		msg_send();
		sent += (size_t)len;
	}
	if (!sent && len == 0) {
		msg_begin(type);
		msg_text("name", name);
		msg_text("data", "");
		msg_send();
	}
	return sent >= MAX_BYTES || len == 0;
}

void send_results(void)
{
	DIR *dir = opendir(RESULTS_DIR);
	struct dirent *entry;
	struct stat st;
	int fd;

	if (!dir)
		die("%s: %s", RESULTS_DIR, strerror(errno));
	while ((entry = readdir(dir))) {
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && S_ISREG(st.st_mode) &&
		    !send_content("file", entry->d_name, fd))
			die("cannot read the result %s: %s", entry->d_name, strerror(errno));
		close(fd);
	}
	closedir(dir);
}

/* The walk over virtual swap's invariants; only debug kernels have it. */
void check_verify(void)
{
	char text[64], *end;
	uint64_t violations;

	if (!file_exists(VERIFY))
		return;
	if (file_read(VERIFY, text, sizeof(text)) < 0)
		die("cannot read %s: %s", VERIFY, strerror(errno));
	violations = strtoull(text, &end, 10);
	if (end == text)
		die("%s says: %s", VERIFY, text);
	msg_begin("verify");
	msg_uint("violations", violations);
	msg_send();
}

/*
 * An object is reported when two scans in a row found no reference to it and it is older
 * than five seconds, so that there has to be a pause between the scans.
 */
void check_leaks(unsigned int pause)
{
	int fd, err;

	if (!pause || !file_exists(KMEMLEAK))
		return;
	err = file_write(KMEMLEAK, "scan");
	sleep(pause);
	if (!err)
		err = file_write(KMEMLEAK, "scan");
	/* It turns itself off when it runs out of memory; the kernel log then says so. */
	fd = err ? -1 : open(KMEMLEAK, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		msg_begin("noleaks");
		msg_text("error", strerror(err ? -err : errno));
		msg_send();
		return;
	}
	send_content("leak", "kmemleak", fd);
	close(fd);
}
