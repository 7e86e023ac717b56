#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Make everything the lab needs exist, then print the Python to run it with on stdout. With the
# argument "tests", try to install what only tests use as well: without it they are skipped.
# Messages go to stderr. Takes a few hundredths of a second when there is nothing to do.
# Exit status 1: something is missing that this script may not or cannot install.
set -eu

top=$(dirname "$(dirname "$(readlink -f "$0")")")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/vswap

# What building (kernels, workloads), booting, the demonstration, the benchmarks and the tests use.
packages="gcc libc6-dev make flex bison bc libelf-dev perl git xz-utils ccache ca-certificates
	python3 python3-venv qemu-system-x86 redis-server redis-tools numactl e2fsprogs util-linux dmsetup
	spin"
# What only tests use: a browser for the pages that the lab writes, suites of others, and programs for guests.
only_tests="chromium fonts-dejavu-core stress-ng busybox-static"
# The same as commands, for systems that are not Debian.
commands="gcc make flex bison bc perl git xz ccache python3 qemu-system-x86_64"

say() {
	echo "vswap: $*" >&2
}

missing_packages() {
	installed=" $(dpkg-query -W -f='${db:Status-Status}=${Package} ' 2>/dev/null) "
	for package; do
		case $installed in
		*" installed=$package "*) ;;
		*) printf ' %s' "$package" ;;
		esac
	done
}

install_packages() {
	root=
	if [ "$(id -u)" != 0 ]; then
		root="sudo -n"
		if ! sudo -n true 2>/dev/null; then
			say "missing Debian packages; run: sudo apt-get install --no-install-recommends$1"
			exit 1
		fi
	fi
	say "installing Debian packages:$1"
	# shellcheck disable=SC2086  # lists on purpose
	set -- $1
	# A machine that only just started has no package lists: update when the first try fails.
	install="$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends"
	$install "$@" >/dev/null 2>&1 || {
		$root apt-get -qq update >/dev/null && $install "$@" >/dev/null
	} || {
		say "installing failed; run: sudo apt-get update && sudo apt-get install --no-install-recommends $*"
		exit 1
	}
}

check_commands() {
	lacking=
	for command in $commands; do
		command -v "$command" >/dev/null || lacking="$lacking $command"
	done
	if [ -n "$lacking" ]; then
		say "not a Debian system, and these commands are missing:$lacking"
		exit 1
	fi
}

# A Python of 3.11 or later that can make an environment; the one in PATH first.
find_python() {
	for python in python3 /usr/bin/python3; do
		if "$python" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
			command -v "$python"
			return
		fi
	done
	say "Python 3.11 or later with the venv module is needed"
	exit 1
}

# Environments are large, one for each checkout and pyproject.toml. Remove those that are incomplete, whose
# checkout is gone, or that nobody has used for 30 days; .complete is touched at each use, and python reads
# pyvenv.cfg, which tells about those that older versions of this script have made.
remove_old_environments() {
	for old in "$cache"/venv/????????????; do
		[ -d "$old" ] && [ "$old" != "$venv" ] || continue
		checkout=$(cat "$old/.checkout" 2>/dev/null) || checkout=
		if [ -e "$old/.complete" ] && { [ -z "$checkout" ] || [ -e "$checkout/lab/bootstrap.sh" ]; }; then
			used=$(find "$old/.complete" "$old/pyvenv.cfg" \( -mtime -30 -o -atime -30 \) 2>/dev/null) || :
			[ -z "$used" ] || continue
		fi
		say "removing the Python environment of ${checkout:-an unknown checkout}: $old"
		rm -f "$old/.complete"
		rm -rf "$old"
	done
}

make_environment() {
	python=$(find_python)
	mkdir -p "$cache/venv"
	(
		flock 9
		[ ! -e "$venv/.complete" ] || exit 0
		say "making a Python environment (once)"
		remove_old_environments
		rm -rf "$venv"
		log=$venv.log
		if "$python" -m venv "$venv" >"$log" 2>&1 &&
			"$venv/bin/python" -m pip install -q --disable-pip-version-check -e "$top[test]" >>"$log" 2>&1; then
			rm -f "$log"
			echo "$top" >"$venv/.checkout"
			touch "$venv/.complete"
		else
			rm -rf "$venv"
			reason=$(grep -m 1 -i error "$log" || tail -n 1 "$log")
			say "pip could not install the Python packages (no network?): $reason; log: $log"
			exit 1
		fi
	) 9>"$cache/venv/.lock"
}

if command -v dpkg-query >/dev/null; then
	# shellcheck disable=SC2086  # lists on purpose
	missing=$(missing_packages $packages)
	[ -z "$missing" ] || install_packages "$missing"
	if [ "${1-}" = tests ]; then
		# shellcheck disable=SC2086
		missing=$(missing_packages $only_tests)
		[ -z "$missing" ] || (install_packages "$missing") || say "tests that need one of them are skipped"
	fi
else
	check_commands
fi

key=$({ cat "$top/pyproject.toml"; echo "$top"; } | sha256sum | cut -c1-12)
venv=$cache/venv/$key
[ -e "$venv/.complete" ] || make_environment
[ -e "$venv/.checkout" ] || echo "$top" 2>/dev/null >"$venv/.checkout" || :
touch -c "$venv/.complete" 2>/dev/null || :
echo "$venv/bin/python"
