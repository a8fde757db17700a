"""Certificates as theorems of Coq: what is written, and, slowly, what Coq makes of it."""

import shutil
from fractions import Fraction

import pytest

from pomdps import recall4, recall_variant
from proofs.ledger.coq_certificates import WRITERS, check_certificates, theorem_of
from proofs.ledger.coqc import compile_library
from workbench import Policy, augment, evaluate, uniform
from workbench.certificates.values import identity_certificate, value_certificate
from workbench.checker.ledger_file import certificate_digest
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled


def positive(polynomial, box, strict=True):
    return {"kind": "polynomial-positive", "polynomial": polynomial, "box": box, "strict": strict}


def worth(P, memory, pi, value=None):
    value = evaluate(augment(P, memory), pi, exact=True).value if value is None else value
    return value_certificate(P, memory, pi, value)


def excluded(conditions, terms, positive, squares=()):
    return {
        "kind": "excluded",
        "conditions": list(conditions),
        "terms": [list(term) for term in terms],
        "positive": list(positive),
        "squares": list(squares),
    }


def some_policy():
    E = augment(recall_variant(), "OA1")
    return Policy.deterministic(E, {}, otherwise=E.A[0])


TRUE = [
    identity_certificate("a quotient", "(x**2 - y**2)/(x - y)", "x + y"),
    identity_certificate("a number below", "x/(2*y - 2)", "x/2/(y - 1)"),
    positive("x**2 - x + 1", {"x": "[0, 1]"}),
    positive("x*(1 - x)", {"x": "(0, 1)"}),
    positive("x*y + 1 - y", {"x": "[0, 1]", "y": "(0, 1)"}),
    positive("y*x**2 - 2*x*y + 3*y", {"x": "[0, oo)", "y": "[2, oo)"}),
    positive("(2*x - 1)**2 + 1/1000", {"x": "[0, 1]"}),
    positive("x - x**2", {"x": "[0, 1]"}, strict=False),
    positive("1", {}),
    excluded(["x >= 0", "1 - x >= 0", "x - 2 >= 0"], [("1", [1]), ("1", [2])], []),
    excluded(["x > 0", "y == 0", "y > x"], [("1", [0]), ("-1", [1])], [2]),
    worth(recall4(), "B1", uniform(augment(recall4(), "B1"))),
    worth(recall_variant(), "OA1", some_policy()),
]

FALSE = [
    identity_certificate("a forged square", "(x + 1)**2", "x**2 + x + 1"),
    excluded(["x >= 0", "1 - x >= 0"], [("1", [0]), ("1", [1])], []),
    excluded(["x >= 0", "x - 1 >= 0"], [("-1", [0]), ("1", [1])], []),
    worth(recall4(), "B1", uniform(augment(recall4(), "B1")), Fraction(3, 4)),
]

UNWRITTEN = [
    positive("x**2 - x", {"x": "[0, 1]"}),
    positive("x - x**2", {"x": "[0, 1]"}),
    positive("x", {"x": "[0, 1]"}),
    positive("y", {"x": "[0, 1]", "y": "[-1, 1]"}, strict=False),
]


def test_every_kind_that_is_written_is_tried_here():
    assert {one["kind"] for one in TRUE} == set(WRITERS)


@pytest.mark.parametrize("one", TRUE, ids=lambda one: one["kind"])
def test_a_theorem_is_named_after_what_its_certificate_states(one):
    recheck(one)
    head, text = theorem_of(one)
    assert f"Theorem c_{certificate_digest(one)} : " in text
    assert text.endswith("Qed.\n")
    assert "Require Import" in head


@pytest.mark.parametrize("one", UNWRITTEN, ids=lambda one: one["polynomial"])
def test_a_polynomial_that_is_not_positive_gets_no_proof(one):
    with pytest.raises(Spoiled):
        theorem_of(one)


@pytest.mark.parametrize("text", ["__import__('os')", "x[0]", "x if y else z", "1.5", "x**y"])
def test_what_is_no_formula_is_not_written_into_a_file(text):
    with pytest.raises(Spoiled):
        theorem_of(identity_certificate("strange", text, "0"))


def test_other_kinds_are_left_alone():
    assert theorem_of({"kind": "hearsay"}) is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_coq_accepts_what_holds_and_refuses_what_is_forged(tmp_path):
    compile_library(tmp_path)
    mixed = [one for pair in zip(FALSE, TRUE, strict=False) for one in pair] + TRUE[len(FALSE) :]
    found = check_certificates(tmp_path, [*mixed, *UNWRITTEN])
    assert sorted(found.accepted) == sorted(map(certificate_digest, TRUE))
    assert set(found.refused) == set(map(certificate_digest, FALSE))
    assert set(found.unwritten) == set(map(certificate_digest, UNWRITTEN))
