# SPDX-License-Identifier: GPL-2.0
"""Boot a guest for an end-to-end test, and accept no complaint of its kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.e2e.common import Boot, script
from vswaplab.build import workloads
from vswaplab.build.kbuild import BuiltKernel
from vswaplab.guest import GuestResult, GuestSpec, boot


@pytest.fixture(scope="session")
def boot_guest(built_kernel: Callable[[str, str, str], BuiltKernel]) -> Boot:
    """boot_guest(script, kernel=, arch=, flavour=, and fields of GuestSpec) -> GuestResult.

    The guest must come to its regular end, its kernel must not complain, and the walk over all
    invariants, which ends every guest of a debug kernel with virtual swap, must find nothing.
    One CPU, with which User-Mode Linux is twice as fast; tests that race or reclaim from two say so.
    Complaints that contain one of the texts ``expected`` are what the test is about. With
    virtual=False the kernel is told not to have virtual swap.
    """

    def run(
        text: str,
        *,
        kernel: str = "vswap",
        arch: str = "um",
        flavour: str = "debug",
        expected: Sequence[str] = (),
        **fields: Any,
    ) -> GuestResult:
        virtual = fields.pop("virtual", True)
        settings: dict[str, Any] = {"cpus": 1, "pool_percent": 80, "timeout": 400.0, "leak_pause": 0, **fields}
        whole = f"PATH={workloads.build()}:$PATH\n" + script(text)
        result = boot(GuestSpec(kernel=built_kernel(kernel, arch, flavour), script=whole, **settings))
        said = f"{result.status}: {result.error}\n{result.output}\n{result.console[-4000:]}"
        assert result.status == "ok", said
        splats = [splat for splat in result.splats if not any(text in splat for text in expected)]
        assert not splats, f"{splats}\n{said}"
        if virtual and kernel == "vswap" and flavour == "debug":
            assert result.verify_violations == 0, said
        return result

    return run
