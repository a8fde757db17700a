"""The explorer's suggestions show what they name as soon as they are pressed, a link brings that
back, and a button that can do nothing says why."""

import json
import re
from fractions import Fraction

import pytest
from browsing import Page, find_browser

from pomdps import gravity, recall, recall_variant
from workbench import (
    QLearning,
    augment,
    best_memoryless,
    equilibria,
    shortcuts,
)
from workbench.cli.explore_command import entries
from workbench.explorer.html_page import part, write_explorer_page

pytest.importorskip("websocket", reason="needs websocket-client: extra test")

pytestmark = pytest.mark.slow  # a browser; what the scripts compute is tested daily without one

PRESETS = dict(re.findall(r'data-try="([^"]*)">([^<]*)<', part("page.html")))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = find_browser()
    if found is None:
        pytest.skip("no chromium is installed")
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    write_explorer_page(entries(), [["0", "1"], ["1", "0"]], path)
    page = Page(found)
    page.address = path.as_uri()
    yield page
    page.close()


@pytest.fixture
def page(browser):
    browser.complaints.clear()
    show(browser, "")
    yield browser
    assert browser.complaints == []


def show(page, hash):
    page.open("about:blank")
    page.open(f"{page.address}#{hash}")


def press(page, name):
    """Press the suggestion of this name and wait for the page to be there."""
    link = next(link for link, words in PRESETS.items() if words == name)
    page.click(f"[data-try={json.dumps(link.replace('&amp;', '&'))}]")
    page.until(f"location.hash.length > 1 && {json.dumps(link)}.includes(memory.value)")
    if "at=" in link:
        page.until(
            "!/^(Press Run|Running)/.test(document.querySelector('#verdict').textContent)", 60
        )


def drawn(page):
    """How many points of the value curve there are."""
    return page.run(
        "document.querySelector('#chart polyline')"
        ".getAttribute('points').trim().split(/\\s+/).length"
    )


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        (
            "stuck in B1",
            "Settles at 3/4: stuck. The best deterministic policy with this memory is worth 1.",
        ),
        ("the same with OA1", "Settles at 1: as good as any policy with any memory."),
        ("stuck in OA1", r"Limit cycle of period \d+ around .*: stuck\. .* is worth 3\."),
    ],
)
def test_what_is_said_to_end_somewhere_is_shown_at_its_end(page, name, verdict):
    press(page, name)
    assert re.match(verdict, page.text("#verdict"))
    assert drawn(page) == int(page.text("#iterate")) + 1 > 100
    seen = page.text("#verdict"), page.text("#value")
    show(page, page.run("location.hash")[1:])
    page.until("!document.querySelector('#verdict').textContent.startsWith('Running')", 60)
    assert (page.text("#verdict"), page.text("#value")) == seen


def test_shortcuts_in_recall_shows_the_shortcut_of_the_best_policy(page):
    press(page, "shortcuts in recall")
    E = augment(recall(), "OA1")
    found = shortcuts(E, best_memoryless(E).policy)
    assert [x.kind for x in found] == ["strict"]
    assert page.text("#shortcuts").startswith("1 strict and 0 weak shortcuts of this policy")
    assert page.run("document.querySelectorAll('#td-q td.strict').length") == 1


def test_gravity_with_one_bit_shows_an_optimal_policy_that_writes_once(page):
    press(page, "gravity with one bit")
    E = augment(gravity(), "B1")
    value = float(best_memoryless(E).value)
    assert float(page.text("#value")) == pytest.approx(value, abs=1e-6)
    assert page.text("#verdict").startswith("This is a best deterministic policy.")
    writes = page.run(
        "Array.from(document.querySelectorAll('#plan text.write'), (e) => e.textContent)"
    )
    assert sorted(set(writes)) == ["0", "1"]
    assert writes.count("1") == 1  # the bit is set in one cell: beside the button


