"""Figures 6 and 12 as data, and the judges of what the paper says about them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from pomdps import hallway_cookie, hallway_keys
from pomdps.task import TASKS
from workbench import (
    DDQN,
    PPO,
    MemoryPair,
    Policy,
    RecurrentPPO,
    augment,
    evaluate,
    td_values,
    uniform,
)
from workbench.agents.beliefs import explore_beliefs
from workbench.core.errors import UnknownLabel
from workbench.core.fields import FLOATS
from workbench.deep.closed_loop import close_loop
from workbench.learning.run import Run
from workbench.memories import attach, parse_memory
from workbench.optima.embedding import smaller_families
from workbench.optima.history import belief_process
from workbench.optima.mdp import optimal
from workbench.reproduction import neural_record
from workbench.reproduction.neural_figures import (
    AT_RANDOM,
    BEST_VALUES,
    BETWEEN,
    COOKIE_PACE,
    KEYS_PACE,
    LSTM,
    NEURAL_FIGURES,
    REACHING,
    best_between,
    neural_figure,
)
from workbench.reproduction.neural_judge import (
    SENTENCES,
    Standing,
    earned,
    earned_at_random,
    judge_neural,
    runs_by_memory,
    standings,
    table_rows,
)
from workbench.reproduction.neural_record import read_neural_record, write_neural_record
from workbench.sufficiency.product_search import WriteSearch
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


def test_random_play_earns_by_step_in_the_hallway_and_by_episode_in_minigrid():
    cookie = earned_at_random(hallway_cookie(), "hallway_cookie")
    assert 100 / cookie == pytest.approx(3416.48, abs=0.01)
    assert cookie == pytest.approx(AT_RANDOM["hallway_cookie"], abs=1e-6)
    pytest.importorskip("minigrid")
    memory = earned_at_random(TASKS["memory_s7"].make(), "memory_s7")
    assert memory == pytest.approx(AT_RANDOM["memory_s7"])


@pytest.mark.slow
@pytest.mark.parametrize("task", ["hallway_keys", "red_blue_doors"])
def test_random_play_earns_as_much_in_the_larger_tasks(task):
    pytest.importorskip("minigrid")
    assert earned_at_random(TASKS[task].make(), task) == pytest.approx(AT_RANDOM[task], abs=1e-6)


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


def best_of_beliefs(P, memory):
    """A policy {(m, o): (a, w)} that takes a best action at each belief that it gets to."""
    attached, graph = attach(memory, P), explore_beliefs(P)
    M = belief_process(graph, FLOATS)
    best = optimal(M)
    q = M.q(best.v)
    good = best.allowed & (q >= best.v[:, None] - 1e-9)
    good[~best.alive] = False
    allowed = [set(np.flatnonzero(row)) for row in good]
    search = WriteSearch(graph, attached, allowed, interchangeable=attached.overwrites)
    return search.run(60_000, "a best policy").chosen


@pytest.mark.parametrize("task", [task for task in REACHING if REACHING[task]])
@pytest.mark.parametrize("memory", ["B3", "O1"])
def test_one_observation_and_three_bits_reach_the_best_by_history(task, memory):
    """All memories in REACHING can do what one of these two can (`optima.embedding`)."""
    pytest.importorskip("minigrid")
    P = TASKS[task].make()
    pair = MemoryPair(P, memory)
    nW = len(pair.memory.W)
    chosen = best_of_beliefs(P, memory)

    def choose(views):
        m = [pair.memory.M.index(pair.label(view)[0]) for view in views]
        # nothing is chosen at the end
        taken = [chosen.get((m, int(o)), (0, 0)) for m, o in zip(m, views[:, 0], strict=True)]
        return np.array([a * nW + w for a, w in taken])

    found = close_loop(pair, choose).value
    assert found == pytest.approx(BEST_VALUES[task]["best by history"], abs=1e-6)
    for larger in REACHING[task]:
        family = parse_memory(larger)
        assert family.name == "B3" or {"B3", "O1"} & {x.name for x in smaller_families(family)}


def test_what_the_best_with_a_memory_lies_between():
    for task, lines in BEST_VALUES.items():
        for memory in ("none", "K6", "B6", "O6", "OA6", LSTM):
            least, most = best_between(task, memory)
            assert 0 <= least <= most <= max(lines.values())
    without = BEST_VALUES["memory_s7"]["best without memory"]
    assert best_between("memory_s7", "none") == (without, without)
    assert best_between("memory_s7", LSTM) == best_between("memory_s7", "OA3")
    assert best_between("red_blue_doors", "B3") == (0.387521, 0.844265)
    record = read_neural_record()
    for id, memory in (("fig6-memory", "K3"), ("fig6-doors", "O3")):  # a network has it
        found = runs_by_memory(record[id])[memory].measured[:, -1].max()
        assert best_between(NEURAL_FIGURES[id].task, memory)[0] == pytest.approx(found, abs=1e-6)
    assert best_between("red_blue_doors", "OA3") == best_between("red_blue_doors", "O3")


@pytest.mark.slow
def test_searches_that_do_not_end_bound_the_best_without_memory():
    pytest.importorskip("minigrid")
    from workbench import best_memoryless

    for task in ("hallway_cookie", "red_blue_doors"):
        found = best_memoryless(augment(TASKS[task].make(), "none"), max_seconds=25)
        least, most = BETWEEN[task]["none"]
        assert float(found.value) <= most + 1e-6  # no search contradicts what another one found
        assert float(found.bound) >= least - 1e-6


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
    solved = "S6.hallway-solved"
    assert verdicts("fig6-cookie", O6=[0.9, 0.9], OA6=[0.8, 1.0])[solved] == "supported"
    assert verdicts("fig6-cookie", O6=[0.9, 0.79], OA6=[0.8, 1.0])[solved] == "undecided"


def test_an_lstm_is_no_better_than_at_random_where_others_solve_the_task():
    random = AT_RANDOM["hallway_cookie"] / COOKIE_PACE
    good, lstm = {"O6": [0.9, 0.9]}, "S6.hallway-lstm"
    assert verdicts("fig6-cookie", **good, LSTM=[random, 0.0])[lstm] == "supported"
    assert verdicts("fig6-cookie", LSTM=[random, 0.0])[lstm] == "undecided"  # nobody learns
    assert verdicts("fig6-cookie", **good, LSTM=[2 * random, 0.01])[lstm] == "undecided"
    assert verdicts("fig6-cookie", **good, LSTM=[0.1, 0.2])[lstm] == "contradicted"


def test_an_lstm_is_outperformed_by_runs_that_have_learned_something():
    for sentence in ("S1.efficient", "S7.outperform"):
        found = verdicts("fig6-memory", O3=[0.9, 0.8], OA3=[0.7, 0.9], LSTM=[0.5, 0.69])
        assert found[sentence] == "supported"
        found = verdicts("fig6-memory", O3=[0.9, 0.8], OA3=[0.7, 0.9], LSTM=[0.5, 0.71])
        assert found[sentence] == "undecided"
        found = verdicts("fig6-memory", O3=[0.6, 0.5], OA3=[0.6, 0.6], LSTM=[0.7, 0.9])
        assert found[sentence] == "contradicted"
        found = verdicts("fig6-memory", O3=[0.52, 0.51], OA3=[0.54, 0.54], LSTM=[0.5, 0.5])
        assert found[sentence] == "undecided"  # all are as good as random actions


def test_efficiency_is_judged_by_what_is_earned_over_the_whole_run():
    """In the end the LSTM is ahead; O and OA were for most of the time."""
    results = results_of("fig6-memory", {"none": [0.5], "O3": [0.8], "OA3": [0.8], LSTM: [0.0]})
    lstm = runs_by_memory(results)[LSTM]
    lstm.rewards.flags.writeable = True
    lstm.rewards[:, -1] = 0.9
    found = {one.sentence.id: one.verdict for one in judge_neural(results)}
    assert (found["S1.efficient"], found["S7.outperform"]) == ("supported", "contradicted")


def test_minigrid_is_decided_by_all_seeds_of_all_memories():
    best, lstm = "S6.minigrid-best", "S6.minigrid-lstm"
    good = {"O3": [0.9, 0.9], "OA3": [0.9, 0.9]}
    found = verdicts("fig6-memory", **good, LSTM=[0.9, 0.4])
    assert (found[best], found[lstm]) == ("supported", "supported")
    found = verdicts("fig6-memory", **good, LSTM=[0.9, 0.9])
    assert (found[best], found[lstm]) == ("undecided", "undecided")
    assert verdicts("fig6-memory", **good, K3=[0.9, 0.9])[best] == "undecided"
    assert verdicts("fig6-memory", O3=[0.1, 0.2], OA3=[1, 1], K3=[0.9, 0.9])[best] == "contradicted"


def test_a_figure_without_the_lstm_s_runs_decides_nothing_about_it(tmp_path, monkeypatch):
    results = results_of("fig6-memory", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    ppo_only = replace(results.experiment, panels=results.experiment.panels[:1])
    kept = Results(ppo_only, results.outcomes)
    assert {one.sentence.id: one.verdict for one in judge_neural(kept)}["S6.minigrid-lstm"] == (
        "undecided"
    )
    monkeypatch.setattr(neural_record, "NEURAL_RECORD", tmp_path / "runs.npz")
    write_neural_record([kept], {})
    assert read_neural_record()["fig6-memory"].experiment == ppo_only


def test_ddqn_is_decided_where_the_worst_beats_the_best():
    decided, good = "D6.ddqn", {"O3": [0.5, 0.4]}
    assert verdicts("fig12-cookie", **good, K3=[0.3, 0.39])[decided] == "supported"
    assert verdicts("fig12-cookie", **good, K3=[0.3, 0.41])[decided] == "undecided"
    assert verdicts("fig12-cookie", **good, OA3=[0.3, 0.41])[decided] == "undecided"
    assert verdicts("fig12-cookie", O3=[0.05, 0.06], K3=[0.3, 0.2])[decided] == "contradicted"
    assert verdicts("fig12-cookie", none=[0, 0], O3=[0.05, 0.06])[decided] == "undecided"


def test_ddqn_takes_advantage_of_memories_with_which_it_beats_all_runs_without():
    used = "D6.td"
    assert verdicts("fig12-doors", O3=[0.5, 0.6], OA3=[0.9, 0.9])[used] == "supported"
    assert verdicts("fig12-doors", O3=[0.1, 0.9], OA3=[0.9, 0.9])[used] == "undecided"
    found = verdicts("fig12-doors", none=[0.5, 0.5], O3=[0.4, 0.3], OA3=[0.4, 0.4])
    assert found[used] == "contradicted"


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
    assert Standing.of(never, NEURAL_FIGURES["fig6-memory"]).best == 0  # it earns nothing


def test_a_record_is_read_as_it_was_written(tmp_path, monkeypatch):
    monkeypatch.setattr(neural_record, "NEURAL_RECORD", tmp_path / "runs.npz")
    results = results_of("fig12-cookie", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    write_neural_record([results], {"jax": "1"})
    (read,) = read_neural_record().values()
    assert read.experiment == results.experiment
    assert table_rows(read) == table_rows(results)
    assert [v.verdict for v in judge_neural(read)] == [v.verdict for v in judge_neural(results)]


@pytest.mark.slow
def test_bootstrapping_misleads_on_red_blue_doors():
    """What the docs say of DDQN: greedy in the exact values of random play, and of TD's."""
    pytest.importorskip("minigrid")
    P = TASKS["red_blue_doors"].make()
    worth = []
    for q in (evaluate(P, uniform(P)).q, td_values(P, uniform(P)).q):
        greedy = {o: max(P.A, key=lambda a: -1 if np.isnan(q[o, a]) else q[o, a]) for o in P.O}
        worth.append(float(evaluate(P, Policy.deterministic(P, greedy)).value))
    assert worth == pytest.approx([0.079437, 0], abs=1e-6)


