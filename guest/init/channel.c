// SPDX-License-Identifier: GPL-2.0
/*
 * The channel to the host: a serial line or a virtio port that carries one JSON object
 * per line, in ASCII. A byte string is sent as the code points U+0000 to U+00FF.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "init.h"

#define WAIT_SECONDS	10

static int channel = -1;
static char line[64 * 1024];
static size_t used;
static bool first;	/* nothing written yet at this level */

bool channel_is_open(void)
{
	return channel >= 0;
}

void channel_open(const char *device)
{
	struct termios settings;
	int fd;

	if (!file_wait(device, WAIT_SECONDS))
		die("there is no %s", device);
	fd = open(device, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", device, strerror(errno));
	if (!tcgetattr(fd, &settings)) {
		cfmakeraw(&settings);
		tcsetattr(fd, TCSANOW, &settings);
	}
	channel = fd;
}

/* Callers bound what they send; a line that does not fit is a mistake here. */
static void __attribute__((noreturn)) too_long(void)
{
	channel = -1;
	line[sizeof(line) - 1] = '\0';
	die("a message is too long: %.60s", line);
}

static void __attribute__((format(printf, 1, 2))) put(const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line + used, sizeof(line) - used, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(line) - used)
		too_long();
	used += (size_t)len;
}

/* By hand: this is where the time goes when results are large. */
static void put_byte(unsigned char c)
{
	static const char digits[] = "0123456789abcdef";

	if (sizeof(line) - used <= sizeof("\\u0000"))
		too_long();
	if (c == '"' || c == '\\') {
		line[used++] = '\\';
	} else if (c < 0x20 || c > 0x7e) {
		memcpy(line + used, "\\u00", 4);
		line[used + 4] = digits[c >> 4];
		line[used + 5] = digits[c & 15];
		used += 6;
		return;
	}
	line[used++] = (char)c;
}

static void put_bytes(const char *data, size_t len)
{
	size_t i;

	put("\"");
	for (i = 0; i < len; i++)
		put_byte((unsigned char)data[i]);
	put("\"");
}

static void put_key(const char *key)
{
	if (!first)
		put(",");
	first = false;
	put_bytes(key, strlen(key));
	put(":");
}

void msg_begin(const char *type)
{
	used = 0;
	first = true;
	put("{");
	msg_text("type", type);
	msg_real("t", uptime());
}

void msg_object(const char *key)
{
	put_key(key);
	put("{");
	first = true;
}

void msg_end_object(void)
{
	put("}");
	first = false;
}

void msg_bytes(const char *key, const char *data, size_t len)
{
	put_key(key);
	put_bytes(data, len);
}

void msg_text(const char *key, const char *text)
{
	msg_bytes(key, text, strlen(text));
}

void msg_uint(const char *key, uint64_t value)
{
	put_key(key);
	put("%llu", (unsigned long long)value);
}

void msg_int(const char *key, int64_t value)
{
	put_key(key);
	put("%lld", (long long)value);
}

void msg_real(const char *key, double value)
{
	put_key(key);
	put("%.6f", value);
}

void msg_bool(const char *key, bool value)
{
	put_key(key);
	put(value ? "true" : "false");
}

void msg_null(const char *key)
{
	put_key(key);
	put("null");
}

void msg_send(void)
{
	size_t sent = 0;

	put("}\n");
	while (sent < used) {
		ssize_t got = write(channel, line + sent, used - sent);

		if (got > 0) {
			sent += (size_t)got;
		} else if (got < 0 && errno != EINTR && errno != EAGAIN) {
			channel = -1;
			die("cannot write to the host: %s", strerror(errno));
		} else if (got <= 0) {
			usleep(1000);
		}
	}
	used = 0;
}
