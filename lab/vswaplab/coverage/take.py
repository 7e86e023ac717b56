# SPDX-License-Identifier: GPL-2.0
"""Has a guest hand back what its kernel counted, and keeps it on the host."""

import base64
import io
import tarfile
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

from vswaplab.errors import VswapError

_NAME = "coverage.tar.gz.base64"
_MARK = "END_OF_THE_SCRIPT_THAT_IS_COVERED"

# tar believes the sizes of debugfs, which are 0: so the files are copied first.
_TAKE = f"""
cat > /run/covered.sh <<'{_MARK}'
%s
{_MARK}
sh /run/covered.sh; code=$?
mkdir -p /run/gcov && cd /sys/kernel/debug/gcov &&
  cp --parents $(find . -name '*.gcda' -path '*/mm/*') /run/gcov &&
  tar -C /run/gcov -cz . | base64 > $RESULTS/{_NAME}
exit $code
"""


def wrapped(script: str) -> str:
    """The script, and after it what takes the counts; the exit code is the script's."""
    return _TAKE % script


def kept(files: MutableMapping[str, str], directory: Path) -> Path:
    """Unpack what a guest handed back, which is then no longer among ``files``, into a new directory.

    Raises VswapError if there is nothing.
    """
    text = files.pop(_NAME, "")
    if not text:
        raise VswapError("the guest handed back no coverage: another flavour of kernel, or no memory for it")
    directory.mkdir(parents=True, exist_ok=True)
    target = Path(tempfile.mkdtemp(prefix="guest-", dir=directory))
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text))) as archive:
        archive.extractall(target, filter="data")
    return target
