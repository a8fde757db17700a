"""Every search that can run long takes `max_seconds`, keeps it and returns what it has."""

from __future__ import annotations

import inspect
import math
import time
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from toy_tasks import small_task

import workbench
from pomdps import gravity, recall, recall4
from workbench import (
    POMDP,
    QLearning,
    augment,
    best_history,
    best_memoryless,
    can_encode_optimal,
    critical_points,
    diagnose,
    equilibria,
    evaluate,
    frontier,
    improve,
    is_sufficiently_expressive,
    needs_memory,
    policy_slice,
    soft_equilibria,
    subdivide,
    sweep_lambda,
    switch_values,
    uniform,
)
from workbench.certificates.fixed_regions import fixed_regions_certificate
from workbench.core.chain import Chain
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.optima.shortcut_count import count_shortcuts
from workbench.progress import TimeOver, ends_in
from workbench.research import diagnose as diagnose_module
from workbench.research.gain_process import optimal_gain
from workbench.sufficiency.comparison import compare

F = Fraction

SEARCHES = [
    "best_history",
    "best_memoryless",
    "can_encode_optimal",
    "critical_points",
    "diagnose",
    "equilibria",
    "frontier",
    "improve",
    "is_sufficiently_expressive",
    "needs_memory",
    "soft_equilibria",
    "subdivide",
]

NO_TIME = 1e-9


def entangled() -> POMDP:
    """13 states, 3 observations, 2 actions, infinitely many beliefs."""
    rng = np.random.default_rng(1)
    p = {
        (s, a): {
            (int(t), int(rng.integers(-3, 4))): F(1, 3)
            for t in rng.choice(13, size=3, replace=False)
        }
        for s in range(13)
        for a in range(2)
    }
    return small_task(
        "entangled", lambda s, a: p[s, a], 0, A=range(2), omega=lambda s: {s % 3: 1}, gamma=F(9, 10)
    )


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_takes_seconds_and_documents_them(name):
    search = getattr(workbench, name)
    parameters = inspect.signature(inspect.unwrap(search)).parameters
    assert "max_seconds" in parameters
    assert "max_seconds :" in search.__doc__ or "max_seconds, " in search.__doc__


def test_equilibria_without_time_cover_nothing():
    E = augment(recall(), "OA1")
    learner = QLearning(epsilon=F(1, 10))
    found = equilibria(E, learner, max_seconds=NO_TIME)
    assert not found.complete
    assert found.looked_at == found.covered == len(found) == 0
    assert equilibria(E, learner, max_seconds=600).complete
    branched = equilibria(E, learner, branch=True, max_seconds=NO_TIME)
    assert not branched.complete
    assert branched.covered == branched.nodes == 0
    with pytest.raises(WorkbenchError, match="max_seconds must be positive"):
        equilibria(E, learner, max_seconds=0)


def test_the_policies_that_equilibria_decided_in_time_are_counted(monkeypatch):
    """A clock that ticks once for each look stops a list of exact decisions in the middle."""
    from workbench.equilibrium import equilibria as module

    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            self.now += 1.0
            return self.now

    E = augment(recall(), "B1")
    learner = QLearning(epsilon=0)  # no block of floats: one decision after the other
    whole = equilibria(E, learner)
    monkeypatch.setattr(module, "time", Clock())
    monkeypatch.setattr(module, "deadline", lambda seconds: 5.0)
    some = equilibria(E, learner, max_seconds=1)
    assert some.looked_at == some.covered == 5 < whole.looked_at
    assert not some.complete


def test_soft_equilibria_without_time_leave_the_whole_box():
    found = soft_equilibria(recall(), QLearning(), F(1, 2), max_seconds=NO_TIME)
    assert not found.complete
    assert found.looked_at == 0
    assert found.left == 1


def test_improve_without_time_makes_one_chunk_of_iterates():
    E = augment(gravity(), "B1")
    run = improve(E, uniform(E), max_seconds=NO_TIME)
    assert run.ended == "budget"
    assert "The time was over." in run.note
    assert 1 <= run.iterates < 100
    assert run.value == pytest.approx(evaluate(E, run.pi).value)


