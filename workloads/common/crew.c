// SPDX-License-Identifier: GPL-2.0
/* A set of child processes that work together, and how they ended. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"
#include "util.h"

#define POLL_SECONDS	0.005

void crew_init(struct crew *crew, crew_failed failed, void *arg,
	       struct gate *gates, unsigned int nr_gates)
{
	memset(crew, 0, sizeof(*crew));
	crew->failed = failed;
	crew->arg = arg;
	crew->gates = gates;
	crew->nr_gates = nr_gates;
}

bool crew_spawn(struct crew *crew, crew_work work, void *arg)
{
	pid_t parent = getpid();
	pid_t pid;

	if (crew->count == CREW_MAX) {
		errno = E2BIG;
		return false;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILED);
		offer_to_oom_killer();
		_exit(work(arg, crew->count));
	}
	crew->pids[crew->count++] = pid;
	crew->alive++;
	return true;
}

static void crew_ended(struct crew *crew, pid_t pid, int status)
{
	unsigned int i, g;

	for (i = 0; i < crew->count && crew->pids[i] != pid; i++)
		;
	if (i == crew->count)
		return;
	crew->pids[i] = 0;
	crew->alive--;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	crew->bad = true;
	for (g = 0; g < crew->nr_gates; g++)
		gate_open(&crew->gates[g]);
	crew->failed(crew->arg, i, status);
}

void crew_reap(struct crew *crew)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		crew_ended(crew, pid, status);
}

void crew_wait_gate(struct crew *crew, struct gate *gate)
{
	while (crew->alive && !gate_complete(gate)) {
		sleep_seconds(POLL_SECONDS);
		crew_reap(crew);
	}
}

void crew_wait(struct crew *crew, unsigned int alive)
{
	int status;
	pid_t pid;

	while (crew->alive > alive) {
		pid = waitpid(-1, &status, 0);
		if (pid > 0)
			crew_ended(crew, pid, status);
		else if (errno != EINTR)
			break;
	}
}

void signal_name(int sig, char *buf, size_t len)
{
	const char *name = sigabbrev_np(sig);

	if (name)
		snprintf(buf, len, "SIG%s", name);
	else
		snprintf(buf, len, "signal %d", sig);
}

void describe_end(int wait_status, char *buf, size_t len)
{
	char name[32];

	if (!WIFSIGNALED(wait_status)) {
		snprintf(buf, len, "exited with status %d", WEXITSTATUS(wait_status));
		return;
	}
	signal_name(WTERMSIG(wait_status), name, sizeof(name));
	snprintf(buf, len, "was killed by %s%s", name,
		 WTERMSIG(wait_status) == SIGKILL ? " (out of memory?)" :
		 WTERMSIG(wait_status) == SIGBUS ? " (a page could not be read back, or tmpfs is full)" : "");
}
