"""The explorer in a real browser: it loads without complaint, every control works, and its numbers
are those of the package."""

import base64
import json
import re

import pytest
from browsing import Page, find_browser

from pomdps import gravity, load_unload, recall, recall4, t_maze
from workbench import Policy, augment, evaluate, improve, shortcuts, td_values, uniform
from workbench.cli.explore_command import entries
from workbench.explorer.export import export_model
from workbench.explorer.html_page import write_explorer_page
from workbench.figures import memory_style

pytestmark = pytest.mark.slow
pytest.importorskip("websocket", reason="needs websocket-client: extra test")

REWARDS = [
    ["-5", "1/2", "1", "1/2"],
    ["0", "1/2", "-1/2", "3/4"],
    ["0", "1/2", "-5", "1/2"],
    ["0", "1/2", "-5", "1/2"],
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    write_explorer_page(entries(), REWARDS, path)
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    found = find_browser()
    if found is None:
        pytest.skip("no chromium is installed")
    page = Page(found)
    yield page
    page.close()


@pytest.fixture
def page(browser, address):
    """The page as a visitor finds it; whatever it complains about fails the test."""
    browser.complaints.clear()
    browser.look(1280, 900)
    show(browser, address, "")
    yield browser
    assert browser.complaints == []


def show(page, address, hash):
    page.open("about:blank")
    page.open(f"{address}#{hash}")


def number(text):
    """A number as the page writes it."""
    text = text.replace("−", "-")
    if text == "–":
        return float("nan")
    top, _, bottom = text.partition("/")
    return float(top) / float(bottom or 1)


def cells(page, table):
    """The numbers of a table of the page, row by row."""
    rows = page.run(
        f"Array.from(document.querySelectorAll('#{table} tbody tr'), (row) => "
        "Array.from(row.querySelectorAll('td:not(.last)'), (cell) => cell.firstChild.textContent))"
    )
    return [[number(text) for text in row] for row in rows]


def agree(found, expected):
    """The numbers of a table agree with those of the package, to the digits shown."""
    for row, wanted in zip(found, expected, strict=True):
        assert row == pytest.approx([float(x) for x in wanted], abs=6e-4, rel=6e-3, nan_ok=True)


# ---------------------------------------------------------------------- loading


SETTINGS = [
    "",
    "task=recall&m=OA2",
    "task=recall_variant&m=B3",
    "task=gravity&m=none",
    "task=gravity&m=O1",
    "task=tiger&m=K2",
    "task=t_maze&m=OA1&lambda=0.5",
    "task=load_unload&m=O1",
    "task=short_corridor&m=none&step=1",
    "task=sutton_grid&m=K1",
]


@pytest.mark.parametrize("hash", SETTINGS)
@pytest.mark.parametrize("width", [390, 1280])
def test_it_loads_and_fits_the_window(page, address, hash, width):
    page.look(width, 900)
    page.requested.clear()
    show(page, address, hash)
    assert page.text("#value") not in ("", "–")
    assert page.run("document.documentElement.scrollWidth") <= width
    assert [url for url in page.requested if not url.startswith(("file:", "data:", "about:"))] == []


def test_the_first_setting_is_the_one_of_appendix_c(page):
    assert page.run("[task, memory].map((e) => e.value)") == ["recall4", "B1"]
    assert number(page.text("#best")) == number(page.text("#history")) == 1


NO_TASK = base64.urlsafe_b64encode(
    json.dumps({**export_model(recall4()), "gamma": "7"}).encode()
).decode()


@pytest.mark.parametrize(
    "hash",
    [
        "task=nonsense&m=B9&step=7&lambda=x&seed=-4&r=1,2;3",
        "task=gravity&m=OA2",
        "&&=&%",
        "task=recall4&m=constructor&lam=<img src=x onerror=alert(1)>",
        f"file={NO_TASK}&task=file&m=B1",
    ],
)
def test_a_link_that_makes_no_sense_shows_something_that_does(page, address, hash):
    show(page, address, hash)
    assert page.run("document.getElementById('memory').value") in ("B1", "none")
    assert page.run("document.getElementById('task').value") != "file"
    assert number(page.text("#iterate")) == 0
    assert page.text("#value") != ""


# ---------------------------------------------------------------------- numbers


def test_values_of_the_uniform_policy_are_those_of_the_package(page, address):
    for hash, P, memory, weights in (
        ("task=recall4&m=B2", recall4(), "B2", "visits"),
        ("task=recall&m=OA1", recall(), "OA1", "visits"),
        ("task=load_unload&m=B1", load_unload(3), "B1", "discounted"),
    ):
        E = augment(P, memory)
        expected = evaluate(E, uniform(E), weights=weights)
        show(page, address, hash)
        assert number(page.text("#value")) == pytest.approx(expected.value, rel=1e-5)
        agree(cells(page, "true-q"), expected.q.array)
        agree(cells(page, "td-q"), td_values(E, uniform(E), weights=weights).q.array)
        agree(cells(page, "policy"), uniform(E).prob.floats)


def test_a_policy_made_by_clicking_has_the_values_of_the_package(page, address):
    show(page, address, "task=recall&m=OA1")
    E = augment(recall(), "OA1")
    blue = {
        ((None,), "o"): (1, "push"),
        ((("o", 1),), "o"): (2, "push"),
        ((("o", 2),), "o"): (3, "push"),
    }
    rows = dict.fromkeys(E.O)
    for o, a in blue.items():
        page.click(f'#policy button[data-o="{E.O.index(o)}"][data-a="{E.A.index(a)}"]')
        rows[o] = a
    pi = Policy.from_mapping(E, {o: {a: 1} for o, a in blue.items()})
    assert number(page.text("#value")) == pytest.approx(0.9025)
    agree(cells(page, "true-q"), evaluate(E, pi).q.array)
    agree(cells(page, "td-q"), td_values(E, pi).q.array)
    strict = [x for x in shortcuts(E, pi) if x.kind == "strict"]
    assert page.run("document.querySelectorAll('#td-q td.strict').length") == len(strict) == 1
    assert page.text("#td-q td.strict").endswith("S")
    assert page.text("#shortcuts").startswith("1 strict and 0 weak")


def test_the_loop_steps_and_ends_as_in_the_package(page):
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=0.02)
    page.click("#one")
    page.click("#one")
    assert page.text("#iterate") == "2"
    assert number(page.text("#value")) == pytest.approx(run.values[2], rel=1e-4)
    page.run_loop()
    assert (
        page.text("#verdict")
        == "Settles at 3/4: stuck. The best deterministic policy with this memory is worth 1."
    )
    assert (
        page.run(
            "document.querySelector('#chart polyline').getAttribute('points').split(' ').length"
        )
        == int(page.text("#iterate")) + 1
    )


