"""Certificates as theorems of Coq: what is written, and, slowly, what Coq makes of it."""

import copy
import json
import random
import re
import shutil
from fractions import Fraction

import pytest
import sympy
from certified import CERTIFICATES
from changed import changes
from typer.testing import CliRunner

from pomdps import recall4, recall_variant
from proofs.ledger.coq_certificates import ROOTS, WRITERS, check_certificates, theorem_of
from proofs.ledger.coqc import assumptions, compile_library
from proofs.ledger.formal import AXIOMS, COQ
from workbench import Policy, augment, evaluate, uniform
from workbench.certificates.values import (
    identity_certificate,
    q_certificate,
    step_certificate,
    value_certificate,
)
from workbench.checker.ledger_file import certificate_digest
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.cli.main import app
from workbench.core.errors import WorkbenchError
from workbench.improvement.batch import sequence_task
from workbench.results.json import model_json


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


def some_q_values():
    E = augment(recall4(), "B1")
    return q_certificate(recall4(), "B1", evaluate(E, uniform(E), exact=True))


def quotients():
    """q-values that divide by a name."""
    P, x = sequence_task([[1, 0], [0, 2]]), sympy.Symbol("x")
    E = augment(P, "O1")
    rows = {o: {a: x / 2 if a[1] == "keep" else (1 - x) / 2 for a in E.A} for o in E.O}
    return q_certificate(P, "O1", evaluate(E, Policy.from_mapping(E, rows), exact=True))


def some_step(spoiled=0):
    P, eps = sequence_task([[0, 1], [2, 0]]), sympy.Symbol("eps")
    pi = uniform(P)
    q = evaluate(P, pi, exact=True).q
    best = max(P.A, key=lambda a: q["o", a])
    moved = Policy.from_mapping(
        P, {"o": {a: (1 - eps) / 2 + (eps if a == best else 0) for a in P.A}}
    )
    before, after = (evaluate(P, one, exact=True).value for one in (pi, moved))
    return step_certificate(P, pi, eps, before, sympy.expand(after + spoiled * eps))


def every_k():
    """On recall4 greedy goes to action 1 and the last word, then to 3, from the uniform policy of
    B(k), whatever k is."""
    y, rows = sympy.Symbol("y"), ("0", "others", "last")
    share = {"0": y / 4, "others": (1 - 2 * y) / 4, "last": y / 4}
    row = [[{"tuple": [a, w]}, str(sympy.expand(x))] for a in range(4) for w, x in share.items()]
    greedy = {m: {"tuple": [1 if m == "0" else 3, "last"]} for m in rows}
    return {
        "kind": "greedy-family",
        "model": model_json(recall4()),
        "memory": "B(k)",
        "policy": [[{"tuple": [m, "o"]}, row] for m in rows],
        "greedy": [[{"tuple": [m, "o"]}, a] for m, a in greedy.items()],
        "box": {"y": "(0, 1/2]"},
        "ties": "last",
    }


def forged(make, *changed):
    """A certificate with one number changed."""
    found = json.loads(json.dumps(make()))
    inner = found
    for key in changed[:-2]:
        inner = inner[key]
    inner[changed[-2]] = changed[-1]
    return found


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
    some_q_values(),
    quotients(),
    some_step(),
    every_k(),
    *(CERTIFICATES[kind]() for kind in WRITERS if kind not in ("q-values", "greedy-step")),
]

FALSE = [
    identity_certificate("a forged square", "(x + 1)**2", "x**2 + x + 1"),
    excluded(["x >= 0", "1 - x >= 0"], [("1", [0]), ("1", [1])], []),
    excluded(["x >= 0", "x - 1 >= 0"], [("-1", [0]), ("1", [1])], []),
    worth(recall4(), "B1", uniform(augment(recall4(), "B1")), Fraction(3, 4)),
    forged(some_q_values, "q", 3, 2, "1/2"),
    forged(some_q_values, "value", "1/2"),
    forged(quotients, "q", 0, 2, "1"),
    forged(CERTIFICATES["td-values"], "q", 3, 2, "1/2"),
    forged(CERTIFICATES["td-values"], "n", 2),
    forged(CERTIFICATES["value-bound"], "bound", "5/2"),
    some_step(spoiled=1),
]

