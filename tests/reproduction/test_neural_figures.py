"""Figures 6 and 12 as data, their record, and the judges of what the paper says about them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

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
from workbench.agents.step_limit import with_step_limit
from workbench.cli.reproduce_command import _show_figure
from workbench.console import plain_console
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.fields import FLOATS
from workbench.core.learners import OptionError
from workbench.deep.closed_loop import close_loop
from workbench.deep.settings import FADES, LIMITS
from workbench.memories import attach, parse_memory
from workbench.optima.embedding import smaller_families
from workbench.optima.history import belief_process
from workbench.optima.mdp import optimal
from workbench.reproduction.neural_cells import (
    RECORD,
    NeuralCell,
    append_cell,
    cells_by_memory,
    digest_of_settings,
    missing_cells,
    read_cells,
    runs_of,
)
from workbench.reproduction.neural_figures import (
    AT_RANDOM,
    BEST_VALUES,
    BETWEEN,
    COOKIE_PACE,
    KEYS_PACE,
    LSTM,
    NEURAL_FIGURES,
    REACHING,
    SEEDS,
    best_between,
    neural_figure,
    quick_figure,
)
from workbench.reproduction.neural_judge import (
    SENTENCES,
    Standing,
    differing_pairs,
    judge_neural,
    on_all_runs,
    table_rows,
    writing_lines,
)
from workbench.reproduction.neural_settings import (
    CANDIDATES,
    SEARCH_SEEDS,
    STEPS,
    SearchRow,
    found_settings,
    missing_runs,
    read_log,
    settings_text,
)
from workbench.reproduction.statistics import holm
from workbench.sufficiency.product_search import WriteSearch


def earned_at_random(P, task):
    """The exact reward of uniformly random actions in episodes cut off at the task's limit. It is
    per episode, or per 100 time steps in the hallway."""
    nA, n, limit, fade = len(P.A), len(P.S), LIMITS[task], FADES.get(task, 0.0)
    prob, rows = P.p.prob.floats / nA, P.p.row_ptr[::nA]
    back = csr_array((prob, P.p.s_next, rows), shape=(n, n)).T.tocsr()
    gained = csr_array((prob * P.p.r.floats, P.p.s_next, rows), shape=(n, n)).sum(axis=1)
    alive = ~P.terminal.mask
    at, total = P.mu.prob.floats, 0.0
    for t in range(1, limit + 1):
        at = np.where(alive, at, 0.0)
        total += (1 - fade * t / limit) * float(at @ np.asarray(gained).ravel())
        at = back @ at
    return total if not task.startswith("hallway") else 100 * total / limit


def cell_of(figure, memory, seed, final, area=None):
    """A cell whose seed earns this share of the best."""
    return NeuralCell(
        digest_of_settings(figure, memory),
        seed,
        figure.steps,
        1.0,
        final * figure.optimum,
        (final if area is None else area) * figure.optimum,
        (round(100 * final),) * 99 + (None,),
        (None,) * 9 + (0.25,),
        0.5 if figure.by_episode else None,
        None if figure.by_episode else 0.5,
        0.125,
    )


def cells_of(figure, **shares):
    """Cells whose seeds earn these shares of the best; memories not named earn nothing, with as
    many seeds as the first named one."""
    n = len(next(iter(shares.values())))
    return {
        memory: [
            cell_of(figure, memory, seed, x)
            for seed, x in zip(SEEDS, shares.get(memory, [0.0] * n), strict=False)
        ]
        for memory in figure.learners
    }


def verdicts(id, **shares):
    figure = neural_figure(id)
    return {
        one.sentence.id: one.verdict for one in judge_neural(figure, cells_of(figure, **shares))
    }


def spread(low, high, n=10):
    return np.linspace(low, high, n).tolist()


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
        names = {"none", *(f"{kind}{size}" for kind in ("K", "B", "O", "OA"))}
        assert set(one.learners) == names | ({LSTM} if id.startswith("fig6") else set())
        for name, learner in one.learners.items():
            kind = RecurrentPPO if name == LSTM else PPO
            assert type(learner) is (DDQN if id.startswith("fig12") else kind)
            assert one.steps % (100 * learner.quantum) == 0  # whole updates in a point of a curve
        assert set(one.statements) <= set(SENTENCES)
    with pytest.raises(UnknownLabel, match="fig6-cookie"):
        neural_figure("fig6")
    with pytest.raises(OptionError, match="found or paper, not 'tuned'"):
        neural_figure("fig6-doors", "tuned")


@pytest.mark.parametrize("settings", ["found", "paper"])
def test_every_run_of_every_figure_has_the_papers_limits(settings):
    for id in NEURAL_FIGURES:
        figure = neural_figure(id, settings)
        for learner in figure.learners.values():
            assert learner.max_episode_steps == LIMITS[figure.task]
            assert learner.fade == (0.9 if figure.task == "red_blue_doors" else 0)
    assert (LIMITS["memory_s7"], LIMITS["red_blue_doors"]) == (245, 1280)
    assert LIMITS["hallway_cookie"] == LIMITS["hallway_keys"] == 10_000


def test_the_papers_settings_of_a_figure():
    assert neural_figure("fig6-cookie", "paper").learners["O6"].hidden == (512,) * 4
    doors = neural_figure("fig6-doors", "paper").learners
    assert (doors["O3"].learning_rate, doors[LSTM].learning_rate) == (1e-5, 1e-5)
    assert neural_figure("fig6-memory", "paper").learners[LSTM].learning_rate == 1e-3
    assert neural_figure("fig12-doors", "paper").learners["O3"].gamma == 0.9


def test_the_seeds_of_the_figures_are_used_for_nothing_else():
    assert tuple(range(100, 130)) == SEEDS
    assert min(SEARCH_SEEDS) >= 1000
    assert set(quick_figure(neural_figure("fig6-doors")).seeds).isdisjoint(SEEDS)


def test_random_play_earns_by_step_in_the_hallway_and_by_episode_in_minigrid():
    cookie = earned_at_random(hallway_cookie(), "hallway_cookie")
    assert cookie == pytest.approx(AT_RANDOM["hallway_cookie"], abs=1e-6)
    pytest.importorskip("minigrid")
    P = TASKS["memory_s7"].make()
    memory = earned_at_random(P, "memory_s7")
    assert memory == pytest.approx(AT_RANDOM["memory_s7"], abs=1e-6)
    counted = with_step_limit(P, LIMITS["memory_s7"]).with_gamma(1)  # the count in the state
    assert memory == pytest.approx(float(evaluate(counted, uniform(counted)).value), abs=1e-9)


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
    assert best_between("red_blue_doors", "OA3")[0] >= best_between("red_blue_doors", "O3")[0]


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


# ---------------------------------------------------------------------- the search


def test_every_memory_is_tried_with_the_same_settings_seeds_and_steps():
    figure = NEURAL_FIGURES["fig6-doors"]
    tried = {memory: missing_runs("fig6-doors", memory, []) for memory in figure.learners}
    assert all(runs == tried["O3"] for runs in tried.values())
    assert len(tried["O3"]) == len(CANDIDATES["fig6-doors"]) * len(SEARCH_SEEDS)
    known = {(row.figure, row.memory, row.settings, row.seed, row.steps) for row in read_log()}
    assert len(known) == len(read_log())  # nothing was run twice
    for id, memory, settings, seed, steps in known:
        assert memory in NEURAL_FIGURES[id].learners
        assert seed in SEARCH_SEEDS
        if steps == STEPS[id]:  # others count for nothing
            assert settings in {settings_text(one) for one in CANDIDATES[id]}


def test_the_best_candidate_is_taken_once_all_were_tried():
    first, second, third = (settings_text(one) for one in CANDIDATES["fig6-doors"])
    scores = {first: (0.5, 0.2), second: (0.5, 0.3), third: (0.4, 0.9)}
    rows = [
        SearchRow("fig6-doors", memory, text, STEPS["fig6-doors"], seed, final, area)
        for text, (final, area) in scores.items()
        for memory in ("O3", "OA3")
        for seed in SEARCH_SEEDS
    ]
    candidates = CANDIDATES["fig6-doors"]
    assert found_settings("fig6-doors", ["O3"], rows) == candidates[1]  # by its area
    assert found_settings("fig6-doors", ["O3", "OA3"], rows[:-1]) is None
    assert found_settings("fig6-doors", ["O3"], rows[:-1]) == candidates[1]
    assert found_settings("fig6-doors", ["O3", LSTM], rows) is None
    shorter = [replace(row, steps=1_000_000) for row in rows]
    assert found_settings("fig6-doors", ["O3"], shorter) is None  # it ended before learning did
    rows[-2:] = [replace(row, final=0.9) for row in rows[-2:]]  # one memory is much better with it
    assert found_settings("fig6-doors", ["O3", "OA3"], rows) == candidates[2]


def test_a_memory_whose_search_is_not_finished_is_not_run():
    figure = replace(neural_figure("fig6-doors"), unfinished=("O3", LSTM))
    assert {memory for memory, _ in missing_cells(figure, [], 30)} == {"none", "K3", "B3", "OA3"}


# ---------------------------------------------------------------------- the rules


def test_on_all_runs_means_29_of_30_or_all_of_ten():
    assert on_all_runs([True] * 29 + [False], 30) == "supported"
    assert on_all_runs([True] * 28 + [False] * 2, 30) == "contradicted"
    assert on_all_runs([True] * 10, 30) == "supported"
    assert on_all_runs([True] * 9, 30) == "undecided"
    assert on_all_runs([True] * 19 + [False], 30) == "undecided"
    assert on_all_runs([False] * 2, 30) == "contradicted"  # 29 can no longer be reached


def test_holm_multiplies_the_least_p_by_the_number_of_tests_and_keeps_the_order():
    assert holm([0.01]) == [0.01]
    assert holm([0.02, 0.01, 0.5]) == pytest.approx([0.04, 0.03, 0.5])
    assert holm([0.4, 0.5]) == pytest.approx([0.8, 0.8])


def test_the_tests_are_those_of_textbooks():
    """Ten against ten without overlap: both p-values are 2 / C(20, 10)."""
    found = {
        "a": Standing(tuple(spread(0.9, 1.0)), (0.0,) * 10, 0.1),
        "b": Standing(tuple(spread(0.4, 0.5)), (0.0,) * 10, 0.1),
    }
    ranks, fisher = differing_pairs(found, [("a", "b")], "final")
    assert (ranks.winner, fisher.winner) == ("a", "a")
    assert ranks.p == pytest.approx(2 / 184_756)
    assert fisher.p == pytest.approx(2 / 184_756)
    assert differing_pairs(found, [("a", "b")], "area") == []
    with pytest.raises(ValueError, match="not 'luck'"):
        differing_pairs(found, [("a", "b")], "luck")


def test_the_hallway_is_solved_where_more_than_half_of_the_seeds_are():
    solved, lstm = "S6.hallway-solved", "S6.hallway-lstm"
    found = verdicts("fig6-cookie", O6=[0.9] * 10, OA6=[0.9] * 10)
    assert (found[solved], found[lstm]) == ("supported", "supported")
    assert verdicts("fig6-cookie", O6=[0.9] * 10, OA6=[0.5] * 10)[solved] == "contradicted"
    assert verdicts("fig6-cookie", O6=[0.9] * 9, OA6=[0.9] * 9)[solved] == "undecided"
    nobody = verdicts("fig6-cookie", O6=[0.0] * 10)
    assert nobody[solved].startswith("not learned")
    learns = verdicts("fig6-cookie", O6=[0.9] * 10, LSTM=[0.2] * 2 + [0.0] * 8)
    assert learns[lstm] == "contradicted"


def test_minigrid_s_best_are_better_than_each_other_memory():
    best, every = "S6.minigrid-best", "S6.minigrid-all"
    good = {"O3": spread(0.9, 1), "OA3": spread(0.85, 0.95)}
    low = {name: spread(0.3, 0.5) for name in ("none", "K3", "B3", LSTM)}
    found = verdicts("fig6-memory", **good, **low)
    assert (found[best], found[every]) == ("supported", "supported")
    found = verdicts("fig6-memory", **good, **low | {"K3": spread(0.96, 1)})
    assert found[best] == "contradicted"  # K3 is better than OA3
    found = verdicts("fig6-memory", **good | {"OA3": [0.9] * 8 + [0.5] * 2}, **low)
    assert found[every] == "contradicted"
    found = verdicts("fig6-memory", **good, **low | {"K3": spread(0.8, 1)})
    assert found[best] == "undecided"


def test_about_half_holds_one_half_and_neither_none_nor_all():
    half = "S6.minigrid-lstm"
    for good, verdict in ((5, "supported"), (10, "contradicted"), (0, "contradicted")):
        found = verdicts("fig6-memory", LSTM=[0.9] * good + [0.5] * (10 - good))
        assert found[half] == verdict
    assert verdicts("fig6-memory", LSTM=[0.9] * 9)[half] == "undecided"


def test_an_lstm_is_outperformed_at_the_end_or_on_the_way():
    low, high = spread(0.3, 0.5), spread(0.8, 1)
    for sentence in ("S1.efficient", "S7.outperform"):
        assert verdicts("fig6-memory", O3=high, OA3=high, LSTM=low)[sentence] == "supported"
        assert verdicts("fig6-memory", O3=high, OA3=low, LSTM=high)[sentence] == "contradicted"
        assert verdicts("fig6-memory", O3=high, OA3=low, LSTM=low)[sentence] == "undecided"
    figure = neural_figure("fig6-memory")
    cells = cells_of(figure, O3=low, OA3=low, LSTM=high)
    cells[LSTM] = [replace(cell, area=0.1) for cell in cells[LSTM]]
    found = {one.sentence.id: one.verdict for one in judge_neural(figure, cells)}
    assert (found["S1.efficient"], found["S7.outperform"]) == ("supported", "contradicted")


def test_runs_that_have_learned_nothing_win_no_comparison():
    """Each of the first is above each of the second, and all are below random play."""
    found = verdicts("fig6-memory", O3=spread(0.1, 0.2), OA3=spread(0.1, 0.2))
    assert found["S7.outperform"].startswith("not learned")
    found = verdicts("fig12-memory", none=spread(0.1, 0.2), O3=[0.4] + [0.0] * 9, OA3=[0.0] * 10)
    assert found["D6.td"] == "undecided"


def test_ddqn_is_judged_by_o_against_each_and_by_both_against_none():
    high, low = spread(0.6, 0.7), spread(0.1, 0.3)
    rest = {"none": low, "K3": low, "B3": low}
    found = verdicts("fig12-doors", **rest, O3=high, OA3=low)
    assert (found["D6.ddqn"], found["D6.td"]) == ("supported", "undecided")
    found = verdicts("fig12-doors", **rest, O3=high, OA3=spread(0.8, 0.9))
    assert (found["D6.ddqn"], found["D6.td"]) == ("contradicted", "supported")
    found = verdicts("fig12-doors", **rest | {"none": spread(0.8, 0.9)}, O3=high, OA3=high)
    assert found["D6.td"] == "contradicted"


def test_a_verdict_says_how_far_the_figure_is():
    figure = neural_figure("fig6-doors")
    cells = cells_of(figure, O3=[0.9] * 10) | {LSTM: []}
    (first, *_) = judge_neural(figure, cells)
    assert "0 to 10 of 30 seeds" in first.budget
    rows = {row[0]: row[1:] for row in table_rows(figure, cells)}
    assert rows["O3"][0] == "10"
    assert rows["O3"][2] == "100% (69% to 100%)"
    assert rows["O3"][3:] == ("0.250 0.250 0.250", "0.500 0.500 0.500")
    assert rows[LSTM] == ("0", "-", "-", "-", "-")


def test_a_pace_that_floats_do_not_tell_is_a_dash_and_the_table_says_why(tmp_path, capsys):
    figure, path = neural_figure("fig6-keys"), tmp_path / "neural_cells.jsonl"
    unknown = [replace(cell_of(figure, "none", seed, 0.0), pace=np.nan) for seed in (100, 101)]
    for cell in [*unknown, cell_of(figure, "B6", 100, 0.5)]:
        append_cell(figure, "none" if cell in unknown else "B6", cell, path)
    cells = cells_by_memory(figure, read_cells(path))
    rows = {row[0]: row[-1] for row in table_rows(figure, cells)}
    assert (rows["none"], rows["B6"]) == ("-", "0.500 0.500 0.500")
    _show_figure(plain_console(), figure, cells, tmp_path)
    told = " ".join(capsys.readouterr().out.split())
    assert "nan" not in told
    assert "-: not known. An LSTM needs the whole history" in told


# ---------------------------------------------------------------------- the record


def test_a_record_is_read_as_it_was_written(tmp_path):
    figure, path = neural_figure("fig6-doors"), tmp_path / "cells.jsonl"
    assert read_cells(path) == []
    written = [cell_of(figure, memory, seed, 0.5) for memory in ("O3", LSTM) for seed in (100, 101)]
    for cell, memory in zip(written, ("O3", "O3", LSTM, LSTM), strict=True):
        append_cell(figure, memory, cell, path)
    assert read_cells(path) == written
    assert path.read_text().count('"figure"') == 2  # the settings are told once
    found = cells_by_memory(figure, read_cells(path))
    assert {memory: len(own) for memory, own in found.items() if own} == {"O3": 2, LSTM: 2}
    with path.open("a") as file:
        file.write('{"cell": "half')
    with pytest.raises(
        WorkbenchError, match=r"cells.jsonl, line 7: '\{\"cell\": \"half' is no JSON"
    ):
        read_cells(path)


def test_a_figure_goes_on_with_what_is_missing_ten_seeds_of_each_memory_first():
    figure = replace(neural_figure("fig6-doors"), unfinished=())
    have = [cell_of(figure, "none", seed, 0.5) for seed in SEEDS[:10]]
    left = missing_cells(figure, have, 30)
    assert len(left) == 6 * 30 - 10
    assert left[:2] == [("K3", 100), ("B3", 100)]  # seed by seed, so that none falls behind
    assert left[49] == (LSTM, 109)  # the slow one after the others, then the other seeds likewise
    assert left[50] == ("none", 110)
    assert left[-20:] == [(LSTM, seed) for seed in SEEDS[10:]]
    other = replace(figure, steps=2 * figure.steps)  # cells of other settings are not of the figure
    assert len(missing_cells(other, have, 30)) == 6 * 30
    assert missing_cells(figure, have, 0) == []


def test_what_networks_write_is_told_in_words():
    figure = neural_figure("fig6-doors")
    one, two = cells_of(figure, O3=[0.5, 0.9])["O3"]
    one = replace(one, writes=0.1, ages=(1.0, 0.5, None), stored={"red door open": 1.0})
    two = replace(two, writes=0.3, ages=(0.0, 0.0, 0.25), stored={"no object": 1.0})
    (line,) = writing_lines({"none": [replace(one, writes=0.0)], "O3": [one, two], "LSTM": []})
    assert line == (
        "With O3 the memory changes in 20% of all time steps (in time steps 1, 2 to 3, 4 to 7, ... "
        "of an episode: 50%, 25%, 25%). Stored most: red door open (50%), no object (50%)."
    )


def test_cells_are_drawn_as_runs():
    figure = neural_figure("fig6-doors")
    runs = runs_of(figure, cells_of(figure, O3=[0.5, 0.75]) | {LSTM: []})
    assert LSTM not in runs
    assert runs["O3"].episodes.sum(axis=1).tolist() == [99, 99]  # none was over in the last point
    assert runs["O3"].rewards[1, 0] == 0.75
    assert runs["O3"].measured[:, -1].tolist() == [0.25, 0.25]
    hallway = neural_figure("fig6-cookie")
    run = runs_of(hallway, cells_of(hallway, O6=[0.5]))["O6"]
    assert run.per_100[0, 0] == pytest.approx(0.5 * COOKIE_PACE)


def test_a_recorded_network_has_what_a_memory_is_said_to_allow_at_least():
    """With whichever settings it was learned: the value is exact."""
    lines = [json.loads(line) for line in RECORD.read_text().splitlines()]
    about = {line["settings"]: line for line in lines if "settings" in line}
    best = {}
    for cell in read_cells():
        if about[cell.settings]["figure"] == "fig6-doors":
            memory = about[cell.settings]["memory"]
            known = [x for x in cell.values if x is not None]
            best[memory] = max([best.get(memory, 0), *known])
    for memory, (least, _) in BETWEEN["red_blue_doors"].items():
        assert best[memory] >= least


def test_no_recorded_policy_is_worth_more_than_its_memory_allows():
    cells = read_cells()
    for figure in NEURAL_FIGURES.values():
        for memory, own in cells_by_memory(figure, cells).items():
            most = best_between(figure.task, memory)[1] + 1e-5
            assert all(x is None or x <= most for cell in own for x in cell.values)
            assert all(cell.steps == figure.steps for cell in own)
            assert all(cell.success is None or cell.success <= 1 for cell in own)


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
