"""Networks on the command line and in sweeps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

pytest.importorskip("jax", reason="jax is not installed: pip install -e '.[deep]'")
pytest.importorskip("optax", reason="optax is not installed: pip install -e '.[deep]'")

from pomdps import TASKS
from workbench import DDQN, PPO, MemoryPair, RecurrentPPO, augment, learn, load_run
from workbench.cli.learn_command import learn_command
from workbench.cli.reproduce_command import reproduce_command
from workbench.core.errors import TooLarge
from workbench.deep import train as training
from workbench.deep.settings import neural_by_name
from workbench.learning import sampling
from workbench.reproduction.neural_cells import cells_by_memory, read_cells
from workbench.reproduction.neural_figures import neural_figure
from workbench.sweeps.cell import Cell, fingerprint
from workbench.sweeps.experiment import FINAL, PER_100
from workbench.sweeps.run_cells import CellError, run_cells
from workbench.sweeps.store import Store
from workbench.sweeps.worker import product_of

command = typer.Typer(rich_markup_mode=None)
command.command()(learn_command)

SMALL = ("--hidden", "8", "--settings", "tuned", "--learner", "ppo")


def shown_by(*arguments):
    return CliRunner().invoke(command, list(arguments), env={"COLUMNS": "80"})


def rows_of(text):
    """The rows of the sheet, between its rule and the line that is empty."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("──")) + 1
    return [line.split() for line in lines[start : lines.index("", start)]]


def test_a_network_learns_on_the_command_line():
    shown = shown_by("recall4", "-m", "OA1", *SMALL, "--steps", "4000", "--seeds", "2")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert "PPO, 8, on recall4" in shown.output
    (row,) = rows_of(shown.output)
    assert float(row[5]) <= float(row[6]) == 1.0
    assert "nan" not in shown.output


@pytest.mark.parametrize(
    "values", ["--no-values", pytest.param("--values", marks=pytest.mark.slow)]
)
def test_a_product_too_large_to_multiply_out_is_learned_all_the_same(values):
    """With values the greedy policy is followed to up to 200,000 places."""
    shown = shown_by("cookie", "-m", "O6", *SMALL, "--steps", "2048", "--seeds", "1", values)
    assert shown.exit_code == 0, shown.output
    (row,) = rows_of(shown.output)
    assert row[0] == "O6"
    assert (row[5] == "-") == (values == "--no-values")
    assert row[6] == "-"  # nobody looks for the best policy of so many states
    assert "reward per 100 time steps" in " ".join(shown.output.split())  # it never ends


def test_ctrl_c_shows_and_keeps_what_is_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
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
    assert len(rows_of(shown.stdout)) == 1  # the second memory was not begun
    assert "1 seed of 4,096 steps." in shown.stdout
    assert "--resume networks goes on" in shown.stderr
    monkeypatch.setattr(training, "run_updates", updates)
    shown = shown_by("recall4", "-m", "OA1", *SMALL, *arguments, "--resume", "networks")
    assert shown.exit_code == 0, shown.output
    E = augment(TASKS["recall4"].make(), "OA1")
    gone_on = load_run(Path("networks/OA1.npz"), E)
    whole = learn(E, gone_on.learner, steps=20_480, seeds=1, every=2_048)
    assert np.array_equal(gone_on.rewards, whole.rewards)  # as if it had not been stopped
    assert np.array_equal(gone_on.tables["h"], whole.tables["h"])


def test_the_paper_s_settings_are_those_of_the_task():
    assert neural_by_name("ppo", "paper", "hallway_cookie") == PPO.hallway(max_episode_steps=10_000)
    assert neural_by_name("ddqn", "paper", "red_blue_doors").gamma == 0.9
    assert neural_by_name("ppo", "tuned", "memory_s7").max_episode_steps == 245
    assert neural_by_name("ppo", "paper", "recall4") == PPO()


def test_in_the_hallway_tuned_ppo_looks_further_ahead():
    for name, gamma in (("ppo", 0.999), ("lstm-ppo", 0.999), ("ddqn", None)):
        assert neural_by_name(name, "tuned", "hallway_keys").gamma == gamma
    assert neural_by_name("ppo", "tuned", "hallway_cookie", gamma=0.9).gamma == 0.9
    assert neural_by_name("ppo", "tuned", "memory_s7").gamma is None


def test_save_is_for_networks():
    shown = shown_by("recall4", "--save", "somewhere")
    assert "--save is for networks" in str(shown.exception)


WILD = ("--learner", "ddqn", "--settings", "tuned", "--hidden", "8", "--learning-rate", "1e38")


