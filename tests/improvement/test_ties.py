"""Which action is greedy is decided by error bounds and, where these leave it open, exactly."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from odd_models import draw_model, draw_policy

import pomdps as tasks
from workbench import POMDP, Policy, augment, evaluate, load_pomdp, shortcuts, uniform
from workbench.certificates.loop import certify
from workbench.core import oracle_loop
from workbench.core.assess import look_at
from workbench.core.errors import NeverEnds, NotSolved, NotWeighted
from workbench.core.fields import FLOATS, RATIONALS, dynamics
from workbench.core.horizon import exact_step
from workbench.core.improve import improve, iterates, weights_for
from workbench.core.numbers import Numbers
from workbench.core.ties import EQUAL, ROUNDING, greedy_actions, same_actions, sign_of_difference
from workbench.improvement.batch import sequence_task, stuck

HALF = Fraction(1, 2)
DATA = "tests/data"
SEEDS = st.integers(0, 10**9)


def rewards(most: int = 3) -> st.SearchStrategy[np.ndarray]:
    """Three steps, two actions, whole numbers from 0: ties are common."""
    flat = st.lists(st.integers(0, most), min_size=8, max_size=8)
    return flat.map(lambda x: np.array(x).reshape(2, 2, 2))


# ---------------------------------------------------------------------- comparing


def test_numbers_are_told_apart_by_their_errors_and_by_nothing_else():
    q, order = np.array([[1.0, 1.0 + 1e-9], [5.0, 5.0], [np.nan, np.nan]]), np.array([0, 1])
    assert greedy_actions(q, order).tolist() == [1, 0, -1]
    assert greedy_actions(q, order, np.array([1e-10, 1e-10, 0.0])).tolist() == [1, 0, -1]
    assert greedy_actions(q, order, np.full((3, 2), 1e-8)).tolist() == [0, 0, -1]
    exact = np.array([[Fraction(1, 3), Fraction(1, 3)], [None, 2], [None, None]])
    assert greedy_actions(exact, order[::-1]).tolist() == [1, 1, -1]
    assert sign_of_difference(Fraction(1, 3), Fraction(1, 3)) == 0
    assert sign_of_difference(1.0, 2.0, 1.0) is None


def test_a_float_step_is_the_decimal_that_it_is_printed_as():
    assert exact_step(0.1) == Fraction(1, 10)
    assert exact_step(Fraction(0.1)) == Fraction(0.1) != Fraction(1, 10)


@pytest.mark.parametrize("step", ["0.99999", "0.999999", "0.9999999999"])
def test_what_a_step_near_one_leaves_is_right_to_the_last_bit(step):
    """1 - step has fewer digits in floats than the step: what is left of an action sets out to
    where its weight beside that of another start decides."""
    rest = 1 - Fraction(step)
    astray = (Fraction(1 - float(step)) / rest - 1) / 2  # half of what floats would be off by

    def p(s, a):
        if s == "fork":
            return {("left", 0): 1} if a else {("end", 1): 1}
        paid = {"left": (1, 0), "right": (0, 1 + astray)}[s][a]
        return {("end", paid): 1}

    P = POMDP.from_functions(
        name="fork",
        A=[0, 1],
        p=p,
        omega=lambda s: {"fork" if s == "fork" else "dark": 1},
        mu={"fork": HALF, "right": rest / 4, "end": HALF - rest / 4},
        gamma=1,
        terminal={"end"},
    )
    for size in (Fraction(step), float(step)):
        for n, floats in enumerate(islice(iterates(P, uniform(P), size), 3)):
            exact = next(islice(iterates(P, uniform(P), Fraction(step), exact=True), n, None))
            assert floats.greedy.prob.floats.tolist() == exact.greedy.prob.floats.tolist()


def test_actions_that_do_the_same_are_known():
    E = augment(tasks.recall4(), "B1")
    same = same_actions(E)
    last, first = E.O.index(("1", "o")), E.O.index(("0", "o"))
    a, b, c = (E.A.index(x) for x in ((1, "0"), (1, "1"), (2, "0")))
    assert same[last, a] == same[last, b]  # what is written after the last step is never read
    assert same[last, a] != same[last, c]
    assert same[first, a] != same[first, b]


# ---------------------------------------------------------------------- the loop


def test_a_long_maze_is_solved_in_floats_as_it_is_exactly():
    E = augment(tasks.t_maze(15), "O1")
    run = improve(E, uniform(E), step=0.05)
    assert run.ended == "fixed"
    assert run.value == pytest.approx(0.7412, abs=1e-4)


def test_a_corridor_whose_end_is_worth_next_to_nothing_is_walked_to_its_end():
    P = POMDP.from_functions(
        name="corridor",
        A=["back", "on"],
        p=lambda s, a: {(s + 1 if a == "on" else max(0, s - 1), int(a == "on" and s == 39)): 1},
        omega=lambda s: {s: 1},
        mu={0: 1},
        gamma=HALF,
        terminal={40},
    )
    run = improve(P, uniform(P), step=0.05)
    assert (run.ended, run.limit_value) == ("fixed", Fraction(1, 2**39))


def test_actions_that_come_closer_than_floats_can_tell_do_not_mislead_the_loop():
    table = [[[-1, 1], [HALF, 0]], [[-HALF, HALF], [HALF, HALF]]]
    E = augment(sequence_task(table), "K2")
    assert improve(E, uniform(E), step=0.02).limit_value == HALF
    assert stuck([np.array(table, dtype=float)], "K2").value == [0.5]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(rewards(), st.sampled_from(["B1", "K2", "OA1"]))
def test_floats_end_where_a_proof_says(table, memory):
    P = sequence_task(table.tolist())
    proof = certify(P, memory, Fraction(1, 4), checked_iterates=1)
    if proof["status"] != "proved":
        return
    value = Fraction(proof["value"])
    E = augment(P, memory)
    assert improve(E, uniform(E), step=0.25).limit_value == value
    assert stuck([table.astype(float)], memory, step=0.25).value == [float(value)]


@settings(max_examples=8, deadline=None)
@given(rewards(), st.integers(-5, 5))
def test_a_constant_added_to_all_rewards_of_an_episode_makes_no_difference(table, constant):
    one = improve(*_product(table), step=0.1, budget=400)
    other = improve(*_product(table + constant), step=0.1, budget=400)
    assert (other.ended, other.iterates) == (one.ended, one.iterates)
    assert other.value == pytest.approx(one.value + constant)


def _product(table: np.ndarray) -> tuple[POMDP, Policy]:
    E = augment(sequence_task(table.tolist()), "B1")
    return E, uniform(E)


def test_ties_are_told_and_how_they_are_known():
    E = augment(tasks.recall4(), "B1")
    for exact, how in ((True, EQUAL), (False, ROUNDING)):
        (tie,) = improve(E, uniform(E), step=Fraction(1, 50), exact=exact, budget=30).ties
        assert (tie.iterate, tie.o, tie.how) == (0, ("0", "o"), how)
        assert tie.actions == ((1, "1"), (1, "0"))


def test_a_run_says_that_floats_may_have_gone_astray():
    """q-values tie now and then, not for a reason; the loop in fractions goes elsewhere."""
    E, _ = _product(np.array([1, 2, 0, 3, 1, 3, 3, 0]).reshape(2, 2, 2))
    run = improve(E, step=Fraction(1, 4))
    assert run.limit_value == 3
    assert "exact=True decides" in run.note
    assert improve(E, step=Fraction(1, 4), exact=True, budget=120).limit is None
    recalled = augment(tasks.recall4(), "B1")  # whose ties have a reason
    assert "exact=True" not in improve(recalled).note


@settings(max_examples=10, deadline=None)
@given(rewards(), st.sampled_from(["B1", "OA1"]))
def test_exact_runs_tell_the_ties_that_floats_tell(table, memory):
    E = augment(sequence_task(table.tolist()), memory)
    exact, floats = (
        improve(E, uniform(E), step=Fraction(1, 4), budget=30, exact=x) for x in (True, False)
    )
    at_first = [[(x.o, x.actions) for x in run.ties if x.iterate == 0] for run in (exact, floats)]
    assert at_first[0] == at_first[1]
    assert exact.note.partition(" are equal")[0] == floats.note.partition(" cannot be told")[0]


def test_a_tie_at_the_limit_is_told_in_exact_runs_and_actions_that_do_the_same_are_none():
    P = POMDP.from_functions(
        name="two ways",
        A=["left", "right", "also right"],
        p=lambda s, a: {(a.split()[-1] if s == "start" else "end", int(s != "start")): 1},
        omega=lambda s: {s: 1},
        mu={"start": 1},
        gamma=1,
        terminal={"end"},
    )
    run = improve(P, uniform(P), step=HALF, exact=True)
    assert [(tie.o, tie.actions, tie.how) for tie in run.ties] == [
        ("start", ("left", "right"), EQUAL)
    ]
    assert run.note == "At the limit, in row start, the actions left and right are equal."


def E_shape(E: POMDP) -> tuple[int, int]:
    return len(E.O), len(E.A)


def test_shortcuts_do_not_depend_on_the_unit_of_reward():
    P = tasks.recall()
    E = augment(P, "OA1")
    pi = improve(E, uniform(E), step=0.1).limit
    kinds = []
    for scale in (Fraction(1, 10**12), Fraction(1), Fraction(10**9)):
        scaled = augment(P.scale_rewards(scale), "OA1")
        found = shortcuts(scaled, Policy.from_actions(scaled, pi.actions))
        kinds.append([(x.o, x.a, x.kind) for x in found])
    assert kinds[0] == kinds[1] == kinds[2]
    assert kinds[0] == [(x.o, x.a, x.kind) for x in shortcuts(E, pi, exact=True)]


# ---------------------------------------------------------------------- policies that may not end


@pytest.mark.parametrize("name", ["tiger.95", "cheese.95", "shuttle.95"])
def test_tasks_that_go_on_for_ever_are_refused_with_visits_and_improved_with_other_weights(name):
    P = load_pomdp(f"{DATA}/{name}.POMDP")
    with pytest.raises(NotWeighted, match="take weights='discounted'"):
        improve(P, uniform(P), step=0.1, weights="visits")
    weights = weights_for(P, uniform(P))
    run = improve(P, uniform(P), step=0.1, weights=weights, budget=600)
    assert weights == "discounted"
    assert run.value == pytest.approx(evaluate(P, run.pi).value, rel=1e-9)
    assert run.value > evaluate(P, uniform(P)).value


def test_without_a_discount_and_an_end_shares_of_time_are_left():
    P = tasks.tiger(gamma=1)
    assert weights_for(P, uniform(P)) == "stationary"


def test_a_row_of_which_floats_know_nothing_is_named(monkeypatch):
    P = tasks.tiger(gamma=0.95)

    def look(*arguments):
        found = look_at(*arguments)
        return found._replace(error=np.where(np.arange(len(P.O)) == 1, np.inf, found.error))

    monkeypatch.setattr(oracle_loop, "look_at", look)
    with pytest.raises(NotSolved, match=f"o={P.O.text(P.O[1])} is seen too rarely"):
        improve(P, uniform(P), step=0.1, weights="discounted")


@pytest.mark.parametrize("weights", ["discounted", "stationary", "visits"])
@pytest.mark.parametrize("door", ["open", "shut"])
def test_a_trap_that_is_no_terminal_state_is_no_trap_for_the_loop(weights, door):
    """`stay` in the pit for ever; with the door shut nobody gets there."""

    def p(s, a):
        if s == "pit":
            return {("pit", 0): 1}
        if a == "jump" and door == "open":
            return {("pit", 0): HALF, ("end", 0): HALF}
        return {("end", 1): HALF, ("hall", 0): HALF}

    P = POMDP.from_functions(
        name="pit",
        A=["walk", "jump"],
        p=p,
        omega=lambda s: {"end" if s == "end" else "dark": 1},
        mu={"hall": 1},
        gamma=Fraction(9, 10),
        terminal={"end"},
        S=["hall", "pit", "end"],
    )
    if door == "open" and weights == "visits":
        with pytest.raises(NotWeighted):
            improve(P, uniform(P), step=0.1, weights=weights)
        return
    run = improve(P, uniform(P), step=0.1, weights=weights, budget=300)
    assert run.value == pytest.approx(float(evaluate(P, run.pi).value))
    if weights == "discounted":
        assert run.limit_value == Fraction(10, 11)


def test_without_a_future_the_first_step_alone_is_improved_in_floats_as_in_fractions():
    """With gamma 0 later states have no discounted weight: their rows stay as they are."""
    P = POMDP.from_functions(
        name="no future",
        A=["stay", "go"],
        p=lambda s, a: {("far" if a == "go" else s, 1 if a == "go" else 0): 1},
        omega=lambda s: {s: 1},
        mu={"near": 1},
        gamma=0,
        terminal=(),
    )
    how = {"step": Fraction(1, 4), "weights": "discounted", "budget": 5}
    exact = improve(P, uniform(P), exact=True, **how)
    floats = improve(P, uniform(P), **how)
    assert floats.ties == ()
    np.testing.assert_allclose(floats.pi.prob.floats, exact.pi.prob.floats, rtol=1e-15)
    assert exact.pi["far", "go"] == Fraction(1, 2)
    assert exact.pi["near", "go"] > Fraction(4, 5)


# ---------------------------------------------------------------------- policies that may not end


def with_a_hole(one: float | int) -> tuple[POMDP, Policy]:
    """An action that the policy does not take leads to where no episode ends."""

    def p(s, a):
        if s == "hole" or a == 2:
            return {("hole", 0 * one): 1}
        return {("end", 100 * a * one): 1}

    P = POMDP.from_functions(
        name="hole",
        A=[0, 1, 2],
        p=p,
        omega=lambda s: {s: 1},
        mu={"s": 1},
        gamma=1,
        terminal={"end"},
    )
    row = {"s": [HALF, HALF, 0]}
    return P, Policy(P, [row.get(o, [Fraction(1, 3)] * 3) for o in P.O])


@pytest.mark.parametrize("one", [1, 1.0])
@pytest.mark.parametrize("weights", ["visits", "discounted", "stationary"])
def test_a_trap_that_is_not_visited_leaves_no_row_open(one, weights):
    P, pi = with_a_hole(one)
    for ties in ("first", "last"):
        run = improve(P, pi, step=0.1, ties=ties, weights=weights)
        assert (run.ended, run.value, run.ties, run.note) == ("fixed", 100, (), "")


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.sampled_from(["visits", "discounted", "stationary"]), st.integers(1, 4))
@example(375, "discounted", 4)  # rewards cancel, and without a future nothing else is rounded
@example(7079, "visits", 4)
def test_the_bound_of_the_oracle_is_one_on_odd_models(seed, weights, roundings):
    """It holds for all policies whose probabilities are rounded so often."""
    rng = random.Random(seed)
    if (P := draw_model(rng)) is None:
        return
    first = draw_policy(rng, P).toward(uniform(P), HALF)
    pi = first.toward(draw_policy(rng, P), Fraction(1, 10)).prob.floats.astype(object)
    moved = np.array([[Fraction(x) for x in row] for row in pi])
    for o, a in np.ndindex(moved.shape):
        moved[o, a] *= 1 + roundings * Fraction(rng.randint(-9, 9), 10 * 2**53)
    try:
        told = look_at(dynamics(P, FLOATS), pi.astype(float), weights, roundings=roundings)
        true = look_at(dynamics(P, RATIONALS), RATIONALS.enter(Numbers.of(moved)), weights)
    except (NeverEnds, NotSolved):
        return
    for o in range(len(P.O)):
        for x, y in zip(told.q[o], true.q[o], strict=True):
            assert np.isnan(x) == (y is None)
            if y is not None and np.isfinite(told.error[o]):
                assert abs(Fraction(x) - RATIONALS.back(y)) <= Fraction(told.error[o])


def rarely_left(one: float | int) -> POMDP:
    """A chain that hardly ever comes back from its last state, as the loop goes on."""
    moves = {
        (0, 0): {(0, 0): HALF, (1, 3): HALF},
        (0, 1): {(0, 0): Fraction(3, 4), (0, 3): Fraction(1, 4)},
        (1, 0): {(2, 0): Fraction(1, 4), (1, 3): Fraction(3, 4)},
        (1, 1): {(1, 3): HALF, (0, 3): HALF},
        (2, 0): {(2, 3): Fraction(1)},
        (2, 1): {(1, 0): Fraction(3, 4), (1, 1): Fraction(1, 4)},
    }
    return POMDP.from_functions(
        name="rarely left",
        A=[0, 1],
        p=lambda s, a: {outcome: x * one for outcome, x in moves[s, a].items()},
        omega=lambda s: {int(s == 2): 1},
        mu={0: 1},
        gamma=Fraction(9, 10),
    )


def test_rows_without_a_bound_in_floats_are_decided_exactly():
    P = rarely_left(1)
    options = {"step": Fraction(1, 10), "ties": "first", "weights": "stationary"}
    exact, floats = (improve(P, uniform(P), exact=x, **options) for x in (True, False))
    assert (exact.ended, exact.limit_value) == ("fixed", Fraction(330, 13))
    assert (floats.ended, floats.limit_value) == (exact.ended, exact.limit_value)
    assert floats.iterates == exact.iterates


def test_rows_that_are_rarely_left_are_decided_in_floats_too():
    """Given as floats the task has no fractions to ask: bounds have to be good enough."""
    P = rarely_left(1.0)
    run = improve(P, uniform(P), step=0.1, ties="first", weights="stationary", budget=400)
    assert run.ended == "fixed"
    assert run.limit_value == pytest.approx(330 / 13, rel=1e-12)


def test_a_run_whose_next_iterate_has_no_solution_keeps_its_iterates():
    """To stay pays more than to go, so that episodes grow longer than floats can tell from
    endless."""
    P = POMDP.from_functions(
        name="dark room",
        A=["go", "stay"],
        p=lambda s, a: {("end", 1): 1} if a == "go" else {("s", Fraction(1, 5)): 1},
        omega=lambda s: {"o": 1},
        mu={"s": 1},
        gamma=1,
        terminal={"end"},
    )
    run = improve(P, uniform(P), step=Fraction(9, 10), budget=400)
    assert run.ended == "budget"
    assert "The next iterate cannot be evaluated" in run.note
    assert run.iterates > 200
    assert run.values[1] == pytest.approx(float(1 + Fraction(19) / 5))


# ---------------------------------------------------------------------- long-run weights


def to_and_fro() -> POMDP:
    """Two states for ever: action 1 pays in the second one."""
    return POMDP.from_functions(
        name="to and fro",
        A=[0, 1],
        p=lambda s, a: {(1 - s, int(s == 1 and a == 1)): 1},
        omega=lambda s: {s: 1},
        mu={0: 1},
        gamma=Fraction(9, 10),
    )


@pytest.mark.parametrize("memory", ["K1", "O1", "OA1"])
def test_a_row_without_long_run_weight_does_not_keep_the_loop_from_ending(memory):
    """The row of an empty memory is seen at the start only, and stays as it is."""
    E = augment(to_and_fro(), memory)
    run = improve(E, uniform(E), step=0.1, weights="stationary", budget=500)
    assert run.ended == "fixed"
    assert run.limit_value == evaluate(E, run.limit, exact=True).value


@pytest.mark.parametrize("seed", range(60))
def test_long_run_weights_of_three_states_are_decided_in_floats_as_in_fractions(seed):
    """Where floats cannot find how often a row is seen, fractions do; nothing else is raised."""
    rng = random.Random(seed)
    if (P := draw_model(rng)) is None or len(P.S) > 4:
        return
    E = augment(P, "K1")
    options = {"step": Fraction(1, 4), "weights": "stationary", "budget": 12}
    try:
        exact = improve(E, uniform(E), exact=True, **options)
    except (NeverEnds, NotWeighted):
        return
    floats = improve(E, uniform(E), **options)
    assert floats.ended == exact.ended
    assert "cannot" not in floats.note
    assert np.allclose(floats.values, exact.values.astype(float), rtol=1e-9, atol=1e-12)


def rarely_connected(seed: int) -> POMDP:
    """Three states for ever, some of which lead to others once in 1e12 steps."""
    rng = random.Random(seed)

    def row() -> list[Fraction]:
        weights = [rng.choice([0, 1, 1, Fraction(1, 10**12)]) for _ in range(3)]
        weights = weights if any(weights) else [1, 0, 0]
        return [Fraction(x) / sum(weights) for x in weights]

    moves = {(s, a): row() for s in range(3) for a in range(2)}
    pays = {(s, a, t): rng.randint(-2, 2) for s in range(3) for a in range(2) for t in range(3)}
    return POMDP.from_functions(
        name="rarely connected",
        A=[0, 1],
        p=lambda s, a: {(t, pays[s, a, t]): x for t, x in enumerate(moves[s, a]) if x},
        omega=lambda s: {s // 2: 1},
        mu={0: 1},
        gamma=Fraction(9, 10),
    )


@pytest.mark.parametrize("memory", ["K1", "O1"])
@pytest.mark.parametrize("seed", [12, 18])
def test_floats_find_how_often_rows_are_seen_that_are_hardly_ever_left(seed, memory):
    """After 1,000 iterates pi holds probabilities of 1e-45, and rows sum to one all the same."""
    E = augment(rarely_connected(seed), memory)
    run = improve(E, weights="stationary", step=Fraction(1, 10), budget=1_000)
    assert "cannot be evaluated" not in run.note
