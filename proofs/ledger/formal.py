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
_GIVEN = "Variables?|Hypothes[ie]s|Context|Let|Notation"
_DEFINED = "Definition|Fixpoint|Inductive|Record"
_COMMON = ("Sums.v", "Model.v")  # their definitions stand in the README beside the mathematics


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
        """What the theorems say, as it stands in the file. It follows what their sections take for
        given, which theorems of one section share."""
        found, last = [], ""
        for name in self.theorems:
            given = context_of(self.file, name)
            shown = f"{given}\n" if given and given != last else ""
            found.append(shown + statement_of(self.file, name))
            last = given
        return tuple(found)

    @property
    def definitions(self) -> tuple[str, ...]:
        """The definitions that the statements name, and those that these name in turn. Those of
        `Model.v` are left out: `proofs/coq/README.md` explains them."""
        known = _definitions(self.file)
        found: dict[str, str] = {}
        fresh = list(self.statements)
        while fresh:
            words = set(re.findall(r"[\w']+", fresh.pop()))
            for name in sorted(words & (known.keys() - found.keys())):
                found[name] = known[name]
                fresh.append(known[name])
        return tuple(known[name] for name in known if name in found)


@cache
def formal_claims() -> dict[str, Formal]:
    """The claims that are formal, by id."""
    found = json.loads((COQ / "formal.json").read_text())
    return {
        id: Formal(id, one["file"], tuple(one["theorems"]), one["reads"])
        for id, one in found.items()
    }


def context_of(file: str, theorem: str) -> str:
    """What the open sections around a theorem take for given: their variables and hypotheses.

    >>> print(context_of("Suboptimal.v", "lemma_C1"))
    Variable pi : policy (bits 1 1).
    """
    text = (COQ / file).read_text()
    before = text[: text.index(statement_of(file, theorem))]
    open_sections: list[list[str]] = [[]]
    sentence = rf"^(?:Section|End|{_GIVEN}) .*?\.(?=\s)"
    for match in re.finditer(sentence, without_comments(before), re.M | re.S):
        if match[0].startswith("Section "):
            open_sections.append([])
        elif match[0].startswith("End "):
            open_sections.pop()
        else:
            open_sections[-1].append(match[0])
    return "\n".join(given for section in open_sections[1:] for given in section)


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


def sources(*roots: str) -> list[Path]:
    """The files of `proofs/coq`, each after those that it imports. If some are named, these and
    what they import."""
    files = {path.stem: path for path in sorted(COQ.glob("*.v"))}
    needs = {name: _imported(path) & set(files) for name, path in files.items()}
    if roots:
        kept = set(roots)
        while more := {name for one in kept for name in needs[one]} - kept:
            kept |= more
        files = {name: path for name, path in files.items() if name in kept}
    done: list[str] = []
    while len(done) < len(files):
        ready = [name for name in files if name not in done and needs[name] <= set(done)]
        if not ready:
            raise ValueError("the files of proofs/coq import one another in a circle")
        done += ready
    return [files[name] for name in done]


def needed_by(file: str) -> list[Path]:
    """A file of `proofs/coq` after all that it imports, directly or not.

    >>> [path.stem for path in needed_by("Product.v")]
    ['Sums', 'Model', 'Product']
    """
    read, unread = set(), [Path(file).stem]
    while unread:
        name = unread.pop()
        if name not in read:
            read.add(name)
            unread += _imported(COQ / f"{name}.v")
    return [path for path in sources() if path.stem in read]


def _imported(path: Path) -> set[str]:
    lines = re.findall(r"^From Remembering Require Import ([^.]*)\.", path.read_text(), re.M)
    return {name for line in lines for name in line.split()}


@cache
def _definitions(file: str) -> dict[str, str]:
    """The definitions of a file and of its imports, by name, in the order in which Coq reads
    them."""
    found = {}
    for path in needed_by(file):
        if path.name not in _COMMON:
            text = without_comments(path.read_text())
            for match in re.finditer(rf"^(?:{_DEFINED}) ([\w']+).*?\.(?=\s)", text, re.M | re.S):
                found[match[1]] = match[0]
    return found


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
