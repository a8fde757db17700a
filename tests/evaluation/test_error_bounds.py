"""Errors that `evaluate` claims in floats, against exact values: never too small, seldom much too
large."""

from __future__ import annotations

import math
import re
import statistics
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from strategies import policies, pomdps
from toy_tasks import small_task, task_like

from pomdps import gravity
from workbench import POMDP, Policy, augment, evaluate, td_values, uniform
from workbench.core import chain, linear, linear_kernels
from workbench.core.errors import NotSolved

UNIT = F(1, 2**53)


def lazy(P: POMDP, exit: F) -> POMDP:
    """The same task, made so slow that it ends in a step with a chance of `exit` times the old
    one."""

    def p(s, a):
        found = {outcome: x * exit for outcome, x in P.p(s, a).items()}
        found[s, F(1, 3)] = found.get((s, F(1, 3)), 0) + 1 - exit
        return found

    return task_like(P, "lazy", p=p, gamma=1)


def in_floats(P: POMDP) -> POMDP:
    """The same task with its probabilities and rewards given as floats."""
    return task_like(
        P, "floats", p=lambda s, a: {(t, float(r)): float(x) for (t, r), x in P.p(s, a).items()}
    )


def assert_bounds_hold(exact, fast) -> None:
    P = exact.P
    assert abs(exact.value - F(fast.value)) <= fast.error
    for s in P.S:
        assert abs(exact.v[s] - F(fast.v[s])) <= fast.v_error[s]
        if not math.isinf(fast.visits_error[s]):
            off = abs(exact.visits[s] - F(fast.visits[s]))
            assert off <= exact.visits[s] * F(fast.visits_error[s])
        for a in P.A:
            if s not in P.terminal:
                off = abs(exact.q_state[s, a] - F(fast.q_state[s, a]))
                assert off <= fast.q_state_error[s, a]
    for o in P.O:
        for a in P.A:
            if not math.isnan(fast.q[o, a]):
                assert abs(exact.q[o, a] - F(fast.q[o, a])) <= fast.q_error[o, a]
                behind = [fast.q_state[s, a] for s, x in fast.s_given_o.row(o).items() if x > 0]
                assert min(behind) <= fast.q[o, a] <= max(behind)


@given(pomdps(), st.sampled_from([0, 3, 6, 10, 14]), st.booleans(), st.data())
def test_errors_stay_below_their_bounds_however_slowly_a_task_ends(P, digits, rounded, data):
    P = lazy(P, F(1, 10**digits))
    pi = data.draw(policies(P))
    exact = evaluate(P, pi, exact=True)
    assert_bounds_hold(exact, evaluate(in_floats(P) if rounded else P, pi))


@given(
    pomdps(),
    st.sampled_from([0, 3, 6]),
    st.sampled_from([linear.Krylov]),
    st.data(),
)
def test_bounds_of_large_chains_hold_too(P, digits, solver, data):
    """The method for large chains, asked about small ones."""
    P = lazy(P, F(1, 10**digits))
    pi = data.draw(policies(P))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "solvers_for", lambda n: [solver])
        fast = evaluate(P, pi)
    assert "elimination" not in fast.method
    assert not np.isinf(fast.visits_error.raw).any()
    assert_bounds_hold(evaluate(P, pi, exact=True), fast)


def test_bounds_are_close_to_the_errors():
    """At most 100 times too large in the median; an error below half a unit in the last place
    counts as that."""
    ratios: dict[str, list[float]] = {"v": [], "q": []}
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 9))

        def row(size: int, rng=rng) -> list[F]:
            weights = rng.integers(0, 6, size)
            weights[rng.integers(size)] += 1
            return [F(int(w), int(weights.sum())) for w in weights]

        p = {(s, a): row(n + 1) for s in range(n) for a in range(2)}
        exits = F(1, int(rng.choice([3, 100, 10_000])))
        r = {(s, a): F(int(rng.integers(-9, 9)), 7) for s in range(n) for a in range(2)}
        omega = {s: row(2) for s in range(n + 1)}
        P = small_task(
            "random",
            lambda s, a, p=p, r=r, exits=exits, n=n: {
                **{(t, r[s, a]): x * (1 - exits) for t, x in enumerate(p[s, a][:n])},
                (n, r[s, a]): p[s, a][n] * (1 - exits) + exits,
            },
            0,
            omega=lambda s, omega=omega: dict(enumerate(omega[s])),
            gamma=F(int(rng.choice([9, 10])), 10),
            terminal={n},
            S=range(n + 1),
        )
        pi = Policy.from_mapping(P, {o: dict(enumerate(row(2))) for o in P.O})
        exact, fast = evaluate(P, pi, exact=True), evaluate(P, pi)
        assert_bounds_hold(exact, fast)
        for s in P.S:
            if exact.v[s]:
                off = max(abs(exact.v[s] - F(fast.v[s])), UNIT / 2 * abs(exact.v[s]))
                ratios["v"].append(float(F(fast.v_error[s]) / off))
        for o in P.O:
            for a in P.A:
                if exact.reached[o] and exact.q[o, a]:
                    off = max(abs(exact.q[o, a] - F(fast.q[o, a])), UNIT / 2 * abs(exact.q[o, a]))
                    ratios["q"].append(float(F(fast.q_error[o, a]) / off))
    assert len(ratios["v"]) > 400
    assert statistics.median(ratios["v"]) < 100
    assert statistics.median(ratios["q"]) < 100


