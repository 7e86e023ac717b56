# SPDX-License-Identifier: GPL-2.0
"""Makes a script of the user's own command, so that it runs in a guest as it would on the host."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from vswaplab.errors import UsageError

# In a guest these directories are its own: what the host has there cannot be seen.
HIDDEN = ("/proc", "/sys", "/dev", "/run")
SCRATCH = "/scratch"  # and this one, if it has a scratch disk; see guest/init/init.h
# Addresses of services of the host's session, of no use in a guest.
_NOT_PASSED = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TMUX", "STY",
    "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "COLUMNS", "LINES",
)  # fmt: skip


def _hidden(path: Path, scratch: bool) -> str:
    """What to say if a guest cannot see the path; empty if it can."""
    text = os.path.realpath(path)
    hidden = (*HIDDEN, SCRATCH) if scratch else HIDDEN
    if any(text == name or text.startswith(f"{name}/") for name in hidden):
        return f"{', '.join(hidden)} are its own there"
    return ""


def find_program(name: str, cwd: Path, search: str, own: Path, scratch: bool = False) -> Path:
    """The program's path: as a shell would find it, else one of the workloads in ``own``.

    ``scratch``: the guest has a scratch disk. Raises UsageError when there is none, or when a guest
    could not see it.
    """
    if "/" in name:
        path = cwd / name
        if not path.is_file() or not os.access(path, os.X_OK):
            raise UsageError(f"there is no program {name!r}")
    else:
        found = shutil.which(name, path=search) or shutil.which(name, path=str(own))
        if found is None:
            raise UsageError(f"there is no program {name!r}")
        path = cwd / found
    if why := _hidden(path, scratch):
        raise UsageError(f"a guest cannot see {path}: {why}")
    return path


def script(
    argv: Sequence[str], cwd: Path, environ: Mapping[str, str], own: Path, scratch: bool = False
) -> str:
    """Shell text that becomes the command, in the same directory and environment, $RESULTS and $SCRATCH added.

    ``scratch``: the guest has a scratch disk. Raises UsageError when the program is not there or the
    guest cannot see it or the directory.
    """
    path = find_program(argv[0], cwd, environ.get("PATH", os.defpath), own, scratch)
    if why := _hidden(cwd, scratch):
        raise UsageError(f"a guest cannot see the current directory: {why}")
    passed = {name: value for name, value in environ.items() if name not in _NOT_PASSED}
    # Behind the user's own directories: "sh -c 'swapcheck ...'" finds it as "swapcheck ..." does.
    passed["PATH"] = f"{passed.get('PATH', os.defpath)}:{own}"
    if scratch:
        passed["SCRATCH"] = SCRATCH
    environment = shlex.join(f"{name}={value}" for name, value in passed.items())
    command = shlex.join([str(path), *argv[1:]])
    return f'cd {shlex.quote(str(cwd))} && exec env -i {environment} RESULTS="$RESULTS" {command}\n'
