"""Certificates as theorems of Coq: one for each, written here and accepted by `coqc` or not.

Coq is a second checker beside `workbench.checker`: the theorem is stated about real numbers, or
about the definitions of `proofs/coq/Model.v`, and the kernel of Coq decides. Both read certificates
by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proofs.ledger import coq_algebra, coq_values
from proofs.ledger.coqc import compile_file
from workbench.checker.ledger_file import certificate_digest
from workbench.checker.recheck import OLDER_NAMES
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import WorkbenchError

WRITERS: dict[str, tuple[str, Callable[[dict[str, Any], str], str]]] = {
    "identity": (coq_algebra.HEAD, coq_algebra.identity_theorem),
    "polynomial-positive": (coq_algebra.HEAD, coq_algebra.positive_theorem),
    "excluded": (coq_algebra.HEAD, coq_algebra.excluded_theorem),
    "policy-value": (coq_values.HEAD, coq_values.value_theorem),
    "value-bound": (coq_values.HEAD, coq_values.bound_theorem),
    "q-values": (coq_values.HEAD, coq_values.q_theorem),
    "td-values": (coq_values.HEAD, coq_values.td_theorem),
    "greedy-family": (coq_values.HEAD, coq_values.family_theorem),
    "greedy-step": (coq_values.HEAD, coq_values.step_theorem),
}
"""By kind: what a file starts with, and what writes the theorem."""

ROOTS = ("Polynomials", "Check", "Formulas", "Classes")
"""The files of `proofs/coq` that such theorems import."""

MOST_IN_A_FILE = 40


def theorem_of(certificate: dict[str, Any]) -> tuple[str, str] | None:
    """The head of a file and the theorem that states a certificate. None for other kinds.

    Raises
    ------
    Spoiled
        if the certificate cannot be written down, such as a task with formulas.

    >>> one = {"kind": "identity", "what": "-", "left": "2*x", "right": "x + x"}
    >>> print(theorem_of(one)[1].partition(" : ")[2].partition("Proof")[0])
    forall x_x : R, (2 * x_x) = (x_x + x_x).
    <BLANKLINE>
    """
    kind = str(certificate.get("kind"))
    if (found := WRITERS.get(OLDER_NAMES.get(kind, kind))) is None:
        return None
    head, write = found
    try:
        return head, write(certificate, f"c_{certificate_digest(certificate)}")
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Spoiled(f"the certificate cannot be read: {error!r}") from None


@dataclass
class CoqVerdicts:
    """What became of certificates, by digest: accepted, refused (with Coq's complaint), or not
    written as a theorem (with the reason)."""

    accepted: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    unwritten: dict[str, str] = field(default_factory=dict)


def check_certificates(
    folder: Path,
    certificates: Iterable[dict[str, Any]],
    tell: Callable[[int], None] = lambda count: None,
) -> CoqVerdicts:
    """Hand certificates to Coq, in a folder with the compiled library. `tell` how many are done."""
    found = CoqVerdicts()
    by_head: dict[str, dict[str, str]] = {}
    for one in certificates:
        digest = certificate_digest(one)
        try:
            written = theorem_of(one)
        except Spoiled as error:
            found.unwritten[digest] = str(error)
            continue
        if written is None:
            found.unwritten[digest] = f"no theorem is written for {one.get('kind')}"
        else:
            head, text = written
            by_head.setdefault(head, {})[digest] = text
    for head, texts in by_head.items():
        for part in _parts(list(texts.items())):
            _compile_part(folder / "Certificates.v", head, part, found)
            tell(len(found.accepted) + len(found.refused))
    return found


def _parts(items: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    for i in range(0, len(items), MOST_IN_A_FILE):
        yield items[i : i + MOST_IN_A_FILE]


def _compile_part(path: Path, head: str, part: list[tuple[str, str]], found: CoqVerdicts) -> None:
    """Compile theorems in one file. After one that is refused, go on with those that follow."""
    while part:
        path.write_text(head + "".join(text for _, text in part))
        try:
            compile_file(path)
        except WorkbenchError as error:
            place = _refused_at(str(error), head, part)
            found.accepted += [digest for digest, _ in part[:place]]
            found.refused[part[place][0]] = str(error)
            part = part[place + 1 :]
        else:
            found.accepted += [digest for digest, _ in part]
            return


def _refused_at(complaint: str, head: str, part: list[tuple[str, str]]) -> int:
    """Which of the theorems the line of Coq's complaint belongs to."""
    lines = re.findall(r"line (\d+)", complaint)
    if not lines:
        raise WorkbenchError(complaint)
    left = int(lines[0]) - head.count("\n")
    for i, (_, text) in enumerate(part):
        left -= text.count("\n")
        if left <= 0:
            return i
    raise WorkbenchError(complaint)
