"""Figures 6 and 12 as data, and the judges of what the paper says about them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pomdps import hallway_cookie, hallway_keys
from pomdps.task import TASKS
from workbench import DDQN, PPO, RecurrentPPO
from workbench.errors import UnknownLabel
from workbench.learning.run import Run
from workbench.reproduction import neural_figures
from workbench.reproduction.neural_figures import (
    BEST_VALUES,
    COOKIE_PACE,
    KEYS_PACE,
    LSTM,
    NEURAL_FIGURES,
    SENTENCES,
    Standing,
    earned,
    judge_neural,
    neural_figure,
    read_neural_record,
    runs_by_memory,
    table_rows,
    write_neural_record,
)
from workbench.sweeps.cell import cells_of
from workbench.sweeps.experiment import Length
from workbench.sweeps.results import Results


def results_of(id, shares):
    """The figure's results, if the runs of each memory earn these shares of the best."""
    experiment = replace(NEURAL_FIGURES[id], length=Length(len(shares["none"]), 1000, 100))
    outcomes = {}
    for panel in experiment.panels:
        for memory in panel.memories:
            name = LSTM if isinstance(panel.method, RecurrentPPO) else memory
            late = np.array(shares.get(name, [0.0] * len(shares["none"])))
            rewards = np.repeat(late[:, None] * experiment.optimum, 10, axis=1)  # of 100 steps
            measured = np.full(rewards.shape, np.nan)
            measured[:, -1] = late
            run = Run.from_rewards(rewards, every=100, measured=measured)
            episodes = np.ones(rewards.shape, dtype=np.int64)
            outcomes[panel.method, memory] = replace(run, episodes=episodes)
    return Results(experiment, outcomes)


def verdicts(id, **shares):
    shares.setdefault("none", [0.1, 0.1])
    return {one.sentence.id: one.verdict for one in judge_neural(results_of(id, shares))}


def test_the_figures_have_the_memories_of_the_paper():
    assert {one.task for one in NEURAL_FIGURES.values()} == {
        "hallway_cookie",
        "hallway_keys",
        "red_blue_doors",
        "memory_s7",
    }
    for id, one in NEURAL_FIGURES.items():
        assert one.task in TASKS
        size = "6" if id in ("fig6-cookie", "fig6-keys") else "3"
        names = {memory for panel in one.panels for memory in panel.memories}
        assert names == {"none", *(f"{kind}{size}" for kind in ("K", "B", "O", "OA"))}
        kinds = {type(panel.method) for panel in one.panels}
        assert kinds == ({DDQN} if id.startswith("fig12") else {PPO, RecurrentPPO})
        assert set(one.statements) <= set(SENTENCES)
        assert {len(cell.seeds) for cell in cells_of(one)} == {1}  # each seed is kept by itself
    with pytest.raises(UnknownLabel, match="fig6-cookie"):
        neural_figure("fig6")


def test_the_best_rewards_are_those_of_the_tasks():
    assert pytest.approx(100 / TASKS["hallway_cookie"].known["steps per cookie"]) == COOKIE_PACE
    assert pytest.approx(100 / TASKS["hallway_keys"].known["steps per coffee"]) == KEYS_PACE
    assert hallway_cookie().name == "hallway_cookie"
    assert hallway_keys().name == "hallway_keys"


def test_the_best_values_are_those_of_the_tasks():
    assert set(BEST_VALUES) == {one.task for one in NEURAL_FIGURES.values()}
    for task in ("hallway_cookie", "hallway_keys", "memory_s7"):
        best = BEST_VALUES[task]["best by history"]
        assert best == pytest.approx(TASKS[task].known["best"], abs=1e-6)
        assert BEST_VALUES[task].get("best without memory", 0) < best


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hallway_keys", "memory_s7"])
def test_the_best_values_without_memory_are_computed(task):
    pytest.importorskip("minigrid")
    from workbench import best_memoryless

    found = best_memoryless(TASKS[task].make())
    assert float(found.value) == pytest.approx(BEST_VALUES[task]["best without memory"], abs=1e-6)


@pytest.mark.slow
def test_memory_s7_is_always_solved_by_a_policy_that_remembers():
    pytest.importorskip("minigrid")
    from pomdps import memory_s7
    from workbench import best_history

    nearly = Fraction(99_999, 100_000)  # 1 - V = (1 - gamma) E[T - 1] up to squares
    value = best_history(memory_s7().with_gamma(nearly)).value
    assert float((1 - value) / (1 - nearly)) + 1 == pytest.approx(8.25, abs=1e-3)


def test_the_hallway_is_decided_by_runs_that_are_solved_only():
    lstm, solved = "S6.hallway-lstm", "S6.hallway-solved"
    found = verdicts("fig6-cookie", O6=[0.9, 0.9], OA6=[0.8, 1.0], LSTM=[0.01, 0.0])
    assert found == {lstm: "undecided", solved: "supported"}
    found = verdicts("fig6-cookie", O6=[0.9, 0.79], OA6=[0.8, 1.0], LSTM=[0.01, 0.9])
    assert found == {lstm: "contradicted", solved: "undecided"}