@pytest.mark.parametrize("digits", [6, 14])
def test_a_task_that_ends_once_in_ten_to_the_sixth_or_fourteenth_step(digits):
    def p(s, a):
        return {("end", 1): F(1, 10**digits), (1 - s, 1): 1 - F(1, 10**digits)}

    P = small_task("slow", p, 0, A=["go"])
    found = evaluate(P, uniform(P))
    assert abs(F(found.value) - 10**digits) <= found.error <= 1e-14 * 10**digits
    rounded = evaluate(in_floats(P), uniform(P))
    assert abs(F(rounded.value) - 10**digits) <= rounded.error
    # the floats of a row sum to one, so that what stays is as right as what leaves
    assert rounded.error <= 1e-14 * 10**digits


@pytest.mark.parametrize("share", [1e-2, 1e-4])
def test_visits_of_a_sharp_policy_are_right_however_rare(share):
    """Deterministic policies mixed with little else: visits from 1 down to 1e-40 and less."""
    E = augment(gravity(), "O1")
    rng = np.random.default_rng(0)
    sharp = Policy.from_actions(E, rng.integers(len(E.A), size=len(E.O)))
    found = evaluate(E, sharp.toward(uniform(E), share))
    d = found.visits.raw
    assert (d > 0).all()
    assert d.min() < 1e-12 < d.max()
    assert found.visits_error.raw.max() < 1e-6
    q, q_state = found.q.raw, found.q_state.raw
    low, high = np.full(q.shape, np.inf), np.full(q.shape, -np.inf)
    alive = ~E.terminal.mask
    np.minimum.at(low, E.omega.o[alive], q_state[alive])
    np.maximum.at(high, E.omega.o[alive], q_state[alive])
    seen = ~np.isnan(q)
    error = found.q_error.raw[seen]
    assert seen[E.decides].all()
    assert (q[seen] >= low[seen] - error).all()
    assert (q[seen] <= high[seen] + error).all()
    assert error.max() < 1e-8
    into = np.zeros(len(d))
    acts = found.pi.prob.floats[E.omega.o].reshape(-1)
    rows = np.repeat(np.arange(len(acts)), np.diff(E.p.row_ptr))
    np.add.at(into, E.p.s_next, (d.repeat(len(E.A)) * acts)[rows] * E.p.prob.floats)
    into += E.mu.prob.floats
    assert np.max(np.abs(into - d) / d) < 1e-12


@given(
    pomdps(),
    st.sampled_from([{"n": 1}, {"n": 3}, {"n": 30}, {"lam": F(1, 3)}, {"lam": 1}]),
    st.sampled_from([0, 3]),
    st.sampled_from([linear.Elimination, linear.Krylov]),
    st.data(),
)
def test_fixed_points_of_td_stay_within_their_bounds(P, how, digits, solver, data):
    if digits:
        P = lazy(P, F(1, 10**digits))
    pi = data.draw(policies(P))
    exact = td_values(P, pi, exact=True, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "solvers_for", lambda n: [solver])
        fast = td_values(P, pi, **how)
    for o in P.O:
        if exact.v[o] is not None:
            assert abs(exact.v[o] - F(fast.v[o])) <= fast.error
        for a in P.A:
            if exact.q[o, a] is not None:
                assert abs(exact.q[o, a] - F(fast.q[o, a])) <= fast.q_error[o, a] < 1e-3
            else:
                assert math.isnan(fast.q[o, a])
    assert "|error| of q(o, a) <= " in repr(fast)


