"""The oracle loop: where it goes on the paper's tasks, its twins, how runs end."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_improvement import oracle_loop, unrolled
from strategies import families, policies, pomdps
from typer.testing import CliRunner

from pomdps import gravity, recall, recall4, recall_variant
from workbench import POMDP, Policy, augment, evaluate, uniform
from workbench.core import ending
from workbench.core.assess import look_at
from workbench.core.errors import NotExact, PolicyError, WorkbenchError, WrongType
from workbench.core.fields import FLOATS, dynamics
from workbench.core.improve import improve, iterates, start_loop
from workbench.core.steps import shrinking_steps
from workbench.text import brief

HALF = Fraction(1, 2)
WEIGHTS = st.sampled_from(["visits", "discounted", "stationary"])


# ---------------------------------------------------------------------- known answers


@pytest.mark.parametrize(
    ("memory", "value"),
    [("B1", Fraction(3, 4)), ("B2", Fraction(3, 4)), ("B5", Fraction(3, 4)), ("OA1", 1)],
)
def test_four_action_recall_gets_stuck_at_three_quarters_with_bits_and_not_with_oa1(memory, value):
    E = augment(recall4(), memory)
    run = improve(E, uniform(E), step=0.02, ties="last")
    assert (run.ended, run.limit_value, run.value) == ("fixed", value, float(value))
    assert run.amplitude == 0
    assert evaluate(E, run.limit, exact=True).value == value
    assert run.values[0] == pytest.approx(-0.640625)


def test_the_limit_with_one_bit_is_the_papers_policy():
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=0.02)
    assert run.limit.row(("0", "o")) == {(1, "1"): 1}
    assert run.limit.row(("1", "o")) == {(3, "1"): 1}
    assert repr(run) == "recall4×B1: fixed at 3/4, after 228 iterates"
    assert brief(Fraction(1, 3)) == "1/3"
    assert brief(1 + Fraction(1, 7**6000)) == "1"  # its digits are more than Python writes


def test_oa1_chatters_around_a_stochastic_point_of_the_variant():
    E = augment(recall_variant(), "OA1")
    run = improve(E, uniform(E), step=0.02)
    assert run.ended == "limit cycle"
    assert run.limit is None
    assert run.limit_value is None
    assert run.values[-run.period :].max() == pytest.approx(25 / 16, abs=1e-6)
    assert run.value == pytest.approx(25 / 16, abs=1e-3)
    assert 0 < run.amplitude < 1e-3
    smaller = improve(E, uniform(E), step=0.005)
    assert smaller.ended == "limit cycle"
    assert smaller.amplitude < run.amplitude / 4
    assert "limit cycle of period" in repr(run)


def test_with_decreasing_steps_oa1_comes_to_the_point_itself():
    E = augment(recall_variant(), "OA1")
    run = improve(E, uniform(E), step=shrinking_steps(0.02))
    assert run.ended == "budget"
    assert run.value == pytest.approx(25 / 16, abs=1e-6)
    assert run.amplitude < 1e-5
    assert not run.pi.is_deterministic
    assert (
        improve(
            augment(recall4(), "B1"), uniform(augment(recall4(), "B1")), step=shrinking_steps(0.02)
        ).value
        == 0.75
    )


# ---------------------------------------------------------------------- twins


@settings(max_examples=25)
@given(st.data(), WEIGHTS)
def test_exact_iterates_are_those_of_the_slow_twin(data, weights):
    P = augment(data.draw(pomdps(most_states=3)), data.draw(families(1)))
    start = data.draw(policies(P))
    step = data.draw(st.sampled_from([Fraction(1, 5), HALF, Fraction(1)]))
    stream = iterates(P, start, step, exact=True, weights=weights)
    for here, (value, rows, greedy) in zip(
        islice(stream, 4), oracle_loop(P, start, step, weights), strict=False
    ):
        assert here.value == value
        assert all(here.pi[o, a] == x for o, row in rows.items() for a, x in row.items())
        assert all(here.greedy.row(o) == {a: 1} for o, a in greedy.items())
        assert all(here.greedy.row(o) == here.pi.row(o) for o in P.O if o not in greedy)


@settings(max_examples=15)
@given(st.data(), WEIGHTS)
def test_floats_follow_the_exact_loop(data, weights):
    P = data.draw(pomdps(most_states=3))
    P = unrolled(P, 3) if data.draw(st.booleans()) else augment(P, data.draw(families(1)))
    start = data.draw(policies(P))
    exact = iterates(P, start, Fraction(1, 7), exact=True, weights=weights)
    floats = iterates(P, start, Fraction(1, 7), weights=weights)
    for slow, fast in islice(zip(exact, floats, strict=True), 6):
        assert fast.value == pytest.approx(float(slow.value), abs=1e-9)
        assert np.allclose(fast.pi.prob.floats, slow.pi.prob.floats, rtol=0, atol=1e-9)


@settings(max_examples=25)
@given(st.data(), WEIGHTS)
def test_every_oracle_gives_the_same_answer(data, weights):
    P = unrolled(data.draw(pomdps(most_states=3)), data.draw(st.integers(1, 3)))
    pi = data.draw(policies(P))
    loop, here = start_loop(P, pi, HALF, weights=weights), np.full(len(P.O), -1)
    assert loop.batch is not None  # compiled
    found, tau, _ = loop.glance(here, Fraction(1))
    exact = start_loop(P, pi, HALF, weights=weights, exact=True)
    assert tau.tolist() == exact.glance(here, Fraction(1)).tau.tolist()
    told = evaluate(P, pi, exact=True, weights=weights)
    numbers = told.q.array.astype(float)
    general = look_at(dynamics(P, FLOATS), pi.prob.floats, weights)
    for value, q in ((found.value, found.q), general[:2]):
        assert value == pytest.approx(float(told.value), abs=1e-11)
        assert np.allclose(q, numbers, rtol=0, atol=1e-11, equal_nan=True)


def rarely(once_in: int = 1000) -> POMDP:
    """A corridor in which each further room is entered once in so many times; two rooms look the
    same."""
    deep = 9

    def p(s, a):
        on = Fraction(1, once_in) if a == "on" else Fraction(1, 2 * once_in)
        return {(min(s + 1, deep), s): on, (max(s - 1, 0), 0): HALF - on, ("end", s % 3): HALF}

    return POMDP.from_functions(
        name="corridor",
        A=["on", "back"],
        p=p,
        omega=lambda s: {"end": 1} if s == "end" else {s // 2: 1},
        mu={0: 1},
        gamma=Fraction(9, 10),
        terminal={"end"},
    )


def test_q_is_right_behind_observations_that_are_hardly_ever_seen():
    P = rarely()
    exact = evaluate(P, uniform(P), exact=True)
    assert 0 < exact.visits[9] < Fraction(1, 10**25)
    found = look_at(dynamics(P, FLOATS), uniform(P).prob.floats, "visits")
    for o, a in np.ndindex(found.q.shape):
        if exact.q.array[o, a] is not None:
            off = abs(Fraction(float(found.q[o, a])) - exact.q.array[o, a])
            assert off <= Fraction(float(found.error[o])) < Fraction(1, 10**9)


def test_rows_whose_visits_underflow_count_as_unvisited():
    P = rarely(10**40)
    found = look_at(dynamics(P, FLOATS), uniform(P).prob.floats, "visits")
    # rooms 6 and 7 are seen once in 10^240 times, 8 in 10^320
    unseen = [o for o, row in zip(P.O, found.q, strict=True) if np.isnan(row).all()]
    assert unseen == ["end", 4]
    assert ((found.weight == 0) == np.isnan(found.q).all(axis=1)).all()
    assert np.isfinite(found.error).all()
    assert not found.lacking.any()
    run = improve(P, uniform(P), step=0.1)
    assert run.ended == "fixed"
    assert run.limit[4, "on"] == Fraction(1, 2)


# ---------------------------------------------------------------------- what theory says


@settings(max_examples=25)
@given(st.data())
def test_with_discounted_weights_a_small_step_does_not_lower_the_return(data):
    P = data.draw(pomdps())
    step = Fraction(1, 10**5)
    stream = iterates(P, data.draw(policies(P)), step, exact=True, weights="discounted")
    first, second = (next(stream).value for _ in range(2))
    assert (
        second >= first - 2000 * step**2
    )  # rewards of at most 3 for 5 steps or so: curvature is bounded


def test_with_undiscounted_weights_it_can():
    """v = gamma^2 p1 p2 p3: visits overrate the last step, and action 3 is preferred although it
    has more than its third."""
    P = recall(gamma=HALF)
    start = Policy.from_mapping(
        P, {"o": {1: Fraction(3, 10), 2: Fraction(3, 10), 3: Fraction(4, 10)}}
    )
    for weights, chosen, change in (("visits", 3, -1), ("discounted", 1, +1)):
        stream = iterates(P, start, Fraction(1, 1000), exact=True, weights=weights)
        first, second = next(stream), next(stream)
        assert first.greedy["o", chosen] == 1
        assert (second.value - first.value) * change > 0


def opposites() -> POMDP:
    """One observation, two steps, reward 1 for doing two different things."""
    return POMDP.from_functions(
        name="opposites",
        A=[0, 1],
        omega=lambda s: {"o": 1},
        mu={"s": 1},
        gamma=1,
        terminal={"end"},
        p=lambda s, a: {(a, 0) if s == "s" else ("end", int(s != a)): 1},
    )


def test_a_full_step_can_lower_the_return_and_go_round_in_circles():
    P = opposites()
    start = Policy.from_mapping(P, {"o": {0: Fraction(2, 3), 1: Fraction(1, 3)}})
    run = improve(P, start, step=1, exact=True)
    assert run.values[0] == Fraction(4, 9)
    assert set(run.values[1:].tolist()) == {0}
    assert (run.ended, run.period, run.value, run.amplitude) == ("limit cycle", 2, 0, 0)


@pytest.mark.parametrize(
    ("task", "memory"), [(recall4, "OA1"), (recall, "B2"), (recall_variant, "O2"), (gravity, "B1")]
)
def test_a_limit_is_greedy_on_its_own_q_values(task, memory):
    E = augment(task(), memory)
    run = improve(E, uniform(E), step=0.05)
    assert run.ended == "fixed"
    here = evaluate(E, run.limit)
    q = here.q.raw[here.reached.raw]
    chosen = run.limit.actions[here.reached.raw]
    assert np.allclose(q[np.arange(len(q)), chosen], q.max(axis=1), rtol=0, atol=1e-9)
    assert run.value == pytest.approx(here.value, abs=1e-12)


# ---------------------------------------------------------------------- how runs end


def test_a_policy_that_is_its_own_greedy_policy_is_fixed_at_once():
    P = augment(recall4(), "B1")
    pi = improve(P, uniform(P), step=0.1).limit
    again = improve(P, pi, step=1)
    assert (again.ended, again.iterates) == ("fixed", 1)
    assert again.limit.prob.floats.tolist() == pi.prob.floats.tolist()


def test_the_limit_keeps_unvisited_rows():
    P = POMDP.from_functions(
        name="door",
        A=["a", "b"],
        p=lambda s, a: {("end", int(a == "b")): 1},
        omega=lambda s: {s: 1},
        mu={"seen": 1},
        gamma=1,
        terminal={"end"},
        S=["seen", "unseen", "end"],
        O=["seen", "unseen", "end"],
    )
    start = Policy.from_mapping(P, {"unseen": {"a": Fraction(1, 3), "b": Fraction(2, 3)}})
    for exact in (True, False):
        run = improve(P, start, step=HALF, exact=exact)
        assert run.pi.row("unseen") == pytest.approx({"a": Fraction(1, 3), "b": Fraction(2, 3)})
        assert run.limit.row("seen") == {"b": 1}
        assert run.limit.row("unseen") == {"a": Fraction(1, 3), "b": Fraction(2, 3)}
        assert run.value == 1
    random = Policy(P, [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])
    assert improve(P, random, step=0.5).limit["unseen", "b"] == 0.75


@pytest.mark.parametrize("exact", [True, False])
def test_rows_that_are_no_longer_visited_stay_as_they_were_left(exact):
    P = POMDP.from_functions(
        name="side room",
        A=["a", "b"],
        omega=lambda s: {s: 1},
        mu={"hall": 1},
        gamma=1,
        terminal={"end"},
        p=lambda s, a: {
            ("side", 0)
            if (s, a) == ("hall", "a")
            else ("end", 2 if s == "hall" else int(a == "b")): 1
        },
    )
    run = improve(P, uniform(P), step=1, exact=exact)
    assert (run.ended, run.value) == ("fixed", 2)
    assert run.limit.row("hall") == run.limit.row("side") == {"b": 1}


def test_exact_runs_end_exactly():
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=Fraction(1, 4), exact=True)
    assert (run.ended, run.value) == ("fixed", Fraction(3, 4))
    assert run.values[0] == Fraction(-41, 64)
    assert all(isinstance(x, Fraction) for x in run.values)
    assert run.pi.is_exact
    assert run.to_frame().shape == (run.iterates, 1)


def test_a_small_budget_is_kept():
    E = augment(recall_variant(), "OA1")
    for budget in (1, 2, 7):
        run = improve(E, uniform(E), step=0.02, budget=budget)
        assert (run.ended, run.iterates) == ("budget", budget)
        assert run.value == run.values[-1]
        assert f"after {budget} iterates" in repr(run)
    exact = improve(E, uniform(E), step=Fraction(1, 50), exact=True, budget=7)
    assert np.allclose(exact.values.astype(float), run.values)
    assert np.allclose(exact.pi.prob.floats, run.pi.prob.floats)


def test_a_value_that_has_settled_while_rows_hardly_visited_go_on_changing_is_noted():
    E = augment(gravity(), "K1")
    run = improve(E, uniform(E), step=0.2, budget=300)
    assert (run.ended, run.limit_value) == ("fixed", Fraction(19, 20) ** 11)
    assert run.iterates < 150
    assert "go on changing" in run.note


def test_the_end_of_the_budget_is_one_more_look_at_what_still_matters():
    """The first look in between would come at 64."""
    E = augment(gravity(), "K1")
    run = improve(E, uniform(E), step=0.3, budget=50)
    assert (run.ended, run.limit_value, run.iterates) == ("fixed", Fraction(19, 20) ** 11, 49)
    assert "go on changing" in run.note


def test_a_settled_row_that_would_still_leave_holds_nothing_up_if_the_limit_never_comes_there():
    """Near the limit some rows of gravity change once more; only those that the limit visits are
    waited for. The next look would be at 216."""
    E = augment(gravity(), "K1")
    run = improve(E, uniform(E), step=0.1, budget=1_000, weights="discounted")
    assert (run.ended, run.limit_value) == ("fixed", Fraction(19, 20) ** 11)
    assert run.iterates == 144
    assert run.note.startswith("Rows that the limit does not visit go on changing; nothing else")


@pytest.mark.slow
def test_gravity_with_o1_ends_when_nothing_that_counts_changes_any_more(monkeypatch):
    """At the first look after the last row that counts has settled; looks are half as long again
    apart each time."""
    runs, collect = [], ending.LoopRun.collect
    monkeypatch.setattr(
        ending.LoopRun, "collect", lambda self: (runs.append(self), collect(self))[1]
    )
    E = augment(gravity(), "O1")
    run = improve(E, uniform(E), step=0.02)
    assert (run.ended, run.limit_value) == ("fixed", Fraction(19, 20) ** 11)
    assert "go on changing" in run.note
    seen = np.flatnonzero(evaluate(E, run.limit).reached.raw).tolist()
    lately = runs[0].loop.kept_since()[0, seen].max()
    since = math.log(lately) / math.log(0.98)
    settled = run.iterates - since + math.log(ending._LONG_SINCE) / math.log(0.98)
    assert run.iterates <= 1.5 * settled + 1


def test_notes_and_ties_name_rows_in_the_short_form():
    E = augment(recall4(), "OA1")
    run = improve(E, uniform(E), step=0.02)
    assert [str(tie) for tie in run.ties] == ["iterate 0, ∅: 1 push, 1 keep (within rounding)"]
    K = improve(augment(gravity(), "K1"), uniform(augment(gravity(), "K1")), step=0.5, budget=50)
    assert "((" not in repr(K)


@pytest.mark.parametrize("task", [recall_variant, gravity])
def test_ctrl_c_returns_what_was_reached(task):
    E = augment(task(), "OA1" if task is recall_variant else "none")
    whole = improve(E, uniform(E), step=0.02, budget=600)

    def step(n):
        if n == 100:
            raise KeyboardInterrupt
        return 0.02

    run = improve(E, uniform(E), step=step, budget=600)
    assert run.ended == "interrupted"
    assert 1 < run.iterates <= 101
    assert np.allclose(run.values, whole.values[: run.iterates])
    assert run.value == run.values[-1] == pytest.approx(evaluate(E, run.pi).value)
    assert np.allclose(improve(E, run.pi, step=0.02, budget=2).values[0], run.value)


def test_the_clock_comes_through_every_so_many_compiled_iterates():
    E = augment(recall_variant(), "OA1")
    loop, seen = start_loop(E, uniform(E), 0.02), [0]
    loop.pulse = lambda n, value: seen.append(n)
    loop.advance(25_000, looks=False)
    assert seen[-1] == loop.n == 25_000
    assert max(np.diff(seen)) <= 10_000


def test_ctrl_c_before_anything_was_reached_is_passed_on():
    def stop(n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        improve(recall4(), uniform(recall4()), step=stop)


# ---------------------------------------------------------------------- bad input, the command


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"step": 0}, WorkbenchError, r"\(0, 1\]"),
        ({"step": 1.5}, WorkbenchError, "1.5"),
        ({"step": "small"}, WrongType, "small"),
        ({"step": sympy.Symbol("eps")}, WorkbenchError, "eps"),
        ({"step": lambda n: 2 - n}, WorkbenchError, "not 2"),
        ({"step": 0.1, "exact": True}, NotExact, "0.1"),
        ({"step": 0.1, "ties": "middle"}, WorkbenchError, "middle"),
        ({"step": 0.1, "weights": "many"}, WorkbenchError, "many"),
        ({"step": 0.1, "budget": 0}, WorkbenchError, "budget"),
        ({"step": 0.1, "budget": 1.5}, WorkbenchError, "budget"),
        ({"step": 0.1, "least": "a"}, WrongType, "least is a number of iterates, not 'a'"),
        ({"step": 0.1, "least": -3}, WorkbenchError, "least .* at least 1, not -3"),
        ({"step": True}, WrongType, "a number in .*, not True"),
        ({"step": 5e-324}, WorkbenchError, "too small"),
        ({"step": Fraction(1, 10**400), "exact": True}, WorkbenchError, "too small"),
    ],
)
def test_bad_arguments_are_named(how, error, message):
    P = recall4()
    with pytest.raises(error, match=message):
        improve(P, uniform(P), **how)


def test_models_and_policies_that_do_not_fit_are_refused():
    P, symbolic = recall4(), recall(gamma=sympy.Symbol("g"))
    with pytest.raises(WorkbenchError, match="give g a value"):
        improve(symbolic, uniform(symbolic), step=0.1)
    with pytest.raises(PolicyError):
        improve(P, uniform(recall()), step=0.1)
    with pytest.raises(NotExact, match="policy"):
        improve(P, Policy.random(P, seed=1), step=HALF, exact=True)
    with pytest.raises(NotExact, match="gamma"):
        improve(recall(gamma=0.9), uniform(recall()), step=HALF, exact=True)


def test_float_models_have_float_limits():
    P = augment(recall(gamma=0.9), "OA1")
    run = improve(P, uniform(P), step=0.1)
    assert run.ended == "fixed"
    assert isinstance(run.limit_value, float)
    assert run.limit_value == pytest.approx(evaluate(P, run.limit).value)


def test_the_command_prints_one_table_in_80_columns(monkeypatch):
    from workbench.cli.main import app

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["improve", "recall4", "-m", "B1", "-m", "B5", "-m", "OA1"])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    rows = [line.split() for line in result.output.splitlines() if line.endswith("fixed")]
    assert [(row[0], row[2]) for row in rows] == [("B1", "3/4"), ("B5", "3/4"), ("OA1", "1")]
    assert ": 0 → 1:1; 1 → 3:1." in result.output


def test_the_command_describes_chattering_and_takes_options(monkeypatch):
    from workbench.cli.main import app

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["improve", "recall_variant", "-m", "OA1", "--step", "0.02"])
    assert "limit cycle of 53" in result.output
    options = [
        "--decrease",
        "--ties",
        "first",
        "--weights",
        "discounted",
        "--budget",
        "50",
        "--step",
        "0.1",
    ]
    result = CliRunner().invoke(app, ["improve", "recall_variant", *options])
    assert result.exit_code == 0, result.output
    assert (
        "the first of equal actions; step size 0.1 at first; P(s|o) by discounted visits."
        in " ".join(result.output.split())
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", [0.1, Fraction(1, 10)])
def test_a_limit_whose_shares_of_time_jump_is_seen(step):
    """Before the limit two classes of states follow one another, at the limit they do not. The
    run went on until floats ended it, 6,281 iterates later."""
    third, half = Fraction(1, 3), Fraction(1, 2)
    p = {
        (0, 0): {(0, 0): 2 * third, (1, 2): third},
        (0, 1): {(0, 0): 1},
        (1, 0): {(1, 0): 1},
        (1, 1): {(2, 1): 1},
        (2, 0): {(0, 0): half, (2, 1): half},
        (2, 1): {(1, 2): half, (2, 2): half},
    }
    P = POMDP.from_functions(
        name="three states",
        A=[0, 1],
        p=lambda s, a: p[s, a],
        omega=lambda s: {s % 2: 1},
        mu={0: half, 1: half},
        gamma=Fraction(9, 10),
    )
    E = augment(P, "K1")
    run = improve(E, uniform(E), step=step, weights="stationary")
    assert run.ended == "fixed"
    assert run.iterates < 1000
    assert "several recurrent classes" in run.note
    assert run.limit_value == evaluate(E, run.limit, exact=True).value
