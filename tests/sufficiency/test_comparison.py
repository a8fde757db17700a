"""Memories side by side: each column against what is known of it."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from toy_tasks import small_task
from typer.testing import CliRunner

from pomdps import recall, recall4
from workbench import augment, improve, save_pomdp, uniform
from workbench.cli.compare_command import _conclusion
from workbench.cli.main import app
from workbench.sufficiency.comparison import ceiling, compare


def test_the_table_of_recall4():
    rows = {row.memory: row for row in compare(recall4(), ["none", "B1", "OA1"])}
    assert ceiling(recall4()).value == 1
    assert [rows[m].best.value for m in ("none", "B1", "OA1")] == pytest.approx([0.5, 1, 1])
    assert all(row.best.certified for row in rows.values())
    assert (rows["B1"].oracle.value, rows["B1"].oracle.ended) == (0.75, "fixed")
    assert (rows["OA1"].oracle.value, rows["OA1"].oracle.ended) == (1, "fixed")
    assert [rows[m].expressive for m in ("none", "B1", "OA1")] == [False, False, True]


def test_compare_says_of_a_loop_what_improve_says():
    (row,) = compare(recall4(), ["none"])  # a limit cycle that takes 2,461 iterates to see
    E = augment(recall4(), "none")
    run = improve(E, uniform(E), step=0.02)
    assert (row.oracle.ended, row.oracle.mean) == (run.ended, run.mean)
    shown = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["compare", "recall4", "-m", "none"])
    assert f"~{run.mean:.6g}" in shown.stdout


def test_recall_has_the_shortcut_of_section_5_1():
    (row,) = compare(recall(), ["OA1"])
    assert row.shortcuts.strict == (1, 1)


def test_a_memory_beyond_the_limit_is_only_counted(monkeypatch):
    monkeypatch.setattr("workbench.sufficiency.comparison.MOST_STATES", 10)
    (row,) = compare(recall4(), ["B2"])
    assert len(row.P.S) == 21
    assert (row.best, row.oracle, row.shortcuts, row.expressive) == (None, None, None, None)


def test_the_command_prints_one_line_for_each_memory_within_80_columns():
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(
        app, ["compare", "recall4", "-m", "B1", "-m", "OA1"]
    )
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    lines = {line.split()[0]: line.split() for line in shown.stdout.splitlines() if line.split()}
    assert lines["B1"][1:6] == ["11", "2", "8", "1", "3/4"]
    assert lines["OA1"][1:6] == ["14", "5", "8", "1", "1"]


def test_no_memory_is_said_to_reach_a_value_that_is_only_bounded():
    """ "The best policy is worth 1.5 to 12. B1 can reach that", which was the lower bound."""
    best = SimpleNamespace(lower=1.5, upper=12.0)
    row = SimpleNamespace(memory="B1", best=SimpleNamespace(value=1.5), oracle=None)
    assert "No memory compared is known to reach that" in _conclusion(best, [row])
    closed = SimpleNamespace(lower=1.5, upper=1.5)
    assert "B1 can reach that" in _conclusion(closed, [row])


def test_the_command_knows_a_value_however_it_is_written(tmp_path):
    """The loop's end is 9/5, the best value the float 1.8."""
    P = small_task(
        "pay", lambda s, a: {("end", Fraction(9, 5) if a == "a" else 1): 1}, "s", A=("a", "b")
    )
    save_pomdp(P, tmp_path / "pay.POMDP")
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "pay.POMDP"), "-m", "none"])
    said = " ".join(done.output.split())
    assert "the oracle loop settles there with none." in said
