"""Claims that a theorem of `proofs/coq` states and proves: which one, where, from which axioms.

`proofs/coq/formal.json` names for a claim the file, the theorems, and in a sentence how their
statement reads as the claim's. Both are shown side by side, so that a reader can compare them. A
claim belongs there only if the theorems say what its row says.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COQ = Path(__file__).parents[1] / "coq"

AXIOMS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
)
"""What Coq's real numbers rest on; no theorem may rest on anything else."""

FORBIDDEN = ("Admitted", "admit", "Axiom", "Axioms", "Abort", "Conjecture", "Parameter")
"""Words with which a file could claim what it does not prove."""

_KINDS = "Theorem|Lemma|Corollary"


@dataclass(frozen=True)
class Formal:
    """The theorems that say what a claim says.

    Attributes
    ----------
    file : the name of a file of `proofs/coq`.
    theorems : the names of theorems in it.
    reads : how their statement reads as the claim's, and what it needs or gives beyond it.
    """

    id: str
    file: str
    theorems: tuple[str, ...]
    reads: str

    @property
    def statements(self) -> tuple[str, ...]:
        """What the theorems say, as it stands in the file."""
        return tuple(statement_of(self.file, name) for name in self.theorems)


@cache
def formal_claims() -> dict[str, Formal]:
    """The claims that are formal, by id."""
    found = json.loads((COQ / "formal.json").read_text())
    return {
        id: Formal(id, one["file"], tuple(one["theorems"]), one["reads"])
        for id, one in found.items()
    }


def statement_of(file: str, theorem: str) -> str:
    """The statement of a theorem, from its name to its proof.

    >>> print(statement_of("Product.v", "compiled_gamma"))
    Theorem compiled_gamma P (m : memory P) : gamma (augment P m) = gamma P.
    """
    text = (COQ / file).read_text()
    match = re.search(
        rf"^(?:{_KINDS}) {re.escape(theorem)}\b.*?\.(?=\s+Proof\b)", text, re.M | re.S
    )
    if match is None:
        raise ValueError(f"{file} holds no theorem {theorem}")
    return match.group(0)


def sources() -> list[Path]:
    """The files of `proofs/coq`, each after those that it imports."""
    files = {path.stem: path for path in sorted(COQ.glob("*.v"))}
    needs = {name: _imported(path) & set(files) for name, path in files.items()}
    done: list[str] = []
    while len(done) < len(files):
        ready = [name for name in files if name not in done and needs[name] <= set(done)]
        if not ready:
            raise ValueError("the files of proofs/coq import one another in a circle")
        done += ready
    return [files[name] for name in done]


def _imported(path: Path) -> set[str]:
    lines = re.findall(r"^From Remembering Require Import ([^.]*)\.", path.read_text(), re.M)
    return {name for line in lines for name in line.split()}


def without_comments(text: str) -> str:
    """A Coq text without its comments, which may be nested.

    >>> without_comments("a (* b (* c *) d *) e")
    'a  e'
    """
    kept, depth = [], 0
    for piece in re.split(r"(\(\*|\*\))", text):
        if piece == "(*":
            depth += 1
        elif piece == "*)":
            depth -= 1
        elif depth == 0:
            kept.append(piece)
    return "".join(kept)


def forbidden_words(text: str) -> list[str]:
    """The words of `FORBIDDEN` that a Coq text uses outside comments.

    >>> forbidden_words("Lemma x : 1 = 2. Proof. Admitted. (* no Axiom *)")
    ['Admitted']
    """
    words = set(re.findall(r"[A-Za-z_]+", without_comments(text)))
    return [word for word in FORBIDDEN if word in words]
