"""best_memoryless: deterministic policies by branch and bound, against trying them all."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import reference_optimum as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import families, pomdps, wandering
from toy_tasks import small_task, task_like

from pomdps import gravity, recall, recall4, recall_variant, tiger
from workbench import POMDP, augment, evaluate, memories, uniform
from workbench.core.errors import NeverEnds, NotExact, WorkbenchError, WrongType
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Numbers
from workbench.optima import branch_and_bound, mdp
from workbench.optima.best_informed import best_informed
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.branch_and_bound import BranchSearch, ReturnCriterion
from workbench.optima.mdp import from_states, optimal, upper_bound
from workbench.optima.symmetry import interchangeable

F = Fraction


@st.composite
def recalls(draw: st.DrawFn, steps: int = 3) -> POMDP:
    """One observation and a reward for each sequence of actions: what memory is for."""
    rewards: dict = {}

    def p(s: tuple, a: int) -> dict:
        done = (*s, a)
        if len(done) < steps:
            return {(done, 0): 1}
        if done not in rewards:
            rewards[done] = draw(st.integers(-3, 5))
        return {("end", rewards[done]): 1}

    return small_task("a recall", p, ())


# ---------------------------------------------------------------------- against trying them all


@given(pomdps(most_observations=3, most_actions=3))
def test_it_finds_what_trying_all_policies_finds(P):
    best = reference.best_deterministic(P)
    exact, floats = best_memoryless(P, exact=True), best_memoryless(P)
    assert exact.value == exact.bound == best
    assert exact.certified
    assert exact.gap == 0
    assert floats.value == pytest.approx(float(best), abs=1e-9)
    assert floats.certified
    assert float(best) <= floats.bound <= float(best) + 2 * floats.tolerance
    assert evaluate(P, exact.policy, exact=True).value == best


@settings(max_examples=80)
@given(wandering())
def test_policies_that_may_never_end_are_left_out(P):
    best = reference.best_deterministic(P)
    if best is None:
        with pytest.raises(NeverEnds):
            best_memoryless(P, exact=True)
        with pytest.raises(NeverEnds):
            best_memoryless(P)
        return
    exact, floats = best_memoryless(P, exact=True), best_memoryless(P)
    assert exact.value == exact.bound == best
    assert floats.value == pytest.approx(float(best), abs=1e-9)
    assert floats.certified
    assert floats.bound == pytest.approx(float(best), abs=1e-8)


@settings(max_examples=15)
@given(recalls(), st.integers(0, 1))
def test_symmetry_does_not_change_the_answer(P, longer):
    E = augment(P, memories.B(1 + longer))
    best = reference.best_deterministic(E) if not longer else None
    values = []
    for symmetry in (interchangeable(E), None):
        search = BranchSearch(ReturnCriterion(E), len(E.O), symmetry, 1e-9, exact=True)
        while not search.finished:
            search.run_one()
        values.append(search.value)
    assert values[0] == values[1]
    assert best is None or values[0] == best


# ---------------------------------------------------------------------- properties


@settings(max_examples=25)
@given(pomdps(most_states=3), families(1))
def test_a_memory_never_makes_the_best_policy_worse(P, family):
    E = augment(P, family)
    with_memory = best_memoryless(E, exact=True, max_nodes=2_000)
    assert with_memory.bound >= best_memoryless(P, exact=True).value
    if with_memory.certified:
        assert with_memory.value >= best_memoryless(P, exact=True).value


@given(pomdps())
def test_full_information_is_worth_most(P):
    informed = best_informed(P, exact=True)
    assert informed >= best_memoryless(P, exact=True).value
    assert best_informed(P) == pytest.approx(float(informed), abs=1e-9)


@settings(max_examples=20)
@given(pomdps(most_states=2))
def test_full_information_is_the_best_of_all_policies_that_see_the_state(P):
    assert best_informed(P, exact=True) == reference.best_informed(P)


# ---------------------------------------------------------------------- the paper's tasks


RECALLS = {
    # the best deterministic value with each memory of the paper's figures; recall is gamma^2 =
    # 361/400 once 1, 2, 3 fits
    "recall": (
        recall,
        {
            "none": 0,
            "B1": 0,
            "B2": F(361, 400),
            "B5": F(361, 400),
            "OA1": F(361, 400),
            "OA2": F(361, 400),
        },
    ),
    "variant": (recall_variant, {"none": 0, "B1": 3, "B2": 3, "B5": 3, "OA1": 3, "OA2": 3}),
    "recall4": (recall4, {"none": F(1, 2), "B1": 1, "B2": 1, "B5": 1, "OA1": 1, "OA2": 1}),
}


@pytest.mark.parametrize("task", RECALLS)
@pytest.mark.parametrize("memory", ["none", "B1", "B2", "B5", "OA1", "OA2"])
def test_the_recall_tasks_with_the_memories_of_the_figures(task, memory):
    make, values = RECALLS[task]
    found = best_memoryless(augment(make(), memory), exact=True)
    assert found.value == found.bound == values[memory]
    assert found.certified
    floats = best_memoryless(augment(make(), memory))
    assert floats.certified
    assert floats.value == pytest.approx(float(values[memory]), abs=1e-9)


@pytest.mark.parametrize(
    ("memory", "value"),
    [("none", 0.010263), ("B1", 0.568800), ("K1", 0.568800), ("O1", 0.568800), ("B2", 0.568800)],
)
def test_gravity(memory, value):
    found = best_memoryless(augment(gravity(), memory))
    assert found.certified
    assert found.value == pytest.approx(value, abs=5e-7)
    assert found.nodes <= 100


@pytest.mark.parametrize("memory", ["none", "B1", "K1"])
def test_an_integer_program_agrees_on_gravity(memory):
    E = augment(gravity(), memory)
    assert reference.best_by_integer_program(E) == pytest.approx(best_memoryless(E).value, abs=1e-6)


def test_gravity_with_one_bit_is_exactly_the_twelve_step_optimum():
    found = best_memoryless(augment(gravity(), "B1"), exact=True)
    assert found.value == found.bound == F(19, 20) ** 11
    assert best_informed(gravity(), exact=True) == F(19, 20) ** 11


def test_loops_without_reward_at_gamma_one_need_exact_numbers_to_be_certain(monkeypatch):
    P = gravity(gamma=1)
    assert best_memoryless(P).certified
    floats = replace(
        P, p=replace(P.p, r=Numbers(floats=P.p.r.floats), prob=Numbers(floats=P.p.prob.floats))
    )
    found = best_memoryless(floats)
    assert found.value == pytest.approx(1)
    assert found.certified
    assert "floats read as decimals" in found.how
    monkeypatch.setattr(branch_and_bound, "in_rationals", lambda P: None)
    found = best_memoryless(floats)
    assert not found.certified
    assert found.bound == math.inf
    assert "exact model" in found.how


# ---------------------------------------------------------------------- symmetry


def test_the_writes_of_a_binary_memory_are_interchangeable_except_the_first():
    E = augment(recall4(), "B2")
    found = interchangeable(E)
    assert found is not None
    assert found.group.tolist() == [0, 1, 1, 1]
    nothing = np.full(len(E.O), -1)
    tried = found.worth_trying(nothing, E.O.index(("00", "o")))
    assert {E.A[i][1] for i in np.flatnonzero(tried)} == {"00", "01"}


def test_symmetry_saves_work_where_the_bound_is_out_of_reach():
    """To count to four before doing 1 takes five memory states; two bits have four, and the bound
    does not see it."""
    turns = (0, 0, 0, 0, 1)
    P = small_task(
        "count",
        lambda s, a: {(s + 1 if a == turns[s] else len(turns), int(a == turns[s])): 1},
        0,
        terminal={len(turns)},
    )
    E = augment(P, "B2")
    found = []
    for symmetry in (interchangeable(E), None):
        search = BranchSearch(ReturnCriterion(E), len(E.O), symmetry, 1e-9, exact=False)
        while not search.finished:
            search.run_one()
        found.append(search)
    assert [search.value for search in found] == [4, 4]
    assert found[0].nodes < found[1].nodes / 2


def test_a_memory_that_treats_its_states_differently_has_no_symmetry():
    two = memories.Memory(
        "leaky",
        M=["0", "1", "2"],
        W=["0", "1", "2"],
        eta={"0": 1},
        Gamma=lambda m, w, o, a, r, o_next: {"2": F(1, 2), "0": F(1, 2)} if w == "2" else {w: 1},
    )
    assert interchangeable(augment(recall4(), two)) is None
    assert interchangeable(recall4()) is None
    assert interchangeable(augment(recall4(), "OA2")) is None


def test_a_start_in_any_memory_state_alike_leaves_all_of_them_interchangeable():
    bit = memories.Memory(
        "random start",
        M=["0", "1"],
        W=["0", "1"],
        eta={"0": F(1, 2), "1": F(1, 2)},
        Gamma=lambda m, w, o, a, r, o_next: {w: 1},
    )
    E = augment(recall_variant(), bit)
    assert interchangeable(E).group.tolist() == [0, 0]
    assert best_memoryless(E, exact=True).value == reference.best_deterministic(E)


# ---------------------------------------------------------------------- limits and bad input


def hard() -> POMDP:
    """A task that bounds from full information do not settle: guess five hidden bits in a row."""
    P = small_task(
        "guesses",
        lambda s, a: {
            ((s[0] + 1, b) if s[0] < 5 else "end", int(a == s[1])): 1 if s[0] == 5 else F(1, 2)
            for b in (0, 1)
        },
        {(0, b): F(1, 2) for b in (0, 1)},
        omega=lambda s: {"end": 1} if s == "end" else {(s[0], x): F(1, 4) for x in range(4)},
    )
    return P


def test_a_search_too_large_to_finish_says_how_far_it_came():
    found = best_memoryless(hard(), max_nodes=40)
    assert not found.certified
    assert found.value == pytest.approx(3)
    assert 3 < found.bound <= 6
    assert found.gap == pytest.approx(found.bound - found.value)
    assert "stopped at 40 nodes" in found.how
    assert "gap" in repr(found)


def test_histories_settle_what_states_do_not():
    found = best_memoryless(hard())
    assert found.certified
    assert found.value == pytest.approx(3)


@pytest.mark.parametrize("moment", [2, 5, 11, 23])
def test_ctrl_c_leaves_the_best_so_far_and_a_bound_that_holds(monkeypatch, moment):
    """Interrupted among the children of a node, the bound must still cover those not looked at."""
    calls = []
    follow = branch_and_bound.follow

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == moment:
            raise KeyboardInterrupt
        return follow(*arguments)

    monkeypatch.setattr(branch_and_bound, "follow", interrupted)
    try:
        found = best_memoryless(hard())
    except KeyboardInterrupt:
        assert moment == 2  # before there is anything to show
        return
    assert found.interrupted
    assert found.value == pytest.approx(3)
    assert found.bound >= 5  # full information guesses all that is not fixed
    assert "interrupted" in found.how


def test_a_task_that_is_over_before_it_begins_is_worth_nothing():
    P = small_task("over", lambda s, a: {("end", 1): 1}, "end", A=["a"], S=["end", "s"])
    assert best_memoryless(P, exact=True).value == 0
    assert best_memoryless(P, deterministic=False).value == 0
    assert best_informed(P) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"P": "recall"}, WrongType, "expected a POMDP, not 'recall'"),
        ({"deterministic": "yes"}, WrongType, "deterministic is True or False"),
        ({"exact": 1}, WrongType, "exact is True or False"),
        ({"max_nodes": 0}, WorkbenchError, "max_nodes must be at least 1, not 0"),
        ({"max_nodes": 1.5}, WrongType, "max_nodes is a whole number"),
        (
            {"max_seconds": math.nan},
            WorkbenchError,
            "max_seconds must be positive and finite, not nan",
        ),
        ({"starts": 3}, WorkbenchError, "starts, seed and max_boxes belong to deterministic=False"),
        ({"deterministic": False, "exact": True}, WorkbenchError, "belongs? to deterministic=True"),
        ({"deterministic": False, "starts": -1}, WorkbenchError, "starts must be at least 0"),
        ({"deterministic": False, "seed": "x"}, WrongType, "seed is a whole number"),
        ({"start": 3}, WrongType, "start is a Policy, not 3"),
        ({"start": uniform(gravity())}, WorkbenchError, "other observations"),
        ({"max_seconds": 0}, WorkbenchError, "max_seconds must be positive"),
        (
            {"deterministic": False, "max_seconds": -1},
            WorkbenchError,
            "max_seconds must be positive",
        ),
    ],
)
def test_bad_arguments_are_named(arguments, error, words):
    with pytest.raises(error, match=words):
        best_memoryless(**{"P": recall(), **arguments})


def test_floats_cannot_be_compared_exactly_and_symbols_not_at_all():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(NotExact):
        best_memoryless(recall(gamma=0.95), exact=True)
    with pytest.raises(NotExact, match="recall holds g"):
        best_memoryless(recall(gamma=sympy.Symbol("g")))


def test_a_model_of_floats_is_solved_like_its_rational_twin():
    P = gravity()
    floats = replace(
        P,
        p=replace(P.p, r=Numbers(floats=P.p.r.floats), prob=Numbers(floats=P.p.prob.floats)),
        gamma=0.95,
    )
    found = best_memoryless(floats)
    assert found.certified
    assert found.value == pytest.approx(best_memoryless(P).value, abs=1e-12)


# ---------------------------------------------------------------------- penalties


@st.composite
def with_a_forbidden_action(draw: st.DrawFn) -> POMDP:
    """Rewards of a few units, and an action that costs a thousand million in most states."""
    P = draw(pomdps(most_observations=3, most_actions=3))
    forbidden = P.A[draw(st.integers(0, len(P.A) - 1))]
    spared = draw(st.sampled_from(list(P.S)))

    def p(s: object, a: object) -> dict:
        outcomes = P.p(s, a)
        if a != forbidden or s == spared:
            return outcomes
        return {(t, r - 10**9): x for (t, r), x in outcomes.items()}

    return task_like(P, "forbidden", p=p)


@settings(max_examples=100)
@given(with_a_forbidden_action())
def test_a_large_penalty_does_not_blur_what_is_certified(P):
    """A tolerance that is a share of the penalty would call worse policies optimal."""
    best = reference.best_deterministic(P)
    found = best_memoryless(P)
    assert found.gap == found.bound - found.value
    small = 1e-9 * max(1.0, abs(float(best)))
    assert found.bound >= best - small
    assert found.value <= best + small
    if found.certified:
        assert float(best) - found.value <= small
    if abs(best) < 10**6:
        assert found.certified
        assert found.gap < 1e-8


def forbidden(penalty: int, small: Fraction) -> POMDP:
    """From y an action leads to a trap; what is worth choosing among is small."""
    p = {
        ("x", 0): {("end", small): 1},
        ("x", 1): {("end", 0): 1},
        ("x", 2): {("y", 0): 1},
        ("y", 0): {("trap", 0): 1},
        ("y", 1): {("end", small): F(1, 3), ("x", -small): F(2, 3)},
        ("y", 2): {("end", -small): 1},
    }
    return small_task(
        "forbidden",
        lambda s, a: p.get((s, a), {("end", penalty): 1}),
        "x",
        A=[0, 1, 2],
        omega=lambda s: {"t" if s == "trap" else "o": 1},
        gamma=F(1, 2),
    )


@pytest.mark.parametrize("penalty", [-(10**6), -(10**9), -(10**12)])
@pytest.mark.parametrize("small", [F(3, 100), F(1, 10**8)])
def test_a_penalty_that_is_avoided_makes_no_other_policy_optimal(penalty, small):
    found = best_memoryless(forbidden(penalty, small))
    assert found.certified
    assert found.value == float(small)
    assert found.gap <= 1e-12 * small


@pytest.mark.parametrize("entries", [0, 50_000])
@pytest.mark.parametrize("gamma", [F(1, 2), 1])
def test_a_bound_leaves_room_for_the_penalties_that_are_met_alone(monkeypatch, entries, gamma):
    """Of states that lead to each other each needs room, be its own value nothing; dense or not."""
    monkeypatch.setattr(mdp, "_DENSE", entries)
    P = replace(forbidden(-(10**12), F(3, 100)), gamma=gamma)
    M = from_states(P, FLOATS)
    assert (M.dense is None) == (entries == 0)
    bound = upper_bound(M, optimal(M))
    best = RATIONALS.back(optimal(from_states(P, RATIONALS)).value)
    assert best <= bound <= best + F(1, 10**12)


@st.composite
def with_a_toll(draw: st.DrawFn) -> POMDP:
    """Rewards of a few ten-thousandths, and in some state every action costs a million million."""
    P = draw(st.one_of(pomdps(most_observations=3, most_actions=3), wandering()))
    toll = draw(st.sampled_from(list(P.S)))

    def p(s: object, a: object) -> dict:
        cost = 10**12 if s == toll else 0
        return {(t, r / F(10**4) - cost): x for (t, r), x in P.p(s, a).items()}

    return task_like(P, "toll", p=p)


@settings(max_examples=150)
@given(with_a_toll())
def test_what_is_certified_is_optimal_be_penalties_as_large_as_they_may(P):
    """Floats of this size are as far apart as the policies are."""
    best = reference.best_deterministic(P)
    if best is None:
        return
    found = best_memoryless(P)
    assert found.certified
    assert found.bound >= best
    assert evaluate(P, found.policy, exact=True).value == best


def test_a_gap_as_large_as_a_reward_is_not_explained_by_rounding(monkeypatch):
    """In tasks that are too large to be decided in any case, and in such as cannot be."""
    p = {
        ("x", 0): {("end", -(10**12)): 1},
        ("x", 1): {("end", -(10**12) + F(1, 1000)): 1},
        ("y", 0): {("end", F(3, 1000)): 1},
        ("y", 1): {("end", 0): 1},
    }
    P = small_task("toll", lambda s, a: p[s, a], {"x": F(1, 2), "y": F(1, 2)})
    monkeypatch.setattr(branch_and_bound, "_FEW_NUMBERS", 0)
    found = best_memoryless(P)
    assert found.certified
    assert found.policy["o", 0] == 1
    assert found.gap < 1e-3
    monkeypatch.setattr(branch_and_bound, "_EXACT_STATES", 0)
    found = best_memoryless(P)
    assert not found.certified
    assert found.gap > 1e-3


def test_what_floats_do_not_tell_apart_is_not_taken_for_the_same():
    """The better action is as good as the other in floats, which try it once."""
    P = small_task("a little more", lambda s, a: {("end", -(10**17) + a): 1}, "s")
    found = best_memoryless(P)
    assert found.certified
    assert found.policy["o", 1] == 1


def test_a_bound_in_floats_holds_for_the_numbers_that_they_are():
    """An episode of at most five steps, once without discount reported below its optimum."""
    dear = -1e12
    p = {
        (0, 0): {(3, -0.0002): 0.3125, (1, 0.0003): 0.3125, (4, -0.0002): 0.375},
        (0, 1): {(2, -0.0002): 0.5, (4, 0.0003): 0.5},
        (1, 0): {(5, dear): 0.75, (4, dear): 0.25},
        (1, 1): {(5, dear): 1.0},
        (2, 0): {(3, 0.0002): 1.0},
        (2, 1): {("end", 0.0001): 1.0},
        (3, 0): {(4, -0.0003): 0.375, (5, -0.0002): 0.3125, ("end", -0.0002): 0.3125},
        (3, 1): {("end", -0.0001): 0.125, (4, 0.0): 0.5, (5, 0.0): 0.375},
        (4, 0): {("end", 0.0003): 1.0},
        (4, 1): {(5, -0.0002): 0.6875, ("end", -0.0002): 0.3125},
        (5, 0): {("end", -0.0002): 1.0},
        (5, 1): {("end", 0.0001): 1.0},
    }
    omega = {
        0: {2: 1.0},
        1: {1: 1.0},
        2: {0: 1.0},
        3: {2: 1.0},
        4: {0: 0.5625, 1: 0.4375},
        5: {2: 0.5, 1: 0.5},
        "end": {0: 1.0},
    }

    def written(number: type) -> POMDP:
        return small_task(
            "floats",
            lambda s, a: {(t, number(r)): number(x) for (t, r), x in p[s, a].items()},
            {0: number(0.5625), 1: number(0.4375)},
            omega=lambda s: {o: number(x) for o, x in omega[s].items()},
            gamma=number(1.0),
            S=[0, 1, 2, 3, 4, 5, "end"],
        )

    found, best = best_memoryless(written(float)), reference.best_deterministic(written(F))
    assert found.bound >= best
    assert found.certified
    assert "gamma" not in found.how


def test_the_gap_is_shown():
    near = replace(best_memoryless(tiger()), gap=1e-12)
    assert "certified to be optimal within" in repr(near)
    assert repr(best_memoryless(recall_variant(), exact=True)).count("gap") == 0
