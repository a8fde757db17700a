"""What the checker says about forged certificates, word by word, as it was looked at once.

`PYTHONPATH=.:tests/support python tests/checker/test_verdicts.py` writes the list anew: every kind
of certificate, some with further ones, changed in up to `MOST` places, with the sentence that
accepts or refuses it; and a digest of what its arithmetic answers to drawn numbers. `test_recheck`
has the changes that are accepted judged by other code. Only the standard library and the checker
are needed, so that mutation testing can ask it first.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from arithmetic import answers, polynomial_of, product_of_roots
from changed import changes
from rule_calls import rule_calls, told

from workbench.checker.__main__ import check_file
from workbench.checker.expressions import renew_budget
from workbench.checker.ledger_file import requirements_of
from workbench.checker.place_graph import is_positive_down_to
from workbench.checker.polynomials import at, common_divisor, divided
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled

SAID = Path(__file__).parents[1] / "data" / "checker_verdicts.json"
MOST, MORE, DRAWN, SLOWEST, DEAREST = 120, 40, 20, 0.3, 0.2
ROUNDS = 40


def verdict(certificate: Any) -> str:
    """The sentence of the checker."""
    try:
        return str(recheck(certificate))
    except Spoiled as error:
        return f"refused: {error}"


def forged(kind: str, certificate: Any) -> list[tuple[str, Any]]:
    """Some changed certificates, always the same ones."""
    every = list(changes(certificate))
    most = DRAWN if ", drawn" in kind else MORE if "," in kind else MOST
    return [("", certificate), *random.Random(kind).sample(every, min(len(every), most))]


def rule(call: Callable[[], Any]) -> str:
    """What a rule says to a drawn question, with a new budget."""
    renew_budget()
    return told(call)


def drawn_answers(only: str = "") -> dict[str, str]:
    """Digests of what the arithmetic and the rules answer to drawn questions, one or all."""
    told = {}
    for key, said in answers(ROUNDS, only).items():
        name = key.split(" ", 1)[1]
        told[name] = told.get(name, "") + said
    for k in range(ROUNDS):
        for name, call in rule_calls(random.Random(k)):
            if only in ("", name):
                told[name] = told.get(name, "") + rule(call)
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in told.items()}


def questions() -> Iterator[tuple[str, Any, str]]:
    """Each frozen answer: its name, what is asked, and what was said.

    A text asks arithmetic or a rule, a list files, and everything else is a certificate.
    """
    record = json.loads(SAID.read_text())
    said_of_files = record.pop("files")
    for name, asked in files():
        yield f"file, {name}", asked, said_of_files[name]
    for name, digest in record.pop("arithmetic").items():
        yield f"arithmetic, {name}", name, digest
    for kind, (certificate, said) in record.items():
        for what, changed in forged(kind, certificate):
            if what in said:
                yield f"{kind}, {what}", changed, said[what]


def files() -> Iterator[tuple[str, list[Any]]]:
    """Ledgers as files, with what they have to certify: arguments, and texts by name."""
    square = {"kind": "identity", "what": "a square", "left": "x**2", "right": "x*x"}
    wrong = {**square, "right": "x**3"}
    entry = {"id": "one", "statement": "a square", "verdict": "proved", "evidence": "seen"}
    good = [{**entry, "certificates": [square]}, {**entry, "id": "two", "certificates": []}]
    required = requirements_of(good)
    changed = [good, *(x for _, x in changes(good)), [], {}, "x", [good[0], good[0]], 7]
    twice = [{**good[0], "certificates": [square, square]}, good[1]]
    broken = [{**good[0], "certificates": [wrong, square]}, good[1]]
    for k, ledger in enumerate([*changed, twice, broken]):
        texts = {"r": json.dumps(required), "l": json.dumps(ledger)}
        yield f"required {k}", [["--required", "r", "l"], texts]
        if k % 4 == 0:
            yield f"alone {k}", [["l"], texts]
    other = {"r": json.dumps(required), "l": json.dumps(good), "w": json.dumps({"kind": "none"})}
    nested = {**other, "n": json.dumps({"name": "a find", "best": square, "list": [1, square]})}
    for arguments in ([], ["-h"], ["l", "--help"], ["--required"], ["--required", "r"], ["w"],
                      ["l", "w"], ["n"], ["l", "--required", "r"], ["missing"], ["l", "l"],
                      ["--required", "missing", "l"], ["r"]):  # fmt: skip
        yield " ".join(["asked", *arguments]), [arguments, nested]


def file_answer(arguments: list[str], texts: dict[str, str]) -> str:
    """What the command says of files, and its status."""
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as out:
        for name, text in texts.items():
            Path(folder, name).write_text(text)
        named = [str(Path(folder, x)) if x[0] != "-" else x for x in arguments]
        with redirect_stderr(out):
            status = check_file(named)
        return f"{status}: {out.getvalue()}".replace(folder, "")


def answer(asked: Any) -> str:
    """What the checker says to a question."""
    if isinstance(asked, str):
        return drawn_answers(asked)[asked]
    return file_answer(*asked) if isinstance(asked, list) else verdict(asked)


def test_forged_certificates_get_the_verdicts_that_were_looked_at():
    frozen = [question for question in questions() if not isinstance(question[1], str)]
    assert [name for name, asked, said in frozen if answer(asked) != said] == []
    assert drawn_answers() == json.loads(SAID.read_text())["arithmetic"]


def test_a_polynomial_that_is_said_to_be_positive_is_so_wherever_one_looks():
    shown = 0
    for k in range(300):
        rng = random.Random(k)
        p, low, strict = product_of_roots(rng), Fraction(k % 4, 4), k % 3 > 0
        values = [at(p, low + (1 - low) * Fraction(i, 24)) for i in range(low == 0, 25)]
        if is_positive_down_to(polynomial_of(p), low, strict):
            shown += 1
            assert all(x > 0 or (not strict and x == 0) for x in values)
        else:
            assert min(values) <= 0, (k, p)
    assert shown > 60


def test_a_common_divisor_divides_both_and_leaves_nothing_in_common():
    large = 0
    for k in range(200):
        rng = random.Random(k)
        p, q = product_of_roots(rng), product_of_roots(rng)
        found = common_divisor(p, q)
        large += len(found) > 1
        assert common_divisor(divided(p, found), divided(q, found)) == [1]
    assert large > 30


def further() -> Iterator[tuple[str, Any]]:
    """Certificates that take other branches than the first of their kind."""
    from certified import paid_at_once, regions_of
    from drawn_certificates import drawn_certificates
    from judging import certificates_of

    from proofs.appendix_a1_product import sequences_certificate, toy, uneven_policy
    from proofs.own.pairs import two_step_task
    from workbench import Sarsa, augment, critical_points
    from workbench.certificates.critical import critical_certificate
    from workbench.certificates.every_k import limit_for_every_k
    from workbench.certificates.loop import certify
    from workbench.improvement.batch import sequence_task

    for name, table in {
        "phases": [[1, 4, 0], [2, 0, 3], [3, 3, 3]],
        "stays": [[4, 3, 0], [2, 4, 3], [2, 0, 1]],
        "stays at the last": [[0, 1, 1], [1, 4, 1], [2, 2, 4]],
        "stays from 2": [[2, 0, 4], [1, 4, 3], [2, 0, 4]],
        "phases from 2": [[4, 0, 3], [4, 2, 3], [0, 2, 1]],
    }.items():
        yield f"every-k, {name}", limit_for_every_k(table)
    step, trap = Fraction(1, 5), sequence_task([[5, 4], [0, 6]])
    once: Any = {"most_phases": 1, "checked_iterates": 4}
    yield from drawn_certificates(6)
    yield "oracle-loop, iterates", certify(trap, "B1", step, **once)
    yield "oracle-loop, phases", certify(sequence_task([[4, 2], [5, 2]]), "B1", step)
    for name, rewards in (
        ("least", [[1, 0], [0, 1]]),
        ("most", [[0, 1], [1, 0]]),
        ("least of three", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ("most of three", [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
    ):
        P = sequence_task(rewards)
        yield f"critical-points, {name}", critical_certificate(P, "none", critical_points(P))
    yield (
        "fixed-point-regions, Sarsa",
        regions_of(paid_at_once([[0, 2], [0, 0]]), learner=Sarsa(lam=0)),
    )
    P, memory = toy()
    E = augment(P, memory)
    yield "same-sequences, to the end", sequences_certificate(P, memory, E, uneven_policy(E), 3)
    yield "oracle-loop, histories", certify(two_step_task(1), "OA1", step)
    yield "oracle-loop, chance", certify(two_step_task(4), "B1", step)
    for kind, claim, place in (
        ("greedy-family", "T.bits", 0),
        ("greedy-family", "C.fig", -1),
        ("critical-points", "P.am2026.spread", 0),
        ("fixed-point-regions", "S5.settle-b1", 0),
        ("fixed-point-regions", "B.settle", 0),
        ("q-values", "C2", 0),
        ("q-values", "S51.variance", 0),
        ("excluded", "S52.stable*", -1),
        ("memory-update", "A4.oak", -1),
        ("sum-claim", "T.oa1", 0),
        ("sum-claim", "T.oa1", -1),
        ("sum-claim", "T.push", 0),
        ("sum-claim", "S51.variance*", 0),
        ("polynomial-positive", "S52.vanish", 0),
        ("polynomial-positive", "S52.vanish", -1),
        ("td-values", "P.allen2024.parity", 0),
    ):
        found = [one for one in certificates_of(claim) if one["kind"] == kind]
        yield f"{kind}, {claim} {place}", found[place]


def looked_at(kind: str, made: Any) -> tuple[Any, dict[str, str]]:
    """A certificate as a file holds it, and what is said about it and its changes in short time."""
    certificate, said, spent = json.loads(json.dumps(made, default=str)), dict[str, str](), 0.0
    for what, changed in forged(kind, certificate):
        began = time.process_time()
        found = verdict(changed)
        took = time.process_time() - began
        if took < SLOWEST and spent + took < (DEAREST if "," in kind else 1):
            said[what] = found
            spent += took
    return certificate, said


def write() -> None:
    """Write the verdicts of today."""
    from certified import CERTIFICATES

    record: dict[str, Any] = {
        "arithmetic": drawn_answers(),
        "files": {name: file_answer(*asked) for name, asked in files()},
    }
    for kind, made in (*((kind, make()) for kind, make in CERTIFICATES.items()), *further()):
        record[kind] = looked_at(kind, made)
    SAID.write_text(json.dumps(record, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    sys.exit(write())
