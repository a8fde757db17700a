"""Sums over index sets of any size: normal forms are the numbers that the texts say, and nothing
follows that does not."""

import re

import pytest
from certified import CERTIFICATES
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import certificates_of
from reference_sums import follows_in_models, random_model, value_of_sum

from proofs.ledger.theory import Interpretation, Theory, trouble_in
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.checker.sums import read_sum

SETS = {"s": (0, 1, 2), "a": (0, 1)}
MODEL = Interpretation(
    SETS,
    {
        "v": lambda s: 3 * s * s - 2,
        "p": lambda s, a, s1: 5 * s - 7 * a * s1 + 1,
        "pi": lambda s, a: s + 2 * a - 1,
        "c": 11,
    },
)
FREE = {"s": 1, "s1": 2, "a": 1, "a1": 0}
INDEX_S, INDEX_A = st.sampled_from(["s", "s1", "s2"]), st.sampled_from(["a", "a1"])

atoms = st.one_of(
    st.sampled_from(["1", "2", "c"]),
    st.builds("v({})".format, INDEX_S),
    st.builds("pi({}, {})".format, INDEX_S, INDEX_A),
    st.builds("p({}, {}, {})".format, INDEX_S, INDEX_A, INDEX_S),
    st.builds("eq({}, {})".format, INDEX_S, INDEX_S),
)
terms = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} - {})".format, inner, inner),
        st.builds("({}*{})".format, inner, inner),
        st.builds("sum[{}]({})".format, INDEX_S, inner),
        st.builds("sum[{}, {}]({})".format, INDEX_S, INDEX_A, inner),
    ),
    max_leaves=6,
)


@given(terms)
@settings(max_examples=150, deadline=None)
def test_a_normal_form_is_worth_what_the_text_says(text):
    at = {**FREE, "s2": 0}
    assert value_of_sum(read_sum(text), MODEL, at) == MODEL.value(text, at)


@given(terms, st.permutations(["s", "s1", "s2"]))
@settings(max_examples=80, deadline=None)
def test_names_of_summed_indices_do_not_matter(text, names):
    swapped = dict(zip(("s", "s1", "s2"), names, strict=True))

    def renamed(match):
        return swapped[match[0]]

    other = re.sub(r"\bs\d?\b", renamed, text)
    assert read_sum(f"sum[s, s1, s2]({text})") == read_sum(f"sum[s2, s1, s]({other})")


def test_distributions_are_left_out_only_where_they_are_summed_over_whole():
    theory = Theory({"p": "sum[s1](p(s, s1)) == 1"})
    true = ["sum[s1](f(s)*p(s, s1)) == f(s)", "sum[s, s1](f(s)*p(s, s1)) == sum[s](f(s))"]
    false = [
        "sum[s](p(s, s1)) == 1",
        "sum[s](p(s, s)) == 1",
        "sum[s1](p(s, s1)*p(s, s1)) == 1",
        "sum[s1](p(s, s1)*f(s1)) == f(s)",
    ]
    assert [trouble_in(theory.shows("x", goal, [])) for goal in true] == [None, None]
    for goal in false:
        assert "is left" in trouble_in(theory.shows("x", goal, []))


