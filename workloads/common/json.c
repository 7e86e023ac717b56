// SPDX-License-Identifier: GPL-2.0
/* Writes one JSON value to a stream; commas and escapes are taken care of. */
#include <inttypes.h>

#include "json.h"

static void put_string(struct json *j, const char *s)
{
	fputc('"', j->out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(j->out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(j->out, "\\u%04x", c);
		else
			fputc(c, j->out);
	}
	fputc('"', j->out);
}

static void put_key(struct json *j, const char *key)
{
	if (!j->first)
		fputs(", ", j->out);
	j->first = false;
	if (key) {
		put_string(j, key);
		fputs(": ", j->out);
	}
}

void json_start(struct json *j, FILE *out)
{
	j->out = out;
	j->first = true;
}

bool json_finish(struct json *j)
{
	fputc('\n', j->out);
	return fflush(j->out) == 0 && !ferror(j->out);
}

static void put_open(struct json *j, const char *key, char c)
{
	put_key(j, key);
	fputc(c, j->out);
	j->first = true;
}

static void put_close(struct json *j, char c)
{
	fputc(c, j->out);
	j->first = false;
}

void json_object(struct json *j, const char *key)
{
	put_open(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	put_open(j, key, '[');
}

void json_end_object(struct json *j)
{
	put_close(j, '}');
}

void json_end_array(struct json *j)
{
	put_close(j, ']');
}

void json_text(struct json *j, const char *key, const char *value)
{
	put_key(j, key);
	if (value)
		put_string(j, value);
	else
		fputs("null", j->out);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_real(struct json *j, const char *key, double value)
{
	put_key(j, key);
	fprintf(j->out, "%.6f", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}
