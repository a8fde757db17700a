"""The explorer as a laboratory, in a real browser: learners in a worker, fractions, files, links,
exports, pictures, and the numbers on show over all tasks and memories."""

import json
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from browsing import Page, find_browser

from workbench import (
    Policy,
    QLearning,
    augment,
    best_history,
    equilibria,
    evaluate,
    improve,
    learn,
    td_values,
    uniform,
)
from workbench.cli.explore_command import entries
from workbench.equilibrium.phase_plane import phase_plane, run_path
from workbench.explorer.export import offered
from workbench.explorer.html_page import write_explorer_page
from workbench.lab.sequences import discounted_sequence_task
from workbench.results.json import model_json
from workbench.text import show as show_label

pytestmark = pytest.mark.slow
pytest.importorskip("websocket", reason="needs websocket-client: extra test")

REWARDS = [["5", "4"], ["0", "6"]]

TASKS = (
    "recall4",
    "recall_variant",
    "recall",
    "gravity",
    "tiger",
    "t_maze",
    "load_unload",
    "short_corridor",
    "invisible_door",
    "sutton_grid",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = find_browser()
    if found is None:
        pytest.skip("no chromium is installed")
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    write_explorer_page(entries(), REWARDS, path)
    page = Page(found)
    page.address = path.as_uri()
    yield page
    page.close()


@pytest.fixture
def page(browser):
    browser.complaints.clear()
    browser.look(1280, 900)
    show(browser, "")
    yield browser
    assert browser.complaints == []


def show(page, hash):
    page.open("about:blank")
    page.open(f"{page.address}#{hash}")


def number(text):
    text = text.replace("−", "-")
    return float("nan") if text == "–" else float(Fraction(text))


@cache
def entry_of(id):
    return next(one for one in entries() if one.id == id)


def give_file(page, text, name):
    """Hand a file to the page as a person would choose it."""
    page.run(
        "(() => { const files = new DataTransfer(); "
        f"files.items.add(new File([{json.dumps(text)}], {json.dumps(name)})); "
        "const input = document.getElementById('file'); "
        "input.files = files.files; input.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


@pytest.mark.parametrize("id", TASKS)
def test_every_number_on_show_is_the_packages_for_every_memory(page, id):
    entry = entry_of(id)
    for memory in offered(entry.P):
        show(page, f"task={entry.id}&m={memory}&lambda=0.5")
        E = augment(entry.P, memory)
        found = evaluate(E, uniform(E), weights=entry.weights)
        td = td_values(E, uniform(E), lam=0.5, weights=entry.weights)
        shown = page.run("Workbench.exported()")
        assert shown["value"] == pytest.approx(float(found.value), rel=1e-8)
        for name, expected in (("q", found.q.array), ("td", td.q.array)):
            numbers = np.array(
                [[np.nan if x is None else x for x in row] for row in shown[name]], dtype=float
            )
            size = np.nanmax(np.abs(expected), initial=1)
            np.testing.assert_allclose(numbers, expected, rtol=1e-7, atol=1e-9 * size)
        assert number(page.text("#value")) == pytest.approx(float(found.value), rel=1e-5)


def test_a_learner_in_the_worker_is_the_packages_and_its_greedy_policy_can_be_shown(page):
    show(page, "task=recall&m=OA1&lseed=5&steps=20000&epsilon=0.1")
    page.click("#learn")
    said = "document.getElementById('learner-said').textContent"
    page.until(f"{said}.startsWith('20,000 time steps')")
    page.until("!document.getElementById('take-greedy').disabled")
    E = augment(next(e.P for e in entries() if e.id == "recall"), "OA1")
    run = learn(E, QLearning(epsilon=0.1), steps=20_000, every=20_000, seeds=[5])
    value = float(evaluate(E, run.policy(5)).value)
    assert f"{run.episodes.sum():,} episodes" in page.text("#learner-said")
    said = re.search(r"is worth ([\d./−]+?)\.$", page.text("#learner-said"))[1]
    assert number(said) == pytest.approx(value, abs=1e-5)
    page.click("#take-greedy")
    assert number(page.text("#value")) == pytest.approx(value, abs=1e-5)
    policy = np.array(page.run("Workbench.exported()")["policy"])
    assert (policy == run.policy(5).prob.floats).all()


def test_a_learner_says_how_fast_it_is_and_can_be_paused(page):
    show(page, "task=recall4&m=B1&steps=300000000")
    page.click("#learn")
    page.until(
        "/[\\d.]+ million a second/.test(document.getElementById('learner-said').textContent)"
    )
    page.click("#learn")
    page.until("document.getElementById('learn').textContent === 'Learn'")
    said = page.text("#learner-said")
    assert float(re.search(r"([\d.]+) million a second", said)[1]) > 0
    assert int(said.split(" time steps")[0].replace(",", "")) < 300_000_000


def test_fractions_are_exact_after_edits_and_steps_of_the_loop(page):
    show(page, "task=recall4&m=B1&exact=1&r=5,4;0,6&step=0.02")
    for _ in range(3):
        page.click("#one")
    exported = page.run("Workbench.exportedPython()")
    made = {}
    exec(exported.replace("print(", "(lambda *x: None)("), made)
    assert Fraction(page.text("#exact-value").replace("−", "-")) == made["found"].value
    cells = page.run(
        "Array.from(document.querySelectorAll('#exact-td tbody td'), (e) => e.textContent)"
    )
    assert [Fraction(x.replace("−", "-")) for x in cells] == made["td"].q.array.ravel().tolist()
    page.click('#policy button[data-o="0"][data-a="1"]')
    assert "not known in fractions" in page.text("#fractions-why")
    page.click("#reset")
    assert page.text("#exact-value") == "15/4"


def test_a_link_keeps_an_edited_policy_steps_and_cards(page):
    page.click('#policy button[data-o="1"][data-a="5"]')
    page.click("#one")
    page.click("#one")
    page.choose("#with", "OA1")
    page.choose("#learner", "sarsa")
    page.until("location.hash.includes('n=2') && location.hash.includes('pi=1.5')")
    before = page.run("Workbench.exported()")
    hash = page.run("location.hash")
    show(page, hash[1:])
    assert page.run("Workbench.exported()") == before
    assert page.run("document.getElementById('with').value") == "OA1"
    assert page.run("document.getElementById('learner').value") == "sarsa"
    assert page.run("document.querySelectorAll('#beside svg').length") == 2


def test_a_file_becomes_a_task_and_its_link_brings_it_back(page):
    P = next(e.P for e in entries() if e.id == "t_maze")
    give_file(page, json.dumps(model_json(P)), "mine.json")
    page.until("document.getElementById('task').value === 'file'")
    assert number(page.text("#value")) == pytest.approx(
        float(evaluate(P, uniform(P)).value), rel=1e-4
    )
    page.choose("#memory", "O1")
    E = augment(P, "O1")
    value = float(evaluate(E, uniform(E)).value)
    assert number(page.text("#value")) == pytest.approx(value, rel=1e-4)
    hash = page.run("location.hash")
    show(page, hash[1:])
    assert page.run("document.getElementById('memory').value") == "O1"
    assert number(page.text("#value")) == pytest.approx(value, rel=1e-4)


def test_files_that_are_no_task_say_so_and_nothing_in_them_runs(page):
    give_file(page, "discount: 0.9\nstates: a b\nnonsense", "bad.POMDP")
    page.until("document.getElementById('file-error').textContent !== ''")
    assert page.text("#file-error") == "bad.POMDP: line 3: actions are not declared."
    P = next(e.P for e in entries() if e.id == "recall4")
    evil = '<img src=x onerror="window.hacked = 1">'
    text = (
        json.dumps(model_json(P))
        .replace('"o"', json.dumps(evil))
        .replace("s*", evil.replace('"', '\\"'))
    )
    text = text.replace('"recall4"', json.dumps(evil))
    give_file(page, text, "evil.json")
    page.until("document.getElementById('task').value === 'file'")
    for name in ("O1", "OA1", "B1"):
        page.choose("#memory", name)
        page.run_loop()
        page.click("#last")
        page.run("document.getElementById('slice-card').open = true")
        page.run("document.getElementById('lambda-card').open = true")
        page.run("document.getElementById('portrait-card').open = true")
        page.click("#draw-slice")
        page.click("#settle")
        page.until("document.querySelectorAll('#portrait svg').length === 1")
    assert page.run("document.querySelectorAll('main img').length") == 0
    assert page.run("window.hacked === undefined")
    give_file(page, "states: 5000\n", "large.POMDP")
    page.until("document.getElementById('file-error').textContent.startsWith('large')")
    assert "5,000 states" in page.text("#file-error")


def test_the_picture_can_be_saved_as_vectors_and_as_points(page):
    page.run_loop()
    svg = page.run("Workbench.chartSvg()")
    assert svg.startswith("<svg")
    assert "polyline" in svg
    head = page.run(
        "Workbench.chartPng().then((blob) => blob.arrayBuffer()).then((b) => "
        "Array.from(new Uint8Array(b).slice(0, 24)))"
    )
    assert bytes(head[:8]) == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(bytes(head[16:20])) == 1920


def test_the_slice_and_the_lines_are_drawn(page):
    page.run("document.getElementById('slice-card').open = true")
    page.click("#draw-slice")
    assert page.run("document.querySelectorAll('#slice rect').length") == 169
    page.run("document.getElementById('lambda-card').open = true")
    page.until("document.querySelectorAll('#lambda-chart polyline').length === 8")


PORTRAIT = "Workbench.exported().portrait"


def check_portrait(page, id, memory, learner):
    """The plane on show, its fixed points and where its policies lead are the package's."""
    E = augment(entry_of(id).P, memory)
    if learner.gamma is not None:
        E = E.with_gamma(learner.gamma)
    shown = page.run(PORTRAIT)
    base = np.array(shown["base"]).reshape(len(E.O), len(E.A))
    places = page.run("Workbench.portraitCard.watched()")
    x, y = ((E.O[i // len(E.A)], E.A[i % len(E.A)]) for i in places)
    width, height = ((shown[name][0], shown[name][-1]) for name in ("x", "y"))
    expected = phase_plane(E, learner, x, y, base, width, height, points=len(shown["x"]))
    # floats of the grid's points may differ in their last digit: on a border, the greedy action too
    assert (np.array(shown["region"]) == expected.region).mean() > 0.97
    same = np.array(shown["region"]) == expected.region
    np.testing.assert_allclose(
        np.array(shown["flow"])[same], expected.flow[same], rtol=1e-6, atol=1e-8
    )
    found = equilibria(E, learner)
    wanted = [(e.kind, *(float(e.q.raw.ravel()[i]) for i in places)) for e in found]
    fixed = [(one["kind"], *one["at"]) for one in shown["fixed"]]
    assert len(fixed) == len(wanted)
    for one, other in zip(sorted(fixed), sorted(wanted), strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], abs=1e-9)
    return shown, places


def test_the_phase_portrait_is_live_and_is_the_packages(page):
    show(page, "task=recall&m=OA1&alpha=0.05&steps=4096&lseed=3")
    page.run("document.querySelector('#portrait-card summary').focus()")
    page.press("Enter", 13)  # the keyboard opens it
    page.until("document.querySelectorAll('#portrait svg').length === 1")
    assert "portrait=1" in page.run("location.hash")
    check_portrait(page, "recall", "OA1", QLearning(epsilon=0.1))
    page.click("#learn")
    said = "document.getElementById('learner-said').textContent"
    page.until(f"{said}.startsWith('4,096 time steps')")
    page.until("document.getElementById('learn').textContent === 'Learn'")
    learner = QLearning(epsilon=0.1, step=0.05)
    shown, places = check_portrait(page, "recall", "OA1", learner)
    E = augment(entry_of("recall").P, "OA1")
    path = np.array(shown["path"]).reshape(-1, 2)
    expected = run_path(E, learner, 4096, seed=3, points=len(path) - 1)
    assert np.array_equal(path, expected.reshape(len(path), -1)[:, places])
    assert shown["base"] == expected[-1].ravel().tolist()
    # other axes: the same run, seen from another side
    page.choose("#portrait-x", "1.3")
    page.until(f"{PORTRAIT}.path.length > 2")
    shown, places = check_portrait(page, "recall", "OA1", learner)
    assert places[0] == len(E.A) + 3
    turned = np.array(shown["path"]).reshape(-1, 2)
    assert np.array_equal(turned, expected.reshape(len(path), -1)[:, places])
    # epsilon and gamma, task and memory: the picture follows
    for change, id, memory, learner in (
        (("#epsilon", 0.4), "recall", "OA1", QLearning(epsilon=0.4)),
        (("#learner-gamma", 0.5), "recall", "OA1", QLearning(epsilon=0.4, gamma=0.5)),
        (("#memory", "O1"), "recall", "O1", QLearning(epsilon=0.4, gamma=0.5)),
        (("#task", "recall_variant"), "recall_variant", "O1", QLearning(epsilon=0.4, gamma=0.5)),
    ):
        before = page.run(f"JSON.stringify({PORTRAIT})")
        page.choose(*change)
        page.until(f"JSON.stringify({PORTRAIT}) !== {json.dumps(before)}")
        shown, _ = check_portrait(page, id, memory, learner)
        assert shown["path"] == []  # another setting, another run
    rows = page.run("document.querySelectorAll('#portrait-regions tbody tr').length")
    assert rows == len(shown["policies"])
    label = page.run("document.querySelector('#portrait svg').getAttribute('aria-label')")
    assert f"{rows} regions of greedy policies" in label


def test_a_link_opens_the_portrait_at_its_axes_and_what_has_none_says_why(page):
    show(page, "task=recall4&m=none&portrait=1&px=0.1&py=0.3&pbase=start")
    assert page.run("document.getElementById('portrait-card').open")
    assert page.run("Workbench.portraitCard.watched()") == [1, 3]
    page.choose("#portrait-x", "0.3")
    page.until("document.querySelectorAll('#portrait svg').length === 0")
    assert page.text("#portrait-said") == "No portrait: choose two different entries."
    page.choose("#portrait-x", "0.1")
    page.choose("#learner", "actor-critic")
    assert "no greedy policies" in page.text("#portrait-said")
    page.choose("#learner", "sarsa")
    page.until("document.querySelectorAll('#portrait svg').length === 1")
    page.choose("#epsilon", 0)
    assert "never updated" in page.text("#portrait-said")
    show(page, "task=load_unload&m=none&portrait=1")
    assert "tasks whose episodes end" in page.text("#portrait-said")
    page.choose("#learner-gamma", "1.5")  # no discount: what was there stays
    assert page.run("Workbench.page.state.extra.lgamma") == ""


def test_the_value_of_beliefs_is_the_packages_and_what_has_none_says_why(page):
    show(page, "task=tiger&m=none")
    page.run("document.getElementById('belief-card').open = true")
    page.until("document.getElementById('belief-said').textContent.includes('is worth 3.7702.')")
    assert float(best_history(entry_of("tiger").P).value) == pytest.approx(3.7702, abs=5e-5)
    rows = page.run("document.getElementById('belief-regions').innerText").split("\n")
    assert [row.split("\t")[0] for row in rows[-3:]] == ["open-right", "listen", "open-left"]
    show(page, "task=recall4&m=none")
    page.run("document.getElementById('belief-card').open = true")
    page.until("document.getElementById('belief-said').textContent.startsWith('No picture: up to')")


def test_beliefs_follow_the_episode(page):
    show(page, "task=tiger&m=none&seed=3")
    states = [show_label(s) for s in entry_of("tiger").P.S if s not in entry_of("tiger").P.terminal]
    assert page.text("#belief") == f"Belief at time step 0: {states[0]} 1/2, {states[1]} 1/2."
    page.click('#policy button[data-o="0"][data-a="0"]')
    heard = page.run(
        "(() => { const p = Workbench.page; return p.episode.steps.slice(0, 3).map((s) => "
        "[p.P.o[s.s], Math.floor(s.a / p.P.memory.nW)]); })()"
    )
    found = page.run(
        "(() => { const p = Workbench.page, "
        "seen = p.episode.steps.slice(0, 3).map((s) => p.P.o[s.s]), "
        "done = p.episode.steps.slice(0, 2).map((s) => Math.floor(s.a / p.P.memory.nW)); "
        "return Array.from(Workbench.beliefsAlong(p.P.base, seen, done)[seen.length - 1]); })()"
    )
    P = entry_of("tiger").P
    b = {s: float(P.mu[s]) for s in P.mu}
    for t, (o, a) in enumerate(heard):
        b = {s: x * float(P.omega(s).get(P.O[o], 0)) for s, x in b.items()}
        if t + 1 < len(heard):
            moved = {}
            for s, x in b.items():
                for (s_next, _), y in P.p(s, P.A[a]).items():
                    if s_next not in P.terminal:
                        moved[s_next] = moved.get(s_next, 0) + x * float(y)
            b = moved
    total = sum(b.values())
    assert found == pytest.approx([b.get(s, 0) / total for s in P.S])


def test_two_memories_end_side_by_side_where_the_package_says(page):
    show(page, "task=recall4&m=B1&with=OA1&step=0.02&r=5,4;0,6")
    page.until(
        "(document.getElementById('beside').textContent.match(/ends at/g) || []).length == 2"
    )
    P = discounted_sequence_task([[5, 4], [0, 6]])
    for memory in ("B1", "OA1"):
        E = augment(P, memory)
        end = improve(E, uniform(E), step=0.02).limit_value
        assert f"{memory}: {len(E.S)} states" in page.text("#beside")
        assert f"ends at {end}" in page.text("#beside")


def test_every_control_of_the_laboratory_has_a_name_and_fits_a_phone(page):
    for width, dark in ((390, False), (390, True), (1280, True)):
        page.look(width, 800, dark)
        show(page, "task=gravity&m=B1&with=O1&portrait=1")
        assert page.run("document.documentElement.scrollWidth") <= width
    nameless = page.run(
        "Array.from(document.querySelectorAll('button, select, input, summary')).filter((e) => "
        "!e.textContent.trim() && !e.getAttribute('aria-label') && !e.labels?.length)"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []


def test_a_policy_from_the_page_is_the_one_that_its_python_makes(page):
    show(page, "task=t_maze&m=O1")
    page.click('#policy button[data-o="0"][data-a="2"]')
    made = {}
    exec(page.run("Workbench.exportedPython()").replace("print(", "(lambda *x: None)("), made)
    assert isinstance(made["pi"], Policy)
    assert float(made["found"].value) == pytest.approx(page.run("Workbench.exported().value"))


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(page, dark):
    pytest.importorskip("axe_core_python", reason="needs axe-core-python: extra test")
    page.look(1280, 900, dark)
    show(page, "task=recall4&m=B1&exact=1&with=OA1&at=end")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.click("#draw-slice")
    page.click("#settle")
    page.until("document.querySelectorAll('#portrait svg').length === 1")
    assert page.violations() == []