UNWRITTEN = [
    positive("x**2 - x", {"x": "[0, 1]"}),
    positive("x - x**2", {"x": "[0, 1]"}),
    positive("x", {"x": "[0, 1]"}),
    positive("y", {"x": "[0, 1]", "y": "[-1, 1]"}, strict=False),
    forged(CERTIFICATES["greedy-family"], "box", {"x": "(0, 2]"}),
    forged(CERTIFICATES["greedy-family"], "greedy", 0, 1, {"tuple": [0, "1"]}),
    forged(every_k, "greedy", 2, 1, {"tuple": [2, "last"]}),
    forged(every_k, "box", {"y": "(0, 1]"}),
    forged(some_q_values, "discounted", True),
    CERTIFICATES["q-values"](),
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
    assert theorem_of(copy.deepcopy(one)) == (head, text)


def applied(one):
    """What the proof of a theorem applies, as (file, theorem)."""
    (name,) = set(re.findall(r"\b\w+_right\b", theorem_of(one)[1]))
    return next(
        (f"{file}.v", name)
        for file in ROOTS
        if re.search(rf"^Theorem {name}\b", (COQ / f"{file}.v").read_text(), re.M)
    )


@pytest.mark.parametrize("one", TRUE, ids=lambda one: one["kind"])
def test_what_a_proof_applies_is_proved_in_the_library(one):
    assert applied(one)


@pytest.mark.parametrize(
    "one", [one for one in TRUE if "model" in one and "x" not in str(one)], ids=lambda c: c["kind"]
)
def test_the_numbers_of_a_theorem_are_those_of_its_certificate(one):
    model, text = one["model"], theorem_of(one)[1]
    task = text.partition("Definition p_" if "policy" in one else "Theorem ")[0]
    shown = [
        model["gamma"],
        *(x for _, x in model["mu"]),
        *(x for _, row in model["omega"] for _, x in row),
        *(x for *_, row in model["p"] for entry in row for x in entry[1:]),
    ]
    assert written(task) == numbers(shown)
    if "policy" in one:
        policy = text.partition("Definition p_")[2].partition(".\n")[0]
        assert written(policy) == numbers(x for _, row in one["policy"] for _, x in row)


def written(text):
    """The numbers of a Coq text other than 0, sorted."""
    found = [Fraction(int(n), int(d)) for n, d in re.findall(r"\((-?\d+) # (\d+)\)", text)]
    return sorted(x for x in found if x)


def numbers(shown):
    return sorted(Fraction(x) for x in shown if Fraction(x))


@pytest.mark.parametrize("one", UNWRITTEN, ids=lambda one: one["kind"])
def test_what_cannot_be_shown_gets_no_proof(one):
    with pytest.raises(Spoiled):
        theorem_of(one)


@pytest.mark.parametrize("text", ["__import__('os')", "x[0]", "x if y else z", "1.5", "x**y"])
def test_what_is_no_formula_is_not_written_into_a_file(text):
    with pytest.raises(Spoiled):
        theorem_of(identity_certificate("strange", text, "0"))


def test_other_kinds_are_left_alone():
    assert theorem_of({"kind": "hearsay"}) is None


def test_without_coq_the_command_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps([{"id": "C5", "certificates": TRUE[:1]}]))
    found = CliRunner().invoke(app, ["verify", "--recheck", str(path), "--coq"])
    assert isinstance(found.exception, WorkbenchError)
    assert "coqc is not installed" in str(found.exception)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("coq")
    compile_library(folder, roots=ROOTS)
    return folder


needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")


@pytest.mark.slow
@needs_coq
def test_coq_accepts_what_holds_and_refuses_what_is_forged(library):
    mixed = [one for pair in zip(FALSE, TRUE, strict=False) for one in pair] + TRUE[len(FALSE) :]
    found = check_certificates(library, [*mixed, *UNWRITTEN])
    assert sorted(found.accepted) == sorted(map(certificate_digest, TRUE))
    assert set(found.refused) == set(map(certificate_digest, FALSE))
    assert set(found.unwritten) == set(map(certificate_digest, UNWRITTEN))


@pytest.mark.slow
@needs_coq
def test_coq_accepts_no_change_that_the_checker_refuses(library):
    spoiled = {}
    for one in TRUE:
        # a remark in words is no part of a theorem
        every = [
            (what, c) for what, c in changes(json.loads(json.dumps(one))) if "what" not in what
        ]
        some = random.Random(certificate_digest(one)).sample(every, min(len(every), 6))
        for what, changed in some:
            try:
                recheck(changed)
            except Spoiled:
                spoiled[certificate_digest(changed)] = what, changed
    for one in TRUE:
        spoiled.pop(certificate_digest(one), None)
    found = check_certificates(library, [changed for _, changed in spoiled.values()])
    assert not found.accepted, [spoiled[digest][0] for digest in found.accepted]
    assert found.refused


@pytest.mark.slow
@needs_coq
def test_the_command_names_what_is_refused_and_counts_by_kind(tmp_path):
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps([{"id": "C5", "certificates": [TRUE[0], FALSE[0], TRUE[2]]}]))
    arguments = ["verify", "--recheck", str(path), "--coq"]
    found = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    assert found.exit_code == 1
    assert f"REFUSED: identity {certificate_digest(FALSE[0])} of C5" in found.output
    assert re.search(r"identity +2 +1 +1", found.output)
    assert re.search(r"polynomial-positive +1 +1 ", found.output)


@pytest.mark.slow
@needs_coq
def test_theorems_about_certificates_rest_on_the_axioms_of_the_reals(library):
    found = assumptions(library, sorted({applied(one) for one in TRUE}))
    # that bounded sequences converge, on which the values of endless tasks rest, is a third one
    allowed = {*AXIOMS, "ClassicalDedekindReals.sig_not_dec"}
    assert len(found) == len({applied(one) for one in TRUE})
    assert all(set(axioms) <= allowed for axioms in found.values())