# ---------------------------------------------------------------------- controls of the setting


def test_task_memory_step_and_weights_change_the_setting_and_the_address(page):
    page.choose("#task", "gravity")
    assert "task=gravity" in page.run("location.hash")
    page.choose("#memory", "O1")
    assert page.text("#sizes").startswith("1250 states, 625 rows")
    assert (
        page.run("getComputedStyle(document.documentElement).getPropertyValue('--memory')")
        == memory_style("O1")["color"]
    )
    page.choose("#step", "0.5")
    assert page.run("document.getElementById('step-number').value") == "0.5"
    page.choose("#step-number", "0.125")
    assert "step=0.125" in page.run("location.hash")
    page.choose("#step-number", "7")
    assert "step=0.125" in page.run("location.hash")
    page.choose("#weights", "discounted")
    assert "weights=discounted" in page.run("location.hash")
    E = augment(gravity(), "O1")
    rows = [i for i, (m, _) in enumerate(E.O) if m == (None,) and E.decides[i]]
    expected = evaluate(E, uniform(E), weights="discounted").q.array[rows]
    agree(cells(page, "true-q"), expected)


def test_a_link_brings_back_the_setting(page, address):
    show(page, address, "task=t_maze&m=O1&step=0.25&lambda=0.5&seed=12")
    assert page.run(
        "[task, memory, document.getElementById('step-number'), lambda, seed].map((e) => e.value)"
    ) == [
        "t_maze",
        "O1",
        "0.25",
        "0.5",
        "12",
    ]
    E = augment(t_maze(3), "O1")
    assert "TD(1/2)" in page.text("#td-q caption")
    rows = [i for i in range(len(E.O)) if E.decides[i]]
    agree(cells(page, "td-q"), td_values(E, uniform(E), lam=0.5).q.array[rows])


