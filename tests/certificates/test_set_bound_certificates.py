"""Certificates of sets of greedy policies: what bounds refute is derived again, and every spoiled
copy is caught."""

import copy
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps
from toy_tasks import small_task

from pomdps import recall, recall4, recall_variant
from workbench import QLearning, Sarsa, augment, equilibria
from workbench.certificates.set_bounds import set_bounds_certificate
from workbench.checker.greedy_set_claims import SetBounds
from workbench.checker.place_graph import PlaceGraph
from workbench.checker.reader import read_json, read_memory, read_task
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import NotExact, TooLarge, WorkbenchError
from workbench.results.json import model_json

TENTH, F = Fraction(1, 10), Fraction


def certificate_of(P, memory, learner=None, **options):
    learner = learner or QLearning(epsilon=TENTH)
    return read_json(json.dumps(set_bounds_certificate(P, memory, learner, **options)))


def policies_of(certificate):
    return sorted((digits, strict, value) for digits, strict, value in certificate["fixed"])


def listed(P, memory, learner):
    """What a search finds that looks at every policy."""
    E = augment(P, memory)
    found = equilibria(E, learner, exact=True, symmetry=False, branch=False)
    assert found.complete
    return sorted((e.policy.actions[found.rows].tolist(), e.strict, str(e.value)) for e in found)


def test_that_none_of_65536_policies_is_a_fixed_point_takes_a_few_sets():
    certificate = certificate_of(recall4(), "B2")
    assert recheck(certificate) == (
        "Q-learning with epsilon 1/10 on recall4 with B2: no fixed point, among 16^4 greedy "
        f"policies, 0 of them one by one and the others in {len(certificate['sets'])} sets"
    )
    assert len(certificate["sets"]) < 30


@pytest.mark.slow
def test_a_million_million_policies_are_more_than_anybody_lists():
    said = recheck(certificate_of(recall4(), "B3"))
    assert "no fixed point, among 32^8 greedy policies" in said


@pytest.mark.parametrize(
    ("P", "memory", "learner"),
    [
        (recall(), "OA1", QLearning(epsilon=TENTH)),
        (recall_variant(), "B1", Sarsa(lam=0, epsilon=TENTH)),
        (recall_variant(), "OA1", QLearning(epsilon=Fraction(1, 2), gamma=Fraction(9, 10))),
    ],
)
def test_fixed_points_are_those_of_a_search_that_looks_at_all(P, memory, learner):
    certificate = certificate_of(P, memory, learner)
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    assert policies_of(certificate) == listed(P, memory, learner)
    assert "greedy policies" in recheck(certificate)


@given(pomdps(most_observations=2, most_states=3), st.booleans(), st.sampled_from([TENTH, 1]))
@settings(max_examples=15)
def test_certificates_of_random_tasks_hold(P, sarsa, epsilon):
    P = P.with_gamma(Fraction(1, 2))
    learner = Sarsa(lam=0, epsilon=epsilon) if sarsa else QLearning(epsilon=epsilon)
    certificate = certificate_of(P, "none", learner)
    recheck(certificate)
    assert policies_of(certificate) == listed(P, "none", learner)


def spoil(certificate, how):
    spoiled = copy.deepcopy(certificate)
    how(spoiled)
    return spoiled


@pytest.fixture(scope="module")
def good():
    """With a set that is divided, sets that are refuted, and potentials of every use."""
    certificate = certificate_of(recall4(), "B2")
    recheck(certificate)
    return certificate


def first_round(c, field):
    """The first round with something in a field."""
    return next(one for node in c["sets"] for one in node["rounds"] if one[field])


def lower_potential(c):
    """A round and a place in its list of lower bounds that needs a potential."""
    rounds = (one for node in c["sets"] for one in node["rounds"])
    return next((one, i) for one in rounds for i, (*_, U) in enumerate(one["lower"]) if U)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda c: c["sets"].pop(), "not spoken of"),
        (lambda c: c["sets"].append(c["sets"][-1]), "more sets than the walk meets"),
        (lambda c: c["sets"][-1]["rounds"].pop(), "said to be refuted, and every row has actions"),
        (lambda c: c["sets"][0].__setitem__("then", "gone"), "empty, divided or listed"),
        (lambda c: first_round(c, "out")["out"][0].__setitem__(3, None), "may be greedy in row"),
        (lambda c: first_round(c, "out")["out"][0][3].pop(), "is not a list of 17 whole numbers"),
        (
            lambda c: first_round(c, "out").__setitem__(
                "out", [[o, a, a, U] for o, a, _, U in first_round(c, "out")["out"]]
            ),
            "may be greedy in row",
        ),
        (lambda c: first_round(c, "upper").__setitem__("upper", []), "may be worth more than"),
        (lambda c: first_round(c, "lower")["lower"].pop(), "nothing is said on the least"),
        (lambda c: lower_potential(c)[0]["lower"][lower_potential(c)[1]].__setitem__(2, None),
         "may be worth less than"),
        (lambda c: c.__setitem__("unit", "0"), "unit of the potentials is not positive"),
        (lambda c: c["places"].pop(), "the places are not those"),
        (lambda c: c["fixed"].append([[0, 0, 0, 0], True, "1"]), "is no fixed point"),
        (lambda c: c["fixed"].append([[0, 0], True, "1"]), "is not an action for each of 4 rows"),
        (lambda c: c.__setitem__("epsilon", "9/10"), "may be"),
        (lambda c: first_round(c, "out")["out"][0].__setitem__(1, 16), "number from 0 to 15"),
        (lambda c: first_round(c, "out")["out"][0].__setitem__(0, 4), "number from 0 to 3"),
    ],
)  # fmt: skip
def test_spoiled_certificates_are_caught(good, how, message):
    with pytest.raises(Spoiled, match=message):
        recheck(spoil(good, how))