def test_a_figure_is_put_into_the_record_beside_the_others_and_in_place_of_itself(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(neural_record, "NEURAL_RECORD", tmp_path / "runs.npz")
    first = results_of("fig12-cookie", {"none": [0.5, 0.5], "O3": [1.0, 0.5]})
    write_neural_record([first], {"jax": "1"})
    write_neural_record([results_of("fig6-memory", {"none": [0.5], "O3": [1.0]})], {"jax": "2"})
    write_neural_record([results_of("fig12-cookie", {"none": [0.5], "O3": [0.75]})], {"jax": "2"})
    record = read_neural_record()
    assert list(record) == ["fig6-memory", "fig12-cookie"]  # in the order of the figures
    assert [row[2:] for row in table_rows(record["fig12-cookie"])][3] == ("0%", "0.750", "1 of 1")
    with np.load(tmp_path / "runs.npz") as file:
        about = json.loads(str(file["about"]))["figures"]
    assert {one["versions"]["jax"] for one in about.values()} == {"2"}


def test_the_record_is_of_the_figures_as_they_are():
    with np.load(neural_record.NEURAL_RECORD) as file:
        about = json.loads(str(file["about"]))["figures"]
    record = read_neural_record()
    assert list(record) == list(about) == [id for id in NEURAL_FIGURES if id in record]
    assert set(NEURAL_FIGURES) == set(record)
    for id, results in record.items():
        assert results.experiment == neural_figure(id, quick=True)
        for run in runs_by_memory(results).values():
            assert run.seeds == (0, 1, 2)
            assert run.steps in (600_000, 600_064)  # whole updates
        methods = [panel.method.settings() for panel in results.experiment.panels]
        assert about[id]["methods"] == methods
        assert set(about[id]["versions"]) == {"python", "jax", "jaxlib", "optax", "numpy"}


def test_no_recorded_policy_is_worth_more_than_its_memory_allows():
    for results in read_neural_record().values():
        task = results.experiment.task
        for memory, run in runs_by_memory(results).items():
            values = run.measured[:, -1]
            assert (values[np.isfinite(values)] <= best_between(task, memory)[1] + 1e-6).all()


def test_what_the_docs_say_about_the_record():
    results = read_neural_record()["fig6-memory"]
    # no network without memory is above the best of them, and no network above the best of all
    lines = BEST_VALUES["memory_s7"]
    values = {name: run.measured[:, -1] for name, run in runs_by_memory(results).items()}
    assert max(values["none"]) == pytest.approx(lines["best without memory"], abs=1e-6)
    assert np.nanmax(np.concatenate(list(values.values()))) < lines["best by history"]
    assert max(values["K3"]) > lines["best without memory"] + 0.3  # one of them remembers
    assert standings(results)[LSTM].solved == pytest.approx(2 / 3)
    at_random = 600_000 * earned_at_random(hallway_cookie(), "hallway_cookie") / 100
    for id in ("fig6-cookie", "fig12-cookie"):
        for run in runs_by_memory(read_neural_record()[id]).values():
            assert run.rewards.sum(axis=1).max() < at_random  # learning makes cookies rarer
