"""`workbench best`: values, bounds and policies, and what it refuses."""

import pytest
import typer
from typer.testing import CliRunner

from workbench.cli.best_command import best_command
from workbench.core.errors import NeverEnds, WorkbenchError

APP = typer.Typer()
APP.command()(best_command)


def shown(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    return " ".join(result.output.split())


def test_exact_values_of_memories_and_of_the_history():
    text = shown("recall4", "-m", "none", "-m", "B1", "--exact", "--history")
    assert "The best value on recall4" in text
    assert "none 1/2 1/2 none branch and bound" in text
    assert "B1 1 1 none branch and bound" in text
    assert "history 1 1 none policy iteration" in text
    assert "B1: The best deterministic memoryless policy is worth 1." in text


def test_average_rewards():
    text = shown("recall4", "--exact", "--criterion", "average", "--history")
    assert "The best average reward on recall4" in text
    assert "none 1/4 1/4 none " in text
    assert "history 1/2 1/2 none" in text


def test_a_stochastic_optimum_is_shown_with_its_probabilities():
    text = shown("short_corridor", "--stochastic")
    assert "-11.65" in text
    assert "0.585786" in text


def test_the_probability_of_a_goal_and_the_steps_to_it():
    text = shown("short_corridor", "--reach", "3", "--within", "6", "-m", "B1", "--exact")
    assert "The best value on short corridor: how likely 3 is within 6 time steps" in text
    assert "B1 1 1 none" in text
    assert "-11.65" in shown("short_corridor", "--steps-to", "3", "--stochastic")
    with pytest.raises(WorkbenchError, match="the goal exit is neither a state nor an observation"):
        shown("short_corridor", "--reach", "exit")
    for options in (["--steps-to", "3"], ["--criterion", "average"]):
        with pytest.raises(WorkbenchError, match="give one of --reach, --steps-to and"):
            shown("short_corridor", "--reach", "3", *options)
    with pytest.raises(WorkbenchError, match="--within is about a goal"):
        shown("short_corridor", "--within", "3")


def test_what_does_not_go_together_is_refused():
    with pytest.raises(WorkbenchError, match="--exact is about deterministic policies"):
        shown("recall4", "--stochastic", "--exact")
    with pytest.raises(WorkbenchError, match="criterion must be one of"):
        shown("recall4", "--criterion", "mean")


NEVER_ENDS = """discount: 1.0
values: reward
states: 2
actions: a b
observations: 1
start: 1.0 0.0
T: * identity
O: *
uniform
R: * : * : * : * 1
"""


def test_a_file_whose_policies_never_end_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "ring.POMDP"
    path.write_text(NEVER_ENDS)
    for more in ([], ["--stochastic"]):
        with pytest.raises(NeverEnds, match=r"no policy of ring.* ends .* give a gamma below 1"):
            shown(str(path), *more)
    assert "none 1 1 " in shown(str(path), "--criterion", "average")
