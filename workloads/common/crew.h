/* SPDX-License-Identifier: GPL-2.0 */
/* A set of child processes that work together, and how they ended. */
#ifndef WORKLOADS_CREW_H
#define WORKLOADS_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "gate.h"

#define CREW_MAX	1024

/* A child's work: its result is the exit status of the process. */
typedef int (*crew_work)(void *arg, unsigned int index);
/* Told once for each child that ended with a status other than 0. */
typedef void (*crew_failed)(void *arg, unsigned int index, int wait_status);

struct crew {
	pid_t pids[CREW_MAX];		/* 0 once it has ended */
	unsigned int count;
	unsigned int alive;
	bool bad;			/* some child did not exit with 0 */
	crew_failed failed;
	void *arg;
	struct gate *gates;		/* opened for good when a child dies early */
	unsigned int nr_gates;
};

void crew_init(struct crew *crew, crew_failed failed, void *arg,
	       struct gate *gates, unsigned int nr_gates);
/* Start one child (it dies with its parent): false with errno set if fork() fails. */
bool crew_spawn(struct crew *crew, crew_work work, void *arg);
/* Collect the children that have ended by now. */
void crew_reap(struct crew *crew);
/* Collect until the gate is complete or nobody is left. */
void crew_wait_gate(struct crew *crew, struct gate *gate);
/* Collect until at most @alive children are left. */
void crew_wait(struct crew *crew, unsigned int alive);

/* "exited with status 1", "was killed by SIGKILL (...)". */
void describe_end(int wait_status, char *buf, size_t len);
/* "SIGKILL", or "signal 42" for those without a name. */
void signal_name(int sig, char *buf, size_t len);

#endif
