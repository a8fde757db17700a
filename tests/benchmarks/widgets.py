"""How soon the widgets answer in JupyterLab: `python tests/benchmarks/widgets.py`.

From the browser's own event of a slider's move to the change of the text below it, in a real
browser: through the slider, the kernel, the package and back. Needs the extra `notebooks` and
chromium.
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
        "from pomdps import recall4\nfrom workbench.explorer.widgets import oracle_explorer\n"
        "oracle_explorer(recall4())",
        "iterate",
    ),
    "oracle_explorer, step": (
        "from pomdps import recall4\nfrom workbench.explorer.widgets import oracle_explorer\n"
        "oracle_explorer(recall4())",
        "step ε",
    ),
    "td_explorer, lambda": (
        "from pomdps import recall\nfrom workbench.explorer.widgets import td_explorer\n"
        "td_explorer(recall())",
        "λ of TD",
    ),
    "episode_stepper, time": (
        "from pomdps import TASKS, gravity\n"
        "from workbench.explorer.widgets import episode_stepper\n"
        "episode_stepper(gravity(), 'B1', drawing=TASKS['gravity'].drawing)",
        "steps done",
    ),
}

WATCH = """
window.moved = null; window.answers = [];
document.addEventListener('pointermove', () => {
  if (window.moved === null) window.moved = performance.now();
}, true);
new MutationObserver(() => {
  const parts = document.querySelectorAll('.jp-OutputArea .widget-html-content');
  const text = Array.from(parts, (one) => one.textContent).join();
  if (window.moved === null || text === window.before) return;
  window.answers.push(performance.now() - window.moved);
  window.moved = null;
  window.before = text;
}).observe(document.querySelector('.jp-OutputArea'), {
  subtree: true, childList: true, characterData: true
});
0
"""

BEFORE = (
    "window.before = Array.from(document.querySelectorAll('.jp-OutputArea .widget-html-content'), "
    "(one) => one.textContent).join(); window.moved = null; 0"
)


def measure(lab: Lab, page: Page, source: str, name: str) -> list[float]:
    """Milliseconds of single moves, one after the other."""
    lab.open(page, source)
    page.run(WATCH)
    for place in range(1, 16):
        count = page.run("answers.length")
        page.run(BEFORE)
        drag(page, name, [(place * 7 % 16) / 16])
        page.until(f"answers.length > {count}")
    return [float(x) for x in page.run("answers")]


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
                    "median ms": round(statistics.median(times)),
                    "slowest ms": round(max(times)),
                }
                print(words, found[words], f"load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            lab.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
