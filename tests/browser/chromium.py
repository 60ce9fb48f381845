"""A headless Chromium to look at pages with, over its debugging pipe: no driver, no package."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
READY = "document.documentElement?.dataset.ready === 'yes'"
"""What a report says when its scripts are done."""
LOADED = "document.readyState === 'complete' && location.href !== 'about:blank'"
"""What is so when any page is there."""
PATIENCE = 60
"""Seconds to wait for an answer before giving up."""


def find():
    """The path of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """One browser process; `open` gives a page in it."""

    def __init__(self, binary):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._folder = tempfile.mkdtemp(prefix="chromium-")
        # The browser reads from descriptor 3 and writes to 4; the shell puts the pipes there.
        shell = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-quic",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={self._folder}",
        ]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", binary, *options],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._events = b"", 0, []

    def call(self, method, session=None, **parameters):
        """The answer to a command of the DevTools protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def events(self, session):
        """What a page has reported so far: (method, parameters)."""
        return [(e["method"], e["params"]) for e in self._events if e.get("sessionId") == session]

    def _receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer")
            self._buffer += chunk
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(raw)
        if "method" in message:
            self._events.append(message)
        return message

    def open(self, path, width=1200, height=900, dark=False, touch=False, ready=READY):
        """A page with its scripts run, as its `ready` tells."""
        return Page(self, Path(path).resolve().as_uri(), width, height, dark, touch, ready)

    def close(self):
        with contextlib.suppress(RuntimeError, OSError):
            self.call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Page:
    """A tab: run scripts in it, click, press keys, take pictures, ask what went wrong."""

    def __init__(self, browser, url, width, height, dark, touch, ready):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self._target, self._session = target, attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height, touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.wait(ready)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width, height, touch=False):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=touch,
        )

    def run(self, script):
        """The value of an expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def wait(self, condition):
        """Until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"not true in {PATIENCE} s: {condition}; {self.problems()}")
            time.sleep(0.02)

    def click(self, selector, x=0.5, y=0.5):
        """Press the left button over an element, at a share of its width and height."""
        box = self._box(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, box, x, y, clickCount=1)

    def drag(self, selector, start, end):
        """Press the left button at one place of an element, move it to another, let go."""
        box = self._box(selector)
        moves = [("mousePressed", start), ("mouseMoved", start), ("mouseMoved", end)]
        for kind, place in [*moves, ("mouseReleased", end)]:
            self._mouse(kind, box, *place, buttons=1, clickCount=1)

    def wheel(self, selector, x, y, turn, control=False):
        """Turn the wheel over an element, with the control key if wanted."""
        turned = {"deltaX": 0, "deltaY": turn, "modifiers": 2 if control else 0}
        self._mouse("mouseWheel", self._box(selector), x, y, **turned)

    def _box(self, selector):
        return self.run(
            f"(() => {{ const e = document.querySelector({selector!r});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )

    def _mouse(self, kind, box, x, y, **more):
        left, top, wide, high = box
        place = {"x": left + x * wide, "y": top + y * high, "button": "left"}
        self.call("Input.dispatchMouseEvent", type=kind, **place, **more)

    def press(self, key, modifiers=0):
        """Press and release a key such as ArrowUp or Tab (Shift: modifiers=8)."""
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38}
        codes |= {"ArrowRight": 39, "ArrowDown": 40, "+": 187, "-": 189, "0": 48}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
                modifiers=modifiers,
            )

    def picture(self, path=None):
        """A PNG of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        content = base64.b64decode(shot["data"])
        if path is not None:
            Path(path).write_bytes(content)
        return content

    def problems(self):
        """Errors and warnings of the console, and exceptions."""
        found = []
        for method, event in self._browser.events(self._session):
            if method == "Runtime.exceptionThrown":
                found.append(event["exceptionDetails"]["text"])
            if method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
                found.append(str(event["args"]))
            if method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
                found.append(event["entry"]["text"])
        return found

    def requests(self):
        """The addresses that were asked for."""
        return [
            event["request"]["url"]
            for method, event in self._browser.events(self._session)
            if method == "Network.requestWillBeSent"
        ]

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)