def test_lambda_one_gives_the_true_values(page):
    page.choose("#lambda", "1")
    assert cells(page, "td-q") == cells(page, "true-q")
    assert page.text("#lambda-shown") == "1"


# ---------------------------------------------------------------------- the loop


def test_play_and_pause_and_reset(page):
    page.choose("#speed", "25")
    page.click("#play")
    assert page.text("#play") == "Pause"
    page.until("Number(document.getElementById('iterate').textContent) >= 50")
    page.click("#play")
    assert page.text("#play") == "Play"
    n = page.text("#iterate")
    page.run("new Promise((resolve) => setTimeout(resolve, 300))")
    assert page.text("#iterate") == n
    page.click("#reset")
    assert page.text("#iterate") == "0"
    assert number(page.text("#value")) == pytest.approx(-0.640625)


def test_playing_stops_by_itself_at_the_end(page):
    page.choose("#step-number", "0.5")
    page.click("#play")
    page.until(
        "document.getElementById('play').textContent === 'Play' && "
        "document.getElementById('verdict').textContent.startsWith('Settles')"
    )


def test_best_policy_is_the_best(page):
    page.click("#to-best")
    assert number(page.text("#value")) == 1
    page.choose("#task", "gravity")
    page.choose("#memory", "O1")
    assert page.run("document.getElementById('to-best').disabled")
    assert number(page.text("#best")) == pytest.approx(0.95**11, rel=1e-5)


def test_a_long_run_shows_its_progress_and_can_be_stopped(page, address):
    show(page, address, "task=gravity&m=O1&step=0.02")
    page.click("#run")
    page.until("document.getElementById('run').textContent === 'Stop'")
    page.until("Number(document.getElementById('iterate').textContent) > 10")
    page.choose("#rows-of", "1")  # the page answers while the loop runs
    assert "Running: iterate" in page.text("#verdict")
    page.click("#run")
    page.until("document.getElementById('run').textContent === 'Run'")
    kept = int(page.text("#iterate"))
    assert kept > 10
    page.click("#one")
    assert page.text("#iterate") == str(kept + 1)


def test_a_limit_that_does_not_visit_the_rows_that_change_is_fixed(page, address):
    show(page, address, "task=gravity&m=O1&step=0.1&at=end")
    page.until(
        "document.getElementById('verdict').textContent.startsWith('Settles at 0.5688')", 120
    )
    # without P(s|o) of a row that is hardly ever seen all TD values were undefined
    assert page.run("document.querySelectorAll('#td-q td').length") > 100
    assert not page.run(
        "Array.from(document.querySelectorAll('#td-q td'), (x) => x.textContent).includes('–')"
    )


def test_a_limit_cycle_is_called_one(page, address):
    show(page, address, "task=recall_variant&m=OA1&step=0.02")
    page.run_loop()
    E = augment(entries()[1].P, "OA1")
    run = improve(E, uniform(E), step=0.02)
    assert page.text("#verdict").startswith(f"Limit cycle of period {run.period} around")


# ---------------------------------------------------------------------- policies


def test_rows_can_be_set_and_made_uniform_again(page):
    page.click('#policy button[data-o="0"][data-a="3"]')
    assert cells(page, "policy")[0] == [0, 0, 0, 1, 0, 0, 0, 0]
    page.click('#policy button[data-o="0"][data-a="-1"]')
    assert cells(page, "policy")[0] == [0.125] * 8


