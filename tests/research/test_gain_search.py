"""The best policies by their average reward."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tasks import small_task

from pomdps import recall4, tiger
from tests.evaluation.test_gain import two_rooms
from tests.support.reference_average import continuing_pomdps
from tests.support.strategies import pomdps
from workbench import (
    POMDP,
    Policy,
    RLearning,
    augment,
    best_history,
    best_memoryless,
    evaluate,
    learn,
    memories,
    uniform,
)
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.repetition import repeat_episodes
from workbench.optima.mdp import from_states
from workbench.research import average as gain_search
from workbench.research.average import cut_at, find_return_state, pay_less
from workbench.research.gain_process import (
    bound_gain_below,
    continue_process,
    end_components,
    optimal_gain,
)

F = Fraction


def average(P, pi):
    return evaluate(P, pi, exact=True, criterion="average").value


def every_policy(P):
    for actions in itertools.product(P.A, repeat=len(P.O)):
        yield Policy.deterministic(P, dict(zip(P.O, actions, strict=True)))


def both_kinds():
    return st.one_of(
        continuing_pomdps(most_states=4, most_observations=2, most_actions=3),
        pomdps(most_states=3),
    )


@given(both_kinds())
@settings(max_examples=40)
def test_the_best_deterministic_policy_is_the_best_of_all_of_them(P):
    slow = max(average(P, pi) for pi in every_policy(P))
    found = best_memoryless(P, exact=True, criterion="average")
    assert found.value == slow == found.bound
    assert found.certified
    assert average(P, found.policy) == slow
    floats = best_memoryless(P, criterion="average")
    assert floats.value == pytest.approx(float(slow), abs=1e-9)
    assert floats.bound >= floats.value
    assert F(floats.bound) >= slow
    assert floats.certified


@given(both_kinds())
@settings(max_examples=30)
def test_full_information_is_bounded_by_what_is_best_in_every_state(P):
    """Over all policies of the pairs (s, o), one by one."""
    M = continue_process(from_states(P, RATIONALS))
    n, nA = M.shape
    if nA**n > 500:
        return
    S = repeat_episodes(P)

    def p(x, a):
        s, _ = x
        return {
            ((t, o), r): chance * seen
            for (t, r), chance in S.p(s, a).items()
            for o, seen in S.omega(t).items()
        }

    seen = small_task(
        "seen",
        p,
        {(s, o): x * y for s, x in S.mu.items() for o, y in S.omega(s).items()},
        A=list(P.A),
        omega=lambda x: {x: 1},
        gamma=F(1, 2),
    )
    best = max(average(seen, pi) for pi in every_policy(seen))
    assert RATIONALS.back(optimal_gain(M).bound) == best
    bound = optimal_gain(continue_process(from_states(P, FLOATS))).bound
    assert best <= F(float(bound)) <= best + F(1, 10**9)


def test_end_components_are_what_can_be_stayed_in():
    P = two_rooms()
    M = continue_process(from_states(P, FLOATS))
    part, staying = end_components(M, np.ones(M.shape, dtype=bool))
    names = [P.S[int(s)] for s in M.behind]
    assert dict(zip(names, (part >= 0).tolist(), strict=True)) == {
        "door": False,
        "left": True,
        "right": True,
    }
    assert part[names.index("left")] == part[names.index("right")]
    only_stay = np.zeros(M.shape, dtype=bool)
    only_stay[:, P.A.index("stay")] = True
    part, staying = end_components(M, only_stay)
    assert part[names.index("left")] != part[names.index("right")]
    assert not staying[names.index("door")].any()


def test_a_policy_of_several_classes_may_be_the_best():
    """Both rooms pay well for staying, and "swap" costs: the start decides by chance."""
    P = two_rooms()
    found = best_memoryless(P, exact=True, criterion="average")
    assert found.value == F(5, 2)
    assert found.policy["o", "stay"] == 1
    informed = optimal_gain(continue_process(from_states(P, RATIONALS)))
    assert RATIONALS.back(informed.bound) == 3


@given(pomdps(most_states=3, most_observations=1))
@settings(max_examples=15)
def test_no_stochastic_policy_is_better_than_the_bound(P):
    found = best_memoryless(P, deterministic=False, criterion="average", seed=1, max_seconds=20)
    shares = [F(i, 12) for i in range(13)]
    grid = [
        average(P, Policy.from_mapping(P, {P.O[0]: {P.A[0]: x, P.A[-1]: 1 - x}}))
        if len(P.A) > 1
        else average(P, uniform(P))
        for x in shares
    ]
    assert float(max(grid)) <= found.bound + 1e-9
    assert found.value >= float(max(grid)) - 1e-4
    assert found.certified
    assert found.gap <= found.tolerance


def test_cycles_of_a_continuing_task_certify_its_stochastic_optimum():
    P = repeat_episodes(recall4())
    assert P.S[find_return_state(P)] == "s*"
    found = best_memoryless(P, deterministic=False, criterion="average")
    # half of the best stochastic return of an episode of two steps
    plain = best_memoryless(recall4(), deterministic=False)
    assert plain.certified
    assert found.certified
    assert found.value == pytest.approx(plain.value / 2, abs=1e-9)
    assert found.first_order


def test_a_cycle_pays_what_is_left_of_its_rewards():
    P = repeat_episodes(recall4())
    cycle = pay_less(cut_at(P, P.S.index("s*")), F(1, 8))
    pi = uniform(cycle)
    return_ = evaluate(recall4(), uniform(recall4()), exact=True).value
    assert evaluate(cycle, pi, exact=True).value == return_ - 2 * F(1, 8)
    assert find_return_state(tiger()) is None  # listening for ever stays with one door


@pytest.mark.slow
def test_where_no_state_is_always_come_back_to_the_bound_is_full_information():
    P = augment(tiger(), memories.O(1))
    found = best_memoryless(P, deterministic=False, criterion="average", max_seconds=5)
    assert found.bound == pytest.approx(10)
    assert found.value > -0.75  # the best deterministic one loses 1 a step
    assert not found.certified
    assert "full information" in found.how
    assert found.value == pytest.approx(float(evaluate(P, found.policy, criterion="average").value))


@given(pomdps(most_states=3, most_observations=2, deterministic_observations=True))
@settings(max_examples=15)
def test_histories_of_episodes_are_worth_no_less_than_memory(P):
    found = best_history(P, criterion="average", max_beliefs=60)
    if found.beliefs is None:
        assert found.lower <= found.upper
        return
    assert found.exact
    E = augment(P, memories.O(1))
    assert found.value >= best_memoryless(E, exact=True, criterion="average").value
    controller = found.policy
    worth = evaluate(controller.product, controller.policy, exact=True, criterion="average").value
    assert worth == found.value
    floats = best_history(P, False, criterion="average", max_beliefs=60)
    assert F(floats.lower) <= found.value <= F(floats.upper)
    assert floats.gap < 1e-11


@pytest.mark.parametrize("ends", [False, True])
@given(st.integers(1, 9), st.integers(1, 9), st.integers(3, 10))
@settings(max_examples=10)
def test_bounds_in_floats_hold_where_differences_are_rounded_away(ends, i, j, digits):
    """Two states that are left once in 10^digits steps, or a task that ends as seldom: 1 - p keeps
    few digits of p, and so do shares of time."""
    leave, back = F(i, 10**digits), F(j, 10**digits)

    def p(s, a):
        if s == "good":
            return {("good", 1): 1 - leave, ("bad", 0): leave}
        return {("bad", 0): 1 - back, ("end" if ends else "good", 0): back}

    P = small_task(
        "slow",
        p,
        "good",
        A=["wait"],
        omega=lambda s: {s: 1},
        gamma=F(1, 2),
        terminal={"end"} if ends else (),
    )
    truth = best_history(P, criterion="average").value
    assert truth == (1 - leave) * back / (leave + back)
    found = best_history(P, False, criterion="average")
    assert not found.exact
    assert F(found.lower) <= truth <= F(found.upper)
    assert found.lower <= found.value <= found.upper
    assert found.gap <= 10.0 ** (digits - 13)


@given(both_kinds())
@settings(max_examples=30)
def test_the_gain_of_a_policy_is_bounded_from_below(P):
    pi = next(every_policy(P))
    exact = average(P, pi)
    M = continue_process(from_states(P, FLOATS))
    low = bound_gain_below(M, pi.actions[M.seen])
    assert exact - F(1, 10**9) <= F(float(low)) <= exact
    rational = continue_process(from_states(P, RATIONALS))
    assert RATIONALS.back(bound_gain_below(rational, pi.actions[rational.seen])) == exact


def test_recall4_with_its_history_pays_its_return_by_its_length():
    found = best_history(recall4(), criterion="average")
    assert found.value == best_history(recall4()).value / 2
    assert repr(found).startswith("best history-based average reward of recall4: 1/2")


def test_too_many_beliefs_leave_bounds_that_hold():
    P = tiger()
    found = best_history(P, criterion="average", max_beliefs=20)
    assert found.lower == pytest.approx(-1)
    assert found.upper == pytest.approx(10)
    with pytest.raises(TooLarge, match="more than 20 reachable beliefs"):
        best_history(P, True, criterion="average", max_beliefs=20)


def test_limits_and_interruptions_leave_a_bound():
    P = augment(tiger(), memories.O(1))
    found = best_memoryless(P, criterion="average", max_nodes=3)
    assert not found.certified
    assert "stopped at" in found.how
    assert found.bound >= found.value
    assert "average reward" in repr(found)


def test_ctrl_c_among_stochastic_policies_ends_the_search(monkeypatch):
    calls = []
    solve = gain_search.stochastic_optimum

    def interrupted(*arguments):
        calls.append(1)
        return replace(solve(*arguments), interrupted=True)

    monkeypatch.setattr(gain_search, "stochastic_optimum", interrupted)
    P = repeat_episodes(recall4())
    found = best_memoryless(P, deterministic=False, criterion="average")
    assert found.interrupted
    assert found.how.endswith("interrupted")
    assert len(calls) == 1
    first = gain_search.deterministic_optimum
    monkeypatch.setattr(
        gain_search,
        "deterministic_optimum",
        lambda *arguments: replace(first(*arguments), interrupted=True),
    )
    sooner = best_memoryless(P, deterministic=False, criterion="average")
    assert sooner.interrupted
    assert len(calls) == 1
    assert sooner.bound >= found.bound >= F(9, 32)


def test_time_that_is_up_leaves_a_bound_that_holds():
    """The iteration stops at once: its bound is that of the first policy's bias, and not tight."""
    M = continue_process(from_states(access_control(), FLOATS))
    tight, early = optimal_gain(M), optimal_gain(M, until=0.0)
    assert early.bound > tight.bound + 0.1
    P = access_control()
    found = best_memoryless(P, criterion="average", max_seconds=1e-9)
    assert "stopped after" in found.how
    assert not found.certified
    assert found.bound >= best_memoryless(P, criterion="average").value >= found.value


