"""Non-Markovian shortcuts: the paper's example, the definition, the count over all optimal
policies."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_td import all_deterministic_policies, rows_that_matter, shortcuts_by_definition
from strategies import policies, pomdps
from toy_tasks import a_coin_known_to_three_digits, small_task
from typer.testing import CliRunner

from pomdps import gravity, load_unload, recall, recall_variant
from workbench import POMDP, Policy, augment, best_memoryless, evaluate, uniform
from workbench.core import chain
from workbench.core.errors import NotExact, WorkbenchError, WrongType
from workbench.core.shortcuts import is_open, kind_of, shortcuts, td_error
from workbench.core.td import td_values
from workbench.optima import shortcut_count as search_module
from workbench.optima.shortcut_count import count_shortcuts

EMPTY, ONE, TWO, THREE = (((cell,), "o") for cell in (None, ("o", 1), ("o", 2), ("o", 3)))


def blue(E: POMDP) -> Policy:
    """The optimal policy of the paper's Figure 3."""
    return Policy.deterministic(
        E, {EMPTY: (1, "push"), ONE: (2, "push"), TWO: (3, "push"), THREE: (1, "keep")}
    )


@pytest.mark.parametrize("exact", [True, False])
def test_the_blue_policy_has_the_papers_shortcut_and_no_other(exact):
    E = augment(recall(), "OA1")
    (found,) = shortcuts(E, blue(E), exact=exact)
    assert (found.o, found.a, found.kind) == (EMPTY, (2, "push"), "strict")
    assert found.q == 0
    assert found.td == pytest.approx(Fraction(19, 20))
    assert found.v == found.v_td == pytest.approx(Fraction(361, 400))
    assert str(found).startswith("∅, 2 push: TD")


def test_with_gamma_one_the_shortcut_is_weak():
    E = augment(recall(gamma=1), "OA1")
    kinds = {(x.o, x.a): x.kind for x in shortcuts(E, blue(E), exact=True)}
    assert kinds[EMPTY, (2, "push")] == "weak"
    assert set(kinds.values()) == {"weak"}


def test_an_action_that_is_as_good_and_looks_as_good_is_no_shortcut():
    E = augment(recall(), "OA1")
    td, true = td_values(E, blue(E), exact=True), evaluate(E, blue(E), exact=True)
    assert td.q[TWO, (3, "keep")] == td.v[TWO] == true.q[TWO, (3, "keep")] == true.v_given_o[TWO]
    assert not [x for x in shortcuts(E, blue(E), exact=True) if x.o == TWO]


@settings(max_examples=25)
@given(st.data())
def test_shortcuts_are_those_of_the_definition_on_the_slow_twins_values(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P, deterministic=data.draw(st.booleans())))
    expected = shortcuts_by_definition(P, pi)
    assert {(x.o, x.a): x.kind for x in shortcuts(P, pi, exact=True)} == expected
    assert {(x.o, x.a): x.kind for x in shortcuts(P, pi)} == expected


@pytest.mark.parametrize("exact", [False, True])
def test_what_has_values_is_compared_beside_what_has_none(exact):
    """Half of the episodes never end: their row alone has no P(s|o)."""
    P = small_task(
        "half a trap",
        lambda s, a: (
            {("trap", 0): 1}
            if s == "trap"
            else {("end", 1): 1}
            if a == "end"
            else {("trap", 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)}
        ),
        "start",
        A=["go", "end"],
        omega=lambda s: {s: 1},
        gamma=Fraction(9, 10),
    )
    assert shortcuts(P, Policy.deterministic(P, {}, otherwise="go"), exact=exact) == []


def test_two_numbers_are_told_apart_beyond_twice_their_bound():
    """Each of the two may be off: 3/8 apart says nothing with a bound of 1/4, and all with 1/8."""
    td = {"q": 0.0, "v": 1.0, "td": 1.375, "v_td": 1.0}
    assert [kind_of(**td, td_error=e) for e in (0.25, 0.125)] == ["weak", "strict"]
    assert [is_open(**td, error=0.0, td_error=e) for e in (0.25, 0.125)] == [True, False]
    true = {"q": 1.375, "v": 1.0, "td": 2.0, "v_td": 1.0}
    assert [kind_of(**true, error=e) for e in (0.25, 0.125)] == ["strict", ""]
    assert [is_open(**true, error=e, td_error=0.0) for e in (0.25, 0.125)] == [True, False]


