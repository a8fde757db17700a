"""Networks on the command line and in sweeps."""

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

pytest.importorskip("jax", reason="jax is not installed: pip install -e '.[deep]'")
pytest.importorskip("optax", reason="optax is not installed: pip install -e '.[deep]'")

from pomdps import TASKS
from workbench import PPO, MemoryPair
from workbench.cli.learn_command import learn_command
from workbench.deep import train as training
from workbench.sweeps.cell import Cell, code_version, fingerprint
from workbench.sweeps.experiment import FINAL, PER_100
from workbench.sweeps.run_cells import run_cells
from workbench.sweeps.store import Store
from workbench.sweeps.worker import products

command = typer.Typer(rich_markup_mode=None)
command.command()(learn_command)

SMALL = ("--hidden", "8", "--settings", "tuned", "--learner", "ppo")


def shown_by(*arguments):
    return CliRunner().invoke(command, list(arguments), env={"COLUMNS": "80"})


def test_a_network_learns_on_the_command_line():
    shown = shown_by("recall4", "-m", "OA1", *SMALL, "--steps", "4000", "--seeds", "2")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert "PPO, 8, on recall4" in shown.output
    (row,) = [line.replace("│", "").split() for line in lines if line.startswith("│")]
    assert float(row[-1]) <= 1.0


def test_a_product_too_large_to_multiply_out_is_learned_all_the_same():
    shown = shown_by("hallway_cookie", "-m", "O6", *SMALL, "--steps", "4000", "--seeds", "1")
    assert shown.exit_code == 0, shown.output
    (row,) = [line.split("│") for line in shown.output.splitlines() if line.startswith("│")]
    assert [part.strip() for part in row[1:4]] == ["O6", "-", "-"]


def test_ctrl_c_shows_what_is_there(monkeypatch):
    updates, calls = training.run_updates, []

    def stopped(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return updates(*arguments)

    monkeypatch.setattr(training, "run_updates", stopped)
    arguments = ("--steps", "20480", "--every", "2048", "--seeds", "1")
    shown = shown_by("recall4", "-m", "OA1", "-m", "B1", *SMALL, *arguments)
    assert shown.exit_code == 0, shown.output
    assert "Stopped after 4,096 steps" in shown.stderr
    rows = [line for line in shown.stdout.splitlines() if line.startswith("│")]
    assert len(rows) == 1  # the second memory was not begun
    assert "20,480 steps, OA1 stopped after 4,096." in " ".join(shown.stdout.split())


def test_cells_of_networks_are_stored_and_found_again(tmp_path):
    P = TASKS["recall4"].make()
    learner = PPO.tuned(hidden=(8,))
    cells = [Cell("recall4", "OA1", learner, FINAL, (seed,), 4096, 2048) for seed in range(2)]
    store = Store(tmp_path)
    computed, found = run_cells(cells[:1], lambda _: P, store)
    assert not found
    again, found = run_cells(cells, lambda _: P, store)
    assert found == {cells[0]}
    assert np.array_equal(again[cells[0]].rewards, computed[cells[0]].rewards)
    assert np.isfinite(again[cells[1]].measured[:, -1]).all()
    assert np.isnan(again[cells[1]].measured[:, 0]).all()


def test_the_version_of_a_network_s_cells_is_that_of_its_own_algorithm():
    from workbench import DDQN, QLearning

    versions = {
        code_version(learner, measure)
        for learner in (PPO(), DDQN(), QLearning())
        for measure in (PER_100, FINAL)
    }
    assert len(versions) == 6
    P = TASKS["hallway_cookie"].make()
    assert isinstance(products.take(P, fingerprint(P), "O6", PPO()), MemoryPair)
