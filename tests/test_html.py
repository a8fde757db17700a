"""Nothing that comes from a file or a caller becomes markup: names, labels, notes, facts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tasks import small_task

from workbench import POMDP, Policy, augment, evaluate, td_values, uniform
from workbench.explorer.export import ExplorerEntry
from workbench.explorer.html_page import explorer_page
from workbench.lab.find import Find
from workbench.lab.gallery import GalleryEntry, Gone, find_json
from workbench.lab.print import gallery_page
from workbench.lab.statements import Verdict
from workbench.tables.table import Vector

EVIL = "<img src=x onerror=alert(1)>"

hostile = st.sampled_from(
    [
        EVIL,
        "</script><script>alert(2)</script>",
        "'><svg onload=alert(3)>",
        '" onmouseover="alert(4)',
        "&lt;b&gt;",
        "<!--",
        "]]>",
        "</title></table><h1>",
    ]
)


class Tags(HTMLParser):
    """Every tag and attribute of a document."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(sorted(name for name, _ in attrs))))

    handle_startendtag = handle_starttag


def task(name: str, s: str, o: str, a: str) -> POMDP:
    """Two guesses in a row, so that it is a sequence task, with any words for labels."""
    other = a + "2"
    return small_task(
        name,
        lambda x, y: {((x, y), 0): 1} if x == s else {("end", Fraction(int(y == a))): 1},
        {s: 1},
        A=[a, other],
        omega=lambda x: {o: 1},
    )


def pages(P: POMDP, word: str) -> dict[str, str]:
    """All HTML that the package makes of a task and of words that come with it."""
    import ipywidgets  # noqa: F401

    from workbench import widgets

    E = augment(P, "OA1")
    pi = uniform(E)
    find = Find(P, Gone(word), Verdict(True, {word: word}), {"space": {word: word}, word: word})
    record = find_json(find)
    found = {
        "task": P._repr_html_(),
        "augmented": E._repr_html_(),
        "policy": pi._repr_html_(),
        "evaluation": evaluate(E, pi)._repr_html_(),
        "td": td_values(E, pi)._repr_html_(),
        "vector": Vector(evaluate(E, pi).v.raw, E.S, title=word)._repr_html_(),
        "find": find._repr_html_(),
        "gallery": gallery_page([GalleryEntry(word, find, record)]),
        "explorer": explorer_page([ExplorerEntry("id", P, word, word)], [[Fraction(0)] * 2] * 2),
        "stepper": widgets.episode_stepper(P, "OA1").text.value,
        "loop": widgets.oracle_explorer(P, "OA", 1).text.value,
        "td explorer": widgets.td_explorer(P, "OA", 1).text.value,
        "report": report_page(word),
    }
    return found


def report_page(word: str) -> str:
    """The page of `workbench reproduce` on a figure whose every text is `word`."""
    from workbench.reproduction.full_runs import FIGURES
    from workbench.reproduction.judge import Finding, Judgement
    from workbench.reproduction.report import Section, _page
    from workbench.reproduction.statistics import Estimate

    found = tuple(
        Finding(word, word, under, Estimate(1.0, 0.5, 1.5, word), word, above=True, bound=0.0)
        for under in (word, word + "2")
    )
    figure = replace(FIGURES["fig7"], id=word, place=word, title=word, measure=word)
    section = Section(SimpleNamespace(experiment=figure), (Judgement(word, word, word, found),))
    return _page([section], [b"png"], quick=True, notes=[word])


def test_what_the_explorer_writes_at_run_time_is_escaped_too(tmp_path):
    """Tables, chart, episode, grid and lists that scripts make of a hostile task."""
    pytest.importorskip("websocket", reason="needs websocket-client: extra test")
    from browsing import Page, find_browser

    browser = find_browser()
    if browser is None:
        pytest.skip("no chromium is installed")
    evil = "<img src=x onerror='window.ran = 1'>"
    plan = {"width": 1, "height": 1, "walls": [], "marks": [[evil, evil, [0, 0]]]}
    path = tmp_path / "evil.html"
    entries = [
        ExplorerEntry(evil, task(evil, evil, evil, evil), evil, evil),
        ExplorerEntry(evil + "2", task(evil, evil, "(0, 0)", evil), evil, evil, grid=plan),
    ]
    path.write_text(explorer_page(entries, [[Fraction(0)] * 2] * 2))
    page = Page(browser)
    try:
        page.open(path.as_uri())
        for entry in entries:
            page.choose("#task", entry.id)
            for memory in ("none", "B1", "OA1", "OA2"):
                page.choose("#memory", memory)
                for button in ("#run", "#last", "#reset", "#to-best"):
                    page.click(button)
                assert evil in page.text("#about")
                assert evil in page.text("#trace")
                assert page.run("document.querySelectorAll('img, [onerror]').length") == 0
                assert page.run("window.ran === undefined")
        assert evil in page.text("#plan")
        assert page.complaints == []
    finally:
        page.close()


HARMLESS = task("name", "s", "o", "a")


@pytest.fixture(scope="module")
def plain():
    pytest.importorskip("ipywidgets", reason="the extra `notebooks` is not installed")
    return {where: Tags(text).found for where, text in pages(HARMLESS, "word").items()}


@settings(max_examples=6)
@given(word=hostile, name=hostile, s=hostile, o=hostile, a=hostile)
def test_hostile_words_add_no_tag_and_no_attribute(plain, word, name, s, o, a):
    for where, text in pages(task(name, s, o, a), word).items():
        assert Tags(text).found == plain[where], where


def test_notes_are_escaped():
    loop = small_task(
        "n",
        lambda s, a: {("end", 1): 1} if a == "go" else {(s, 0): 1},
        {EVIL: 1},
        A=["go", "stay"],
        gamma=Fraction(1, 2),
    )
    found = evaluate(loop, Policy.deterministic(loop, {"o": "stay"}))
    assert EVIL in found.note  # else this test would say nothing
    assert EVIL not in found._repr_html_()


def test_the_ledgers_page_escapes_everything(tmp_path):
    pytest.importorskip("z3", reason="the extra `proofs` is not installed")
    from proofs.ledger import load, run
    from proofs.report import write_html

    entry = run(load()["S5.oa1-encodes"])
    path = tmp_path / "ledger.html"
    shapes = []
    for word in ("word", EVIL):
        spoilt = replace(
            entry,
            id=word,
            place=word,
            statement=word,
            evidence=word,
            argument=word,
            twins=tuple((word, word) for _ in entry.twins),
            corrected_by=word,
        )
        write_html([spoilt], path)
        shapes.append(Tags(path.read_text()).found)
    assert shapes[0] == shapes[1]