def test_is_sufficiently_expressive_without_time_is_undecided():
    P = augment(gravity(), "none")
    assert is_sufficiently_expressive(recall4(), "OA1", max_seconds=600).holds
    found = is_sufficiently_expressive(P, "O2", max_seconds=NO_TIME)
    assert found.holds is None
    assert "given up" in found.reason


def test_needs_memory_without_time_looks_at_no_family():
    found = needs_memory(entangled(), max_seconds=NO_TIME)
    assert [len(family.tried) for family in found.families] == [1, 1, 1, 1]
    assert found.lower <= found.upper
    assert needs_memory(recall4(), ["OA"], max_seconds=600).families[0].k == 1


def test_diagnose_divides_its_time_among_its_searches(monkeypatch):
    """It gave the whole of it to each."""
    given = []

    def spy(P, **options):
        given.append(options["max_seconds"])
        return best_history(P, **options)

    monkeypatch.setattr(diagnose_module, "best_history", spy)
    found = diagnose(entangled(), max_beliefs=20, max_seconds=4)
    assert found.lower <= found.upper
    assert len(given) == 1
    assert given[0] <= 2


def test_compare_leaves_undecided_what_it_has_no_time_for():
    """It had no limit: minutes on a published file."""
    (row,) = compare(entangled(), ["B1"], max_seconds=NO_TIME)
    assert row.oracle.ended == "budget"
    assert row.best.value <= row.best.bound
    assert row.shortcuts is None
    (row,) = compare(recall4(), ["OA1"], max_seconds=600)
    assert row.expressive
    assert row.shortcuts.complete


def test_counting_shortcuts_without_time_is_refused_or_covers_what_was_found():
    with pytest.raises(TooLarge, match="the time was over before an optimal policy was found"):
        count_shortcuts(augment(gravity(), "O1"), max_seconds=NO_TIME)
    assert count_shortcuts(recall4(), max_seconds=600).complete


def test_diagnose_leaves_out_what_it_has_no_time_for():
    """It went on for minutes where (m, o) stands for thousands of states."""
    found = diagnose(augment(gravity(), "O1"), "B1", max_seconds=NO_TIME)
    assert found.information is found.rank is found.discrepancy is None
    assert {"information", "rank", "discrepancy", "observability"} <= found.late
    assert found.lower <= found.upper
    rows = [row[1] for row in found.sheet().rows]
    assert rows.count("not computed in time") == len(found.late - {"discrepancy_always_zero"})
    assert not diagnose(recall4(), max_seconds=600).late


def test_average_searches_give_their_deadline_to_policy_iteration(monkeypatch):
    """The bound of full information had none: ten times the limit."""
    given = []

    def spy(M, allowed=None, until=math.inf, warm=None):
        given.append(until)
        return optimal_gain(M, allowed, until, warm)

    monkeypatch.setattr("workbench.research.average.optimal_gain", spy)
    E = augment(recall(gamma=F(9, 10)), "OA1")
    for search in (partial(best_history, max_beliefs=1), best_memoryless):
        assert search(E, max_seconds=600, criterion="average").value is not None
    best_memoryless(E, deterministic=False, max_seconds=600, criterion="average")
    assert len(given) > 3
    assert max(given) < math.inf


@pytest.mark.parametrize("work", [switch_values, sweep_lambda, policy_slice])
def test_work_without_a_limit_reports_and_is_stopped_from_outside(work, monkeypatch):
    """Two of them worked for minutes without a word."""
    P = augment(recall4(), "B1")
    monotonic, looks = time.monotonic, iter([0.0, 0.0])  # the limit passes once work has begun
    late = SimpleNamespace(monotonic=lambda: monotonic() + next(looks, 7200.0))
    with ends_in(3600):
        monkeypatch.setattr("workbench.progress.time", late)
        with pytest.raises(TimeOver):
            work(P, uniform(P))


