"""The fixed points of learners: known answers, the slow twin, what must hold, and what is
refused."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_equilibrium import equilibria_by_force
from strategies import families, pomdps
from toy_tasks import habit, small_task, task_like

from pomdps import recall, recall4, recall_variant
from workbench import (
    POMDP,
    ActorCritic,
    Policy,
    QLearning,
    Sarsa,
    augment,
    equilibria,
    evaluate,
    learn,
    td_values,
)
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.learners import ExpectedSarsa, OptionError
from workbench.equilibrium.greedy_cells import DenseTask
from workbench.equilibrium.learned_values import Learned, exploring, target_of
from workbench.learning.textbook_learners import MonteCarlo, NStepSarsa

TENTH = Fraction(1, 10)


def by_row(P, e):
    return {o: P.A[e.policy.actions[P.O.index(o)]] for o in P.O}


# ---------------------------------------------------------------------- known answers


def test_on_recall_with_oa1_q_learning_can_settle_only_at_a_worthless_policy():
    """Figure 3: the optimum of the memory is no fixed point; the only one there is, is worth 0."""
    E = augment(recall(), "OA1")
    found = equilibria(E, QLearning(epsilon=TENTH), exact=True)
    assert (found.cells, found.looked_at, found.complete) == (1296, 1296, True)
    assert [(e.value, e.strict) for e in found] == [(0, True)]
    assert found[0].rate < 0
    assert len(found.refuted) == 1295


@pytest.mark.parametrize(
    ("task", "memory", "cells"),
    [
        (recall, "B1", 36),
        (recall4, "B1", 64),
        (recall_variant, "none", 2),
        (recall_variant, "OA1", 64),
    ],
)
@pytest.mark.parametrize(
    "learner", [QLearning(epsilon=TENTH), Sarsa(lam=0, epsilon=TENTH)], ids=str
)
def test_here_no_policy_is_a_fixed_point(task, memory, cells, learner):
    found = equilibria(augment(task(), memory), learner, exact=True)
    assert found.none_exists
    assert (len(found), found.cells) == (0, cells)


def test_on_the_variant_with_a_bit_the_only_fixed_point_is_tied_and_far_from_the_best():
    E = augment(recall_variant(), "B1")
    (e,) = equilibria(E, QLearning(epsilon=TENTH), exact=True)
    assert (e.value, e.strict) == (-10, False)
    assert e.gap == 0
    assert e.ties == {("0", "o"): ((0, "0"), (1, "0")), ("1", "o"): ((0, "0"), (1, "0"))}


def test_on_the_variant_with_oa2_all_fixed_points_are_optimal_and_tied():
    found = equilibria(
        augment(recall_variant(), "OA2"), QLearning(epsilon=TENTH), exact=True, branch=True
    )
    assert found.complete
    assert (found.cells, len(found)) == (16_384, 64)
    assert {(e.value, e.strict) for e in found} == {(3, False)}


def test_two_equilibria_of_different_worth_can_stand_side_by_side():
    found = equilibria(habit(), QLearning(epsilon=TENTH), exact=True)
    assert [e.value for e in found] == [3, 1]
    assert all(e.strict for e in found)
    assert not found.none_exists


# ---------------------------------------------------------------------- the slow twin


@given(st.data())
@settings(max_examples=25)
def test_the_twin_that_tries_everything_finds_the_same(data):
    P = data.draw(pomdps(most_observations=2, most_states=3))
    if len(P.A) == 2 and data.draw(st.booleans()):
        P = augment(P, data.draw(families(1)))
    if len(P.A) ** len(P.O) > 70:
        return
    sarsa = data.draw(st.booleans())
    learner = Sarsa(lam=0, epsilon=0.25) if sarsa else QLearning(epsilon=0.25)
    found = equilibria(P, learner)
    slow = equilibria_by_force(P, 0.25, sarsa)
    rows = [P.O[int(o)] for o in found.rows]

    def key(g):
        return tuple(g[o] for o in rows)

    expected = {key(g): q for g, q in slow}
    got = {key(by_row(P, e)): e for e in found}
    # symmetric memory states: one of a class is enough
    assert set(got) <= set(expected)
    assert bool(got) == bool(expected)
    if found.looked_at == found.cells:
        assert set(got) == set(expected)
    for g, e in got.items():
        for (o, a), x in expected[g].items():
            assert e.q[o, a] == pytest.approx(x, abs=1e-6)


@pytest.mark.parametrize("unit", [Fraction(1, 2**60), Fraction(2**60)])
def test_what_ties_in_floats_does_not_depend_on_the_unit_of_reward(unit):
    def answers(P):
        found = equilibria(augment(P, "OA1"), QLearning(epsilon=Fraction(1, 10)))
        return [(e.policy.actions.tolist(), e.kind) for e in found]

    assert answers(recall().scale_rewards(unit)) == answers(recall())


def two_prizes(*prizes) -> POMDP:
    return small_task("prizes", lambda s, a: {("end", prizes[a]): 1}, "s", A=range(len(prizes)))


@pytest.mark.parametrize("learner", [QLearning(), Sarsa(lam=0.5), Sarsa(lam=1)])
@pytest.mark.parametrize("epsilon", [0, 0.1])
def test_a_difference_of_any_size_is_no_tie(learner, epsilon):
    P = two_prizes(1, 1 + Fraction(1, 10**15), 1 + Fraction(1, 10**30))
    found = equilibria(P, learner, epsilon)
    assert [(by_row(P, e)["o"], e.strict, e.sure) for e in found] == [(1, True, True)]
    even = equilibria(two_prizes(1, 1, Fraction(1, 2)), learner, epsilon)
    assert [(e.ties, e.sure) for e in even] == [({"o": (0, 1)}, True)] * 2
    assert even.arithmetic == "in floats"


def test_of_a_task_in_floats_ties_are_called_unsure():
    found = equilibria(two_prizes(0.1, 0.1, 0.3 - 0.2), QLearning(epsilon=0.1))
    assert [(e.ties, e.sure) for e in found] == [({"o": (0, 1)}, False)] * 2
    assert found.arithmetic == "in floats, 2 ties within rounding"
    assert "2 ties within rounding" in repr(found)


@given(st.data())
@settings(max_examples=25)
def test_exact_and_float_answers_agree(data):
    P = data.draw(pomdps(most_observations=2))
    learner = data.draw(
        st.sampled_from(
            [
                QLearning(epsilon=TENTH),
                Sarsa(lam=0, epsilon=TENTH),
                Sarsa(lam=Fraction(1, 2), epsilon=TENTH),
                MonteCarlo(epsilon=TENTH),
            ]
        )
    )
    exact, floats = equilibria(P, learner, exact=True), equilibria(P, learner)
    assert [by_row(P, e) for e in exact] == [by_row(P, e) for e in floats]
    for e, f in zip(exact, floats, strict=True):
        assert e.kind == f.kind
        assert float(e.value) == pytest.approx(f.value)
        assert (
            float(e.gap) == pytest.approx(f.gap, abs=1e-8) if e.gap is not None else f.gap is None
        )


@given(st.data())
@settings(max_examples=30)
def test_blocks_and_single_tables_agree_within_the_stated_bound(data):
    P = augment(data.draw(pomdps(most_observations=2)), data.draw(families(1)))
    half = Fraction(1, 2)
    one_step = [QLearning(), Sarsa(lam=0), ExpectedSarsa()]
    longer = [Sarsa(lam=half), MonteCarlo(), NStepSarsa(n=3)]
    learner = data.draw(st.sampled_from(one_step + longer))
    P = P.scale_rewards(data.draw(st.sampled_from([1, 10**9, Fraction(1, 10**9)])))
    target = target_of(learner)
    task = DenseTask(P, target, 0.2)
    actions = np.array([[data.draw(st.integers(0, len(P.A) - 1)) for _ in task.rows]])
    block = task.look_at(actions)
    whole = np.zeros(len(P.O), dtype=np.int64)
    whole[task.rows] = actions[0]
    exact = Learned(P, target, Fraction(1, 5), RATIONALS).q(Policy.from_actions(P, whole))
    exact = RATIONALS.leave(exact[task.rows])
    off = max(abs(Fraction(x) - y) for x, y in zip(block.q[0].flat, exact.flat, strict=True))
    size = max(float(max(abs(y) for y in exact.flat)), float(np.abs(task.R).max()))
    assert 2 * off <= block.bound[0]
    assert off <= 1e-9 * size
    assert block.bound[0] <= 1e-4 * size  # more where a row is rarely seen
    A, c = task.affine(task.greedy(actions)[0])
    q = exact.astype(float)
    # the mean field of the cell is at rest there
    assert np.abs(A @ q.ravel() + c).max() <= 1e-9 * size
    assert np.linalg.eigvals(A).real.max() < 0


@given(st.data())
@settings(max_examples=20)
def test_sarsa_monte_carlo_and_n_step_tables_are_those_of_td_and_of_evaluate(data):
    P = data.draw(pomdps(most_observations=2))
    g = Policy.from_actions(P, np.zeros(len(P.O), dtype=np.int64))
    b = exploring(P, g, 0.2)
    for target, expected in (
        (target_of(Sarsa(lam=0.5)), td_values(P, b, lam=0.5).q),
        (target_of(NStepSarsa(n=3)), td_values(P, b, n=3).q),
        (target_of(MonteCarlo()), evaluate(P, b).q),
    ):
        got = Learned(P, target, 0.2, FLOATS).q(g)
        assert np.allclose(got, expected.raw, equal_nan=True, atol=1e-9)


# ---------------------------------------------------------------------- what must hold


@given(pomdps(most_observations=1, most_states=3))
@settings(max_examples=25)
def test_where_observations_tell_the_states_every_equilibrium_is_optimal(P):
    seen = task_like(P, "seen", omega=lambda s: {s: 1})
    found = equilibria(seen, QLearning(epsilon=TENTH), exact=True)
    assert len(found) >= 1
    rows = found.rows
    values = []
    for code in range(len(seen.A) ** len(rows)):
        actions = np.zeros(len(seen.O), dtype=np.int64)
        for i, o in enumerate(rows):
            actions[o] = code // len(seen.A) ** i % len(seen.A)
        values.append(evaluate(seen, Policy.from_actions(seen, actions), exact=True).value)
    assert {e.value for e in found} == {max(values)}


@given(st.data())
@settings(max_examples=15)
def test_renaming_actions_renames_the_equilibria(data):
    P = data.draw(pomdps(most_observations=2))
    turned = P.relabel(A=lambda a: f"not {a}")
    one, other = (equilibria(X, QLearning(epsilon=TENTH), exact=True) for X in (P, turned))
    assert [by_row(P, e) for e in one] == [
        {o: a.removeprefix("not ") for o, a in by_row(turned, e).items()} for e in other
    ]


def test_exchanging_memory_states_carries_equilibria_into_equilibria():
    """The bits 01, 10 and 11 begin alike: their names mean nothing."""
    E = augment(recall_variant(), "B2")
    found = equilibria(E, QLearning(epsilon=TENTH), symmetry=False)
    assert len(found) > 1
    assert found.looked_at == found.cells
    once = equilibria(E, QLearning(epsilon=TENTH))
    assert once.looked_at < once.cells == 4096
    assert once.complete
    assert {round(e.value, 9) for e in once} == {round(e.value, 9) for e in found} == {-10}
    named = {frozenset(by_row(E, e).items()) for e in found}
    swap = {"00": "00", "01": "10", "10": "01", "11": "11"}
    turned = {
        frozenset(((swap[m], o), (a, swap[w])) for (m, o), (a, w) in policy) for policy in named
    }
    assert named == turned


def two_names(sign: int) -> POMDP:
    """Two steps; doing different things pays or costs."""
    return small_task(
        "two names",
        lambda s, a: {("end", sign * int(s != a)) if s else (a, 0): 1},
        "",
        A=["l", "r"],
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_where_actions_can_be_exchanged_equilibria_can_be(sign):
    P = two_names(sign)
    found = equilibria(P, QLearning(epsilon=TENTH), exact=True)
    acts = {by_row(P, e)["o"] for e in found}
    assert acts == ({"l", "r"} if sign < 0 else set())


def test_a_long_run_with_small_steps_stays_at_a_strict_equilibrium():
    """It is not left again, and the table is the predicted one and not the other's."""
    P = habit()
    found = {e.policy.actions[0]: e for e in equilibria(P, QLearning(epsilon=0.1))}
    run = learn(P, QLearning(epsilon=0.1, step=0.002), steps=300_000, seeds=16, every=3000)
    late = run.actions[:, 50:, 0]
    assert (late == late[:, :1]).all()
    assert set(late[:, 0]) <= set(found)
    for q, a in zip(run.tables["q"][:, 0], late[:, 0], strict=True):
        assert np.abs(q - found[a].q.raw[0]).max() < 0.6
        assert np.abs(q - found[1 - a].q.raw[0]).max() > 1


