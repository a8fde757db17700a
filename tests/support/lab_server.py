"""JupyterLab for tests: a server of its own, a notebook with one cell, and a browser on it."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from socket import socket

import nbformat
from browsing import Page

TOKEN = "test"
ROOT = Path(__file__).parents[2]


class Lab:
    """A server in a folder; `open` runs a cell in a browser's page."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        home = folder / "home"
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        settings = home / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text(
            '{"fetchNews": "false", "checkForUpdates": false}'
        )
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyter",
                "lab",
                "--no-browser",
                "--allow-root",
                "--expose-app-in-browser",
                f"--IdentityProvider.token={TOKEN}",
                "--ServerApp.ip=127.0.0.1",
                f"--ServerApp.port={self.port}",
                "--ServerApp.port_retries=0",
                f"--ServerApp.root_dir={folder}",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            env={
                **os.environ,
                "HOME": str(home),
                "JUPYTER_CONFIG_DIR": str(home),
                "PYTHONPATH": path,
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def _wait(self) -> None:
        """Until the server answers."""
        end = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"{self.address('api/status')}") as answer:
                    json.load(answer)
                return
            except urllib.error.URLError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.close()
                    raise RuntimeError("JupyterLab did not start") from None
                time.sleep(0.1)

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}?token={TOKEN}"

    def open(
        self, page: Page, source: str, shown: str = "!!document.querySelector('.noUi-handle')"
    ) -> None:
        """Open a new notebook with a cell, run it, and wait until it shows a slider, or what else
        is asked for."""
        cell = nbformat.v4.new_code_cell(source)
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / "widgets.ipynb")
        page.open(self.address("doc/tree/widgets.ipynb"))
        page.until("!!(window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell'))", 120)
        notebook = "Array.from(jupyterapp.shell.widgets('main')).find((w) => w.sessionContext)"
        page.until(f"{notebook}?.sessionContext.session?.kernel?.status === 'idle'", 120)
        page.run(f"jupyterapp.shell.activateById({notebook}.id)")
        page.until("document.activeElement.closest('.jp-Notebook') !== null")
        page.run("jupyterapp.commands.execute('notebook:run-all-cells'), 0")
        page.until(shown, 120)
        page.complaints.clear()  # JupyterLab names parts of its own that start slowly

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def slider(page: Page, name: str) -> dict:
    """The places of a slider, by its description: of its handle, its two ends, and its number."""
    found = page.run(
        f"""(() => {{
          const sliders = document.querySelectorAll('.jp-OutputArea .widget-slider');
          const box = Array.from(sliders).find((one) =>
            one.querySelector('.widget-label').textContent.trim() === {json.dumps(name)});
          box.scrollIntoView({{block: 'center'}});
          const track = box.querySelector('.noUi-base').getBoundingClientRect();
          const handle = box.querySelector('.noUi-handle').getBoundingClientRect();
          return {{left: track.left, right: track.right, x: handle.x + handle.width / 2,
                   y: handle.y + handle.height / 2,
                   shown: box.querySelector('.widget-readout').textContent}};
        }})()"""
    )
    return dict(found)


def drag(page: Page, name: str, shares: list[float]) -> None:
    """Drag a slider's handle through places, given as shares of its length, without a pause."""
    at = slider(page, name)

    def mouse(kind: str, x: float, buttons: int) -> None:
        page.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=at["y"],
            button="none" if kind == "mouseMoved" and not buttons else "left",
            buttons=buttons,
            clickCount=1,
        )

    mouse("mouseMoved", at["x"], 0)
    mouse("mousePressed", at["x"], 1)
    for share in shares:
        mouse("mouseMoved", at["left"] + share * (at["right"] - at["left"]), 1)
    mouse("mouseReleased", at["left"] + shares[-1] * (at["right"] - at["left"]), 0)
