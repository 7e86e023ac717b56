// SPDX-License-Identifier: GPL-2.0
/* File systems: a writable layer in memory over the host's root, and the kernel's own. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

/* Any directory that every root has; covered only until the overlay is the root. */
#define STAGE "/tmp"
#define CGROUP "/sys/fs/cgroup"
#define WAIT_SECONDS 10

static void mount_one(const char *type, const char *where, unsigned long flags,
		      const char *options)
{
	if (mount(type, where, type, flags, options))
		die("mount %s on %s: %s", type, where, strerror(errno));
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		die("mkdir %s: %s", path, strerror(errno));
}

/*
 * What guest programs write stays in RAM that is never swapped: it must not show up in
 * the counters of the thing that is tested.
 */
static void mount_overlay(void)
{
	mount_one("tmpfs", STAGE, 0, "noswap,mode=755");
	make_dir(STAGE "/upper");
	make_dir(STAGE "/work");
	make_dir(STAGE "/root");
	mount_one("overlay", STAGE "/root", 0,
		  "lowerdir=/,upperdir=" STAGE "/upper,workdir=" STAGE "/work");
	if (chdir(STAGE "/root") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") ||
	    chdir("/"))
		die("cannot make the overlay the root: %s", strerror(errno));
}

void mount_root(void)
{
	mount_overlay();
	mount_one("proc", "/proc", 0, NULL);
	mount_one("sysfs", "/sys", 0, NULL);
	mount_one("devtmpfs", "/dev", 0, NULL);
	make_dir("/dev/pts");
	make_dir("/dev/shm");
	/* mode 666: programs with a user of their own write to terminals as well */
	if (mount("devpts", "/dev/pts", "devpts", 0, "ptmxmode=666") && errno != ENODEV)
		die("mount devpts: %s", strerror(errno));
	/* No limit: shared memory larger than RAM is what swap is tested with. */
	mount_one("tmpfs", "/dev/shm", 0, "size=0,mode=1777");
	mount_one("tmpfs", "/run", 0, "noswap,mode=755");
	make_dir(RUN_DIR);
	make_dir(RESULTS_DIR);
	/* Kernels without them exist; what needs them says so. */
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (symlink("/proc/self/fd", "/dev/fd") && errno != EEXIST)
		die("/dev/fd: %s", strerror(errno));
	umask(022);
}

/* Every controller that the kernel has of version 1, in a hierarchy of its own. */
static void mount_cgroup_v1(void)
{
	char *text, *rest, *line, *name, path[128];
	size_t len;

	mount_one("tmpfs", CGROUP, 0, "noswap,mode=755");
	text = file_load("/proc/cgroups", &len);
	if (!text)
		die("/proc/cgroups: %s", strerror(errno));
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		name = strsep(&line, "\t");
		if (!*name || *name == '#')
			continue;
		snprintf(path, sizeof(path), CGROUP "/%s", name);
		make_dir(path);
		/* One without version 1 is reported by what needs it. */
		if (mount(name, path, "cgroup", 0, name))
			rmdir(path);
	}
	free(text);
	if (!file_exists(CGROUP "/memory"))
		refuse("the kernel has no memory controller of cgroup version 1");
}

void mount_cgroup(unsigned int version)
{
	if (version == 1) {
		mount_cgroup_v1();
		return;
	}
	mount_one("cgroup2", CGROUP, 0, NULL);
	/* One that is not configured is reported by what needs it. */
	file_write(CGROUP "/cgroup.subtree_control", "+memory");
	file_write(CGROUP "/cgroup.subtree_control", "+pids");
}

/* The host made the file system: ext4, or ext2 for kernels without it, which ext4 reads too. */
void mount_scratch(const char *device)
{
	if (!file_wait(device, WAIT_SECONDS))
		die("there is no %s", device);
	make_dir(SCRATCH_DIR);
	if (mount(device, SCRATCH_DIR, "ext4", 0, NULL) &&
	    mount(device, SCRATCH_DIR, "ext2", 0, NULL)) {
		if (errno == ENODEV)
			refuse("the kernel has neither ext4 nor ext2 for the scratch disk");
		die("mount %s on %s: %s", device, SCRATCH_DIR, strerror(errno));
	}
	/* as /tmp, for programs that run as other users */
	if (chmod(SCRATCH_DIR, 01777))
		die("chmod %s: %s", SCRATCH_DIR, strerror(errno));
}

void network_up(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	if (fd < 0)
		return;
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		die("cannot bring lo up: %s", strerror(errno));
	close(fd);
	if (sethostname("vswap-guest", 11))
		die("sethostname: %s", strerror(errno));
}
