"""Settings of neural learners: the paper's, ours, and those that are refused; none needs jax."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from workbench import DDQN, PPO, RecurrentPPO
from workbench.core.errors import WrongType
from workbench.core.learners import OptionError
from workbench.deep.settings import neural_by_name, parse_widths
from workbench.reproduction.neural_figures import NEURAL_FIGURES

ROOT = Path(__file__).parent.parent.parent


def test_the_papers_settings_are_the_defaults():
    assert PPO().hidden == (128,) * 5
    assert (PPO().learning_rate, PPO().n, PPO().minibatches, PPO().epochs) == (1e-5, 128, 8, 4)
    hall = PPO.hallway()
    assert hall.hidden == (512,) * 4
    assert (hall.n, hall.minibatches, hall.epochs, hall.clip) == (2048, 16, 1, 0.1)
    lstm = RecurrentPPO.hallway()
    assert (lstm.learning_rate, lstm.n, lstm.cells) == (1e-3, 128, 512)
    q = DDQN()
    assert (q.hidden, q.batch, q.capacity, q.epsilon) == ((128,) * 6, 64, 100_000, 0.1)
    assert (q.learning_rate, q.target_every) == (1e-5, 100)
    assert (DDQN.doors().hidden, DDQN.doors().batch, DDQN.doors().gamma) == ((128,) * 4, 32, 0.9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PPO(hidden=()), WrongType, "hidden of PPO is a tuple of layer widths"),
        (lambda: PPO(hidden=(0,)), OptionError, "a width in hidden of PPO must be at least 1"),
        (lambda: PPO(minibatches=3), OptionError, "3 does not divide 2048"),
        (lambda: RecurrentPPO(minibatches=32), OptionError, "must divide environments"),
        (lambda: DDQN(environments=3), OptionError, "3 does not divide 100000"),
        (lambda: PPO(fade=0.9), OptionError, "fade of PPO needs max_episode_steps"),
        (lambda: DDQN(learning_rate=0), OptionError, "learning_rate of DDQN must lie in (0"),
    ],
)
def test_bad_settings_are_refused_by_name(make, error, message):
    with pytest.raises(error) as told:
        make()
    assert message in str(told.value)


def test_settings_by_name():
    assert neural_by_name("ppo", "hallway", learning_rate=1e-4) == PPO.hallway(learning_rate=1e-4)
    assert neural_by_name("ddqn") == DDQN()
    with pytest.raises(OptionError, match="settings of ppo are paper or hallway or tuned"):
        neural_by_name("ppo", "doors")
    with pytest.raises(OptionError, match="ddqn has no setting 'clip'"):
        neural_by_name("ddqn", clip=1)
    with pytest.raises(OptionError, match="such as 64,64, not '64x64'"):
        parse_widths("64x64")


@pytest.mark.parametrize("name", ["ppo", "lstm-ppo", "ddqn"])
def test_the_tuned_settings_are_the_best_of_the_recorded_search_on_seeds_of_its_own(name):
    with (ROOT / "tests" / "benchmarks" / "tuning.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["learner"] == name]
    scores, runs = defaultdict(float), defaultdict(set)
    for row in rows:
        scores[row["settings"]] += float(row["score"])
        runs[row["settings"]].add((row["task"], int(row["seed"])))
    tasks = ("recall4", "t_maze", "memory_s7")
    everywhere = {(task, seed) for task in tasks for seed in (1000, 1001, 1002)}
    assert set(map(frozenset, runs.values())) == {frozenset(everywhere)}  # each on all of them
    assert len(scores) > 1
    tuned = neural_by_name(name, "tuned")
    chosen = json.loads(max(scores, key=scores.get))
    assert chosen == {setting: getattr(tuned, setting) for setting in chosen}
    seeds = {seed for one in NEURAL_FIGURES.values() for seed in one.seeds}
    assert seeds.isdisjoint({1000, 1001, 1002})
