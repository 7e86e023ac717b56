# SPDX-License-Identifier: GPL-2.0
"""What is going to run: for each case rounds in which the kernels take turns."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vswaplab import hashing
from vswaplab.bench import round, suites
from vswaplab.bench.case import Case, Options, Turn
from vswaplab.bench.kernels import Kernel
from vswaplab.guest import GuestSpec

# (kernel's name, flavour) -> kernel; suites may ask for flavours of their own.
Kernels = Mapping[tuple[str, str], Kernel]


def _groups(found: Sequence[Case], together: bool) -> list[list[Case]]:
    """The cases whose rounds alternate: each alone, or with those that differ in the set-up only."""
    groups: dict[Case, list[Case]] = {}
    for case in found:
        groups.setdefault(replace(case, setup="") if together else case, []).append(case)
    return list(groups.values())


def turns(
    found: Sequence[Case], kernels: Sequence[str], rounds: int, *, together: bool = False
) -> Iterator[Turn]:
    """Every guest in the order it runs: the kernels' order is reversed from round to round.

    With ``together`` set-ups take turns as kernels do, because they are compared as well. Of a suite whose
    figures do not vary there is only the last round, which counts.
    """
    for group in _groups(found, together):
        order = [(case, kernel) for case in group for kernel in kernels]
        first = rounds - 1 if suites.find(group[0].suite).deterministic else 0
        for number in range(first, rounds):
            for case, kernel in order if number % 2 == 0 else reversed(order):
                yield Turn(case, kernel, number)


def identity(
    found: Sequence[Case], kernels: Mapping[str, str], options: Options, scripts: Mapping[str, str]
) -> str:
    """A checksum over everything that decides what the rounds of a plan measure.

    ``kernels`` are the checksums of images by name, ``scripts`` the guests' scripts by case.
    """
    content = [[asdict(case) for case in found], dict(kernels), asdict(options), dict(scripts)]
    return hashing.of_text(json.dumps(content, sort_keys=True))[:24]


@dataclass(frozen=True)
class Plan:
    """Everything about a run that is decided beforehand."""

    cases: Sequence[Case]
    names: Sequence[str]  # kernels, in order
    kernels: Kernels
    options: Options
    programs: Path

    def turns(self) -> list[Turn]:
        """Every guest, in order."""
        rounds = self.options.rounds + self.options.warmup
        return list(turns(self.cases, self.names, rounds, together=bool(self.options.against)))

    def kernel(self, turn: Turn) -> Kernel:
        """The kernel that a turn boots."""
        return self.kernels[turn.kernel, suites.find(turn.case.suite).flavour]

    def specs(self) -> list[GuestSpec]:
        """Every kind of guest, once per case and kernel."""
        firsts = turns(self.cases, self.names, 1)
        return [round.spec(t.case, self.kernel(t), self.options, self.programs) for t in firsts]

    def identity(self) -> str:
        """What makes finished rounds of another run count for this one."""
        images = {
            f"{name} {flavour}": hashing.of_file(kernel.built.image)
            for (name, flavour), kernel in self.kernels.items()
        }
        scripts = {
            f"{case.key} {name}": spec.script
            for (case, name), spec in zip(
                ((case, name) for case in self.cases for name in self.names), self.specs(), strict=True
            )
        }
        return identity(self.cases, images, self.options, scripts)
