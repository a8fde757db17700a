"""How soon the widgets answer in JupyterLab: `python tests/benchmarks/widgets.py`.

From the browser's own event of a slider's move to the change of the text below it, and of the
picture where it changes, in a real browser: through the slider, the kernel, the package and back.
Needs the extra `notebooks` and chromium.
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from browsing import Page, find_browser
from lab_server import Lab, drag

CASES = {
    "oracle_explorer, iterate": (
        "from pomdps import recall4\nfrom workbench.widgets import oracle_explorer\n"
        "oracle_explorer(recall4())",
        "iterate",
    ),
    "oracle_explorer, step": (
        "from pomdps import recall4\nfrom workbench.widgets import oracle_explorer\n"
        "oracle_explorer(recall4())",
        "step ε",
    ),
    "td_explorer, lambda": (
        "from pomdps import recall\nfrom workbench.widgets import td_explorer\n"
        "td_explorer(recall())",
        "λ of TD",
    ),
    "episode_stepper, time": (
        "from pomdps import TASKS, gravity\n"
        "from workbench.widgets import episode_stepper\n"
        "episode_stepper(gravity(), 'B1', drawing=TASKS['gravity'].drawing)",
        "steps done",
    ),
    "oracle_explorer on a grid, iterate": (
        "from pomdps import TASKS, gravity\n"
        "from workbench.widgets import oracle_explorer\n"
        "oracle_explorer(gravity(), 'B', 1, drawing=TASKS['gravity'].drawing)",
        "iterate",
    ),
    "oracle_explorer on a grid, step": (
        "from pomdps import TASKS, gravity\n"
        "from workbench.widgets import oracle_explorer\n"
        "oracle_explorer(gravity(), 'B', 1, drawing=TASKS['gravity'].drawing)",
        "step ε",
    ),
}

WATCH = """
window.moved = window.began = null; window.answers = []; window.pictures = [];
document.addEventListener('pointermove', () => {
  if (window.moved === null) window.moved = window.began = performance.now();
}, true);
new MutationObserver((changes) => {
  if (window.began !== null && changes.some((one) => one.attributeName === 'src')) {
    window.pictures.push(performance.now() - window.began);
    window.began = null;
  }
  const parts = document.querySelectorAll('.jp-OutputArea .widget-html-content');
  const text = Array.from(parts, (one) => one.textContent).join();
  if (window.moved === null || text === window.before) return;
  window.answers.push(performance.now() - window.moved);
  window.moved = null;
  window.before = text;
}).observe(document.querySelector('.jp-OutputArea'), {
  subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['src']
});
0
"""

BEFORE = (
    "window.before = Array.from(document.querySelectorAll('.jp-OutputArea .widget-html-content'), "
    "(one) => one.textContent).join(); window.moved = window.began = null; 0"
)


BUSY = (
    "Array.from(jupyterapp.shell.widgets('main')).some((w) => "
    "w.sessionContext?.session?.kernel?.status === 'busy')"
)
"""Whether the kernel is still at work: a first line may answer before the picture does."""


def measure(lab: Lab, page: Page, source: str, name: str) -> dict[str, list[float]]:
    """Milliseconds of single moves, one after the other, to the text and to the picture."""
    lab.open(page, source)
    page.run(WATCH)
    for place in range(1, 16):
        count = page.run("answers.length")
        page.run(BEFORE)
        drag(page, name, [(place * 7 % 16) / 16])
        page.until(f"answers.length > {count}")
        page.until(f"!{BUSY}")
    return {"text": page.run("answers"), "picture": page.run("pictures")}


def main() -> None:
    browser = find_browser()
    if browser is None:
        raise SystemExit("no chromium is installed")
    found = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder))
        try:
            for words, (source, name) in CASES.items():
                page = Page(browser)
                try:
                    page.look(1400, 1200)
                    times = measure(lab, page, source, name)
                finally:
                    page.close()
                found[words] = {
                    f"{part}, {kind} ms": round(of(seen))
                    for part, seen in times.items()
                    if seen
                    for kind, of in (("median", statistics.median), ("slowest", max))
                }
                print(words, found[words], f"load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            lab.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
