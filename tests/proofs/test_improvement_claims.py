"""Section 5.2, Appendix B and Figure 5 in the ledger: spoiled certificates, and the theorems on
random POMDPs."""

import copy
from fractions import Fraction
from itertools import islice, product

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import entry
from strategies import policies, pomdps

from proofs import (  # noqa: F401
    appendix_b_variant,
    section52_gradient,
    section52_local,
    section52_stable,
)
from proofs.appendix_b_oa1 import EMPTY, KEEP0, KEEP1, PUSH0, PUSH1, ROW0, ROW1, variant
from proofs.appendix_c_setting import lumped_memory, lumped_uniform, mixed_rows, policy_rows
from proofs.section52_gradient import weighted_advantage
from proofs.section52_tiny import returns_along_a_step, tiny_tasks
from workbench import Policy, augment, best_history, evaluate, improve, uniform
from workbench.agents.step_limit import with_step_limit
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.fields import RATIONALS
from workbench.core.improve import iterates
from workbench.core.steps import shrinking_steps
from workbench.core.ties import greedy_actions, tie_order

F = Fraction


@pytest.mark.parametrize("what", ["before", "after"])
def test_a_spoiled_step_is_caught(what):
    spoiled = copy.deepcopy(entry("S52.local").certificates[0])
    spoiled[what] += " + 1/100"
    with pytest.raises(Spoiled):
        recheck(spoiled)


# ---------------------------------------------------------------------- S52.local and S52.local*


@settings(max_examples=25)
@given(pomdps(gammas=st.sampled_from([F(1, 2), F(9, 10), F(1)])), st.data())
def test_the_difference_of_two_returns_is_the_weighted_advantage(P, data):
    pi, pi_new = data.draw(policies(P)), data.draw(policies(P))
    old, new = (evaluate(P, each, exact=True, weights="discounted") for each in (pi, pi_new))
    assert RATIONALS.back(weighted_advantage(RATIONALS, old, pi_new, new)) == new.value - old.value


@settings(max_examples=25)
@given(pomdps(gammas=st.sampled_from([F(1, 2), F(9, 10)])), st.data())
def test_a_step_as_small_as_the_bound_allows_improves(P, data):
    """J(pi') - J(pi) >= eps (G - eps 2 gamma A/(1-gamma)^2), with discounted weights."""
    pi = data.draw(policies(P))
    old = evaluate(P, pi, exact=True, weights="discounted")
    greedy = pi.greedy(old.q.array)
    G = RATIONALS.back(weighted_advantage(RATIONALS, old, greedy, old))
    gains = [q for q in old.q_state.array.ravel() if q is not None]
    A = max(gains) - min(gains)
    assert G >= 0
    assert (G == 0) == all(
        not old.reached[o]
        or all(pi[o, a] == 0 or old.q[o, a] == max(old.q.row(o).values()) for a in P.A)
        for o in P.O
    )
    if G == 0:
        return
    most = min(F(1), G * (1 - P.gamma) ** 2 / (2 * P.gamma * A))
    for eps in (most / 100, most * F(99, 100)):
        gained = evaluate(P, pi.toward(greedy, eps), exact=True).value - old.value
        assert gained >= eps * (G - eps * 2 * P.gamma * A / (1 - P.gamma) ** 2)
        assert gained > 0


def test_the_returns_of_tiny_tasks_are_those_of_the_evaluator():
    for one in islice(tiny_tasks(2, (F(1, 2),)), 0, None, 11):
        P = one.model
        for p, discounted in product((F(1, 3), F(1)), (False, True)):
            before, first, second, tie = returns_along_a_step(one, p, discounted)
            pi = Policy.from_mapping(P, {"o": {"l": 1 - p, "r": p}})
            found = evaluate(P, pi, exact=True, weights="discounted" if discounted else "visits")
            assert found.value == before
            assert tie == (found.q["o", "l"] == found.q["o", "r"])
            for eps in (F(1, 5), F(2, 3)):
                moved = pi.toward(pi.greedy(found.q.array), eps)
                assert (
                    evaluate(P, moved, exact=True).value == before + first * eps + second * eps**2
                )


# ---------------------------------------------------------------------- S52.stable and S52.stable*


@settings(max_examples=25)
@given(pomdps(most_states=3), st.sampled_from(["visits", "discounted"]))
def test_a_policy_as_good_as_any_history_based_one_is_greedy_on_its_own_values(P, weights):
    P = with_step_limit(P, 2)
    best = best_history(P, exact=True).value
    for actions in product(range(len(P.A)), repeat=len(P.O)):
        pi = Policy.deterministic(P, {o: P.A[a] for o, a in zip(P.O, actions, strict=True)})
        found = evaluate(P, pi, exact=True, weights=weights)
        if found.value == best:
            for i, o in enumerate(P.O):
                if found.reached[o] and P.decides[i]:
                    assert found.q[o, P.A[actions[i]]] == max(found.q.row(o).values())


@pytest.mark.parametrize("memory", ["OA1", "OA2", "B1", "B2"])
def test_the_optimum_of_the_variant_that_ties_prefer_is_a_fixed_point(memory):
    P = variant()
    E, pi = appendix_b_variant._optimal_policies(P)[memory]
    found = evaluate(E, pi, exact=True)
    chosen = greedy_actions(found.q.array, tie_order(E.A))
    assert found.value == best_history(P).value == 3
    assert all(j < 0 or j == pi.actions[i] for i, j in enumerate(chosen))
    assert improve(E, pi, step=0.1).limit_value == 3