def test_a_policy_that_never_ends_is_said_to(page, address):
    show(page, address, "task=short_corridor&m=none")
    assert page.text("#best") == "none of them ends"
    page.click('#policy button[data-o="0"][data-a="0"]')
    assert "may go on for ever" in page.text("#verdict")
    assert page.text("#value") == "–"
    page.click("#one")
    page.click("#reset")
    assert number(page.text("#value")) == -12


def test_rows_of_another_memory_state_can_be_chosen(page, address):
    show(page, address, "task=gravity&m=B1")
    assert not page.run("document.getElementById('rows-label').hidden")
    page.choose("#rows-of", "1")
    assert (
        page.run(
            "Array.from(document.querySelectorAll('#policy tbody tr'), (r) => "
            "r.querySelector('th').textContent)"
        )
        == ["1"] * 24
    )


def test_the_keyboard_does_what_the_mouse_does(page):
    page.run("document.getElementById('one').focus()")
    page.press("Enter", 13)
    assert page.text("#iterate") == "1"
    page.run("document.querySelector('#policy button').focus()")
    page.press(" ", 32)
    assert cells(page, "policy")[0][0] == 1
    assert page.run("document.activeElement.dataset.a") == "0"
    page.press("Tab", 9)
    assert page.run("document.activeElement.dataset.a") == "1"


def test_every_control_has_a_name(page):
    nameless = page.run(
        "Array.from(document.querySelectorAll('button, select, input')).filter((e) => "
        "!(e.textContent.trim() && e.tagName === 'BUTTON') && !e.getAttribute('aria-label') && "
        "!e.labels?.length).map((e) => e.outerHTML)"
    )
    assert nameless == []


# ---------------------------------------------------------------------- episodes


def test_an_episode_can_be_walked_forth_and_back(page, address):
    show(page, address, "task=gravity&m=O1&seed=3")
    length = int(page.run("document.getElementById('time').max"))
    assert page.run("document.getElementById('back').disabled")
    for _ in range(3):
        page.click("#forward")
    assert page.text("#now").startswith("Time step 3 of")
    assert page.run("document.querySelectorAll('#trace tbody tr').length") == 4
    page.click("#back")
    assert page.text("#now").startswith("Time step 2 of")
    page.click("#last")
    assert page.text("#now").startswith(f"Time step {length} of")
    assert page.run("document.getElementById('forward').disabled")
    page.click("#first")
    assert page.text("#now").startswith("Time step 0 of")
    page.choose("#time", "2")
    assert page.text("#now").startswith("Time step 2 of")
    assert page.run("document.querySelectorAll('#plan circle.agent').length") == 1
    assert re.search(r"The force is (on|off)", page.text("#plan"))


def test_a_seed_gives_its_episode(page):
    def walked():
        page.click("#last")
        return page.text("#trace tbody")

    page.choose("#seed", "5")
    five = walked()
    page.click("#new")
    assert page.run("seed.value") == "6"
    walked()
    page.choose("#seed", "5")
    assert walked() == five
    assert "seed=5" in page.run("location.hash")


# ---------------------------------------------------------------------- rewards


def test_an_edited_reward_changes_task_verdict_and_link(page, address):
    page.choose('#table input[data-i="1"][data-j="3"]', "2")
    assert number(page.text("#best")) == 2
    page.run_loop()
    assert page.text("#verdict") == "Settles at 2: as good as any policy with any memory."
    hash = page.run("location.hash")
    show(page, address, hash[1:])
    assert number(page.text("#best")) == 2
    assert page.run('document.querySelector(\'#table input[data-i="1"][data-j="3"]\').value') == "2"
    page.click("#paper")
    assert number(page.text("#best")) == 1
    assert "r=" not in page.run("location.hash")


