"""Certificates of fixed points: what is found is derived again, and every spoiled copy is
caught."""

import copy
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps

from pomdps import recall, recall4, recall_variant
from workbench import QLearning, Sarsa, augment, equilibria
from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import WorkbenchError

TENTH = Fraction(1, 10)


def certificate_of(P, memory, learner):
    found = equilibria(augment(P, memory), learner, exact=True, symmetry=False)
    return json.loads(json.dumps(fixed_points_certificate(P, memory, found)))


def test_that_there_is_none_is_derived_again():
    said = recheck(certificate_of(recall4(), "B1", QLearning(epsilon=TENTH)))
    assert (
        said == "Q-learning with epsilon 1/10 on recall4 with B1: no fixed point, "
        "among 64 greedy policies"
    )


def test_a_tied_fixed_point_and_what_it_is_worth_are_derived_again():
    said = recheck(certificate_of(recall_variant(), "B1", Sarsa(lam=0, epsilon=TENTH)))
    assert "Sarsa(0)" in said
    assert "fixed points worth -10 (tied), among 16" in said


@given(pomdps(most_observations=2, most_states=3), st.booleans())
@settings(max_examples=20)
def test_certificates_of_random_tasks_hold(P, sarsa):
    learner = Sarsa(lam=0, epsilon=TENTH) if sarsa else QLearning(epsilon=TENTH)
    assert "among" in recheck(certificate_of(P, "none", learner))


def spoil(certificate, how):
    spoiled = copy.deepcopy(certificate)
    how(spoiled)
    return spoiled


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (lambda c: c["refuted"].pop(), "1 of 16 greedy policies are not spoken of"),
        (lambda c: c["refuted"].append(c["refuted"][0]), "spoken of twice"),
        (lambda c: c["refuted"].append([c["fixed"].pop()[0], 0, 0]), "is not refuted by row 0"),
        (lambda c: c["fixed"].append([c["refuted"].pop()[0], False, "-10"]), "is no fixed point"),
        (lambda c: c["fixed"][0].__setitem__(1, True), "said to be strict"),
        (lambda c: c["fixed"][0].__setitem__(2, "-9"), "not worth -9"),
        (lambda c: c.__setitem__("epsilon", "0"), r"does not lie in \(0, 1\]"),
        (lambda c: c.__setitem__("learner", "TD"), "unknown learner"),
        (lambda c: c["rows"].pop(), "the rows are not those"),
        (lambda c: c["actions"].pop(), "the actions are not those"),
        (lambda c: c["refuted"][0].__setitem__(0, 99), "99"),
        (lambda c: c["refuted"][0].__setitem__(2, 9), "9"),
        (lambda c: c.__setitem__("memory", "B2"), "the rows are not those"),
    ],
)
def test_spoiled_certificates_are_caught(how, message):
    good = certificate_of(recall_variant(), "B1", QLearning(epsilon=TENTH))
    with pytest.raises(Spoiled, match=message):
        recheck(spoil(good, how))


def test_a_certificate_about_another_task_does_not_hold():
    good = certificate_of(recall4(), "B1", QLearning(epsilon=TENTH))
    other = certificate_of(recall4(scale=-1), "B1", QLearning(epsilon=TENTH))
    with pytest.raises(Spoiled):
        recheck({**good, "model": other["model"]})


def test_an_uncertain_search_has_no_certificate():
    E = augment(recall4(), "B1")
    with pytest.raises(WorkbenchError, match="complete search in rationals"):
        fixed_points_certificate(recall4(), "B1", equilibria(E, QLearning(epsilon=0.1)))
    B2 = equilibria(augment(recall_variant(), "B2"), QLearning(epsilon=TENTH), exact=True)
    with pytest.raises(WorkbenchError, match="symmetry=False"):
        fixed_points_certificate(recall_variant(), "B2", B2)
    half = equilibria(recall(), Sarsa(lam=Fraction(1, 2), epsilon=TENTH), exact=True)
    with pytest.raises(WorkbenchError, match=r"Q-learning and Sarsa\(0\)"):
        fixed_points_certificate(recall(), "none", half)
