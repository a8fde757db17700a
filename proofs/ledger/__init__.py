"""The ledger: the statements of the paper, and some of our own, each with the code that judges it.

How a claim is written
----------------------
A claim is a function that is given a `Proof` and returns `Evidence`. It is registered with its id,
its place in the paper, the statement in our words, the verdict that the project documents, and the
numbered steps of its proof, each carried by a machine or by a human reader:

>>> from proofs.ledger import LEDGER, Evidence, Proof, claim, machine, proved, run
>>> @claim(
...     "X.even",
...     place="nowhere",
...     verdict="proved",
...     statement="The sum of two even numbers is even.",
...     steps=(machine("add", "2m + 2n = 2(m + n)"), machine("unit", "m + n is an integer")),
... )
... def even(proof: Proof, factor: int = 2, unit: int = 1) -> Evidence:
...     proof.step("add", None if 2 + 2 == factor * 2 else f"2 + 2 is not {factor} times 2")
...     proof.step("unit", None if 1 % unit == 0 else f"1 is no multiple of {unit}")
...     return proved("an identity")
>>> even.twin("three times", guards="add", factor=3)
>>> even.twin("in steps of three", guards="unit", unit=3)
>>> entry = run(LEDGER.pop("X.even"))
>>> entry.verdict, entry.ok, entry.shown_steps
('proved', True, '2 steps, all needed')

`proof.step(key, trouble)` carries a step out: `trouble` is None (or empty) if it holds, else what
breaks it. The verdict is reached only if every machine step was carried out and holds; one that
fails makes the claim `refuted` (or `open`, if the claim documents a refutation, or if the step says
`refutes=False`), and one that is left out makes it `open`. Code goes on after a failed step, so
that it is seen whether a later one fails as well.

A proof with a human step is `argued`, never `proved`, whatever the code returns: the quantifier of
a proved claim is carried by identities, exact algebra or certificates of positivity alone.

Twins
-----
A twin is a near miss: the same code with arguments that make the statement slightly false. It must
be caught. A twin that `guards` a step is caught by that step and by no other: without the step the
false statement would pass. Every machine step of a claim needs such a twin; then "n steps, all
needed" is what a run found and not what the author says. A twin that is not caught *survives*, and
the claim fails.

Records
-------
`workbench verify ID --readme` judges claims and writes what they certify into
`proofs/ledger/required.json`, and their rows into `proofs/README.md`. The record is what
`workbench verify --recheck FILE` holds a ledger against: other statements, missing, foreign and
spoiled certificates are refused. A test compares it with what the code finds, claim by claim.

Modules
-------
claim          Claim, Proof, ProofStep, Evidence: the types, and the register
run            a claim judged, each of its steps left out in turn, its twins
places         the order of the paper, its sections, the notebook of each
inequalities   polynomials that are positive on a box, or conditions that exclude one another
exclusion      the certificates of the latter: combinations of products
theory         formulas about tasks of any size, what follows from them, and whether they hold of
               the workbench's own objects
second_opinion the derivations of a theory followed with numbers, beside the checker
greedy_region  where a policy stays greedy
generic        tasks, memories and policies whose numbers are all symbols
prose          paragraphs and small tables in plain text
"""

from proofs.ledger.claim import (
    LEDGER,
    VERDICTS,
    Claim,
    Evidence,
    Proof,
    ProofStep,
    argued,
    checked,
    claim,
    human,
    machine,
    misprint,
    open_,
    proved,
    refuted,
    supported,
)
from proofs.ledger.places import ORDER, SECTIONS, section_of
from proofs.ledger.run import LedgerEntry, load, run

__all__ = [
    "LEDGER",
    "ORDER",
    "SECTIONS",
    "VERDICTS",
    "Claim",
    "Evidence",
    "LedgerEntry",
    "Proof",
    "ProofStep",
    "argued",
    "checked",
    "claim",
    "human",
    "load",
    "machine",
    "misprint",
    "open_",
    "proved",
    "refuted",
    "run",
    "section_of",
    "supported",
]
