# SPDX-License-Identifier: GPL-2.0
"""What /etc/vswap.conf asks for, and how it is applied and taken back.

What there was before is kept in /run/vswap/before, so that only what was changed here, and by
nobody else meanwhile, is changed back.
"""

import errno
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from vswapctl import zramconf
from vswapctl.errors import CannotRead, PartlyDone, UsageError
from vswapctl.kernel import Kernel, as_number
from vswapctl.snapshot import VSWAP
from vswapctl.swaps import devices, in_fstab, only_zram

CONFIG = "/etc/vswap.conf"
BEFORE = "/run/vswap/before"
ZSWAP = "/sys/module/zswap/parameters"
NEEDS_ROOT = "needs root"
NO_COMPRESSOR = "the kernel has no such compressor"
_SWITCH = {"yes": "Y", "on": "Y", "true": "Y", "1": "Y", "no": "N", "off": "N", "false": "N", "0": "N"}
# In the order in which they are set: nothing is compressed before it is known how.
FILES = {
    "mode": f"{VSWAP}/mode",
    "compressor": f"{ZSWAP}/compressor",
    "max_pool_percent": f"{ZSWAP}/max_pool_percent",
    "accept_threshold_percent": f"{ZSWAP}/accept_threshold_percent",
    "shrinker_enabled": f"{ZSWAP}/shrinker_enabled",
    "enabled": f"{ZSWAP}/enabled",
}


@dataclass(frozen=True)
class Change:
    """A setting that is to get another value; both as the kernel shows them."""

    name: str
    before: str
    after: str


def _value(name: str, text: str) -> str | None:
    """What is to be written to the kernel's file; None for a value that cannot be."""
    if name in ("enabled", "shrinker_enabled"):
        return _SWITCH.get(text.lower())
    if name.endswith("_percent"):
        number = as_number(text) or 0  # not as it is written: the kernel takes 050 for 40
        return str(number) if 1 <= number <= 100 else None
    if name == "mode":
        return text if text in ("never", "auto", "always") else None
    return text if re.fullmatch(r"[\w-]+", text, re.ASCII) else None


