"""A claim judged: the verdict, each step left out in turn, and the spoiled twins.

For each step in turn the claim is asked for its verdict without what that step says. It must not
be reached. That alone would hold for any list of steps, since a verdict needs all of them; what
makes a step *needed* is a twin: a false statement that this step catches and no other one does, so
that the proof without it would prove what is false.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import time
from dataclasses import asdict, dataclass
from typing import Any

from proofs.ledger.claim import AGAINST, LEDGER, Claim, Evidence, Proof, concluded
from proofs.ledger.formal import Formal, formal_claims
from proofs.ledger.places import rank, section_of
from proofs.ledger.quotes import QUOTES


@dataclass(frozen=True)
class StepEntry:
    """A step after the run: its number, who carries it, and whether it was found to be needed."""

    number: int
    key: str
    text: str
    by: str
    needed: bool


@dataclass(frozen=True)
class LedgerEntry:
    """A line of the ledger after its code has run."""

    id: str
    place: str
    section: str
    statement: str
    verdict: str
    documented: str
    evidence: str
    argument: str
    counterexample: Any
    corrected_by: str | None
    certificates: tuple[dict[str, Any], ...]
    steps: tuple[StepEntry, ...]
    twins: tuple[tuple[str, str], ...]
    astray: tuple[str, ...]
    module: str
    seconds: float

    @property
    def quote(self) -> str:
        """The paper's own sentence, or "" for what is not about the paper."""
        return QUOTES.get(self.id, "")

    @property
    def opinions(self) -> str:
        """A remark where the checker alone has decided a certificate, since z3 was not there."""
        alone = any(c["kind"] == "polynomial-positive" for c in self.certificates)
        return "" if not alone or importlib.util.find_spec("z3") else "one opinion: no z3"

    @property
    def surviving(self) -> tuple[str, ...]:
        """The spoiled twins that the code did not catch."""
        return tuple(what for what, verdict in self.twins if verdict == "survives")

    @property
    def idle(self) -> tuple[str, ...]:
        """The steps that are not known to be needed."""
        return tuple(step.key for step in self.steps if not step.needed)

    @property
    def shown_steps(self) -> str:
        """How many steps there are, how many of them human, and whether all are needed."""
        if not self.steps:
            return "no steps listed"
        humans = sum(step.by == "human" for step in self.steps)
        machines = len(self.steps) - humans
        count = f"{machines} {'machine ' if humans else ''}step{'s' if machines != 1 else ''}"
        needed = (
            f"{len(self.idle)} not shown to be needed"
            if self.idle
            else ("all needed" if machines != 1 else "needed")
        )
        return f"{count}, {needed}" + (f"; {humans} human" if humans else "")

    @property
    def ok(self) -> bool:
        """Whether the claim reached the documented verdict and its twins do what they are for. No
        twin survives, each is caught by the step it guards, and every step is needed."""
        return (
            self.verdict == self.documented
            and bool(self.twins)
            and not self.surviving
            and not self.astray
            and not self.idle
        )

    @property
    def complaint(self) -> str:
        """Why the claim is not as documented. Empty if it is."""
        if self.verdict != self.documented:
            return f"found {self.verdict}, documented {self.documented}: {self.evidence}"
        if not self.twins:
            return "has no spoiled twin"
        if self.surviving:
            return f"a spoiled twin survives: {self.surviving[0]}"
        if self.astray:
            return f"a twin is caught elsewhere than by the step it guards: {self.astray[0]}"
        return f"a step is not shown to be needed: {self.idle[0]}" if self.idle else ""

    @property
    def formal(self) -> Formal | None:
        """The theorems of `proofs/coq` that say what the claim says."""
        return formal_claims().get(self.id)

    def as_json(self) -> dict[str, Any]:
        formal = (one := self.formal) and {
            **asdict(one),
            "statements": one.statements,
            "definitions": one.definitions,
        }
        return {**asdict(self), "ok": self.ok, "opinions": self.opinions, "formal": formal}


def run(one: Claim) -> LedgerEntry:
    """Judge a claim, each of its steps left out, and its spoiled twins."""
    start = time.perf_counter()
    found, proof = one.attempt()
    twins: list[tuple[str, str]] = []
    astray: list[str] = []
    guarded: set[str] = set()
    for what, spoiled in one.twins:
        verdict, caught_by = _twin(one, spoiled)
        twins.append((what, verdict))
        if what in one.guards:
            if caught_by == (one.guards[what],):
                guarded.add(one.guards[what])
            else:
                astray.append(f"{what} (caught by {', '.join(caught_by) or 'no step'})")
    steps = tuple(
        StepEntry(
            i + 1,
            step.key,
            step.text,
            step.by,
            step.by == "human"
            or (step.key in guarded and _falls_without(one, proof, found, step.key)),
        )
        for i, step in enumerate(one.steps)
    )
    return LedgerEntry(
        id=one.id,
        place=one.place,
        section=section_of(one.id),
        statement=one.statement,
        verdict=found.verdict,
        documented=one.documented,
        evidence=found.summary,
        argument=found.argument,
        counterexample=found.counterexample,
        corrected_by=one.corrected_by,
        certificates=found.certificates,
        steps=steps,
        twins=tuple(twins),
        astray=tuple(astray),
        module=one.establish.__module__,
        seconds=time.perf_counter() - start,
    )


def _twin(one: Claim, spoiled: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """How the code judged a twin, "rejected" or "survives", and the steps that failed.

    It is rejected if the documented verdict is not reached. Where the code stopped before all steps
    were carried out, the failed one is not known to be the only one that catches the twin.
    """
    found, proof = one.attempt(**spoiled)
    if not one.steps:
        reached = (
            found.verdict == one.documented
            if one.documented in AGAINST
            else (found.verdict != "refuted")
        )
        return ("survives" if reached else "rejected"), ()
    caught = found.verdict != one.documented
    stopped = caught and bool(proof.missing)
    return "rejected" if caught else "survives", (
        (*proof.failed, "what was not reached") if stopped else proof.failed
    )


def _falls_without(one: Claim, proof: Proof, found: Evidence, key: str) -> bool:
    """Whether the verdict is out of reach when a machine step has not been carried out.

    A claim that is documented as open then says less than it does.
    """
    left = Proof(proof.steps, {name: x for name, x in proof.done.items() if name != key})
    without = concluded(one, left, found)
    return without.verdict != one.documented or without.summary != found.summary


def load() -> dict[str, Claim]:
    """Every claim of the modules of this package, in the order of the paper."""
    import proofs

    for module in pkgutil.walk_packages(proofs.__path__, "proofs."):
        if not module.name.startswith("proofs.ledger"):
            importlib.import_module(module.name)
    for name in sorted(LEDGER, key=rank):
        LEDGER[name] = LEDGER.pop(name)
    return LEDGER