REFUSED = {
    "an index that the left side does not hold": (
        {"f": "f(s) == g(s1)", "goal": "f(s) == 2*g(s1)"}, [["unfold", 0]], "does not"),
    "what is not one function": ({"f": "2*f(s) == 1", "goal": "f(s) == 1"}, [["unfold", 0]], "one"),
    "an inequality": ({"f": "f(s) >= 1", "goal": "f(s) == 1"}, [["unfold", 0]], "only equations"),
    "an inequality added": ({"f": "f(s) >= 1", "goal": "f(s) == 1"}, [["add", 0, "1"]], "only eq"),
    "less than nothing": (
        {"f": "f(s) >= 1", "goal": "1 >= f(s)"}, [["less", "-1", [[0, {}]]]], "positive multiple"),
    "taken off an equation": (
        {"f": "f(s) >= 1", "goal": "f(s) == 1"}, [["less", "1", [[0, {}]]]], "goals with >="),
    "an equation as a factor": (
        {"f": "f(s) == 1", "goal": "2 >= f(s)"}, [["less", "1", [[0, {}]]]], "inequality"),
    "a name of another sort": (
        {"f": "f(s) >= 1", "goal": "f(s) >= 0"}, [["less", "1", [[0, {"s": "a"}]]]], "of its sort"),
    "the hypothesis without an induction": (
        {"f": "f(s) == 1", "goal": "g(s) == 1"}, [["unfold", "hypothesis"]], "no formula"),
    "an index twice": ({"f": "f(s, s) == 1", "goal": "f(s, s) == 2"}, [["unfold", 0]], "twice"),
    "other arguments elsewhere": ({"f": "f(s) == 1", "goal": "f(a) == 1"}, [], "other arguments"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_step_that_does_not_follow_is_refused(what):
    formulas, steps, why = REFUSED[what]
    certificate = {
        "kind": "sum-claim",
        "what": what,
        "given": [formulas["f"]],
        "fixed": [],
        "goal": formulas["goal"],
        "base": None,
        "steps": steps,
    }
    with pytest.raises(Spoiled, match=why):
        recheck(certificate)


def test_a_fixed_index_stands_for_one_value():
    given_ = {"top": "u(s9) == U"}
    anywhere = Theory(given_).shows("x", "f(s)*u(s) == f(s)*U", [("unfold", "top")])
    there = Theory(given_, ("s9",)).shows("x", "f(s)*u(s) == f(s)*U", [("unfold", "top")])
    assert trouble_in(anywhere) is None
    assert "is left" in trouble_in(there)
    with pytest.raises(Spoiled, match="of its sort"):
        recheck({**there, "given": ["U - u(s9) >= 0"], "goal": "U - u(s) >= 0",
                 "steps": [["less", "1", [[0, {"s9": "s"}]]]]})  # fmt: skip


def test_an_induction_is_about_n():
    one = CERTIFICATES["sum-claim"]()
    for goal in ("1 - sum[s](x(n+1, s)) >= 0", "1 - sum[s](x(0, s)) >= 0"):
        with pytest.raises(Spoiled, match="about n"):
            recheck({**one, "goal": goal})
    with pytest.raises(Spoiled, match="is left"):
        recheck({**one, "base": []})


def test_a_false_goal_has_a_model_that_breaks_it():
    one = CERTIFICATES["sum-claim"]()
    assert sum(random_model(one, seed) is not None for seed in range(12)) >= 3
    assert follows_in_models(one)
    assert not follows_in_models({**one, "goal": "1 - 2*sum[s](x(n, s)) >= 0"}, 60)


def test_what_the_ledger_shows_for_all_sizes_holds_in_small_models():
    """Certificates whose definitions are not circular have models that are made at random."""
    seen = 0
    for name in ("S4.ignore", "A1.equivalent", "S51.variance*", "S4.imagine", "T.clock"):
        for one in certificates_of(name):
            if one["kind"] == "sum-claim":
                assert follows_in_models(one, 3), (name, one["what"])
                seen += any(random_model(one, seed) is not None for seed in range(3))
    assert seen >= 4


@pytest.mark.parametrize(
    "given",
    [
        "sum[s](x(n, s)) == 1",
        "1 == sum[s2](x(n, s2))",
        "2*y(s, a) - 1 >= y(s, a)",
        "y(s2, a1) - 1 >= 0",
        "3*y(s, a) >= 3",
        "y(s, a) == 1",
        "y(s, s1) >= 1",
        "x(n, s2) + z(s2) == 0",
        "x(n+1, s) + z(s) == 0",
    ],
)
def test_a_goal_that_is_given_is_refused_however_it_is_written(given):
    """As an equation, for more indices, at the next step of an induction."""
    goal = "sum[s](x(n, s)) == 1" if "x" in given else "y(s, a) >= 1"
    goal = {"y(s, s1) >= 1": "y(s, s) >= 1"}.get(
        given, "x(n, s) + z(s) == 0" if "z" in given else goal
    )
    step = ("add", "it", "-1") if "x" in given else ("less", 1, (("it", {}),))
    trouble = trouble_in(Theory({"it": given}).shows("what is given", goal, [step]))
    assert "the goal is among what is given" in str(trouble)


def test_a_stronger_formula_may_be_given():
    shown = Theory({"it": "y(s, a) - 2 >= 0"}).shows(
        "weaker", "y(s, a) - 1 >= 0", [("less", 1, (("it", {}),)), ("less", 1, ())]
    )
    assert trouble_in(shown) is None