def parse(text: str, title: str) -> dict[str, str]:
    """Settings and what is to be written. Raises UsageError for a line that is none."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, equals, asked = (part.strip() for part in line.partition("="))
        if not equals or name not in FILES:
            raise UsageError(f"{title}:{number}: no setting {name!r}; there are: {', '.join(FILES)}")
        value = _value(name, asked) if asked else ""
        if value is None:
            raise UsageError(f"{title}:{number}: {name} cannot be {asked!r}; the file says what it may be")
        found[name] = value
    return {name: value for name, value in found.items() if value}  # an empty one is left to the kernel


def read(kernel: Kernel, name: str) -> dict[str, str]:
    """The configuration file. Raises CannotRead and UsageError."""
    text = kernel.text(name)
    if text is None:
        raise CannotRead(f"cannot read {kernel.path(name)}: it says how zswap is to be set up")
    return parse(text, kernel.path(name))


def swaps_to_zram(kernel: Kernel) -> bool:
    """Whether all swap is on zram, or will be: zswap in front of it would compress everything twice."""
    if in_fstab(kernel):  # it may come before zram at boot, or after it: the answer is to be the same
        return False
    active = devices(kernel)
    if active:
        return only_zram(active)
    return zramconf.generated(kernel) or zramconf.service(kernel)


def changes(kernel: Kernel, wanted: Mapping[str, str]) -> list[Change]:
    """What differs from the configuration. Raises CannotRead where there is no zswap."""
    if not kernel.exists(ZSWAP):
        raise CannotRead(f"no {kernel.path(ZSWAP)}: boot a kernel with CONFIG_ZSWAP=y")
    found = []
    for name, file in FILES.items():
        before = kernel.text(file)
        if name in wanted and before is not None and before.strip() != wanted[name]:
            found.append(Change(name, before.strip(), wanted[name]))
    return found


def _remembered(kernel: Kernel) -> dict[str, Change]:
    try:
        stored = json.loads(kernel.text(BEFORE) or "{}")
        return {name: Change(name, str(both[0]), str(both[1])) for name, both in stored.items() if name in FILES}
    except (ValueError, AttributeError, LookupError, TypeError):
        return {}


def _remember(kernel: Kernel, known: Mapping[str, Change]) -> None:
    path = kernel.path(BEFORE)
    temporary = f"{path}.new"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({name: [change.before, change.after] for name, change in known.items()}, file)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write(kernel: Kernel, name: str, value: str) -> str | None:
    """Return: why it cannot be written, or None."""
    try:
        kernel.write(FILES[name], value)
    except PermissionError:
        return NEEDS_ROOT
    except OSError as error:
        if name == "compressor" and error.errno == errno.ENOENT and kernel.exists(FILES[name]):
            return NO_COMPRESSOR
        return error.strerror or "refused"
    return None


def _not_as_asked(kernel: Kernel, change: Change) -> str | None:
    """Return: what is wrong with a setting that the kernel took without a word, or None.

    Before zswap is on for the first time the kernel takes any compressor, and its default when it is turned on.
    """
    value = kernel.word(FILES[change.name])
    if value in (change.after, None):
        return None
    return f"{NO_COMPRESSOR}, it is {value}" if change.name == "compressor" else f"the kernel made it {value}"


def _after_error(kernel: Kernel, planned: Change, change: Change, known: Change | None) -> Change | None:
    """Return: what to remember of a setting that is not as it was asked for; None for nothing."""
    value = kernel.word(FILES[change.name]) or change.before
    if value == change.before:
        return known
    return None if value == planned.before else Change(change.name, planned.before, value)


def _cannot_keep(kernel: Kernel, error: OSError) -> str:
    return f"cannot keep what there was in {kernel.path(BEFORE)}: {error.strerror}"


def apply(kernel: Kernel, wanted: Sequence[Change]) -> dict[str, str]:
    """Make the changes, all that can be made. Return: why others were not, by name.

    Raises CannotRead if nothing was changed, as what there was cannot be kept.
    """
    known = _remembered(kernel)
    # The first value is what there was.
    planned = {
        change.name: Change(change.name, known.get(change.name, change).before, change.after) for change in wanted
    }
    try:
        if wanted:  # before, so that nothing is changed that cannot be taken back
            _remember(kernel, {**known, **planned})
    except PermissionError:
        return {change.name: NEEDS_ROOT for change in wanted}
    except OSError as error:
        raise CannotRead(f"{_cannot_keep(kernel, error)}; nothing was changed, make room there") from None
    failed = {change.name: _write(kernel, change.name, change.after) for change in wanted}
    errors = {change.name: failed[change.name] or _not_as_asked(kernel, change) for change in wanted}
    made: dict[str, Change | None] = {**known, **planned}
    for change in wanted:
        if errors[change.name]:
            made[change.name] = _after_error(kernel, planned[change.name], change, known.get(change.name))
    try:
        if any(errors.values()):
            _remember(kernel, {name: change for name, change in made.items() if change})
    except OSError as error:
        raise PartlyDone(f"{_cannot_keep(kernel, error)}; some settings were made") from None
    return {name: text for name, text in errors.items() if text}


def changes_back(kernel: Kernel) -> list[Change]:
    """What is to be as it was before: what still has the value it got from apply()."""
    known = _remembered(kernel)
    return [
        Change(name, known[name].after, known[name].before)
        for name in reversed(FILES)
        if name in known and kernel.word(FILES[name]) == known[name].after
    ]


def undo(kernel: Kernel, back: Sequence[Change]) -> dict[str, str]:
    """Make changes_back(), and forget what there was. Return: errors by name, as apply()."""
    errors = {}
    for change in back:
        failed = _write(kernel, change.name, change.after)
        if failed:
            errors[change.name] = failed
    if not errors and kernel.exists(BEFORE):
        try:
            os.unlink(kernel.path(BEFORE))
        except PermissionError:
            return {"record": NEEDS_ROOT}
    return errors
