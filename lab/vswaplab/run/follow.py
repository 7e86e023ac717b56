# SPDX-License-Identifier: GPL-2.0
"""One guest from start to end, followed on the screen, its log kept."""

import sys
from dataclasses import replace

from vswaplab.errors import UsageError
from vswaplab.guest import GuestSpec, boot
from vswaplab.run import demo, runlog
from vswaplab.run.live import LiveLine
from vswaplab.run.report import Report

LAST_WORDS = 20  # lines of a failed workload's output


def run_one(spec: GuestSpec, program: demo.Program, quiet: bool) -> Report:
    """Run the program in a guest of its own. Raises UsageError for refused settings.

    ``quiet``: what it prints is shown only if it failed, and only the end of it.
    """
    title = f"{program.title} on {spec.kernel.kernel}"
    log = runlog.new(spec.kernel.name, program.title)
    try:
        with LiveLine(title) as live:
            followed = replace(spec, script=program.script(spec.mem_bytes), on_sample=live.sample)
            if not quiet:
                followed = replace(followed, on_output=live.output)
            result = boot(followed, console=log)
    except KeyboardInterrupt:
        sys.stderr.write(f"vswap: {title} was not finished; the kernel's log is {log}\n")
        raise
    if result.status == "refused":
        raise UsageError(result.error or "the kernel refused a setting")
    report = Report(program.title, spec, result, program.verdict(result), log)
    if quiet and not report.good:
        _show_last_words(title, result.output)
    return report


def _show_last_words(title: str, output: str) -> None:
    """What a workload that was not shown while it ran said before it failed."""
    for line in output.splitlines()[-LAST_WORDS:]:
        sys.stderr.write(f"{title}: {line}\n")
