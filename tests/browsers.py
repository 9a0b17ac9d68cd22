"""Chromium as a user would drive it, over its debugging pipe; nothing but 127.0.0.1 can be reached from it."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds until a page that does not come is a failure


class Page:
    """A page in a browser.

    Attributes:
        requested: addresses that the page asked for.
        faults: errors of its scripts.
    """

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes, self._buffer, self._number, self._session = reads, writes, b"", 0, ""
        self.requested: list[str] = []
        self.faults: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "DOM"):
            self._call(f"{domain}.enable")

    def _call(self, method: str, **values: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": values}
        os.write(
            self._writes, json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        while True:
            found = self._message()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def _message(self) -> Any:
        while b"\0" not in self._buffer:
            part = os.read(self._reads, 1 << 20)
            assert part, "the browser has ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        found = json.loads(text)
        if found.get("method") == "Network.requestWillBeSent":
            self.requested.append(found["params"]["request"]["url"])
        if found.get("method") == "Runtime.exceptionThrown":
            self.faults.append(str(found["params"]["exceptionDetails"]))
        return found

    def open(
        self, address: str, *, width: int = 1000, height: int = 900, mobile: bool = False, dark: bool = False
    ) -> None:
        """Go to an address, in a window of some size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=address)

    def js(self, expression: str) -> Any:
        """Value of an expression in the page, awaited."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression: str) -> Any:
        """Value of an expression as soon as it is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := self.js(f"(() => {{ try {{ return !!({expression}) }} catch {{ return null }} }})()"):
                return value
            time.sleep(0.05)
        raise AssertionError(f"still not true: {expression}; {self.faults}; {self.js('document.body.innerText')}")

    def text(self, selector: str) -> str:
        """Text of an element."""
        return str(self.js(f"document.querySelector({selector!r}).textContent"))

    def type(self, selector: str, text: str) -> None:
        """Focus a field and type a text in place of what it has."""
        self.js(f"(e => {{ e.focus(); e.select && e.select(); }})(document.querySelector({selector!r}))")
        self._call("Input.insertText", text=text)

    def press(self, key: str, *, ctrl: bool = False) -> None:
        """Press a key of the keyboard."""
        printed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {"Enter": 13, "Tab": 9, "ArrowDown": 40, "ArrowRight": 39, "Escape": 27}
        values = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "modifiers": 2 * ctrl}
        self._call("Input.dispatchKeyEvent", type="keyDown", **values, **printed)
        self._call("Input.dispatchKeyEvent", type="keyUp", **values)

    def click(self, selector: str) -> None:
        """Click an element."""
        self.js(f"document.querySelector({selector!r}).click()")

    def choose(self, selector: str, file: Path) -> None:
        """Choose a file in a field."""
        root = self._call("DOM.getDocument")["root"]["nodeId"]
        node = self._call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Save a picture of the page as PNG."""
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """A page in a browser of its own, whose files are in a folder."""
    (ours_in, theirs_out), (theirs_in, ours_out) = os.pipe(), os.pipe()
    words = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}"]
    command = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "browser", *words]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, pass_fds=(theirs_in, theirs_out), **quiet) as process:  # type: ignore[call-overload]
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(ours_in, ours_out)
        finally:
            process.terminate()
            os.close(ours_in)
            os.close(ours_out)