# ---------------------------------------------------------------------- what is refused


def test_epsilon_0_leaves_rows_unvisited_and_their_tables_undefined():
    E = augment(recall(), "B1")
    found = equilibria(E, QLearning(epsilon=0), exact=True)
    assert found.undefined > 0
    assert not found.none_exists
    P = recall()  # one row, always visited
    assert equilibria(P, QLearning(epsilon=0), exact=True).undefined == 0


def test_a_budget_is_told():
    found = equilibria(augment(recall(), "OA1"), QLearning(epsilon=0.1), most=100, branch=False)
    assert not found.complete
    assert found.covered == 100
    assert not found.none_exists
    assert found.looked_at == 100
    assert "a share of 0.92 not decided" in repr(found)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda P: equilibria("recall", QLearning()), WrongType, "needs a POMDP"),
        (lambda P: equilibria(P, ActorCritic()), WrongType, "greedy learner"),
        (lambda P: equilibria(P, QLearning), WrongType, "needs a Learner"),
        (lambda P: equilibria(P, QLearning(), exact=True), NotExact, "epsilon, not 0.01"),
        (lambda P: equilibria(P, Sarsa(epsilon=TENTH), exact=True), NotExact, "lam, not 0.5"),
        (lambda P: equilibria(P, QLearning(max_episode_steps=9)), OptionError, "=9; leave it out"),
        (lambda P: equilibria(P, QLearning(), most=0), OptionError, "most must be at least 1"),
        (lambda P: equilibria(P, QLearning(), epsilon=-0.1), OptionError, r"lie in \[0, 1\], not"),
        (lambda P: equilibria(P, QLearning(), epsilon=1.5), OptionError, r"lie in \[0, 1\], not"),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(recall())


