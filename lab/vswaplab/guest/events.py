# SPDX-License-Identifier: GPL-2.0
"""Turns the guest's channel, lines of JSON, into a GuestResult."""

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any

from vswaplab.guest.results import ResultTree
from vswaplab.guest.samples import from_event
from vswaplab.guest.spec import GuestResult, GuestSpec


class BadEvent(ValueError):
    """A complete line on the channel that is not what guest-init sends."""


def _bytes(event: Mapping[str, Any]) -> bytes:
    """The byte string behind "data" (the guest sends byte N as code point N)."""
    return str(event["data"]).encode("latin-1")


class Collector:
    """Takes what comes over the channel, in pieces of any size; ``result`` grows with it.

    ``out_of_time``: the guest has ended the script for its time limit, and sends the results.
    ``bye``: it has said all it had to say.
    """

    def __init__(self, spec: GuestSpec) -> None:
        self.result = GuestResult()
        self.bye = False
        self.out_of_time = False
        self._spec = spec
        self._partial = b""
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("out", "err")}
        self._files: dict[str, bytearray] = {}
        self._tree = ResultTree(spec.results) if spec.results is not None else None
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "hello": self._hello, "sample": self._sample, "out": self._output, "err": self._output,
            "exit": self._exit, "file": self._file, "directory": self._directory, "link": self._link,
            "results": self._results, "timeout": self._timeout,
            "verify": self._verify, "swapoff": self._swapoff,
            "leak": self._leak, "noleaks": self._ignore, "error": self._error, "refused": self._error,
            "bye": self._bye,
        }  # fmt: skip

    def feed(self, data: bytes) -> None:
        """Take a piece. Raises BadEvent for a line that guest-init cannot have sent."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            try:
                event = json.loads(line)
                self._handlers[event["type"]](event)
            except (ValueError, KeyError, TypeError) as error:
                raise BadEvent(f"unexpected message from the guest: {line[:200]!r}") from error

    def finish(self) -> GuestResult:
        """The result, when nothing more can come; a line cut short by the machine's end is dropped."""
        for name, data in self._files.items():
            self.result.files[name] = data.decode(errors="replace")
        return self.result

    def _hello(self, event: Mapping[str, Any]) -> None:
        self.result.hello = {key: value for key, value in event.items() if key not in ("type", "t")}

    def _sample(self, event: Mapping[str, Any]) -> None:
        sample = from_event(event)
        self.result.samples.append(sample)
        self._spec.on_sample(sample)

    def _output(self, event: Mapping[str, Any]) -> None:
        data = _bytes(event)
        text = self._decoders[event["type"]].decode(data)
        if event["type"] == "out":
            self.result.stdout += text
        else:
            self.result.stderr += text
        self.result.output += text
        self._spec.on_output(event["type"], data)

    def _exit(self, event: Mapping[str, Any]) -> None:
        self.result.exit_code = event["code"]
        self.result.seconds = event["seconds"]

    def _file(self, event: Mapping[str, Any]) -> None:
        if self._tree:
            self._tree.add(event["name"], _bytes(event))
        else:
            self._files.setdefault(event["name"], bytearray()).extend(_bytes(event))

    def _directory(self, event: Mapping[str, Any]) -> None:
        if self._tree:
            self._tree.directory(event["name"])

    def _link(self, event: Mapping[str, Any]) -> None:
        if self._tree:
            self._tree.link(event["name"], _bytes(event))

    def _results(self, _event: Mapping[str, Any]) -> None:
        if self._tree:
            self._tree.finish()
        self.result.results_came = True

    def _timeout(self, _event: Mapping[str, Any]) -> None:
        self.out_of_time = True

    def _verify(self, event: Mapping[str, Any]) -> None:
        self.result.verify_violations = (self.result.verify_violations or 0) + event["violations"]

    def _swapoff(self, event: Mapping[str, Any]) -> None:
        if event["error"] is None:
            self.result.swapoff_seconds = event["seconds"]
        self.result.swapoff_error = event["error"]

    def _leak(self, event: Mapping[str, Any]) -> None:
        self.result.leaks = (self.result.leaks or "") + event["data"]

    def _error(self, event: Mapping[str, Any]) -> None:
        self.result.error = event["text"]
        if event["type"] == "refused":
            self.result.status = "refused"

    def _ignore(self, _event: Mapping[str, Any]) -> None:
        pass

    def _bye(self, _event: Mapping[str, Any]) -> None:
        self.bye = True
