"""The record of the full runs: what it holds can be made again, and a change in it is noticed."""

from dataclasses import replace

import numpy as np
import pytest

import pomdps
from proofs.ledger import load
from workbench import augment
from workbench.core.errors import WorkbenchError
from workbench.core.learners import QLearning, Sarsa
from workbench.learning.learn import learn
from workbench.reproduction import full_runs
from workbench.reproduction.full_runs import differing_runs, recorded_results, write_record
from workbench.reproduction.judge import STATEMENTS, experiment_for, judge
from workbench.reproduction.paper_figures import FIGURES, Reading, paper_actor_critic, quick
from workbench.reproduction.report import Section
from workbench.sweeps.experiment import GREEDY
from workbench.sweeps.results import Results
from workbench.sweeps.run_cells import run_experiment

LEARNED = [id for id, figure in FIGURES.items() if figure.length is not None]


def find(name):
    return getattr(pomdps, name)()


def made_again(figure, method, memory, seeds):
    experiment = FIGURES[figure]
    length = experiment.length
    run = learn(
        augment(find(experiment.task), memory),
        method,
        steps=length.steps,
        seeds=seeds,
        every=length.every,
    )
    if experiment.measure == GREEDY:
        run = run.with_values(run.values(gamma=1))
    return Results(experiment, {(method, memory): run})


@pytest.mark.parametrize(
    ("figure", "method", "memory", "seed"),
    [
        ("fig2", paper_actor_critic(5, Reading("batch", 1)), "O1", 29),
        ("fig4", paper_actor_critic(20, Reading("window", 1)), "B2", 5),
        ("fig3", QLearning(), "OA1", 11),
        ("fig11", Sarsa(lam=0.0), "OA1", 17),
    ],
    ids=str,
)
def test_a_run_made_again_is_the_recorded_one_and_no_other(figure, method, memory, seed):
    results = made_again(figure, method, memory, [seed])
    assert differing_runs(results, [seed]) == ()
    assert len(differing_runs(results, [seed - 1])) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "panel"),
    [(id, i) for id in LEARNED for i in range(len(FIGURES[id].panels))],
)
def test_every_recorded_run_can_be_made_again(figure, panel):
    one = FIGURES[figure].panels[panel]
    for memory in one.memories:
        assert differing_runs(made_again(figure, one.method, memory, 30)) == ()


@pytest.mark.parametrize("figure", LEARNED)
def test_the_panels_of_a_figure_are_all_that_is_recorded_of_it(figure):
    panels = {(panel.method, m) for panel in FIGURES[figure].panels for m in panel.memories}
    assert panels == set(recorded_results(figure).outcomes)


@pytest.mark.parametrize("figure", LEARNED)
def test_the_record_holds_every_pair_of_a_figure_with_all_seeds(figure):
    results = recorded_results(figure)
    assert set(results.outcomes) == set(FIGURES[figure].pairs)
    for outcome in results.outcomes.values():
        assert outcome.per_100.shape == (30, len(outcome.ends))
        assert outcome.ends[-1] == FIGURES[figure].length.steps
        assert len(np.unique(outcome.per_100, axis=0)) > 1  # seeds differ


def test_one_reward_more_is_noticed():
    results = recorded_results("fig3")
    assert differing_runs(results) == ()
    (pair, outcome), *_ = results.outcomes.items()
    for name in ("rewards", "measured"):
        array = getattr(outcome, name).copy()
        array[4, 7] += 1
        other = replace(outcome, **{name: array})
        assert len(differing_runs(Results(results.experiment, {pair: other}))) == 1


