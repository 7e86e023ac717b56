// SPDX-License-Identifier: GPL-2.0
/* Reading and writing small files, most of them in procfs and sysfs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

ssize_t file_read(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -1;
	while (used < len - 1 && (got = read(fd, buf + used, len - 1 - used)) > 0)
		used += (size_t)got;
	close(fd);
	if (got < 0)
		return -1;
	if (used && buf[used - 1] == '\n')
		used--;
	buf[used] = '\0';
	return (ssize_t)used;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

char *file_load(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 4096, used = 0;
	char *text = NULL, *more;
	ssize_t got = 1;

	if (fd < 0)
		return NULL;
	while (got > 0) {
		room *= 2;
		more = realloc(text, room);
		if (!more)
			break;
		text = more;
		while (used < room - 1 && (got = read(fd, text + used, room - 1 - used)) > 0)
			used += (size_t)got;
	}
	close(fd);
	if (got) {
		free(text);
		return NULL;
	}
	text[used] = '\0';
	*len = used;
	return text;
}

bool file_exists(const char *path)
{
	return !access(path, F_OK);
}

bool file_wait(const char *path, double seconds)
{
	double limit = uptime() + seconds;

	while (!file_exists(path)) {
		if (uptime() > limit)
			return false;
		usleep(20000);
	}
	return true;
}
