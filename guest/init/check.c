// SPDX-License-Identifier: GPL-2.0
/* After the workload: its result files, and what the kernel says about its own state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define VERIFY		"/sys/kernel/debug/vswap/verify"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define CHUNK		4096	/* with a long name and everything escaped a message has room */
#define MAX_BYTES	(8UL << 20)	/* of one file, unless all of it is wanted */

/* At most @most bytes of the file in messages of type @type; false if it cannot be read. */
static bool send_content(const char *type, const char *name, int fd, size_t most)
{
	static char buf[CHUNK];
	size_t sent = 0;
	ssize_t len;

	while (sent < most && (len = read(fd, buf, sizeof(buf))) > 0) {
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
	return sent >= most || len == 0;
}

/* Of the result that is sent, below RESULTS_DIR. */
static char path[PATH_MAX];

static void __attribute__((noreturn)) die_of_result(void)
{
	die("cannot read the result %s: %s", path, strerror(errno));
}

static void send_file(int dir, const char *name, bool all)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || !send_content("file", path, fd, all ? SIZE_MAX : MAX_BYTES))
		die_of_result();
	close(fd);
}

static void send_link(int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, name, target, sizeof(target));

	if (len < 0)
		die_of_result();
	msg_begin("link");
	msg_text("name", path);
	msg_bytes("data", target, (size_t)len);
	msg_send();
}

/* What is in the directory @fd, whose path is the first @len bytes of @path; closes @fd. */
static void send_dir(int fd, size_t len, bool all)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir)
		die_of_result();
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (len + strlen(name) + 2 > sizeof(path))
			die("the path of a result is too long: %.60s...", path);
		sprintf(path + len, "%s%s", len ? "/" : "", name);
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
			die_of_result();
		if (S_ISREG(st.st_mode))
			send_file(fd, name, all);
		if (!all)
			continue;
		if (S_ISLNK(st.st_mode))
			send_link(fd, name);
		if (S_ISDIR(st.st_mode)) {
			msg_begin("directory");
			msg_text("name", path);
			msg_send();
			send_dir(openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				 strlen(path), all);
		}
	}
	closedir(dir);
}

void send_results(bool all)
{
	send_dir(open(RESULTS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, all);
	msg_begin("results");
	msg_send();
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
	send_content("leak", "kmemleak", fd, MAX_BYTES);
	close(fd);
}
