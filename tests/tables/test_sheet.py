"""The table of a result: one set of rows in a terminal, in Jupyter and as a frame."""

import sys
from fractions import Fraction

import pytest

from pomdps import recall4
from workbench import augment, improve, uniform
from workbench.core.errors import WorkbenchError
from workbench.tables.sheet import Column, Sheet, WrittenNumber

LONG = "a remark of many words that a narrow terminal has to break somewhere"
SHEET = Sheet(
    "Policies",
    (Column("name"), Column("value", "what it is worth"), Column("remark")),
    (
        ("left", WrittenNumber(Fraction(1, 3), "1/3 ± 0.1"), LONG),
        ("right", 1234567.0, "two\nlines"),
    ),
    "Left is worse.",
    ("A note.",),
)


@pytest.mark.parametrize("width", [40, 60, 200])
def test_words_are_wrapped_and_numbers_are_not(width):
    lines = SHEET.text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert any("1/3 ± 0.1" in line for line in lines)
    assert any("1.23457e+06" in line for line in lines)
    assert all(word in SHEET.text(width) for word in LONG.split())


def test_a_terminal_that_is_too_narrow_cuts_nothing():
    assert "1/3 ± 0.1" in SHEET.text(5)


def test_two_bounds_are_written_below_each_other_rather_than_beyond_the_margin():
    bounds = (WrittenNumber(None, "-13.3153 to 19.3714"), WrittenNumber(None, "~0.591255 to 1.7"))
    sheet = Sheet("Bounds", (Column("best det.", "", True), Column("loop", "", True)), (bounds,))
    lines = sheet.text(30).splitlines()
    assert max(map(len, lines)) <= 30
    assert {"-13.3153", "~0.591255"} <= {word for line in lines for word in line.split()}


def test_numbers_stand_right_and_words_left():
    rows = [line for line in SHEET.text(200).splitlines() if line.startswith(("left", "right"))]
    ends = [row.index(end) + len(end) for row, end in zip(rows, ("± 0.1", "e+06"), strict=True)]
    assert ends[0] == ends[1]


def test_html_holds_all_of_the_text_and_runs_nothing():
    evil = Sheet("<b>", (Column("<i>", "<u>"),), (("<script>",),), "<p>", ("<img>",))
    html = evil.html()
    for text in ("<b>", "<i>", "<u>", "<script>", "<p>", "<img>"):
        assert text.replace("<", "&lt;").replace(">", "&gt;") in html
    assert "<script>" not in html
    assert "Left is worse." in SHEET.html()
    assert "two<br>lines" in SHEET.html()


def test_a_frame_has_the_numbers_themselves():
    frame = SHEET.to_frame()
    assert list(frame.columns) == ["name", "value", "remark"]
    assert frame["value"][0] == Fraction(1, 3)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(WorkbenchError, match="frames"):
        SHEET.to_frame()


def test_joined_results_keep_their_names_and_shared_notes_are_said_once():
    other = Sheet("", SHEET.columns, SHEET.rows[:1], "So is this.", ("A note.", "Another."))
    both = Sheet.join("Both", Column("memory"), {"B1": SHEET, "O1": other})
    assert [row[0] for row in both.rows] == ["B1", "B1", "O1"]
    assert both.conclusion == "B1: Left is worse.\nO1: So is this."
    assert both.notes == ("A note.", "O1: Another.")
    alone = Sheet.join("One", Column("memory"), {"B1": SHEET})
    assert alone.conclusion == "Left is worse."


def test_jupyter_shows_the_best_value_beside_where_the_loop_ends():
    E = augment(recall4(), "B1")
    shown = improve(E, uniform(E), step=0.5)._repr_html_()
    assert "<th>best</th>" in shown
    assert "settles at a policy worth 3/4; the best deterministic policy is worth 1." in shown