def test_learning_that_cannot_settle_is_a_portrait_without_a_fixed_point(page):
    press(page, "learning that cannot settle")
    page.until("document.querySelectorAll('#portrait svg').length === 1")
    assert not len(
        equilibria(augment(recall_variant(), "none"), QLearning(epsilon=Fraction(1, 10)))
    )
    assert "There is no fixed point" in page.text("#portrait-said")
    leaves = page.run(
        "Array.from(document.querySelectorAll('#portrait-regions tbody tr'), (e) => e.innerText)"
    )
    assert len(leaves) == 2
    assert all("no fixed point" in one for one in leaves)
    page.until(
        "(() => { const card = document.querySelector('#portrait-card'); "
        "const { top } = card.getBoundingClientRect(); "
        "return top > -50 && top < innerHeight / 2; })()"
    )
    page.click("#learn")
    page.until("document.querySelectorAll('#portrait .path').length === 1")


def test_every_suggestion_is_looked_at_here():
    assert sorted(PRESETS.values()) == [
        "gravity with one bit",
        "learning that cannot settle",
        "shortcuts in recall",
        "stuck in B1",
        "stuck in OA1",
        "the same with OA1",
    ]


# ---------------------------------------------------------------------- links


def test_a_link_brings_back_the_end_and_the_best_policy_and_nothing_else(page):
    def link():
        return dict(part.split("=") for part in page.run("location.hash")[1:].split("&") if part)

    page.run_loop()
    assert link()["at"] == "end"
    page.click("#reset")
    assert "at" not in link()
    page.click("#to-best")
    assert link()["at"] == "best"
    page.click("#one")
    assert "at" not in link()
    page.choose("#step-number", "0.5")
    page.run_loop()  # one step was of another size: a link from uniform would show another loop
    assert "at" not in link()
    page.click("#reset")
    page.run_loop()
    assert link()["at"] == "end"
    page.choose("#memory", "OA1")
    assert "at" not in link()
    assert page.text("#iterate") == "0"
    page.click("#to-best")
    page.click('#policy button[data-o="0"][data-a="0"]')
    assert "at" not in link()


# ---------------------------------------------------------------------- greyed buttons


def greyed(page):
    """The buttons that are disabled, by name, with what they say."""
    return dict(
        page.run(
            "Array.from(document.querySelectorAll('button:disabled'), (b) => "
            "[b.getAttribute('aria-label') || b.textContent, b.title])"
        )
    )


@pytest.mark.parametrize(
    ("hash", "expected"),
    [
        ("task=recall4&m=B1", {}),
        (
            "task=recall4&m=B1&at=end",
            dict.fromkeys(("Play", "Run"), "the loop has ended; Reset starts it again"),
        ),
        (
            "task=gravity&m=O1",
            {
                "Best deterministic policy": "there are too many policies to try here; only the "
                "value 0.5688 is known, from the package"
            },
        ),
        (
            "task=short_corridor&m=none",
            {"Best deterministic policy": "no deterministic policy ends"},
        ),
    ],
)
def test_a_greyed_button_says_why_on_itself_and_below(page, hash, expected):
    show(page, hash)
    first = dict.fromkeys(("to the beginning", "◀ Back"), "this is the first time step")
    nothing = {"Show its greedy policy": "nothing has been learned yet"}
    assert greyed(page) == expected | first | nothing
    page.click("#last")
    last = dict.fromkeys(("Forward ▶", "to the end"), "this is the last time step")
    assert greyed(page) == expected | last | nothing
    said = "".join(map(page.text, ("#loop-why", "#episode-why", "#learner-why")))
    for name, why in greyed(page).items():
        assert name in said
        assert f"{why}." in said


def test_where_too_many_policies_are_to_be_tried_and_nothing_is_known_it_says_so(page):
    show(page, "task=sutton_grid&m=K1")
    assert page.text("#best") == "too many to try"
    assert greyed(page)["Best deterministic policy"] == (
        "there are too many deterministic policies to try here"
    )


def test_a_good_policy_is_looked_for_in_the_background(page):
    page.open("about:blank")
    show(page, "task=tiger&m=K2")
    page.until("document.getElementById('best').textContent.startsWith('at least')")
    assert "Best deterministic policy" not in greyed(page)


def test_a_policy_without_values_says_that_nothing_can_be_improved(page):
    show(page, "task=short_corridor&m=none")
    page.click('#policy button[data-o="0"][data-a="0"]')
    why = "this policy has no values to improve on"
    assert [greyed(page)[name] for name in ("Play", "Step", "Run")] == [why] * 3
    page.click("#reset")
    assert "Step" not in greyed(page)
    assert page.run("document.getElementById('one').title") == ""
