# SPDX-License-Identifier: GPL-2.0
"""The page that replays a record: one file with style, script and data in it."""

import jinja2
from markupsafe import Markup

from vswaplab.demo import view
from vswaplab.demo.record import Record, Recorded
from vswaplab.guest import parse_swap
from vswaplab.units import format_seconds, format_size

TEMPLATES = "demo/templates"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vswaplab", TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {"size": format_size, "seconds": format_seconds, "device": _device}
    return environment


def _device(text: str) -> str:
    """A swap device as a reader wants it: "file, 576.0 MB"."""
    swap = parse_swap(text)
    return f"{swap.kind}, {format_size(swap.bytes)}" if swap.bytes else "none"


def _file(environment: jinja2.Environment, name: str) -> Markup:
    """A style or script of ours as it is."""
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _phases(found: Recorded) -> list[str]:
    """What came of each program, a line each."""
    lines = []
    for phase in found.phases:
        if phase.end is None:
            lines.append(f"{phase.name}: did not end")
            continue
        seconds = format_seconds(phase.end - phase.begin)
        if phase.verified and phase.bytes:
            lines.append(f"{phase.name}: {format_size(phase.bytes)} verified in {seconds}")
        else:
            lines.append(f"{phase.name}: failed after {seconds}, exit code {phase.exit_code}")
    return lines


def page(found: Record) -> str:
    """The page, as HTML."""
    environment = _environment()
    return environment.get_template("demo.html.j2").render(
        record=found,
        machines=[(one, _phases(one)) for one in found.machines],
        data=view.data(found.machines),
        style=_file(environment, "demo.css"),
        script=_file(environment, "demo.js"),
    )