@pytest.mark.parametrize("lam", [0, 1])
def test_one_bound_for_all_values_is_what_a_policy_known_to_three_digits_may_cost(lam, monkeypatch):
    monkeypatch.setattr(chain, "UNIT", 1e-3)  # what a probability of a policy may be off by
    P, known, worst = a_coin_known_to_three_digits()
    rough = td_values(P, known, lam=lam)
    true = td_values(P, worst, lam=lam, exact=True)
    off = max(
        abs(x - Fraction(y))
        for x, y in ((true.v[0], rough.v[0]), (true.q[0, "go"], rough.q[0, "go"]))
    )
    assert off <= td_error(rough) < 1.5 * float(off)
    assert td_error(true) == 0


def test_what_bounds_leave_open_counts_as_equal_where_nothing_decides_it(monkeypatch):
    """TD prefers by 1 - gamma, which is less than what the policy may be off by."""
    E = augment(recall(gamma=0.9999), "OA1")
    pi = Policy(E, blue(E).prob.floats)
    kinds = []
    for unit in (chain.UNIT, 1e-3):
        monkeypatch.setattr(chain, "UNIT", unit)  # what a probability of a policy may be off by
        kinds += [x.kind for x in shortcuts(E, pi) if (x.o, x.a) == (EMPTY, (2, "push"))]
    assert kinds == ["strict", "weak"]


# ---------------------------------------------------------------------- over all optimal policies


@pytest.mark.parametrize(
    ("memory", "policies", "strict", "weak"),
    [("OA1", 7, (1, 1), (0, 0)), ("B2", 90, (3, 3), (4, 4))],
)
def test_recall_has_more_shortcuts_with_b2_than_with_oa1_whichever_optimal_policy(
    memory, policies, strict, weak
):
    count = count_shortcuts(augment(recall(), memory), exact=True)
    assert count.value == Fraction(361, 400)
    assert (count.policies, count.strict, count.weak) == (policies, strict, weak)
    assert count.complete


def test_the_policy_shown_is_optimal_and_its_shortcuts_are_its_own():
    E = augment(recall_variant(), "B2")
    count = count_shortcuts(E, exact=True)
    assert evaluate(E, count.pi, exact=True).value == count.value == 3
    assert list(count.shortcuts) == shortcuts(E, count.pi, exact=True)
    assert (count.strict, count.weak) == ((0, 0), (4, 9))
    assert "4 to 9 weak" in repr(count)


@settings(max_examples=25)
@given(pomdps(most_states=4, most_observations=3, most_actions=2))
def test_the_range_is_that_over_all_policies_tried_one_by_one(P):
    values = {pi: evaluate(P, pi, exact=True).value for pi in all_deterministic_policies(P)}
    best = max(values.values())
    optimal = [pi for pi, value in values.items() if value == best]
    found = [shortcuts(P, pi, exact=True) for pi in optimal]
    strict = [sum(x.kind == "strict" for x in xs) for xs in found]
    weak = [sum(x.kind == "weak" for x in xs) for xs in found]
    count = count_shortcuts(P, exact=True)
    assert count.value == best
    assert count.strict == (min(strict), max(strict))
    assert count.weak == (min(weak), max(weak))
    assert count.policies == len({rows_that_matter(P, pi) for pi in optimal})
    floats = count_shortcuts(P)
    assert (floats.strict, floats.weak, floats.policies) == (
        count.strict,
        count.weak,
        count.policies,
    )


