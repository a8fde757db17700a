"""The widgets in JupyterLab, in a real browser: after a slider was dragged quickly, everything on
show is that of the slider's last place, with the package's numbers. And progress, as it is seen."""

import pytest
from extras import skip_without

pytestmark = pytest.mark.slow
skip_without("jupyterlab", "ipywidgets", "nbformat", reason="needs the extra `notebooks`")
skip_without("websocket", reason="needs websocket-client: extra test")

from browsing import Page, find_browser  # noqa: E402
from lab_server import Lab, drag, slider  # noqa: E402

from pomdps import recall, recall4  # noqa: E402
from workbench import augment, best_memoryless, improve, td_values, uniform  # noqa: E402
from workbench.text import shown  # noqa: E402


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture
def page(lab):
    found = find_browser()
    if found is None:
        pytest.skip("no chromium is installed")
    page = Page(found)
    page.look(1400, 1200)
    yield page
    page.close()


BACK_AND_FORTH = [i / 40 for i in (*range(40, 0, -1), *range(0, 38), *range(38, 12, -1))]

SHOWN = "document.querySelector('.jp-OutputArea').innerText"


def oracle(lab, page):
    lab.open(
        page,
        "from pomdps import recall4\n"
        "from workbench.widgets import oracle_explorer\n"
        "oracle_explorer(recall4())",
    )


def test_the_oracle_loop_shows_the_iterate_at_which_a_fast_drag_ended(lab, page):
    oracle(lab, page)
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=0.05)
    for places in (BACK_AND_FORTH, [1.0, 0.0, 0.9, 0.1, 0.5]):
        drag(page, "iterate", places)
        n = int(slider(page, "iterate")["shown"])
        assert 0 < n < run.iterates - 1
        page.until(f"{SHOWN}.includes('value at iterate {n}: {shown(run.values[n])}')")
    assert page.complaints == []


def test_a_step_that_was_dragged_quickly_gives_the_run_of_its_last_place(lab, page):
    oracle(lab, page)
    drag(page, "step ε", BACK_AND_FORTH)
    step = float(slider(page, "step ε")["shown"])
    assert 0.01 < step < 0.5
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=step)
    # The slider of iterates stood at its end, and stands at the end of the new run.
    last = run.iterates - 1
    page.until(f"{SHOWN}.includes('value at iterate {last}: {shown(run.values[last])}')")
    page.until(f"{SHOWN}.includes('after {run.iterates} iterates')")
    assert int(slider(page, "iterate")["shown"]) == last


def test_lambda_dragged_quickly_ends_at_the_values_of_its_last_place(lab, page):
    lab.open(
        page,
        "from pomdps import recall\n"
        "from workbench.widgets import td_explorer\n"
        "td_explorer(recall())",
    )
    before = page.run("document.querySelector('.jp-OutputArea img').src")
    drag(page, "λ of TD", BACK_AND_FORTH)
    lam = float(slider(page, "λ of TD")["shown"])
    assert 0 < lam < 1
    page.until(f"{SHOWN}.includes('TD({lam:g}) above')")
    E = augment(recall(), "OA1")
    pi = best_memoryless(E, deterministic=True, max_nodes=500).policy
    td = td_values(E, pi, lam=lam)
    start, other = ((None,), "o"), (2, "push")
    page.until(f"{SHOWN}.includes('{shown(td.q[start, other], digits=4, noise=5e-13)}')")
    # Where shortcuts are left depends on lambda, and they are drawn.
    drag(page, "λ of TD", [0.5, 1.0])
    page.until(f"document.querySelector('.jp-OutputArea img').src !== {before!r}")


def test_progress_is_seen_while_a_cell_works_and_leaves_nothing_behind(lab, page):
    lab.open(
        page,
        "import time\n"
        "from pathlib import Path\n"
        "from workbench.progress import Waiting\n"
        "with Waiting('a long search') as waiting:\n"
        "    while not Path('go').exists():\n"
        "        waiting.report(0.5, '12 nodes')\n"
        "        time.sleep(0.05)\n"
        "print('found')",
        f"document.querySelector('.jp-OutputArea') && {SHOWN}.includes('a long search')",
    )
    page.until(f"{SHOWN}.includes('12 nodes')")
    (lab.folder / "go").touch()
    page.until(f"{SHOWN}.trim() === 'found'")
    assert page.run("document.querySelectorAll('.jp-OutputArea pre').length") == 1