@settings(max_examples=20)
@given(st.data())
def test_a_strict_optimum_attracts(data):
    """Two visible steps, strictly best actions: near pi greedy is pi, whatever happens
    elsewhere."""
    goes_on = data.draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    rewards = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
    one = next(iter(tiny_tasks(1, (F(1),), True)))
    one = type(one)(goes_on, tuple(rewards), F(1), True)
    second = one.rewards[2] < one.rewards[3]
    first = [one.rewards[i] + goes_on[i] * max(rewards[2:]) for i in (0, 1)]
    D = min(abs(first[0] - first[1]), abs(rewards[2] - rewards[3]))
    best = first[0] < first[1]
    if D == 0 or not goes_on[best]:
        return
    R, T = 2 * max(rewards) or 1, 2
    d = next(
        d for n in range(1, 200) if (1 - (d := F(1, n))) ** T * (D - T * d * R) - T * T * d * R > 0
    )
    off = data.draw(st.fractions(0, d))
    P = one.model
    pi = Policy.from_mapping(
        P,
        {
            "first": {"lr"[best]: 1 - off, "lr"[not best]: off},
            "second": {"lr"[second]: 1 - off, "lr"[not second]: off},
        },
    )
    chosen = pi.greedy(evaluate(P, pi, exact=True).q.array)
    assert chosen["first", "lr"[best]] == chosen["second", "lr"[second]] == 1


# ---------------------------------------------------------------------- Appendix B and Figure 5


@pytest.mark.parametrize("step", [F(1, 20), F(1, 8), F(1, 5)])
def test_the_iterates_with_oa1_lie_in_the_family_and_keep_its_bounds(step):
    """The numbers x, c, y, u of the proof, read off the loop as it is run."""
    E = augment(variant(), "OA1")
    x, phase_1 = F(1), True
    for it in islice(iterates(E, uniform(E), step, exact=True), 60):
        pi = it.pi
        c, y = pi[EMPTY, KEEP0] - x / 4, pi[ROW0, PUSH0] - x / 4
        u = pi[ROW0, PUSH1] - x / 4
        assert pi[EMPTY, KEEP1] == pi[EMPTY, PUSH1] == pi[ROW0, KEEP0] == x / 4
        assert {pi[ROW1, a] for a in (KEEP0, PUSH0, KEEP1)} == {x / 4}
        phase_1 = phase_1 and y == 0
        if phase_1:
            assert u == 1 - x
            assert x >= F(1, 12)
            assert c == 0 or c <= F(1, 4) + 3 * step / 4 - 5 * x / 8
        assert u <= 11 * x
        q = evaluate(E, pi, exact=True).q
        assert q[ROW1, PUSH1] > q[ROW1, PUSH0]
        x *= 1 - step
    assert not phase_1


@pytest.mark.parametrize("step", [0.125, 0.05, 0.01])
def test_oa1_chatters_within_what_the_proof_allows(step):
    E = augment(variant(), "OA1")
    found = improve(E, uniform(E), step=step)
    tail = found.values[-200:]
    assert found.ended == "limit cycle"
    assert 25 / 16 * (1 - step**2) - 1e-9 <= tail.min()
    assert tail.max() <= 25 / 16 + 1e-9


def test_oa1_tends_to_the_stochastic_point_when_its_steps_tend_to_zero():
    E = augment(variant(), "OA1")
    found = improve(E, uniform(E), step=shrinking_steps(F(1, 8)), budget=6000)
    assert abs(found.values[-1] - 25 / 16) < 1e-4
    assert abs(float(found.pi[ROW0, PUSH0]) - 3 / 8) < 1e-2


def test_lumped_memory_states_make_the_same_episodes_in_the_variant():
    P, e, y = variant(), F(1, 3), F(2, 5)
    E, L = augment(P, "B3"), augment(P, lumped_memory())

    def iterate(model, start, first, last):
        g0 = Policy.deterministic(model, {(first, "o"): (0, last)}, otherwise=(1, last))
        g1 = Policy.deterministic(model, {(first, "o"): (0, last)}, otherwise=(1, first))
        return evaluate(
            model,
            mixed_rows(model, policy_rows(mixed_rows(model, start, g0, 1 - e)), g1, y),
            exact=True,
        )

    here = iterate(E, policy_rows(uniform(E)), "000", "111")
    there = iterate(L, lumped_uniform(L, F(8)), "0", "last")
    classes = {"000": "0", "010": "others", "110": "others", "111": "last"}
    assert here.value == there.value
    for (m, c), (w, d), a in product(classes.items(), classes.items(), (0, 1)):
        assert here.q[(m, "o"), (a, w)] == there.q[(c, "o"), (a, d)]


def test_a_full_step_is_too_much_for_oa1_and_a_mild_penalty_none_at_all():
    full, mild = augment(variant(), "OA1"), augment(variant(-20), "OA1")
    assert improve(full, uniform(full), step=1).limit_value == 3
    assert improve(mild, uniform(mild), step=0.02).limit_value == 3


def test_the_penalty_that_turns_the_loop_is_found_by_symbols():
    """At the uniform policy (o,1) prefers <1,push> if the penalty is below -11.

    By hand: <1,push> first (1/4) makes it -10 against r; <0,.> first, then <1,push> (1/8), makes it
    1 against 3.
    """
    r = sympy.Symbol("r")
    E = augment(variant(r), "OA1")
    q = evaluate(E, uniform(E)).q
    assert sympy.solve(q[ROW1, PUSH1] - q[ROW1, PUSH0], r) == [-11]