def test_rows_that_only_a_deviation_reaches_are_counted_too():
    """What pi does in `dark`, where it never is, decides whether jumping at the start is a weak
    shortcut."""
    leads = {"start": {"walk": "hall", "jump": "pit"}, "pit": {"walk": "dark", "jump": "dark"}}
    P = small_task(
        "rooms",
        lambda s, a: {
            (leads[s][a], 0) if s in leads else ("end", int(s == "hall" or a == "jump")): 1
        },
        "start",
        A=["jump", "walk"],
        omega=lambda s: {"room" if s in ("hall", "pit") else s: 1},
    )
    kinds = {
        action: [
            x.kind
            for x in shortcuts(
                P,
                Policy.deterministic(P, {"start": "walk", "room": "walk", "dark": action}),
                exact=True,
            )
        ]
        for action in P.A
    }
    assert kinds == {"jump": [], "walk": ["weak"]}
    assert count_shortcuts(P, exact=True).weak == (0, 1)


def test_more_optimal_policies_than_asked_for_give_a_count_that_says_so():
    count = count_shortcuts(augment(recall(), "B2"), exact=True, most=10)
    assert count.policies == 10
    assert not count.complete
    assert "at least 10" in repr(count)
    assert "among those seen" in repr(count)


@pytest.mark.slow
def test_gravity_without_memory_has_one_optimal_deterministic_policy():
    count = count_shortcuts(gravity())
    assert count.policies == 1
    assert count.value == pytest.approx(0.010263, abs=5e-7)


def test_ctrl_c_keeps_what_is_known_to_be_optimal(monkeypatch):
    calls = iter(range(100))

    def interrupted(*arguments):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return shortcuts(*arguments)

    monkeypatch.setattr(search_module, "shortcuts", interrupted)
    count = count_shortcuts(augment(recall(), "B2"))
    assert count.policies == 4
    assert not count.complete


# ---------------------------------------------------------------------- bad input, the command


def test_bad_input_is_named():
    P = recall()
    with pytest.raises(WrongType, match="shortcuts belong"):
        shortcuts(P, "blue")
    with pytest.raises(WrongType, match="shortcuts belong"):
        count_shortcuts("recall")
    symbolic = recall(gamma=sympy.Symbol("g"))
    with pytest.raises(WorkbenchError, match="give g a value"):
        shortcuts(symbolic, uniform(symbolic))
    with pytest.raises(NotExact, match="gamma"):
        count_shortcuts(recall(gamma=0.95), exact=True)
    with pytest.raises(WorkbenchError, match="most"):
        count_shortcuts(P, most=0)


def test_a_task_that_no_policy_ends_is_refused():
    P = small_task("round", lambda s, a: {("s", 1): 1}, "s", A=["go"])
    with pytest.raises(WorkbenchError, match="no policy of round ends"):
        count_shortcuts(P)


def test_the_command_prints_one_table_in_80_columns(monkeypatch):
    from workbench.cli.main import app

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["shortcuts", "recall", "-m", "OA1", "-m", "B2"])
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    text = " ".join(result.output.split())
    assert "OA1 ∅ 2 push 19/20 361/400 0 361/400 strict" in text
    assert "B2: There are 90 optimal policies, worth 361/400; each has 3 strict and 4 weak" in text


def test_the_command_says_when_there_are_none(monkeypatch):
    from workbench.cli.main import app

    monkeypatch.setenv("COLUMNS", "80")
    result = CliRunner().invoke(app, ["shortcuts", "recall", "-m", "OA2", "--most", "1"])
    text = " ".join(result.output.split())
    assert "at least 1 optimal policy, worth 361/400" in text
    assert "each of those looked at has 0 strict and 0 weak shortcuts" in text


def test_shortcuts_show_themselves():
    E = augment(recall(), "OA1")
    found = shortcuts(E, best_memoryless(E).policy)
    assert found == list(found)
    assert "q_TD(o,a)" in found._repr_html_()
    assert len(found.to_frame()) == len(found) == 1


@pytest.mark.parametrize("exact", [False, True])
def test_a_policy_that_never_ends_has_no_visits_to_weigh_by(exact):
    E = augment(load_unload(), "B1")
    with pytest.raises(WorkbenchError, match="weigh by discounted or stationary visits"):
        count_shortcuts(E, exact=exact)
    assert count_shortcuts(E, exact=exact, weights="discounted").strict == (4, 8)
    assert count_shortcuts(E, exact=exact, weights="stationary").strict == (2, 2)