def test_a_network_that_diverges_later_shows_what_was_there():
    """DDQN begins to learn after 1,000 steps, and this one is infinite two updates later."""
    shown = shown_by("recall4", "-m", "OA1", *WILD, "--steps", "4096", "--seeds", "1")
    assert shown.exit_code == 0, shown.output
    assert "weights of DDQN on recall4×OA1 are no longer finite (seed 0" in shown.stderr
    (row,) = rows_of(shown.stdout)
    assert row[0] == "OA1"
    assert "1 seed of 1,008 steps." in shown.stdout


def test_a_cell_that_diverges_is_named_with_its_settings(tmp_path):
    wild = DDQN.tuned(hidden=(8,), learning_rate=1e38)
    cell = Cell("recall4", "OA1", wild, PER_100, (0,), 2048, 512)
    with pytest.raises(CellError, match=r"(?s)1 cell failed.*learning_rate=1e\+38.*longer finite"):
        run_cells([cell], lambda _: TASKS["recall4"].make(), Store(tmp_path))


def test_a_network_too_large_for_memory_is_refused_on_the_command_line(monkeypatch):
    monkeypatch.setattr(sampling, "free_bytes", lambda: 10**9)
    wide = ("--learner", "ppo", "--hidden", "10000,10000")
    shown = shown_by("recall4", "-m", "OA1", *wide, "--seeds", "2")
    assert isinstance(shown.exception, TooLarge)
    assert "networks of 2 seeds" in str(shown.exception)


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


def test_a_network_takes_a_pair_where_the_product_is_too_large():
    P = TASKS["hallway_cookie"].make()
    assert isinstance(product_of(P, fingerprint(P), "O6", PPO()), MemoryPair)


reproduce = typer.Typer(rich_markup_mode=None)
reproduce.command()(reproduce_command)


@pytest.mark.slow
def test_a_figure_runs_what_is_missing_and_shows_what_is_stored(tmp_path, monkeypatch):
    """A figure of two small networks on the smaller MiniGrid task, two seeds, then a third."""
    pytest.importorskip("minigrid")
    tiny = {"hidden": (8,), "n": 16, "environments": 16, "max_episode_steps": 245}
    figure = replace(
        neural_figure("fig6-memory"),
        learners={
            **{name: PPO(**tiny) for name in ("none", "O3")},
            "LSTM": RecurrentPPO(cells=8, **tiny),
        },
        steps=25_600,
        statements=("S6.minigrid-lstm",),
        unfinished=(),
    )
    monkeypatch.setattr(
        "workbench.reproduction.neural_figures.neural_figure", lambda *given: figure
    )
    arguments = ["fig6-memory", "--out", str(tmp_path), "--workers", "1", "--seeds"]
    for seeds in (["1", "-m", "O3"], ["1"], ["2"], ["0"]):
        shown = CliRunner().invoke(reproduce, [*arguments, *seeds], env={"COLUMNS": "100"})
        assert shown.exit_code == 0, shown.output
        if "O3" in seeds:
            assert len(read_cells(tmp_path / "neural_cells.jsonl")) == 1
    cells = read_cells(tmp_path / "neural_cells.jsonl")
    assert sorted(cell.seed for cell in cells) == [100] * 3 + [101] * 3  # none was run twice
    words = " ".join(shown.output.split())
    assert "best reward per episode is 1.000; at random it is 0.229" in words
    assert "undecided: In MiniGrid about half of the LSTM's runs" in words
    assert "2 of 30 seeds" in words
    assert (tmp_path / "fig6-memory.png").stat().st_size > 10_000
    known = {len([x for x in cell.values if x is not None]) for cell in cells}
    assert known == {0, 10}  # the LSTM's depend on the history
    whole = learn(
        MemoryPair(TASKS["memory_s7"].make(), "O3"),
        figure.learners["O3"],
        steps=25_600,
        seeds=[101],
    )
    own = next(x for x in cells_by_memory(figure, cells)["O3"] if x.seed == 101)
    assert own.values[-1] == pytest.approx(float(whole.final_values()[0]), abs=1e-5)
    late = whole.rewards[0, -10:].sum() / whole.episodes[0, -10:].sum()
    assert own.final == pytest.approx(late, abs=1e-5)  # cut into tenths, and not


def test_a_memory_that_a_figure_has_not_is_refused(tmp_path):
    arguments = ["fig6-memory", "--seeds", "1", "-m", "O9", "--out", str(tmp_path)]
    told = str(CliRunner().invoke(reproduce, arguments).exception)
    assert told == "fig6-memory has none, K3, B3, O3, OA3, LSTM, and no memory 'O9'"


def test_a_quick_look_is_not_recorded(tmp_path):
    arguments = ["fig6-memory", "--quick", "--record", "--out", str(tmp_path)]
    assert "not with --quick" in str(CliRunner().invoke(reproduce, arguments).exception)