def test_the_tails_of_a_policy_are_those_of_its_actions_in_a_task_of_one_state():
    """2/3 - 2/3 is 0, and 1/7 and 6/7 are no floats: a thousand steps multiply what is left out."""
    P = small_task("one state", lambda s, a: {("s", (2, -1)[a]): 1}, "s", gamma=F(999, 1000))
    first, second = (Policy.deterministic(P, {"o": a}) for a in P.A)
    for share in (F(2, 3), F(6, 7)):
        pi = first.toward(second, share)
        found, exact = evaluate(P, pi), evaluate(P, pi, exact=True).value
        assert abs(F(found.value) - exact) <= F(found.error)


# ---------------------------------------------------------------------- extremes


def task(p, mu=None, gamma=1, omega=lambda s: {s: 1}, A=(0,)) -> POMDP:
    return small_task("extreme", p, {0: 1} if mu is None else mu, A=A, omega=omega, gamma=gamma)


TINY = F(1, 10**200)

EXTREMES = {
    "the mean over starts cancels": task(
        lambda s, a: {("end", [3 * 2**80, 2**80, -(2**80)][s]): 1},
        {0: F(1, 10), 1: F(3, 10), 2: F(6, 10)},
    ),
    "rewards cancel in a later state": task(
        lambda s, a: (
            {(1, F(1, 3)): 1}
            if s == 0
            else {("end", 10**30): F(1, 2), ("end", 1 - 10**30): F(1, 2)}
        ),
        gamma=F(1, 2),
    ),
    "without a future, whatever it holds": task(
        lambda s, a: {(1 - s, 10**100 if s == 0 else F(1, 10**100)): F(1, 2), ("end", 0): F(1, 2)},
        gamma=0,
    ),
    "a large reward is unlikely": task(
        lambda s, a: {("end", 10**240): F(1, 10**250), ("end", 0): 1 - F(1, 10**250)}
    ),
    "means of equal numbers": task(
        lambda s, a: {("end", F(1, 10)): 1},
        {s: F(s + 1, 21) for s in range(6)},
        omega=lambda s: {"end" if s == "end" else "o": 1},
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("weights", ["visits", "discounted", "stationary"])
def test_bounds_hold_and_are_finite_in_extreme_tasks(name, weights):
    P = EXTREMES[name]
    exact, fast = (evaluate(P, uniform(P), exact=e, weights=weights) for e in (True, False))
    assert_bounds_hold(exact, fast)
    assert math.isfinite(fast.error)
    assert not fast.note


def test_a_state_that_asks_little_has_a_bound_of_its_own_size():
    P = EXTREMES["without a future, whatever it holds"]
    assert evaluate(P, uniform(P)).v_error[1] < 1e-110


def test_shares_of_time_are_off_by_the_error_of_their_sum_too():
    e = F(11, 10**17)
    P = task(
        lambda s, a: (
            {**{(j, 0): e for j in range(1, 127)}, ("end", 0): 1 - 126 * e}
            if s == 0
            else {("end", 0): 1}
        ),
        omega=lambda s: {"o": 1},
    )
    exact, fast = (evaluate(P, uniform(P), exact=e, weights="stationary") for e in (True, False))
    assert_bounds_hold(exact, fast)


def test_so_is_the_share_of_a_state_from_which_returns_are_counted():
    """It is entered rarely, so that errors of the others add up until then."""
    weights = {
        0: [F(1, 10**15), F(3, 10**6), 2],
        1: [F(1, 10**18), 2, F(3, 10**9)],
        2: [F(1, 10**18), F(8, 5), F(1, 10**6)],
    }
    p = {s: {(t, 0): x / sum(row) for t, x in enumerate(row)} for s, row in weights.items()}
    P = task(lambda s, a: p[s], gamma=F(1, 2), omega=lambda s: {"o": 1})
    exact, fast = (evaluate(P, uniform(P), exact=e, weights="stationary") for e in (True, False))
    assert_bounds_hold(exact, fast)


def test_visits_that_are_too_few_for_floats_are_in_doubt_and_not_infinite():
    P = task(lambda s, a: {("end", 1): 1 - TINY, (s + 1, 0): TINY} if s < 2 else {("end", 5): 1})
    for weights in ("visits", "discounted", "stationary"):
        fast = evaluate(P, uniform(P), weights=weights)
        assert fast.reached[2]
        assert math.isinf(fast.visits_error[2])
        assert fast.o_visits[2] == 0
        assert math.isnan(fast.q[2, 0])
        assert "o=2 is one" in fast.note
        assert "o=2 is one" in td_values(P, uniform(P), lam=1, weights=weights).note
    assert evaluate(P, uniform(P), exact=True).q[2, 0] == 5


FAINT = F(1, 10**400)


@pytest.mark.parametrize(
    ("P", "pi", "message"),
    [
        (task(lambda s, a: {("end", 10**301): 1}), None, "a reward of p at s=0"),
        (task(lambda s, a: {("end", 10**310): 1}), None, "a reward of p at s=0"),
        (task(lambda s, a: {("end", 1e301): 1.0}), None, "change the unit"),
        (task(lambda s, a: {(s, 0): 1 - FAINT, ("end", 1): FAINT}), None, "of p at s=0"),
        (task(lambda s, a: {("end", 1): 1}, {0: 1 - FAINT, 1: FAINT}), None, "of mu at s=1"),
        (
            task(
                lambda s, a: {("end", 1): 1},
                omega=lambda s: {"rare": FAINT, "o": 1 - FAINT} if s == 0 else {"o": 1},
            ),
            None,
            "of omega at s=0",
        ),
        (task(lambda s, a: {("end", a): 1}, A=(0, 1)), {0: FAINT, 1: 1 - FAINT}, "pi(. | o=0)"),
        (
            task(lambda s, a: {(s, 0): 1 - TINY, ("end", a): TINY} if a else {(s, 0): 1}, A=(0, 1)),
            {0: 1 - TINY, 1: TINY},
            "products of probabilities",
        ),
    ],
)
def test_numbers_that_are_no_floats_are_refused_by_their_label(P, pi, message):
    policy = uniform(P) if pi is None else Policy.from_mapping(P, {0: pi})
    for answer in (evaluate, td_values):
        with pytest.raises(NotSolved, match=re.escape(message)):
            answer(P, policy)
    if P.is_exact:
        assert evaluate(P, policy, exact=True).value is not None


def test_reward_per_step_of_a_policy_that_never_ends_is_that_of_the_long_run():
    for start in (0, 1):
        P = task(lambda s, a: {(1, 10 if s == 0 else 1): 1}, {start: 1}, gamma=F(1, 2))
        for exact in (True, False):
            assert evaluate(P, uniform(P), exact=exact).average_reward == 1


def test_a_task_that_is_over_at_once_has_no_shares_of_time():
    P = task(lambda s, a: {}, {"end": 1})
    for exact, nothing in ((True, None), (False, pytest.approx(math.nan, nan_ok=True))):
        found = evaluate(P, uniform(P), exact=exact, weights="stationary")
        assert found.visits["end"] == 0
        assert found.average_reward == nothing


@pytest.mark.parametrize("as_floats", [False, True])
def test_values_of_long_episodes_have_a_bound(as_floats):
    """A ladder that one falls off 999 times in 1,000: episodes take 1e12 steps."""
    P = small_task(
        "ladder",
        lambda s, a: {(s + 1, 1): F(1, 1000), (0, 1): F(999, 1000)},
        0,
        A=[0],
        terminal={4},
    )
    exact = evaluate(P, uniform(P), exact=True)
    found = evaluate(in_floats(P) if as_floats else P, uniform(P))
    assert abs(exact.value - F(found.value)) <= found.error < 1e-9 * float(exact.value)
    assert abs(exact.q["o", 0] - F(found.q["o", 0])) <= found.q_error["o", 0]
    assert not found.note
    promised = td_values(in_floats(P) if as_floats else P, uniform(P), lam=F(1, 2))
    true = td_values(P, uniform(P), lam=F(1, 2), exact=True)
    assert abs(true.q["o", 0] - F(promised.q["o", 0])) <= promised.q_error["o", 0]
    assert promised.q_error["o", 0] < 1e-6 * float(true.q["o", 0])


def test_what_has_no_bound_is_no_value():
    """Two chances of 1e-200 in a row underflow, so that floats know nothing of the way out."""
    e = F(1, 10**200)
    P = small_task("two rungs", lambda s, a: {(s + 1, 1): e, (0, 1): 1 - e}, 0, A=[0], terminal={2})
    with pytest.raises(NotSolved, match="exact=True"):
        evaluate(P, uniform(P))
    assert evaluate(P, uniform(P), exact=True).value == (1 + e) / e**2


@pytest.mark.parametrize("one", [F(1), 1.0])
@pytest.mark.parametrize("eliminated", [0, 1000])
def test_bounds_of_rare_visits_are_shares_of_them(one, eliminated, monkeypatch):
    """Visits from 1 down to 1e-180, by both solvers."""
    monkeypatch.setattr(linear, "ELIMINATED", eliminated)
    P = small_task(
        "walk",
        lambda s, a: {(s + 1, 1): one / 8, (max(s - 1, 0), 1): 7 * one / 8},
        0,
        A=[0],
        omega=lambda s: {s % 5: 1},
        gamma=F(99, 100),
        terminal={210},
    )
    assert evaluate(P, uniform(P), weights="discounted").visits_error.raw.max() < 2e-13


def test_bounds_of_targets_of_many_steps_hold_where_ends_are_rare():
    """1 minus the sum of a row of n steps would have no digits of the chance of an end."""
    q = F(1, 10**8)
    P = small_task("rare", lambda s, a: {
            ((s + 1) % 3, s + 1): (1 - q) * F(2, 3), (s, -1): (1 - q) / 3, ("end", 0): q
        }, 0, A=["x"], omega=lambda s: {s if s == "end" else s % 2: 1})  # fmt: skip
    for n in (9, 20, 100):
        exact, found = (td_values(P, uniform(P), n=n, exact=e) for e in (True, False))
        assert abs(F(found.value) - exact.value) <= F(found.error) < 1e-12 * found.value


@pytest.mark.parametrize("n", [7, 13, 21, 37])
def test_the_bound_of_the_average_reward_counts_the_rounding_of_shares(n):
    P = small_task(
        "ring",
        lambda s, a: {((s + 1) % n, 100 + F(1, 3)): F(2, 3), (s, 100 + F(1, 7)): F(1, 3)},
        0,
        A=["x"],
        gamma=F(1, 2),
    )
    exact, found = (
        evaluate(P, uniform(P), exact=e, weights="stationary").average_reward for e in (True, False)
    )
    assert abs(F(float(found)) - exact) <= F(found.error) < 1e-11


def test_visits_of_long_episodes_are_off_by_twice_the_states_and_no_less(monkeypatch):
    """Six steps in a row are needed to leave, each with a chance that is known to seven digits."""
    monkeypatch.setattr(chain, "UNIT", 1e-7)  # what a probability of a policy may be off by
    P = task(
        lambda s, a: {(s + 1 if s < 5 else "end", 0): 1} if a else {(0, 0): 1},
        A=(0, 1),
    )
    rough = evaluate(P, Policy.from_mapping(P, {s: {0: 0.9, 1: 0.1} for s in range(6)}))
    less = F(1, 10) * (1 - F(1, 10**7))
    far = Policy.from_mapping(P, {s: {0: 1 - less, 1: less} for s in range(6)})
    true = evaluate(P, far, exact=True).visits[0]
    off = float(1 - F(rough.visits[0]) / true)
    assert off <= rough.visits_error[0] < 3 * off


def test_means_over_many_actions_are_off_by_the_rounding_of_all():
    """300 chances of staying are added up to one number."""
    shares = [F(x * x % 97 + 1) for x in range(300)]
    P = task(lambda s, a: {(s, 0): 1 - F(1, a + 7), ("end", 1): F(1, a + 7)}, A=range(300))
    pi = Policy.from_mapping(P, {0: {a: x / sum(shares) for a, x in enumerate(shares)}})
    exact, found = (td_values(P, pi, exact=e) for e in (True, False))
    assert abs(exact.v[0] - F(found.v[0])) <= F(found.error) < 1e-9


@pytest.mark.parametrize("transposed", [False, True])
def test_a_system_of_floats_has_the_solution_that_numpy_finds(transposed):
    table, b = np.array([[0.5, 0.25], [0.1, 0.2]]), np.array([1.0, 2.0])
    found = linear.solve(scipy.sparse.csr_array(table), 0.9, b, transposed)
    system = np.eye(2) - 0.9 * (table.T if transposed else table)
    assert found.x == pytest.approx(np.linalg.solve(system, b), rel=1e-14)
    assert (found.error < 1e-14).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_what_never_leaves_is_visited_without_end(transposed):
    nowhere, none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    tables = np.zeros(1), nowhere, nowhere, nowhere, none, np.zeros(0)
    assert linear_kernels.substitute(*tables, np.ones(1), transposed) == [np.inf]
