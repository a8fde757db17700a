"""`workbench needs-memory --at-least --solvable`: a check whose exit status tells."""

import pytest
import typer
from toy_tasks import small_task
from typer.testing import CliRunner

from pomdps import recall4, t_maze
from workbench.cli.needs_memory_command import needs_memory_command, violated
from workbench.sufficiency.needs_memory import Attempt, InFamily, Limits, needs_memory

APP = typer.Typer()
APP.command()(needs_memory_command)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["recall4", "--at-least", "1", "--solvable"], 0, "Holds: every family needs a memory of"),
        (["recall4", "-f", "B", "--solvable"], 0, "Holds: B1 is enough."),
        (["recall4", "-f", "OA", "--at-least", "2"], 1, "Violated: OA1 is enough"),
        (["recall", "-f", "K", "--at-least", "2"], 0, ""),
        (["t_maze", "-f", "K", "--up-to", "1", "--solvable"], 1, "no memory was found that is"),
        (["belief_corridor", "-f", "B", "--up-to", "1"], 0, ""),
    ],
)
def test_the_exit_status_is_the_answer(arguments, status, words):
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, [*arguments, "--seconds", "1"])
    assert result.exit_code == status, result.output
    assert words in " ".join(result.output.split())


def test_a_task_that_needs_no_memory_violates_at_least_one():

    P = small_task("seen", lambda s, a: {("end", int(a == s)): 1}, 0, omega=lambda s: {s: 1})
    found = needs_memory(P, ["B"], 1, Limits(seconds=0.2))
    assert violated(found, 1, False) == ["that seen needs memory is not the case"]
    assert violated(found, 0, True) == []


def test_what_is_not_decided_counts_as_violated():
    from dataclasses import replace

    found = needs_memory(recall4(), ["B"], 1, Limits(seconds=0.2))
    open_ = Attempt("B1", None, "not decided")
    (family,) = found.families
    undecided = replace(found, families=(InFamily("B", (family.tried[0], open_)),))
    assert violated(undecided, 2, True) == [
        "B1 is not known to be too small",
        "no memory was found that is enough for recall4",
    ]
    unknown = replace(found, without=Attempt("none", None, "not decided"))
    assert violated(unknown, 1, False) == ["that recall4 needs memory is not decided"]
    assert violated(needs_memory(t_maze(1), ["K"], 2, Limits(seconds=0.2)), 2, True) == []


@pytest.mark.parametrize(
    ("ranks", "status", "words"),
    [
        ("ranks=1&k=2", 0, "Holds: every family needs a memory of size 1 at least, and K1 is"),
        ("ranks=1&k=1", 1, "Violated: that popgym-RepeatPreviousEasy-v0?ranks=1&k=1 needs memory"),
    ],
)
def test_an_environment_is_checked_as_its_author_would(ranks, status, words):
    """Repeating the card before the last needs memory; repeating the last one does not."""
    pytest.importorskip("popgym", reason="not installed: pip install 'memory-workbench[gym]'")
    arguments = [f"popgym-RepeatPreviousEasy-v0?{ranks}", "-f", "K", "--at-least", "1"]
    arguments += ["--solvable", "--seconds", "5"]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, arguments)
    assert result.exit_code == status, result.output
    assert words in " ".join(result.output.split())