def test_a_start_is_never_lost():
    P = augment(recall4(), memories.B(1))
    best = best_memoryless(P, exact=True, criterion="average")
    again = best_memoryless(P, criterion="average", start=best.policy, max_nodes=1)
    assert again.value == pytest.approx(0.5)


def test_what_belongs_to_the_return_is_refused():
    with pytest.raises(WorkbenchError, match="criterion must be one of"):
        best_memoryless(recall4(), criterion="mean")


def access_control() -> POMDP:
    """Customers of four priorities ask for one of three servers, which become free by chance
    (after Sutton and Barto 2018, Example 10.2, smaller and fully seen)."""
    free, pay = F(1, 5), (1, 2, 4, 8)

    def p(s, a):
        servers, c = s
        takes = a == "accept" and servers > 0
        r = pay[c] if takes else 0
        busy = 3 - servers + takes
        found: dict = {}
        for k in range(busy + 1):
            ways = F(1)
            for i in range(k):
                ways = ways * (busy - i) / (i + 1)
            chance = ways * free**k * (1 - free) ** (busy - k)
            for d in range(4):
                key = ((3 - busy + k, d), r)
                found[key] = found.get(key, 0) + chance / 4
        return found

    return small_task(
        "access control", p, (3, 0), A=["accept", "reject"], omega=lambda s: {s: 1}, gamma=F(9, 10)
    )


@pytest.mark.slow
def test_r_learning_learns_the_best_average_of_a_continuing_task():
    P = access_control()
    best = best_memoryless(P, exact=True, criterion="average")
    run = learn(P, RLearning(epsilon=0.1, step=0.01, rate=2e-4), steps=1_000_000, seeds=4)
    for seed in run.seeds:
        worth = evaluate(P, run.policy(seed), criterion="average").value
        assert worth == pytest.approx(float(best.value))
        rho = run.tables["rho"][run.seeds.index(seed)][0]
        assert rho == pytest.approx(float(best.value), rel=0.03)
    # greedy in the pay alone is worth less, so that there was something to learn
    always = Policy.deterministic(P, dict.fromkeys(P.O, "accept"))
    assert average(P, always) < best.value * F(97, 100)
