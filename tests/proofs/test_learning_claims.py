"""The claims about learning curves say what they rest on, and their ids have one home."""

import pytest
from judging import entry

from proofs.figures_learning import SHARED, SHARED_FINDINGS, late_rewards, recorded_shared
from proofs.ledger import load
from proofs.section5_small_steps import SEEDS, counts_of, recorded_counts
from workbench.reproduction.judge import STATEMENTS

READINGS = ("window V=0", "window V=1", "batch V=0", "batch V=1")


def test_the_argument_names_seeds_readings_effects_and_intervals():
    argument = entry("S4.fig-gravity").argument
    assert "100 seeds, 5000 to 5099, of 4,000,000 steps" in argument
    assert all(reading in argument for reading in READINGS)
    assert "contradicted [batch, V = 0]: 5-step actor-critic with O1 solves gravity" in argument
    assert "46 of 100, claimed above 0.5" in argument


def test_the_summary_counts_the_seeds_that_jump():
    assert entry("S5.fig-jumps").evidence == "seeds jump: OA1 93 of 100, B2 100 of 100"


def test_what_runs_do_is_supported_and_where_they_can_settle_is_proved():
    assert load()["S5.fig-jumps"].documented == "supported"
    assert load()["S5.fig-recall"].documented == "argued"
    assert "S5.fig-jumps" in load()["S5.fig-recall"].statement


@pytest.mark.parametrize(
    "step",
    [
        0.1,
        0.01,
        pytest.param(0.001, marks=pytest.mark.slow),
        pytest.param(0.0001, marks=pytest.mark.slow),
    ],
)
def test_the_record_of_smaller_steps_is_what_its_seeds_give(step):
    seeds = SEEDS[3:9:5] if step > 0.001 else SEEDS
    rows = [seed - SEEDS[0] for seed in seeds]
    assert (counts_of(step, seeds) == recorded_counts()[step][rows]).all()
    assert len(recorded_counts()[step]) == len(SEEDS) == 30


@pytest.mark.slow
@pytest.mark.parametrize("reading", [reading for reading, *_ in SHARED_FINDINGS], ids=str)
def test_the_record_of_the_shared_panel_is_what_its_seeds_give(reading):
    named = [name for name in recorded_shared() if name.startswith(f"{reading}: ")]
    assert named
    for name in named:
        assert late_rewards(reading, name.split(": ")[1], SHARED) == recorded_shared()[name]


def test_no_pair_is_left_out():
    argument = entry("S51.fig-gravity2").argument
    for larger, smaller in (("O2", "O1"), ("OA2", "OA1")):
        assert argument.count(f"better with {larger} than with {smaller}") == 4
    assert entry("S51.fig-gravity2").evidence == (
        "100 new seeds, with actor-critic read as window, V = 1 / batch, V = 0"
    )


def test_a_statement_about_a_figure_has_one_place_and_its_learners_have_one_wording():
    claims = load()
    for id, statement in STATEMENTS.items():
        assert claims[id].place == statement.place
        if claims[id].establish.__module__ == "proofs.figures_learning":
            assert claims[id].statement == statement.words
