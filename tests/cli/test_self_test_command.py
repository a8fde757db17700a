"""`workbench self-test`: its answers are the lemmas', and a changed one makes it fail.

`python tests/cli/test_self_test_command.py` writes the answers anew (with `tests/support` and the
checkout on PYTHONPATH).
"""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from certified import CERTIFICATES

import workbench.cli.self_test_command as module
from pomdps import recall4
from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_lemmas import PRINTED
from proofs.appendix_c_setting import closed_form, local_optimum, mixed_rows, policy_rows
from workbench import Policy, augment, uniform
from workbench.checker.recheck import CHECKS
from workbench.cli.main import main
from workbench.learning import LEARNERS
from workbench.results.json import policy_json

SPOILS = {
    "oracle-loop": (["value"], "6"),
    "oracle-cycle": (["highest"], "489794/1000000"),
    "every-k": (["value"], "3"),
    "policy-value": (["value"], "40/31"),
    "q-values": (["q", 0, 2], "189/155"),
    "greedy-step": (["after"], "128/106"),
    "falling-step": (["rate"], "-5/121"),
    "td-values": (["q", 0, 2], "6860/8000"),
    "value-bound": (["bound"], "27/11"),
    "same-sequences": (["memory", "eta"], [[0, "3/4"], [1, "1/4"]]),
    "memory-update": (["f", 1, 3], "001"),
    "clique": (["memory"], "B3"),
    "beliefs-outnumber": (["memory"], "B3"),
    "history-dependence": (["histories", 0, 1], "1"),
    "identity": (["right"], "x/2 - y/2"),
    "polynomial-positive": (["polynomial"], "x**2*y - x*y + y/5 + 1/7"),
    "excluded": (["conditions", 4], "8*c + 5*x - 1 >= 0"),
    "greedy-family": (["greedy", 0, 1], {"tuple": [0, "1"]}),
    "critical-points": (["points", 0, "kind"], "minimum"),
    "fixed-points": (["refuted", 0, 2], 0),
    "fixed-point-bounds": (["sets", 0, "refuted", 0, 2], 0),
    "fixed-point-regions": (["cells", 0, 1], [0]),
    "sum-claim": (["goal"], "1/2 - sum[s](x(n, s)) >= 0"),
}
"""For each kind one entry, and what to write there so that the certificate is wrong."""


def any_rational_policy(E):
    """A policy that prefers other actions in each memory state, for Lemma C.1."""
    return Policy.from_mapping(
        E,
        {
            o: {a: Fraction(1 + (3 * i + 5 * j) % 8, 36) for j, a in enumerate(E.A)}
            for i, o in enumerate(E.O)
        },
    )


def answers():
    """What the file should hold; the q-values by Lemma C.1's formula, not by the evaluator."""
    E = augment(recall4(), "B1")
    pi_l = local_optimum(E)
    policies = {
        "C.1": ("an uneven policy", any_rational_policy(E)),
        "C.2": ("pi_l", pi_l),
        "C.3": (
            "1/2 pi_u + 1/2 pi_l",
            mixed_rows(E, policy_rows(uniform(E)), pi_l, Fraction(1, 2)),
        ),
        "C.4": ("the uniform policy", uniform(E)),
    }
    lemmas = {}
    for name, (of, pi) in policies.items():
        q = {
            f"m={m} a={a} w={w}": str(closed_form(RECALL4_REWARDS, pi, m, a, w))
            for m, a, w in product("01", range(4), "01")
        }
        lemmas[name] = {"of": of, "policy": policy_json(pi), "q": q}
    certificates = [
        {
            "certificate": json.loads(json.dumps(make())),
            "path": SPOILS[kind][0],
            "value": SPOILS[kind][1],
        }
        for kind, make in CERTIFICATES.items()
    ]
    learners = {name: module.learner_digest(name) for name in LEARNERS}
    return {"lemmas": lemmas, "certificates": certificates, "learners": learners}


def test_the_answers_are_the_lemmas_formula_and_there_is_one_of_each_kind():
    kept, found = module.kept_answers(), answers()
    assert kept["lemmas"] == found["lemmas"]
    assert {one["certificate"]["kind"] for one in kept["certificates"]} == set(CHECKS)
    assert kept["learners"] == found["learners"]


def test_the_answers_of_lemma_c4_are_the_printed_table():
    q = module.kept_answers()["lemmas"]["C.4"]["q"]
    for a, columns in PRINTED.items():
        for (m, printed), w in product(enumerate(columns), "01"):
            digits = len(printed.split(".")[1])
            cut = int(Fraction(q[f"m={m} a={a} w={w}"]) * 10**digits)
            assert cut == int(Fraction(printed) * 10**digits)


def told(capsys, code):
    with pytest.raises(SystemExit) as end:
        main(["self-test"])
    assert end.value.code == code
    return capsys.readouterr().out.splitlines()


def test_an_intact_copy_passes_with_a_line_for_each_check(capsys):
    *lines, last = told(capsys, 0)
    assert all(line.startswith("ok ") for line in lines)
    assert len(lines) == 1 + 4 + len(CHECKS) + len(LEARNERS)
    assert last.startswith(f"all {len(lines)} checks hold")


def test_changed_answers_fail_by_name_and_the_others_still_run(capsys, monkeypatch):
    changed = module.kept_answers()
    changed["lemmas"]["C.4"]["q"]["m=0 a=0 w=0"] = "-11/13"
    changed["learners"]["qlearning"] = "0" * 12
    by_kind = {one["certificate"]["kind"]: one for one in changed["certificates"]}
    by_kind["q-values"]["certificate"]["value"] = "40/31"  # no longer holds
    by_kind["identity"]["value"] = by_kind["identity"]["certificate"]["right"]  # is not spoiled
    monkeypatch.setattr(module, "kept_answers", lambda: changed)
    *lines, last = told(capsys, 1)
    failed = {line.split("  ")[-1].split(":")[0] for line in lines if line.startswith("FAILED")}
    assert failed == {
        "Lemma C.4",
        "learner qlearning",
        "certificate q-values",
        "certificate identity",
    }
    assert "q at m=0 a=0 w=0 is -11/12, not -11/13" in "\n".join(lines)
    assert last.startswith(f"4 of {len(lines)} checks fail")


if __name__ == "__main__":
    kept = Path(module.__file__).with_name("self_test.json")
    made = answers()
    parts = []
    for name, part in made.items():
        rows = part.items() if isinstance(part, dict) else enumerate(part)
        head = (lambda key: f"{json.dumps(key)}: ") if isinstance(part, dict) else (lambda key: "")
        inner = ",\n".join(head(key) + json.dumps(row) for key, row in rows)
        start, end = "{}" if isinstance(part, dict) else "[]"
        parts.append(f"{json.dumps(name)}: {start}\n{inner}\n{end}")
    kept.write_text("{\n" + ",\n".join(parts) + "\n}\n")
