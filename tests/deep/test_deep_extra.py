"""Without the extra `deep` everything else works, and what needs it says so."""

import csv
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pomdps import recall4
from workbench import DDQN, PPO, augment, learn
from workbench.cli.main import app
from workbench.deep.settings import neural_by_name, parse_widths
from workbench.extras import MissingExtra
from workbench.learning.learners import OptionError
from workbench.reproduction.neural_figures import NEURAL_FIGURES
from workbench.sweeps.cell import cells_of
from workbench.sweeps.experiment import PER_100, Experiment, Length, Panel
from workbench.sweeps.spec import SpecError, parse_spec

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("package", ["jax", "optax"])
def test_a_missing_extra_is_named(monkeypatch, package):
    if package == "optax":
        pytest.importorskip("jax")  # which is asked for first
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*\[deep\]"):
        learn(augment(recall4(), "B1"), PPO(), steps=100, seeds=1)
    for command in (["learn", "recall4", "--learner", "ppo"], ["reproduce", "fig6-memory"]):
        shown = CliRunner().invoke(app, command)
        assert isinstance(shown.exception, MissingExtra), shown.output
        assert package in str(shown.exception)


def test_the_base_install_never_imports_jax():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import workbench, workbench.sweeps.spec, workbench.sweeps.worker\n"
        "import workbench.learning.learn, workbench.cli.learn_command\n"
        "from workbench import PPO, DDQN, RecurrentPPO, MemoryPair\n"
        "print(PPO.tuned().hidden)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "(64, 64)"


def test_settings_by_name():
    assert neural_by_name("ppo", "hallway", learning_rate=1e-4) == PPO.hallway(learning_rate=1e-4)
    assert neural_by_name("ddqn") == DDQN()
    with pytest.raises(OptionError, match="settings of ppo are paper or hallway or tuned"):
        neural_by_name("ppo", "doors")
    with pytest.raises(OptionError, match="ddqn has no setting 'clip'"):
        neural_by_name("ddqn", clip=1)
    with pytest.raises(OptionError, match="such as 64,64, not '64x64'"):
        parse_widths("64x64")


SPEC = """
[grid]
task = "recall4"
memory = "B1"
learner = "ppo"
hidden = ["8,8", "16"]
learning_rate = 0.001
seeds = 3
steps = 5000
"""


def test_a_sweep_names_networks_by_their_layers_and_has_a_cell_for_each_seed():
    sweep = parse_spec(SPEC, lambda name: None)
    assert [(cell.method.hidden, cell.seeds) for cell in sweep.cells] == [
        (hidden, (seed,)) for hidden in ((8, 8), (16,)) for seed in range(3)
    ]
    with pytest.raises(SpecError, match=r'grid.hidden = "8x8".*such as 64,64'):
        parse_spec(SPEC.replace("8,8", "8x8"), lambda name: None)
    panels = (Panel("PPO", PPO(), ("B1",)),)
    one = Experiment("x", "", "", "recall4", panels, 1, PER_100, 1.0, (), Length(3, 100, 10))
    assert [cell.seeds for cell in cells_of(one)] == [(0,), (1,), (2,)]


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
    seeds = {s for one in NEURAL_FIGURES.values() for cell in cells_of(one) for s in cell.seeds}
    assert seeds.isdisjoint({1000, 1001, 1002})