def test_what_is_no_number_is_refused_and_said(page):
    page.choose('#table input[data-i="0"][data-j="0"]', "much")
    assert "“much” is no number" in page.text("#reward-error")
    assert page.run("document.querySelector('#table input').getAttribute('aria-invalid')") == "true"
    assert number(page.text("#best")) == 1
    page.choose('#table input[data-i="0"][data-j="0"]', "3/2")
    assert page.text("#reward-error") == ""
    assert number(page.text("#best")) == 1.5


def test_the_table_can_have_two_to_five_actions(page):
    for k in (5, 2, 3):
        page.choose("#actions", k)
        assert page.run("document.querySelectorAll('#table input').length") == k * k
        assert f"{2 * k} actions" in page.text("#sizes")
    page.click("#zero")
    assert number(page.text("#best")) == 0
    page.click("#random")
    page.run_loop()
    assert re.match("Settles|Limit cycle|Not settled", page.text("#verdict"))


def test_all_memories_are_compared_on_one_table(page):
    page.choose("#memory", "OA1")
    page.click("#compare")
    page.until("!/waiting|iterate/.test(document.getElementById('everywhere').textContent)", 60)
    found = page.run(
        "Array.from(document.querySelectorAll('#everywhere tbody tr'), (r) => "
        "Array.from(r.children, (c) => c.textContent))"
    )
    ends = {row[0]: row[1] for row in found}
    words = {row[0]: row[3] for row in found}
    assert words["B1"] == "stuck"
    assert words["OA1"] == "as good as any"
    assert words["none"] == "limit cycle of period 2, no deterministic policy is better"
    assert ends["B1"] == ends["B2"] == ends["B3"] == "3/4"
    assert ends["OA1"] == ends["OA2"] == "1"
    for name in ("none", "K1", "O1"):
        E = augment(recall4(), name)
        assert number(ends[name]) == pytest.approx(
            float(improve(E, uniform(E), step=0.02).value), abs=1e-4
        )


# ---------------------------------------------------------------------- exercises


def said(page, i):
    page.click(f'[data-check="{i}"]')
    return page.text(f"#exercise-said-{i}")


SIGN_IN_A_BIT = """(() => {
  const { P } = Workbench.page, pi = new Float64Array(P.nO * P.nA);
  for (let o = 0; o < P.nO; o++) {
    const m = P.rowM[o], seen = P.base.O[P.rowO[o]];
    const w = seen === "goal up" ? 1 : seen === "goal down" ? 0 : m;
    const a = seen === "junction" ? (m ? "up" : "down") : "right";
    pi[o * P.nA + P.base.A.indexOf(a) * P.memory.nW + w] = 1;
  }
  Workbench.page.restart(pi);
})()"""


def test_exercises_judge_the_policy_on_show(page, address):
    assert "press Open" in said(page, 0)
    show(page, address, "task=t_maze&m=none")
    assert "a better one exists" in said(page, 0)
    page.click("#to-best")
    assert said(page, 0) == "✓ Right."
    show(page, address, "task=t_maze&m=B1")
    assert "a better one exists" in said(page, 1)
    page.run(SIGN_IN_A_BIT)
    assert said(page, 1) == "✓ Right."


def test_exercises_judge_the_rewards_on_show(page, address):
    for i, given, other in ((2, "0,6;5,2", "0,5;4,2"), (3, "5,4;0,6", "7,4;0,8")):
        show(page, address, f"task=recall4&m=B1&r={given}")
        assert "change a reward" in said(page, i)
        show(page, address, f"task=recall4&m=B1&r={other}")
        assert said(page, i) == "✓ Right."
        show(page, address, "task=recall4&m=B1&r=1,0;0,1")
        assert "reaches the best, too" in said(page, i)


# ---------------------------------------------------------------------- looks


def test_light_and_dark_follow_the_system(page):
    shades = []
    for dark in (False, True):
        page.look(1280, 900, dark)
        shades.append(page.run("getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, re.findall(r"\d+", shade)[:3])) for shade in shades)
    assert dark < 150 < 600 < light
