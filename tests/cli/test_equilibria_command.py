"""`workbench equilibria`: what it lists, what it certifies, and what it refuses."""

import json

import pytest
import typer
from typer.testing import CliRunner

from workbench.checker.recheck import recheck
from workbench.cli.equilibria_command import equilibria_command
from workbench.core.errors import WorkbenchError

APP = typer.Typer()
APP.command()(equilibria_command)


def shown(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    return " ".join(result.output.split())


def test_the_only_fixed_point_of_recall_with_oa1_is_listed_with_its_value_and_gap():
    text = shown("recall", "-m", "OA1")
    assert "Searched exactly: 1,296 of 1,296 greedy policies looked at one by one." in text
    assert "0 361/400 1 1 0.00035 ∅ → 2 push" in text
    assert "settle only at a policy worth 0; the best deterministic policy is worth 361/400" in text
    assert "∅ → 2 push" in text


def test_a_policy_that_never_ends_is_said_to_have_no_value():
    assert "Q-learning can settle at a policy whose episodes never end" in shown("short_corridor")


def test_several_memories_and_that_there_is_none():
    text = shown("recall_variant", "-m", "none", "-m", "B2")
    assert text.count("Q-learning has no fixed point here: whichever policy it follows") == 1
    assert (
        "1,536 of 4,096 greedy policies looked at one by one, the others alike by symmetry" in text
    )


def test_a_budget_that_was_not_enough_is_told():
    text = shown("gravity", "-m", "B1", "--nodes", "3")
    assert "No fixed point was found, but not all policies were decided." in text
    assert "0 of 8^48 greedy policies looked at one by one, bounds on 3 sets" in text


def test_softmax_behaviours_have_fixed_points_that_are_enclosed():
    text = shown("recall", "--softmax", "1/10")
    assert "on recall, softmax of temperature 1/10" in text
    assert "1 fixed point; these are all." in text
    assert "0.0324243" in text


def test_with_symbols_the_borders_are_written_out():
    text = shown("recall", "-m", "B1", "--symbolic")
    assert "border: epsilon gamma - 2 epsilon + 1 = 0" in text
    assert "no fixed point: 1 cell around epsilon = " in text


def test_with_symbols_a_certificate_holds_for_the_whole_square(tmp_path):
    path = tmp_path / "square.json"
    shown("recall", "-m", "B1", "--symbolic", "--certificate", str(path))
    said = recheck(json.loads(path.read_text()))
    assert "for all epsilon and gamma in (0, 1), off the curves" in said
    assert "among 36 greedy policies" in said


def test_a_certificate_is_written_and_holds(tmp_path):
    path = tmp_path / "none.json"
    shown("recall", "-m", "B1", "--learner", "sarsa", "--gamma", "1/2", "--certificate", str(path))
    assert "Sarsa(0) with epsilon 1/10" in recheck(json.loads(path.read_text()))


def test_where_there_are_too_many_policies_to_list_sets_of_them_are_certified(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("workbench.certificates.fixed_points.MOST_LISTED", 1_000)
    path = tmp_path / "sets.json"
    shown("recall", "-m", "OA1", "--certificate", str(path))
    written = json.loads(path.read_text())
    assert written["kind"] == "fixed-point-bounds"
    assert "among 6^4 greedy policies" in recheck(written)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recall", "--epsilon", "2"], r"epsilon of QLearning must lie in \[0, 1\], not 2"),
        (["recall", "--epsilon", "few"], "--epsilon is a number such as 1/10 or 0.1, not 'few'"),
        (["recall", "--learner", "actor-critic"], "has no setting 'epsilon'"),
        (["recall", "-m", "B1", "-m", "B2", "--certificate", "x"], "one memory"),
    ],
)
def test_bad_options_are_refused(arguments, message):
    with pytest.raises(WorkbenchError, match=message):
        CliRunner().invoke(APP, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "looked at one by one, a share of 1 not decided"),
        (["--symbolic"], "were not decided before the time was over"),
        (["--softmax", "1/2"], "1 region was not decided"),
    ],
)
def test_equilibria_end_when_the_time_is_over(monkeypatch, options, said):
    asked = []

    def no_time(until: float, searches: int) -> float:
        asked.append(searches)
        return 1e-9

    monkeypatch.setattr("workbench.plain_numbers.share_of", no_time)
    assert said in shown("recall", "-m", "B1", "-m", "OA1", "--seconds", "0.01", *options)
    assert asked == [2, 1]
