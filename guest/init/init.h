/* SPDX-License-Identifier: GPL-2.0 */
/*
 * guest-init: the first process of a guest. See init.c for what it does in which
 * order; the other files are its steps.
 */
#ifndef GUEST_INIT_H
#define GUEST_INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_DIR		"/run/guest"
#define RESULTS_DIR	RUN_DIR "/results"
#define SCRIPT_FILE	RUN_DIR "/script"
#define SCRATCH_DIR	"/scratch"

enum swap_kind { SWAP_NONE, SWAP_DISK, SWAP_ZRAM };

/* What the host asks for: the file "job", one "key value" per line. */
struct job {
	char channel[64];	/* device that leads to the host */
	char compressor[32];	/* of zswap, and of zram if that is used */
	bool zswap;
	unsigned int pool_percent;	/* 0: the kernel's default */
	enum swap_kind swap;
	char swap_device[64];
	uint64_t zram_bytes;
	unsigned int sample_ms;
	unsigned int leak_pause;	/* seconds between kmemleak's scans; 0: do not scan */
	unsigned int cgroup;	/* version of the hierarchy: 1, 2 */
	char scratch[64];	/* device with a file system for SCRATCH_DIR; "": none */
	bool all_results;	/* whole files of any size, directories and links, too */
	unsigned int time_limit;	/* seconds after boot that the script may run; 0: no end */
	bool restart;		/* end by a reset instead of a power off */
	char *script;		/* shell text */
	size_t script_len;
};

/* Print on the console, tell the host if the channel is open, and end the machine. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
/* The same for a setting that this kernel does not take: the user's mistake, not ours. */
__attribute__((noreturn, format(printf, 1, 2))) void refuse(const char *format, ...);
__attribute__((noreturn)) void power_off(void);

double uptime(void);	/* seconds */

/* file.c */
/* The file's text, at most @len - 1 bytes, trailing newline cut; < 0 if it cannot be read. */
ssize_t file_read(const char *path, char *buf, size_t len);
/* 0, or -errno */
int file_write(const char *path, const char *text);
/* Whole file in new memory; NULL if it cannot be read. */
char *file_load(const char *path, size_t *len);
bool file_exists(const char *path);
/* Wait until it exists, at most @seconds. */
bool file_wait(const char *path, double seconds);

/* channel.c: JSON objects, one per line. Bytes >= 0x80 travel as U+0080..U+00FF. */
void channel_open(const char *device);
bool channel_is_open(void);
void msg_begin(const char *type);
void msg_object(const char *key);
void msg_end_object(void);
void msg_text(const char *key, const char *text);
void msg_bytes(const char *key, const char *data, size_t len);
void msg_uint(const char *key, uint64_t value);
void msg_int(const char *key, int64_t value);
void msg_real(const char *key, double value);
void msg_bool(const char *key, bool value);
void msg_null(const char *key);
void msg_send(void);

/* mount.c */
void mount_root(void);
void mount_cgroup(unsigned int version);
void mount_scratch(const char *device);
void network_up(void);

/* swap.c */
void swap_set_up(const struct job *job);
void swap_hello(const struct job *job);
/* Take the swap device away and say how long that took. */
void swap_take_away(const struct job *job);

/* sample.c */
void sample_open(bool with_zram);
/* @phase: "start", "run" or "end". */
void sample_send(const char *phase);
/* Wait, at most @seconds, for what the workload left to be freed. */
void sample_settle(double seconds);

/* run.c */
/* False if its time was over and it was killed; the host has been told. */
bool run_script(const struct job *job);

/* check.c */
void check_verify(void);
void check_leaks(unsigned int pause);
/* What is in RESULTS_DIR, and then that this was all. */
void send_results(bool all);

#endif