def test_minigrid_is_decided_by_all_seeds_of_all_memories():
    best, lstm = "S6.minigrid-best", "S6.minigrid-lstm"
    good = {"O3": [0.9, 0.9], "OA3": [0.9, 0.9]}
    assert verdicts("fig6-memory", **good, LSTM=[0.9, 0.4]) == {
        best: "supported",
        lstm: "supported",
    }
    assert verdicts("fig6-memory", **good, LSTM=[0.9, 0.9]) == {
        best: "undecided",
        lstm: "undecided",
    }
    assert verdicts("fig6-memory", **good, K3=[0.9, 0.9])[best] == "undecided"
    assert verdicts("fig6-memory", O3=[0.1, 0.2], OA3=[1, 1], K3=[0.9, 0.9])[best] == "contradicted"


def test_a_figure_without_the_lstm_s_runs_decides_nothing_about_it(tmp_path, monkeypatch):
    results = results_of("fig6-memory", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    ppo_only = replace(results.experiment, panels=results.experiment.panels[:1])
    kept = Results(ppo_only, results.outcomes)
    assert {one.sentence.id: one.verdict for one in judge_neural(kept)}["S6.minigrid-lstm"] == (
        "undecided"
    )
    monkeypatch.setattr(neural_figures, "NEURAL_RECORD", tmp_path / "runs.npz")
    write_neural_record([kept], {})
    assert read_neural_record()["fig6-memory"].experiment == ppo_only


def test_ddqn_is_decided_where_the_worst_beats_the_best():
    assert verdicts("fig12-cookie", O3=[0.5, 0.4], K3=[0.3, 0.39])["D6.ddqn"] == "supported"
    assert verdicts("fig12-cookie", O3=[0.5, 0.4], K3=[0.3, 0.41])["D6.ddqn"] == "undecided"
    assert verdicts("fig12-cookie", O3=[0.05, 0.06], K3=[0.3, 0.2])["D6.ddqn"] == "contradicted"


def test_rows_show_rewards_solved_seeds_and_exact_values():
    results = results_of("fig6-memory", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    rows = {row[0]: row[1:] for row in table_rows(results)}
    assert set(rows) == {"none", "K3", "B3", "O3", "OA3", LSTM}
    assert rows["O3"][1:] == ("50%", "1.000 0.500", "2 of 2")
    assert Standing.of(runs_by_memory(results)["O3"], results.experiment).worst == 0.5


def test_minigrid_counts_by_episode_and_the_hallway_by_step():
    """A quick guess earns more per step than a detour that is sure, and half as much per
    episode."""
    rewards, episodes = np.full((1, 10), 4.0), np.full((1, 10), 8, dtype=np.int64)
    run = replace(Run.from_rewards(rewards, every=100), episodes=episodes)
    assert earned(run, NEURAL_FIGURES["fig6-memory"]).tolist() == [0.5]
    assert earned(run, NEURAL_FIGURES["fig6-cookie"]).tolist() == [4.0]
    never = replace(run, episodes=0 * episodes, rewards=0 * rewards)
    assert np.isnan(earned(never, NEURAL_FIGURES["fig6-memory"])).all()
    assert Standing.of(never, NEURAL_FIGURES["fig6-memory"]).solved == 0


def test_a_record_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(neural_figures, "NEURAL_RECORD", tmp_path / "runs.npz")
    results = results_of("fig12-cookie", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    write_neural_record([results], {"jax": "1"})
    (read,) = read_neural_record().values()
    assert read.experiment == results.experiment
    assert table_rows(read) == table_rows(results)
    assert [v.verdict for v in judge_neural(read)] == [v.verdict for v in judge_neural(results)]


def test_the_record_is_of_the_figures_as_they_are():
    results = read_neural_record()["fig6-memory"]
    assert results.experiment == neural_figure("fig6-memory", quick=True)
    for run in runs_by_memory(results).values():
        assert run.seeds == (0, 1, 2)
        assert run.steps == 600_064  # whole updates
    with np.load(neural_figures.NEURAL_RECORD) as file:
        about = json.loads(str(file["about"]))
    methods = [panel.method.settings() for panel in results.experiment.panels]
    assert about["figures"]["fig6-memory"]["methods"] == methods
    assert set(about["versions"]) == {"python", "jax", "jaxlib", "optax", "numpy"}
    # no network without memory is above the best of them, and no network above the best of all
    lines = BEST_VALUES["memory_s7"]
    values = {name: run.measured[:, -1] for name, run in runs_by_memory(results).items()}
    assert max(values["none"]) == pytest.approx(lines["best without memory"], abs=1e-6)
    assert np.nanmax(np.concatenate(list(values.values()))) < lines["best by history"]
    assert max(values["K3"]) > lines["best without memory"] + 0.3  # one of them remembers
