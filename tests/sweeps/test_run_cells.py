"""Cells in parallel: each computed once, kept, and equal to what the learner gives without
cells."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import pomdps
from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.improve import improve
from workbench.core.learners import QLearning, Sarsa
from workbench.core.policy import uniform
from workbench.executors.executor import make_executor
from workbench.learning.learn import learn
from workbench.reproduction.paper_figures import FIGURES
from workbench.sweeps import worker as working
from workbench.sweeps.cell import cells_of
from workbench.sweeps.display import describe, progress_display
from workbench.sweeps.experiment import OracleLoop, Panel
from workbench.sweeps.results import Results
from workbench.sweeps.run_cells import CellError, finish_cells, run_cells, run_experiment
from workbench.sweeps.store import Store

RECALL = FIGURES["fig3"].with_length(7, 2000, 300)
SARSA = replace(
    FIGURES["fig11"].with_length(2, 1000, 100),
    panels=tuple(Panel(f"Sarsa({lam})", Sarsa(lam=lam), ("none", "B1")) for lam in (0.0, 1.0)),
)


def find(name):
    return getattr(pomdps, name)()


@pytest.fixture
def computed(monkeypatch):
    """The cells that are computed from now on, as (learner, seeds)."""
    found = []
    compute = working.compute_learning

    def counting(E, learner, values, seeds, *rest):
        found.append((learner, E.name, seeds))
        return compute(E, learner, values, seeds, *rest)

    monkeypatch.setattr(working, "compute_learning", counting)
    return found


def test_an_experiment_gives_the_same_numbers_as_the_learner_itself(tmp_path):
    for store in (None, Store(tmp_path), Store(tmp_path)):
        results = run_experiment(RECALL, find, store)
        for memory in ("OA1", "B2"):
            run = learn(
                augment(pomdps.recall(), memory), QLearning(), steps=2000, seeds=7, every=300
            )
            found = results[QLearning(), memory]
            assert np.array_equal(found.per_100, run.per_100)
            assert np.array_equal(found.ends, run.ends)
            assert np.array_equal(found.measured, run.values(gamma=1))
            assert np.allclose(found.late(), run.late())


def test_the_oracle_loop_is_kept_with_its_end(tmp_path):
    for store in (Store(tmp_path), Store(tmp_path)):
        results = run_experiment(FIGURES["fig7"], find, store)
        E = augment(pomdps.recall4(), "B5")
        run = improve(E, uniform(E), step=0.02)
        found = results[OracleLoop(), "B5"]
        assert (found.value, found.ended) == (0.75, "fixed")
        shared = min(len(found.values), len(run.values))
        assert len(found.values) == 400
        assert np.allclose(found.values[:shared], run.values[:shared])


def test_finished_cells_are_never_computed_again(tmp_path, computed):
    first = run_experiment(RECALL, find, Store(tmp_path))
    assert len(computed) == 4  # two memories, seeds 0-4 and 5-6
    computed.clear()
    again = run_experiment(RECALL, find, Store(tmp_path))
    assert computed == []
    assert all(
        np.array_equal(first[pair].measured, again[pair].measured) for pair in first.outcomes
    )
    run_experiment(RECALL.with_length(12, 2000, 300), find, Store(tmp_path))
    assert sorted(seeds for _, _, seeds in computed) == [(5, 6, 7, 8, 9)] * 2 + [(10, 11)] * 2


def test_a_changed_setting_invalidates_its_own_cells_only(tmp_path, computed):
    run_experiment(SARSA, find, Store(tmp_path))
    assert len(computed) == 4
    computed.clear()
    changed = Sarsa(lam=1.0, step=0.2)
    panels = (SARSA.panels[0], replace(SARSA.panels[1], method=changed))
    run_experiment(replace(SARSA, panels=panels), find, Store(tmp_path))
    assert {learner for learner, _, _ in computed} == {changed}
    assert len(computed) == 2


def test_a_damaged_cell_is_computed_again_and_no_other(tmp_path, computed):
    whole = run_experiment(RECALL, find, Store(tmp_path))
    victim = sorted(tmp_path.glob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-10])
    computed.clear()
    store = Store(tmp_path)
    repaired = run_experiment(RECALL, find, store)
    assert len(computed) == len(store.set_aside) == 1
    assert all(
        np.array_equal(whole[pair].measured, repaired[pair].measured) for pair in whole.outcomes
    )


def test_an_interrupted_run_keeps_what_was_finished_and_continues(tmp_path, computed):
    cells = cells_of(RECALL)

    def interrupt(progress):
        if progress.cells_done >= 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), make_executor("threads", workers=1) as one:
        run_cells(cells, find, Store(tmp_path), one, report=interrupt)
    kept = len(list(tmp_path.glob("*.parquet")))
    assert 1 <= kept <= len(cells)
    assert not list(tmp_path.glob(".part-*"))
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith(("executor", "learn"))
    ]
    computed.clear()
    _, reused = run_cells(cells, find, Store(tmp_path))
    assert len(reused) == kept
    assert len(computed) == len(cells) - kept


def test_a_long_cell_stops_at_an_interruption_before_its_end(monkeypatch):
    finished = []
    compute = working.compute_learning

    def noting(*arguments):
        arrays = compute(*arguments)
        finished.append(arrays)
        return arrays

    def interrupt(progress):
        if progress.steps_done > 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(working, "compute_learning", noting)
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells_of(RECALL.with_length(1, 90_000_000, 90_000_000)), find, report=interrupt)
    assert finished == []


@pytest.fixture
def failing(monkeypatch):
    """The cells of seeds 5 and 6 with OA1 fail as long as there is something in the list that this
    returns: the error."""
    compute, errors = working.compute_learning, []

    def fail(E, learner, values, seeds, *rest):
        if errors and seeds == (5, 6) and E.name.endswith("OA1"):
            raise errors[0]
        return compute(E, learner, values, seeds, *rest)

    monkeypatch.setattr(working, "compute_learning", fail)
    return errors


def test_an_error_in_one_cell_costs_no_other_and_only_that_one_is_tried_again(
    tmp_path, failing, computed
):
    failing.append(WorkbenchError("this one fails"))
    cells = cells_of(RECALL)
    with pytest.raises(CellError) as caught:
        run_cells(cells, find, Store(tmp_path))
    (failed,) = caught.value.failed
    assert (failed.cell.memory, failed.cell.seeds) == ("OA1", (5, 6))
    assert len(list(tmp_path.glob("*.parquet"))) == len(cells) - 1
    assert str(caught.value).splitlines()[0] == "1 cell failed:"
    assert "recall with OA1, QLearning(epsilon=0.01" in str(caught.value)
    assert str(caught.value).endswith("steps: this one fails [seeds 5, 6]")
    failing.clear()
    computed.clear()
    outcomes, found = run_cells(cells, find, Store(tmp_path))
    assert len(outcomes) == len(cells)
    assert set(cells) - found == {failed.cell}
    assert len(computed) == 1


def test_an_error_that_nobody_foresaw_says_where_it_was(failing):
    failing.append(ZeroDivisionError("by nothing"))
    with pytest.raises(CellError, match=r"ZeroDivisionError: by nothing \(test_run_cells.py, line"):
        run_cells(cells_of(RECALL), find)


def test_a_memory_that_is_too_large_fails_alone(tmp_path):
    cells = cells_of(RECALL.with_length(2, 100, 10))
    large = replace(cells[0], memory="B60")
    done = list(finish_cells([*cells, large], find, Store(tmp_path)))
    assert [one.cell for one in done if one.failure is not None] == [large]
    assert len(done) == len(cells) + 1


def test_cells_that_figures_share_are_computed_once(computed):
    cells = cells_of(RECALL)
    run_cells(cells + cells, find)
    assert len(computed) == len(cells)


def test_progress_adds_up_and_is_shown(capsys, monkeypatch):
    monkeypatch.setattr("workbench.progress.PATIENCE", 0.0)
    seen = []
    run_cells(cells_of(RECALL), find, report=seen.append)
    last = seen[-1]
    assert (last.cells, last.cells_done, last.steps, last.steps_done) == (4, 4, 28_000, 28_000)
    assert "4 of 4 cells, 0 of 0 M steps" in describe(last, 1.0)
    with progress_display() as report:
        report(last)
    from rich.console import Console

    with progress_display(Console(force_terminal=True, width=80)) as report:
        report(last)
    assert "4 of 4 cells, 0 of 0 M steps" in capsys.readouterr().out


def test_the_numbers_are_tidy():
    frame = Results.of(RECALL, run_cells(cells_of(RECALL), find)[0]).to_frame()
    assert list(frame.columns) == [
        "panel",
        "memory",
        "seed",
        "step",
        "per_100",
        "reward",
        "episodes",
        "value",
    ]
    assert len(frame) == 2 * 7 * 7
    assert set(frame.value) <= {0.0, 1.0}