def test_tasks_too_large_are_named_with_their_size():
    def p(s, a):
        return {(min(s + a, 1600), 0): 1}

    P = small_task("long", p, 0, gamma=0.5, terminal={1600})
    with pytest.raises(TooLarge, match=r"1,600 states that are not terminal.*up to 1,500"):
        equilibria(P, QLearning())


def test_symbols_are_sent_to_the_subdivision():
    with pytest.raises(WorkbenchError, match="`subdivide` answers"):
        equilibria(recall(gamma=sympy.Symbol("g")), QLearning())


def test_tasks_that_do_not_end_have_equilibria_too():
    """Two states that look alike; staying pays 1 in one of them, and the long run counts."""
    P = small_task(
        "for ever",
        lambda s, a: {(s if a == "stay" else 1 - s, int(s and a == "stay")): 1},
        0,
        A=["stay", "go"],
        gamma=Fraction(1, 2),
    )
    found = equilibria(P, QLearning(epsilon=TENTH), exact=True)
    assert [by_row(P, e)["o"] for e in found] == ["stay"]
    assert found[0].q["o", "stay"] == 1  # half of the time there, and 1/2 + 1/2 q


def test_fixed_points_that_play_alike_are_listed_once():
    found = equilibria(
        augment(recall_variant(), "B2"),
        QLearning(epsilon=Fraction(1, 10)),
        exact=True,
        symmetry=False,
    )
    assert len(found) > len(found.classes) == 1
    assert sum(map(len, found.classes)) == len(found)
    (row,) = found.sheet().rows
    assert row[2] == len(found)
    assert "recall_variant×B2" in found._repr_html_()
