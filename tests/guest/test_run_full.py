# SPDX-License-Identifier: GPL-2.0
"""The flavour "full": what other people's programs and test suites take for granted."""

import sys
from pathlib import Path

import pytest

from tests.guest.test_run import ran

pytestmark = [pytest.mark.long, pytest.mark.kernel("vswap", "um", "full")]
FULL = ("--flavour", "full")

CALLS = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
assert libc.inotify_init() >= 0
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
old, new = ctypes.create_string_buffer(b"text"), ctypes.create_string_buffer(5)
here, there = (Vector(ctypes.addressof(buffer), 5) for buffer in (new, old))
libc.process_vm_readv.argtypes = [ctypes.c_int] + [ctypes.c_void_p, ctypes.c_ulong] * 2 + [ctypes.c_ulong]
assert libc.process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0) == 5
assert new.value == b"text"
for flag in (0x10000000, 0x04000000, 0x08000000, 0x40000000):  # user, uts, ipc, net
    assert libc.unshare(flag) == 0, (hex(flag), ctypes.get_errno())
os.chdir("/scratch")
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
    os.abort()
assert os.WCOREDUMP(os.waitpid(child, 0)[1])
"""


def test_system_calls(tmp_path: Path) -> None:
    result = ran(tmp_path, *FULL, "--scratch", "256M", "--", sys.executable, "-c", CALLS)
    assert result.code == 0, result.out + result.err


def test_scratch_disk_is_ext4(tmp_path: Path) -> None:
    script = 'cd $SCRATCH && grep " /scratch " /proc/mounts && fallocate -l 8M a'
    result = ran(tmp_path, *FULL, "--scratch", "64M", "--", "sh", "-c", script)
    assert result.code == 0, result.out + result.err
    assert " /scratch ext4 rw" in result.out


def test_controllers_of_cgroup_version_1(tmp_path: Path) -> None:
    script = """
        cd /sys/fs/cgroup && mkdir memory/a cpuset/a freezer/a cpuacct/a &&
        echo 0 >cpuset/a/cpuset.cpus && echo 0 >cpuset/a/cpuset.mems && echo $$ >cpuset/a/tasks
    """
    result = ran(tmp_path, *FULL, "--cgroup", "1", "--", "sh", "-c", script)
    assert result.code == 0, result.out + result.err


def test_directory_of_the_hosts_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dir/sub").mkdir(parents=True)
    (tmp_path / "dir/sub/file").touch()
    result = ran(tmp_path, *FULL, "--", "sh", "-c", f"cd {tmp_path} && rm -r dir && mkdir dir && find dir")
    assert (result.code, result.out.splitlines()[0]) == (0, "dir"), result.err
    assert "sub" not in result.out and (tmp_path / "dir/sub/file").exists()
