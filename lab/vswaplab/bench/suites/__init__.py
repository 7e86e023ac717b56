# SPDX-License-Identifier: GPL-2.0
"""The registry of suites, in the order they run and are listed. See vswaplab.bench.suite."""

from vswaplab.bench.suite import Suite
from vswaplab.bench.suites import held, isolation, kbuild, memhog, metadata, micro, redis, sqlite, swapped, usemem
from vswaplab.errors import UsageError

SUITES: tuple[Suite, ...] = (
    *usemem.SUITES,
    memhog.SUITE,
    *kbuild.SUITES,
    *redis.SUITES,
    sqlite.SUITE,
    *swapped.SUITES,
    *held.SUITES,
    isolation.SUITE,
    isolation.FULL,
    *micro.SUITES,
    *metadata.SUITES,
)


def find(name: str) -> Suite:
    """The suite of that name. Raises UsageError naming those there are."""
    for suite in SUITES:
        if suite.name == name:
            return suite
    raise UsageError(f"no suite {name!r}; there are: {', '.join(suite.name for suite in SUITES)}")
