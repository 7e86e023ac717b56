# SPDX-License-Identifier: GPL-2.0
"""A headless Chromium, driven over a pipe by its DevTools protocol: no driver program, no port."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT = 60.0  # seconds for one answer
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--force-device-scale-factor=1", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


def program() -> str | None:
    """The browser of this machine, None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """The one page of a browser. ``events`` are what the browser told without being asked."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader, self._writer = reader, writer
        self._left = b""
        self._asked = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._reader], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self._reader, 1 << 16) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self._left += data
        message, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command, wait for its answer. Raises RuntimeError for a refusal, TimeoutError."""
        self._asked += 1
        message: dict[str, Any] = {"id": self._asked, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + LIMIT
        while True:
            answer = self._receive(deadline)
            if answer.get("id") != self._asked:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def attach(self) -> None:
        """Take the page that the browser began with, and listen to what it says."""
        pages = [one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        answer = self.ask("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def value(self, expression: str) -> Any:
        """What an expression is in the page. Raises RuntimeError if it throws."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 20) -> None:
        """Until it is true. Raises TimeoutError."""
        limit = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > limit:
                raise TimeoutError(f"not true after {seconds} s: {expression}")
            time.sleep(0.05)

    def window(self, width: int, height: int, scheme: str = "light") -> None:
        """Its size in pixels, and the colour scheme that the user prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def open(self, path: Path) -> None:
        """Load a file and wait until its scripts have run."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.wait(f"location.href === {json.dumps(path.resolve().as_uri())} && document.readyState === 'complete'")

    def press(self, key: str) -> None:
        """A key, down and up: a character or a name such as ArrowRight."""
        codes = {" ": 32, "Home": 36, "End": 35, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}
        event = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": codes[key]}
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **event)

    def click(self, selector: str) -> None:
        """The mouse, on the middle of an element."""
        box = self.value(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Errors of scripts, and what the console says, so far."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif method in ("Log.entryAdded", "Runtime.consoleAPICalled"):
                found.append(str(parameters))
        return found

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """A page of a new browser, which is gone at the end with all its processes and files."""
    name = program()
    assert name is not None
    to_child, from_us = os.pipe()
    from_child, to_us = from_ends = os.pipe()
    # Chromium reads descriptor 3 and writes to 4.
    shell = f"exec 3<&{to_child} 4>&{to_us}; exec \"$@\""
    with tempfile.TemporaryDirectory(prefix="vswap-browser-", ignore_cleanup_errors=True) as directory:
        argv = ["bash", "-c", shell, "bash", name, *FLAGS[:-1], f"--user-data-dir={directory}/profile", FLAGS[-1]]
        process = subprocess.Popen(
            argv, pass_fds=(to_child, to_us), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": directory},
        )  # fmt: skip
        os.close(to_child)
        os.close(to_us)
        try:
            page = Page(from_child, from_us)
            page.attach()
            yield page
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
            for end in (from_us, from_ends[0]):
                os.close(end)