def test_what_is_written_is_read_again_and_what_cannot_be_kept_is_refused(tmp_path, monkeypatch):
    results = recorded_results("fig3")
    path = tmp_path / "record.npz"
    write_record([results], path)
    monkeypatch.setattr(full_runs, "RECORD", path)
    full_runs._entries.cache_clear()
    try:
        again = recorded_results("fig3")
        assert differing_runs(results) == ()
        for pair, outcome in results.outcomes.items():
            assert np.array_equal(again[pair].rewards, outcome.rewards)
            assert np.array_equal(again[pair].measured, outcome.measured)
        with pytest.raises(WorkbenchError, match="the record has no gravity; none; QLearning"):
            recorded_results("fig2")
    finally:
        monkeypatch.undo()
        full_runs._entries.cache_clear()
    (pair, outcome), *_ = results.outcomes.items()
    half = replace(outcome, rewards=outcome.rewards + 0.5)
    with pytest.raises(WorkbenchError, match="only whole numbers of rewards"):
        write_record([Results(results.experiment, {pair: half})], path)
    between = replace(outcome, measured=outcome.measured / 2)
    with pytest.raises(WorkbenchError, match="only values 0 and 1"):
        write_record([Results(results.experiment, {pair: between})], path)
    with pytest.raises(WorkbenchError, match="without random numbers"):
        recorded_results("fig7")


def test_what_the_full_runs_say():
    def verdicts(id):
        found = judge(id, recorded_results(experiment_for(id).id, judged=True))
        return {sentence: found.verdict_of(sentence) for sentence in found.sentences}

    gravity = verdicts("S4.fig-gravity")
    assert gravity["not solved consistently with B1"] == "supported"
    assert gravity["O1 outperforms B1 and K1"].startswith("supported (batch, V = 1); contradicted")
    (better,) = verdicts("S51.fig-better").values()
    assert better.startswith("supported (window, V = 0 / window, V = 1 / batch, V = 1)")
    assert set(verdicts("S5.fig-jumps").values()) == {"supported"}
    larger = verdicts("S51.fig-gravity2")
    assert larger["20-step is far superior to 5-step"] == "supported"
    assert "contradicted (batch, V = 1)" in larger["5-step performs better with larger memories"]


def test_judged_seeds_are_others_than_those_of_the_figure_and_can_be_made_again():
    pair = Sarsa(lam=0.5), "OA1"
    run = recorded_results("fig11", judged=True)[pair]
    assert len(run.rewards) == len(full_runs.JUDGED) == 100
    both = np.concatenate([run.rewards, recorded_results("fig11")[pair].rewards])
    assert len(np.unique(both, axis=0)) == 130
    again = made_again("fig11", *pair, [5077])
    assert differing_runs(again, [5077]) == ()
    assert len(differing_runs(again, [5078])) == 1


def test_the_report_of_full_runs_says_of_every_figure_what_the_ledger_says():
    """Results of the record are judged by its other seeds."""
    for id in LEARNED:
        judged = Section.of(recorded_results(id)).judgements
        for found in judged:
            assert found == judge(found.id, recorded_results(id, judged=True))
    assert judged[0].verdict == load()["D6.fig-sarsa"].documented == "supported"


def test_other_results_than_those_of_the_record_are_judged_by_their_own_seeds():
    results = recorded_results("fig11")
    pair = Sarsa(lam=0.5), "OA1"
    rewards = results[pair].rewards.copy()
    rewards[0, 0] += 1
    other = Results(
        results.experiment, {**results.outcomes, pair: replace(results[pair], rewards=rewards)}
    )
    judgement, *_ = Section.of(other).judgements
    assert judgement == judge("D6.fig-sarsa", other)


@pytest.mark.slow
@pytest.mark.parametrize("figure", LEARNED)
def test_every_judged_run_can_be_made_again(figure):
    for method, memory in recorded_results(figure, judged=True).outcomes:
        again = made_again(figure, method, memory, full_runs.JUDGED)
        assert differing_runs(again, full_runs.JUDGED) == ()


@pytest.mark.slow
@pytest.mark.parametrize("id", STATEMENTS)
def test_a_quick_run_does_not_contradict_the_record(id):
    experiment = experiment_for(id)
    if experiment.length is None:
        return
    short = judge(id, run_experiment(quick(experiment), find))
    full = judge(id, recorded_results(experiment.id))
    for under in short.readings:
        for sentence in short.sentences:
            word = short.verdict_under(under, sentence)
            assert word in ("supported", "undecided with 5 seeds")
            if word == "supported":
                assert full.verdict_under(under, sentence) != "contradicted"
