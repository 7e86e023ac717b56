// SPDX-License-Identifier: GPL-2.0
/* Runs the job's script, passes on what it prints, and samples meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"

/*
 * A killed process frees what it has in zswap. For 128 MB that took more than five seconds,
 * emulated and with the checkers on.
 */
#define DRAIN_SECONDS	60

enum { FD_OUT, FD_ERR, FD_TIMER, FD_CHILD, NR_FDS };

static void write_script(const struct job *job)
{
	int fd = open(SCRIPT_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, job->script, job->script_len) != (ssize_t)job->script_len)
		die("cannot write %s: %s", SCRIPT_FILE, strerror(errno));
	close(fd);
}

static void __attribute__((noreturn)) become_script(int out, int err)
{
	char * const argv[] = { "/bin/sh", SCRIPT_FILE, NULL };
	char * const envp[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "TERM=dumb", "LC_ALL=C.UTF-8", "RESULTS=" RESULTS_DIR, NULL,
	};
	sigset_t none;
	int in = open("/dev/null", O_RDONLY);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (file_write("/proc/self/oom_score_adj", "0") || dup2(in, 0) < 0 ||
	    dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(125);
	execve(argv[0], argv, envp);
	_exit(126);
}

static int start_timer(unsigned int ms)
{
	struct itimerspec every = {
		.it_value = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	every.it_interval = every.it_value;
	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL))
		die("timer: %s", strerror(errno));
	return fd;
}

static int watch_children(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("signalfd: %s", strerror(errno));
	return fd;
}

static pid_t start_script(struct pollfd *fds)
{
	int out[2], err[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		become_script(out[1], err[1]);
	close(out[1]);
	close(err[1]);
	fds[FD_OUT].fd = out[0];
	fds[FD_ERR].fd = err[0];
	return pid;
}

/* Pass on what one read gives; at the end of the stream forget it. */
static void pass_on(struct pollfd *fd, const char *stream)
{
	char buf[4096];
	ssize_t len;

	if (fd->fd < 0 || !fd->revents)
		return;
	len = read(fd->fd, buf, sizeof(buf));
	if (len < 0 && errno == EINTR)
		return;
	if (len <= 0) {
		close(fd->fd);
		fd->fd = -1;
		return;
	}
	msg_begin(stream);
	msg_bytes("data", buf, (size_t)len);
	msg_send();
}

/* Also what daemons left behind. Returns true when @pid was among them. */
static bool reap(pid_t pid, int *status)
{
	bool found = false;
	pid_t got;
	int how;

	while ((got = waitpid(-1, &how, WNOHANG)) > 0) {
		if (got == pid) {
			*status = how;
			found = true;
		}
	}
	return found;
}

static void empty(int fd)
{
	char buf[256];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static void one_step(struct pollfd *fds, int timeout_ms)
{
	if (poll(fds, NR_FDS, timeout_ms) <= 0)
		return;
	pass_on(&fds[FD_OUT], "out");
	pass_on(&fds[FD_ERR], "err");
	if (fds[FD_CHILD].revents)
		empty(fds[FD_CHILD].fd);
	if (fds[FD_TIMER].revents) {
		empty(fds[FD_TIMER].fd);
		sample_send("run");
	}
}

/*
 * Nothing of the workload may live on: what it still holds is not "left over".
 * Returns whether nothing does.
 */
static bool end_the_rest(struct pollfd *fds)
{
	double limit = uptime() + DRAIN_SECONDS;
	pid_t alive = 0;
	int status;

	kill(-1, SIGKILL);
	close(fds[FD_TIMER].fd);
	fds[FD_TIMER].fd = -1;
	while (uptime() < limit) {
		if (alive >= 0) {
			alive = waitpid(-1, &status, WNOHANG);
			if (alive < 0 && errno != ECHILD)
				alive = 0;
		}
		if (alive < 0 && fds[FD_OUT].fd < 0 && fds[FD_ERR].fd < 0)
			return true;
		one_step(fds, 10);
	}
	return alive < 0;
}

bool run_script(const struct job *job)
{
	struct pollfd fds[NR_FDS];
	double start;
	int status = 0, i;
	pid_t pid;

	write_script(job);
	sample_send("start");
	fds[FD_CHILD].fd = watch_children();
	start = uptime();
	pid = start_script(fds);
	fds[FD_TIMER].fd = start_timer(job->sample_ms);
	for (i = 0; i < NR_FDS; i++)
		fds[i].events = POLLIN;
	while (!reap(pid, &status)) {
		if (job->time_limit && uptime() >= job->time_limit) {
			msg_begin("timeout");
			msg_send();
			end_the_rest(fds);
			return false;
		}
		one_step(fds, 1000);
	}
	start = uptime() - start;
	sample_send("run");
	if (!end_the_rest(fds))
		die("processes of the workload do not end");
	msg_begin("exit");
	msg_int("code", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	msg_real("seconds", start);
	msg_send();
	return true;
}
