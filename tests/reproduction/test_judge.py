"""Judging: statements that hold in the data are supported, and those that do not are not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import pomdps
from workbench.core.errors import UnknownLabel
from workbench.core.learners import Sarsa
from workbench.learning.run import Run
from workbench.reproduction.judge import (
    STATEMENTS,
    Finding,
    Judgement,
    establish,
    experiment_for,
    judge,
    switches,
    unsteadiness,
)
from workbench.reproduction.paper_figures import (
    FIGURES,
    READINGS,
    Reading,
    paper_actor_critic,
    with_readings,
)
from workbench.reproduction.statistics import ahead, difference, exactly, share, which_hold
from workbench.sweeps.compute import LoopValues
from workbench.sweeps.experiment import GREEDY, ORACLE
from workbench.sweeps.results import Results

# ---------------------------------------------------------------------- intervals


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_the_interval_of_a_share_is_exact(has):
    found = share(has)
    expected = stats.binomtest(sum(has), len(has)).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=12)


@given(NUMBERS, NUMBERS)
def test_the_interval_of_a_difference_is_welchs(x, y):
    found = difference(x, y)
    if np.std(x) > 1e-9 and np.std(y) > 1e-9:
        expected = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-6, abs=1e-6)
    assert found.low <= found.effect <= found.high
    assert np.isnan(difference(x, y[:1]).low)


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([0.05, 0.5, 0.75]))
def test_p_values_are_those_of_the_exact_binomial_test(a, b, bound):
    found = share([True] * a + [False] * b)
    if a + b:
        for above, side in ((True, "greater"), (False, "less")):
            expected = stats.binomtest(a, a + b, bound, alternative=side).pvalue
            assert found.p_value(bound, above) == pytest.approx(expected, rel=1e-9)
    else:
        assert found.p_value(bound, True) == found.p_value(bound, False) == 1


@given(st.lists(st.integers(0, 3), max_size=12), st.data())
def test_pairs_in_which_both_are_level_say_nothing(x, data):
    y = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    found = ahead(x, y)
    assert found.of == sum(a != b for a, b in zip(x, y, strict=True))
    assert found.count == sum(a > b for a, b in zip(x, y, strict=True))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_no_less_than_bonferroni_and_no_more_than_each_alone(p):
    found = which_hold(p, 0.05)
    for x, yes in zip(p, found, strict=True):
        assert yes or x > 0.05 / len(p)
        assert not yes or x <= 0.05
    # step by step, as Holm wrote it
    order = sorted(range(len(p)), key=p.__getitem__)
    stop = next((k for k, i in enumerate(order) if p[i] > 0.05 / (len(p) - k)), len(p))
    assert sum(found) == stop


def test_few_seeds_decide_nothing():
    for few in (share([True] * 4), ahead([1.0], [0.0]), ahead([1.0], [1.0])):
        finding = Finding("", "", "", few, "", True, 0.5)
        assert Judgement("id", "place", "words", (finding,)).verdict == "undecided"


# ---------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("count", "above", "verdict"),
    [
        (30, True, "supported"),
        (20, True, "undecided"),
        (5, True, "contradicted"),
        (5, False, "supported"),
        (20, False, "undecided"),
        (30, False, "contradicted"),
    ],
)
def test_a_finding_is_supported_or_contradicted_by_an_exact_test(count, above, verdict):
    one = Finding("", "", "", share([True] * count + [False] * (30 - count)), "", above, 0.5)
    assert Judgement("id", "place", "words", (one,)).verdict == verdict


def test_more_findings_need_more_seeds():
    """22 of 30 is enough for one finding and not for ten."""
    found = [share([True] * 22 + [False] * 8)] * 10
    findings = [Finding("", f"{i}", "", e, "", True, 0.5) for i, e in enumerate(found)]
    assert Judgement("id", "place", "words", tuple(findings[:1])).verdict == "supported"
    assert Judgement("id", "place", "words", tuple(findings)).verdict == "undecided"


def test_a_statement_says_under_which_conditions_it_holds():
    yes = Finding("", "", "", exactly(2.0), "", True, 1.0)
    with_0 = Finding("", "", "V = 0", exactly(2.0), "", True, 1.0)
    not_with_1 = Finding("", "", "V = 1", exactly(0.0), "", True, 1.0)
    no = Finding("", "", "", exactly(0.0), "", True, 1.0)
    perhaps = Finding("", "", "", share([True, False]), "", True, 0.5)

    def verdict(*findings):
        return Judgement("id", "place", "words", findings).verdict

    assert verdict(yes) == "supported"
    assert verdict(yes, no) == verdict(no, perhaps) == "contradicted"
    assert verdict(yes, perhaps) == "undecided"
    assert verdict(yes, with_0, not_with_1) == "supported (V = 0); contradicted (V = 1)"
    assert verdict(no, with_0, not_with_1) == "contradicted"


def test_sentences_are_judged_one_by_one_and_together():
    first = Finding("a", "", "", exactly(2.0), "", True, 1.0)
    second = [Finding("b", "", "V = 0", exactly(0.0), "", True, 1.0)]
    second += [Finding("b", "", "V = 1", exactly(2.0), "", True, 1.0)]
    judgement = Judgement("id", "place", "words", (first, *second))
    assert judgement.sentences == ("a", "b")
    assert judgement.verdict_of("a") == "supported"
    assert (
        judgement.verdict_of("b") == judgement.verdict == "supported (V = 1); contradicted (V = 0)"
    )
    assert judgement.verdict_under("V = 0", "b") == "contradicted"


def test_a_short_run_decides_nothing_against_a_statement():
    no = Finding("", "", "", exactly(0.0), "", True, 1.0)
    yes = Finding("", "", "", exactly(2.0), "", True, 1.0)
    assert Judgement("id", "place", "words", (no,), short=5).verdict == "undecided with 5 seeds"
    assert Judgement("id", "place", "words", (no,), short=1).verdict == "undecided with 1 seed"
    assert Judgement("id", "place", "words", (yes,), short=5).verdict == "supported"
    dull = made_up("fig11", lambda method, memory: 0.0)
    for seeds, steps in ((30, 1_999_999), (29, 2_000_000)):
        shorter = replace(dull, experiment=dull.experiment.with_length(seeds, steps, 1000))
        assert judge("D6.fig-sarsa", shorter).verdict == f"undecided with {seeds} seeds"
    assert judge("D6.fig-sarsa", dull).verdict == "contradicted"


# ---------------------------------------------------------------------- made-up results


def made_up(id, levels, noise=0.02, seeds=12, blocks=40):
    """Results of a figure in which `levels(method, memory)` says the share of the optimum, or the
    values themselves."""
    experiment = FIGURES[id]
    rng = np.random.default_rng(0)
    outcomes = {}
    for method, memory in experiment.pairs:
        level = levels(method, memory)
        if experiment.measure == ORACLE:
            outcomes[method, memory] = LoopValues(np.linspace(0, level, 9), level, 0.0, "fixed")
            continue
        if experiment.measure == GREEDY:
            values = (rng.random((seeds, blocks)) > level).astype(float)
            outcomes[method, memory] = Run.from_rewards(values, every=100, measured=values)
            continue
        level, wobble = level if isinstance(level, tuple) else (level, noise)
        shares = level + wobble * rng.standard_normal((seeds, blocks))
        outcomes[method, memory] = Run.from_rewards(experiment.optimum * shares, every=100)
    return Results(experiment, outcomes)


def as_the_paper_says(id):
    """Made-up results that bear out everything that the paper says about a figure."""
    if id == "fig2":
        return made_up(id, lambda method, memory: 0.95 if memory in ("O1", "OA1") else 0.05)
    if id == "fig3":
        return made_up(id, lambda method, memory: 0.5 if memory == "B2" else 0.2)
    if id == "fig4":
        return made_up(
            id,
            lambda method, memory: (
                0.95
                if method.n == 20 and memory != "none"
                else 0.8
                if memory in ("O2", "OA2")
                else 0.3
            ),
        )
    if id == "fig5":
        return made_up(id, lambda method, memory: 25 / 16 if memory == "OA1" else 3.0)
    if id == "fig7":
        return made_up(id, lambda method, memory: 0.75 if memory == "B5" else 1.0)

    def sarsa(method, memory):
        if memory in ("O1", "OA1"):
            return 0.9, 0.01 if (method.lam, memory) == (0.5, "O1") else 0.05
        return (0.7, 0.3) if (method.lam, memory) == (1.0, "B1") else (0.01, 0.0)

    return made_up(id, sarsa)


@pytest.mark.parametrize("id", STATEMENTS)
def test_data_as_the_paper_describes_them_support_every_statement(id):
    judgement = judge(id, as_the_paper_says(experiment_for(id).id))
    assert judgement.verdict == "supported"
    assert judgement.findings


@pytest.mark.parametrize("id", STATEMENTS)
def test_data_without_any_effect_support_no_statement(id):
    dull = made_up(experiment_for(id).id, lambda method, memory: 0.0)
    assert "supported" not in judge(id, dull).verdict


@pytest.mark.parametrize(
    ("id", "spoiled"),
    [
        ("S4.fig-gravity", {"solve": ("B1",)}),
        ("S4.fig-gravity", {"fail": ("O1",)}),
        ("S4.fig-gravity", {"below": ("O1",)}),
        ("S51.fig-better", {"above": ("K1",), "below": ("O1",)}),
        ("S51.b2-unstable", {"less": "B2", "more": "OA1"}),
        ("S51.fig-gravity2", {"better": 5, "worse": 20}),
        ("S51.fig-gravity2", {"pairs": (("O2", "O1"),)}),
        ("S52.fig-variant", {"stuck": ("B1",)}),
        ("S52.fig-variant", {"reach": ("OA1",)}),
        ("C.fig", {"limits": (("B5", 1.0),)}),
        ("C.fig", {"limits": (("OA1", 0.75),)}),
        ("D6.fig-sarsa", {"learned": ("O1", "K1")}),
        ("D6.fig-sarsa", {"stable": (1.0, "O1")}),
        ("D6.fig-sarsa", {"bit": "none"}),
    ],
    ids=str,
)
def test_a_spoiled_statement_is_not_supported_by_the_same_data(id, spoiled):
    verdict = judge(id, as_the_paper_says(experiment_for(id).id), **spoiled).verdict
    assert verdict in ("contradicted", "undecided")


def test_a_reading_that_spoils_the_effect_is_named():
    def levels(method, memory):
        solves = memory in ("O1", "OA1") and not (
            method.kind == "ActorCritic" and (method.update, method.v) == ("batch", 1)
        )
        return 0.95 if solves else 0.05

    judgement = judge("S4.fig-gravity", made_up("fig2", levels))
    assert judgement.verdict == (
        "supported (window, V = 0 / window, V = 1 / batch, V = 0); contradicted (batch, V = 1)"
    )
    window = (Reading("window", 0), Reading("window", 1))
    assert judge("S4.fig-gravity", made_up("fig2", levels), readings=window).verdict == "supported"
    assert judgement.is_supported("window, V = 0")
    assert not judgement.is_supported("batch, V = 1")


def test_a_memory_that_is_better_than_the_paper_says_is_not_hidden():
    results = made_up("fig2", lambda method, memory: 0.05 if memory in ("none", "B1") else 0.95)
    judgement = judge("S4.fig-gravity", results)
    assert judgement.verdict_of("O1 outperforms B1 and K1") == "undecided"
    assert judgement.verdict_of("not solved consistently with B1") == "supported"
    assert judgement.verdict == "undecided"


def test_the_numbers_behind_the_findings():
    values = np.array([[0, 1, 0, 1, 0], [1, 1, 1, 1, 0]], dtype=float)
    assert switches(values).tolist() == [100.0, 25.0]
    assert unsteadiness(np.array([[9.0, 9.0, 1.0, 3.0]])).tolist() == [1.0]
    late = Run.from_rewards([[0.0] * 18 + [0.2, 0.25]], every=10, steps=195).late()
    assert late.tolist() == [3.0]  # two blocks, of 10 and of 5 steps


def test_what_is_unknown_is_refused_with_what_is_known():
    with pytest.raises(
        UnknownLabel, match=r"unknown statement 'S9'; statements about figures are S4.fig-gravity"
    ):
        judge("S9", as_the_paper_says("fig7"))
    with pytest.raises(UnknownLabel, match=r"Fig. 11 has no .*ActorCritic.* with memory O1"):
        _ = as_the_paper_says("fig11")[paper_actor_critic(5, READINGS[0]), "O1"]


# ---------------------------------------------------------------------- real runs, for the ledger


def find(name):
    return getattr(pomdps, name)()


def test_the_oracle_loop_really_does_what_the_paper_says():
    assert establish("C.fig", find).verdict == "supported"
    assert establish("S52.fig-variant", find).verdict == "supported"


def test_b2_really_switches_more_often_on_recall():
    judgement = establish("S51.b2-unstable", find, seeds=8, steps=500_000)
    assert judgement.verdict == "supported"
    assert (
        establish("S51.b2-unstable", find, seeds=8, steps=500_000, less="B2", more="OA1").verdict
        == "undecided with 8 seeds"
    )


def test_one_memory_can_be_left_out():
    experiment = FIGURES["fig4"].with_memories(("O1", "O2"))
    assert {memory for _, memory in experiment.pairs} == {"O1", "O2"}
    assert all(panel.memories in (("O1",), ("O2",)) for panel in experiment.panels)
    assert Sarsa(lam=0.5) not in dict(experiment.pairs)
    one = with_readings(FIGURES["fig2"], (Reading("batch", 1),))
    assert [panel.title for panel in one.panels] == [
        "Q-learning",
        "5-step actor-critic, batch, V = 1",
    ]
