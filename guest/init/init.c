// SPDX-License-Identifier: GPL-2.0
/*
 * guest-init: the first process of a guest.
 *
 * The kernel starts it on the host's root directory, mounted read-only. It puts a
 * writable layer in memory over that, sets swapping up, runs the job's script while
 * sampling the memory counters, checks what the kernel can check about itself, and
 * powers the machine off. Everything it has to say goes as lines of JSON over a
 * second channel; the console belongs to the kernel. What "job" (the directory in the
 * environment variable guest_job) may contain is in struct job and read_job().
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

static bool restart_at_end;

double uptime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void power_off(void)
{
	fflush(stdout);
	reboot(restart_at_end ? RB_AUTOBOOT : RB_POWER_OFF);
	for (;;)
		pause();
}

static void __attribute__((noreturn)) give_up(const char *type, const char *format,
					      va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	printf("guest-init: %s\n", text);
	if (channel_is_open()) {
		msg_begin(type);
		msg_text("text", text);
		msg_send();
	}
	power_off();
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	give_up("error", format, args);
}

void refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	give_up("refused", format, args);
}

static void copy_word(char *to, size_t len, const char *key, const char *value)
{
	if (strlen(value) >= len)
		die("job: %s is too long: %s", key, value);
	strcpy(to, value);
}

static uint64_t number(const char *key, const char *value)
{
	char *end;
	uint64_t result;

	errno = 0;
	result = strtoull(value, &end, 10);
	if (errno || end == value || *end)
		die("job: %s is not a number: %s", key, value);
	return result;
}

static void take_swap(struct job *job, const char *value)
{
	if (!strcmp(value, "none")) {
		job->swap = SWAP_NONE;
	} else if (!strncmp(value, "disk ", 5)) {
		job->swap = SWAP_DISK;
		copy_word(job->swap_device, sizeof(job->swap_device), "swap", value + 5);
	} else if (!strncmp(value, "zram ", 5)) {
		job->swap = SWAP_ZRAM;
		job->zram_bytes = number("swap", value + 5);
		strcpy(job->swap_device, "/dev/zram0");
	} else {
		die("job: unknown swap: %s", value);
	}
}

static void take_line(struct job *job, const char *key, const char *value)
{
	if (!strcmp(key, "channel"))
		copy_word(job->channel, sizeof(job->channel), key, value);
	else if (!strcmp(key, "compressor"))
		copy_word(job->compressor, sizeof(job->compressor), key, value);
	else if (!strcmp(key, "zswap"))
		job->zswap = number(key, value);
	else if (!strcmp(key, "pool_percent"))
		job->pool_percent = (unsigned int)number(key, value);
	else if (!strcmp(key, "swap"))
		take_swap(job, value);
	else if (!strcmp(key, "sample_ms"))
		job->sample_ms = (unsigned int)number(key, value);
	else if (!strcmp(key, "leak_pause"))
		job->leak_pause = (unsigned int)number(key, value);
	else if (!strcmp(key, "cgroup"))
		job->cgroup = (unsigned int)number(key, value);
	else if (!strcmp(key, "scratch"))
		copy_word(job->scratch, sizeof(job->scratch), key, value);
	else if (!strcmp(key, "all_results"))
		job->all_results = number(key, value);
	else if (!strcmp(key, "time_limit"))
		job->time_limit = (unsigned int)number(key, value);
	else if (!strcmp(key, "restart"))
		job->restart = number(key, value);
	else
		die("job: unknown key: %s", key);
}

/* Before anything is mounted: the job's directory may be covered afterwards. */
static void read_job(struct job *job)
{
	const char *dir = getenv("guest_job");
	char path[512], *text, *line, *value;
	size_t len;

	if (!dir)
		die("no guest_job= on the kernel's command line");
	snprintf(path, sizeof(path), "%s/job", dir);
	text = file_load(path, &len);
	if (!text)
		die("cannot read %s: %s", path, strerror(errno));
	while ((line = strsep(&text, "\n"))) {
		if (!*line)
			continue;
		value = strchr(line, ' ');
		if (!value)
			die("job: no value: %s", line);
		*value++ = '\0';
		take_line(job, line, value);
	}
	snprintf(path, sizeof(path), "%s/script", dir);
	job->script = file_load(path, &job->script_len);
	if (!job->script)
		die("cannot read %s: %s", path, strerror(errno));
	if (!job->sample_ms || !*job->channel)
		die("job: sample_ms and channel are needed");
}

/* No pressure on memory may stop the one that reports. */
static void protect_self(void)
{
	int err;

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("mlockall: %s", strerror(errno));
	err = file_write("/proc/self/oom_score_adj", "-1000");
	if (err)
		die("/proc/self/oom_score_adj: %s", strerror(-err));
}

static void say_hello(const struct job *job)
{
	struct utsname name;

	uname(&name);
	msg_begin("hello");
	msg_text("release", name.release);
	msg_text("machine", name.machine);
	msg_int("cpus", sysconf(_SC_NPROCESSORS_ONLN));
	swap_hello(job);
	msg_send();
}

static void __attribute__((noreturn)) say_goodbye(void)
{
	msg_begin("bye");
	msg_send();
	power_off();
}

int main(void)
{
	static struct job job = { .cgroup = 2 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (getpid() != 1) {
		fprintf(stderr, "guest-init: only a guest's kernel starts this\n");
		return 2;
	}
	read_job(&job);
	restart_at_end = job.restart;
	mount_root();
	channel_open(job.channel);
	mount_cgroup(job.cgroup);
	if (*job.scratch)
		mount_scratch(job.scratch);
	network_up();
	protect_self();
	swap_set_up(&job);
	sample_open(job.swap == SWAP_ZRAM);
	say_hello(&job);
	if (!run_script(&job)) {
		/* The host does not wait for long, and what is checked below may take its time. */
		send_results(job.all_results);
		say_goodbye();
	}
	sample_settle(2);
	sample_send("end");
	send_results(job.all_results);
	check_verify();
	if (job.swap != SWAP_NONE) {
		swap_take_away(&job);
		check_verify();
	}
	check_leaks(job.leak_pause);
	say_goodbye();
}
