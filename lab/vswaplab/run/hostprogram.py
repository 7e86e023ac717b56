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
# Addresses of services of the host's session, of no use in a guest.
_NOT_PASSED = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TMUX", "STY",
    "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "COLUMNS", "LINES",
)  # fmt: skip


def _visible(path: Path) -> bool:
    text = os.path.realpath(path)
    return not any(text == hidden or text.startswith(f"{hidden}/") for hidden in HIDDEN)


def find_program(name: str, cwd: Path, search: str, own: Path) -> Path:
    """The program's path: as a shell would find it, else one of the workloads in ``own``.

    Raises UsageError when there is none, or when a guest could not see it.
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
    if not _visible(path):
        raise UsageError(f"a guest cannot see {path}: {', '.join(HIDDEN)} are its own there")
    return path


def script(argv: Sequence[str], cwd: Path, environ: Mapping[str, str], own: Path) -> str:
    """Shell text that becomes the command, in the same directory and environment.

    Raises UsageError when the program is not there or the guest cannot see it or the directory.
    """
    path = find_program(argv[0], cwd, environ.get("PATH", os.defpath), own)
    if not _visible(cwd):
        raise UsageError(f"a guest cannot see the current directory: {', '.join(HIDDEN)} are its own there")
    passed = {name: value for name, value in environ.items() if name not in _NOT_PASSED}
    passed.setdefault("PATH", os.defpath)
    environment = shlex.join(f"{name}={value}" for name, value in passed.items())
    command = shlex.join([str(path), *argv[1:]])
    return f'cd {shlex.quote(str(cwd))} && exec env -i {environment} RESULTS="$RESULTS" {command}\n'
