"""Without the extra `deep` everything else works, and what needs it says so."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pomdps import recall4
from workbench import PPO, augment, learn
from workbench.cli.main import app
from workbench.extras import MissingExtra
from workbench.sweeps.cell import cells_of
from workbench.sweeps.experiment import PER_100, Experiment, Length, Panel
from workbench.sweeps.spec import SpecError, parse_spec
from workbench.sweeps.worker import batched

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


def test_a_sweep_takes_sets_of_settings_by_name():
    text = SPEC.replace("learning_rate = 0.001", 'settings = ["tuned", "paper"]')
    methods = [cell.method for cell in parse_spec(text, lambda name: None).cells[::3]]
    widths = ((8, 8), (16,))
    assert methods == [make(hidden=hidden) for make in (PPO.tuned, PPO) for hidden in widths]
    with pytest.raises(SpecError, match=r'grid.settings = "doors".*paper or hallway or tuned'):
        parse_spec(text.replace("tuned", "doors"), lambda name: None)
    both = text.replace('"ppo"', '["qlearning", "ppo"]').replace('hidden = ["8,8", "16"]', "")
    with pytest.raises(SpecError, match=r'grid.settings = "tuned".*qlearning is no network'):
        parse_spec(both, lambda name: None)


def test_each_seed_of_a_network_is_kept_as_soon_as_it_is_finished():
    panels = (Panel("", PPO.tuned(), ("none", "O1")),)
    one = Experiment("x", "", "", "recall4", panels, 1, PER_100, 1.0, (), Length(9, 100, 10))
    assert [len(batch) for batch in batched(cells_of(one), workers=1)] == [1] * 18
