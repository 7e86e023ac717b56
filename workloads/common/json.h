/* SPDX-License-Identifier: GPL-2.0 */
/* Writes one JSON value to a stream; commas and escapes are taken care of. */
#ifndef WORKLOADS_JSON_H
#define WORKLOADS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool first;	/* nothing written yet at this level */
};

void json_start(struct json *j, FILE *out);
/* Ends the line; false if something could not be written. */
bool json_finish(struct json *j);

/* @key is NULL inside an array. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end_object(struct json *j);
void json_end_array(struct json *j);

void json_text(struct json *j, const char *key, const char *value);	/* NULL: null */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_real(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);

#endif