def test_classes_are_solved_together(monkeypatch):
    """A system for each of a hundred classes took nine tenths of a search."""
    solved = []

    def spy(chain, *arguments, **options):
        solved.append(None)
        return solve(chain, *arguments, **options)

    solve = Chain.solve
    monkeypatch.setattr(Chain, "solve", spy)
    counts = []
    for n in (2, 40):
        P = small_task(
            "apart",
            lambda s, a: {(s, s): 1},
            dict.fromkeys(range(n), F(1, n)),
            A=[0],
            omega=lambda s: {0: 1},
            gamma=F(1, 2),
        )
        solved.clear()
        assert evaluate(P, uniform(P), criterion="average").value == pytest.approx((n - 1) / 2)
        counts.append(len(solved))
    assert counts[0] == counts[1]


def test_searches_of_an_entangled_task_end_without_time():
    P = entangled()
    encoding = can_encode_optimal(P, "B2", max_seconds=NO_TIME)
    assert encoding.holds is None
    assert not critical_points(P, max_seconds=NO_TIME).complete
    history = best_history(P, max_seconds=NO_TIME)
    assert history.lower <= history.upper
    for deterministic in (True, False):
        found = best_memoryless(P, deterministic, max_seconds=NO_TIME)
        assert found.value <= found.bound < 100
        assert "stopped" in found.how


def test_critical_points_give_up_within_the_return_itself(monkeypatch):
    """The return as a quotient of polynomials took ten times the limit."""
    looks = []

    def clock() -> float:
        looks.append(None)
        return 0.0 if len(looks) < 5 else math.inf

    monkeypatch.setattr("workbench.progress.time", SimpleNamespace(monotonic=clock))
    found = critical_points(entangled(), max_seconds=60)
    assert not found
    assert found.undecided == 27
    assert "27 regions undecided" in repr(found)
    assert len(looks) == 6  # and nothing around it asked to stop


def test_frontier_divides_its_time_among_its_searches(monkeypatch):
    """It gave the whole of it to each."""
    from workbench.sufficiency import frontier as module

    given = []

    def spy(search):
        def told(P, **options):
            given.append(options["max_seconds"])
            return search(P, **options)

        return told

    monkeypatch.setattr(module, "best_history", spy(best_history))
    monkeypatch.setattr(module, "best_memoryless", spy(best_memoryless))
    found = frontier(recall4(), 2, ["B"], max_seconds=8)  # V*, none, B1, and F2 were B1 not enough
    assert [point.memory for point in found.points] == ["none", "B1"]
    assert given[0] == 2
    assert all(sum(given[:i]) <= 8 for i in range(2))
    assert max(given) < 8.01
    late = frontier(recall4(), 3, ["B"], max_seconds=NO_TIME)
    assert [point.memory for point in late.points] == ["none"]
    assert {why for _, why in late.left_out} == {"the time was over"}
    assert late.steps[-1].value <= late.steps[-1].bound


def test_listing_beliefs_counts_for_is_sufficiently_expressive():
    """It began to count after beliefs were listed."""
    found = is_sufficiently_expressive(recall4(), "OA1", max_seconds=NO_TIME)
    assert found.holds is None
    assert "given up after listing" in found.reason


def test_subdivide_without_time_leaves_all_policies(monkeypatch):
    epsilon = sympy.Symbol("epsilon")
    E = augment(recall(), "B1")
    asked = []

    def within(looks: int):
        """The answer if the time is over after so many looks at the clock."""
        asked.clear()

        def now() -> float:
            asked.append(None)
            return 0.0 if len(asked) <= looks else math.inf

        clock = SimpleNamespace(monotonic=now)
        monkeypatch.setattr("workbench.progress.time", clock)
        return subdivide(E, QLearning(), epsilon=epsilon, max_seconds=1, symmetry=False)

    whole = within(10**9)
    assert whole.complete
    assert whole.found
    looks = len(asked)
    for few in (1, 10, looks // 2):  # the first look sets the limit
        some = within(few)
        assert not some.complete
        assert not some.none_exists
        assert not some.found
        assert some.refuted + some.left == some.looked_at
        assert "not decided before the time was over" in repr(some)
        assert some.refutations == whole.refutations[: some.refuted]
    with pytest.raises(WorkbenchError, match="give more seconds"):
        fixed_regions_certificate(recall(), "B1", some)
