"""A headless browser for tests: Debian's chromium, driven over its DevTools protocol."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser() -> str | None:
    """The path of an installed browser, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page in a browser of its own; what goes wrong in it is collected in `complaints`."""

    def __init__(self, browser: str):
        from websocket import create_connection

        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                f"--user-data-dir={self.profile.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port = self._port(Path(self.profile.name, "DevToolsActivePort"))
        import urllib.request

        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        self.socket = create_connection(target["webSocketDebuggerUrl"], timeout=60)
        self.count = 0
        self.complaints: list[str] = []
        self.requested: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _port(self, path: Path) -> int:
        for _ in range(300):
            if path.exists() and (found := re.match(r"\d+", path.read_text())):
                return int(found[0])
            time.sleep(0.1)
        self.close()
        raise RuntimeError("the browser did not start within 30 seconds")

    def close(self) -> None:
        if hasattr(self, "socket"):
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; events that arrive before it are looked at."""
        self.count += 1
        self.socket.send(json.dumps({"id": self.count, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.count:
                assert "error" not in message, message["error"]
                return message["result"]
            self._notice(message)

    def _notice(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.complaints.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.complaints.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not (
            # A blob is the page's own text for its worker: nothing is fetched.
            params["request"]["url"].startswith("blob:")
        ):
            self.requested.append(params["request"]["url"])

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(
                answer["exceptionDetails"].get("exception", {}).get("description", answer)
            )
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 30) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {condition}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a person would."""
        where = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); "
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x "
            "+ b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=where[0],
                y=where[1],
                button="left",
                clickCount=1,
            )

    def run_loop(self) -> None:
        """Press Run in the explorer and wait until the loop is done."""
        self.click("#run")
        self.until("document.getElementById('run').textContent === 'Run'", 120)

    def press(self, key: str, code: int) -> None:
        """Press a key on the focused element."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        extra = {"text": text} if text else {}
        self.send(
            "Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **extra
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def choose(self, selector: str, value: object) -> None:
        """Set a control to a value and tell the page so."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = "
            f"{json.dumps(str(value))}; e.dispatchEvent(new Event('input', {{bubbles: true}})); "
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent")).strip()

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)

    def picture(self, path: Path) -> None:
        """Save the whole page as a picture."""
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(answer["data"]))

    def violations(self) -> list[str]:
        """What axe-core finds wrong for people who use keys or a screen reader; frames aside."""
        import axe_core_python

        source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        self.run(f"{source}; 0")
        found = self.run(
            "axe.run(document, {iframes: false, resultTypes: ['violations']}).then((r) => "
            "r.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120))}`))"
        )
        return [str(one) for one in found]