def test_every_number_of_a_bound_counts(good):
    """High and low are as tight as the potentials allow: none can be moved by much."""
    for name, move in (("high", -1), ("low", 1)):
        for row in range(4):
            spoiled = copy.deepcopy(good)
            one = spoiled["sets"][0]["rounds"][0]
            one[name][row] += move * 2**46  # the size of the largest reward
            with pytest.raises(Spoiled):
                recheck(spoiled)


def test_a_fixed_point_cannot_be_left_out_or_hidden_in_a_set():
    good = certificate_of(recall(), "OA1")
    fixed = good["fixed"][0][0]
    with pytest.raises(Spoiled, match=rf"policy \[{', '.join(map(str, fixed))}\] is not spoken of"):
        recheck(spoil(good, lambda c: c["fixed"].pop()))
    for row, action in ((0, 0), (3, 5)):
        lie = spoil(good, lambda c: c["fixed"].pop())
        next(node for node in lie["sets"] if "refuted" in node and _holds(good, node, fixed))[
            "refuted"
        ].append([fixed, row, action])
        with pytest.raises(Spoiled, match=r"not refuted by|does not lie in the set"):
            recheck(lie)


def _holds(certificate, node, fixed):
    """Whether the one policy that a listed set leaves out is this one."""
    digits = np.array([g for g, *_ in node["refuted"]])
    return len(digits) > 0 and set(digits[:, 0]) >= {fixed[0]}


def test_an_episode_that_never_ends_and_a_place_met_twice_have_no_bounds():
    def loop(gamma, leak):
        return small_task(
            "loop",
            lambda s, a: {("s", 0): 1 - leak, ("end", 1): leak} if leak else {("s", 0): 1},
            "s",
            A=["a", "b"],
            gamma=gamma,
            terminal={"end"} if leak else (),
        )

    half = Fraction(1, 2)
    good = certificate_of(loop(half, half), "none")
    assert "fixed points worth" in recheck(good)
    for gamma, leak, message in (
        (1, half, "gamma is 1 and a place can be met twice"),
        (half, 0, "for ever"),
    ):
        other = json.loads(json.dumps(model_json(loop(gamma, leak))))
        with pytest.raises(Spoiled, match=message):
            recheck({**good, "model": other})


def test_what_cannot_be_certified_is_told():
    with pytest.raises(TooLarge, match=r"after 1 sets a share of .* of recall_variant×B2 is left"):
        certificate_of(recall_variant(), "B2", sets=1)
    with pytest.raises(NotExact, match="exact epsilon"):
        certificate_of(recall4(), "B1", QLearning(epsilon=0.1))
    with pytest.raises(WorkbenchError, match=r"Q-learning and Sarsa\(0\)"):
        certificate_of(recall4(), "B1", Sarsa(lam=Fraction(1, 2), epsilon=TENTH))


def test_a_potential_holds_for_every_action_of_the_set_and_starts_below_zero(good):
    # lifted by a constant it still bounds what follows, and shows nothing
    lifted = copy.deepcopy(good)
    U = first_round(lifted, "out")["out"][0][3]
    U[:] = [x + 2**50 for x in U]
    with pytest.raises(Spoiled, match="may be greedy in row"):
        recheck(lifted)

    def p(s, a):
        return {("t", 0): 1} if (s, a) == ("s", "on") else {("end", 0): 1}

    P = small_task("on or off", p, "s", A=["on", "off"], omega=lambda s: {s: 1})
    E = PlaceGraph(read_task(model_json(P)), read_memory("none"))
    bounds = SetBounds(E, E.places, E.rows, E.actions, TENTH, greedy_target=True)
    half, first = Fraction(1, 2), [place[0] for place in E.places].index("s")
    r = {first: -half, 1 - first: Fraction(1)}  # on, t is met nearly always; off, nearly never
    U = [Fraction(0), Fraction(0)]
    U[1 - first], U[first] = Fraction(1), -half + TENTH / 2
    on, off = (E.actions.index((a, "-")) for a in ("on", "off"))
    assert bounds.is_shown(U, r, [(off,), (off,)], strict=True)
    for total, strict, shown in ((0, True, False), (0, False, True), (F(1, 9), False, False)):
        moved = [x - U[first] + total for x in U]  # a potential plus a constant is one, too
        assert bounds.is_shown(moved, r, [(off,), (off,)], strict=strict) == shown
    assert not bounds.is_shown(U, r, [(on, off), (on, off)], strict=True)
    assert not bounds.is_shown(U, r, [(on,), (on,)], strict=True)
