"""What a claim is, which steps its proof has, and what counts as evidence for it.

proved      for all parameters, the quantifier carried by the machine: an identity, exact
            algebra, a certificate of positivity
argued      a written proof with numbered steps, some of them human; instances are checked
checked     every case of a stated finite list, exactly
supported   statistics: seeds, effect, confidence interval, under stated readings
misprint    wrong as printed, and clear what is meant; the intended statement is a claim of
            its own, id + "*"
refuted     with the object that breaks it, under a fair reading; likewise corrected
open        none of these
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

VERDICTS = ("proved", "argued", "checked", "supported", "misprint", "refuted", "open")

AGAINST = ("refuted", "misprint")
"""Verdicts against a statement; the steps of such a claim establish what breaks it."""

Certificates = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class Evidence:
    """What a claim's code found.

    Attributes
    ----------
    verdict : one of `VERDICTS`.
    summary : the evidence in a few words, for the table.
    argument : the whole of it: formulas, cases, numbers, one paragraph or line after the other.
    counterexample : what breaks a refuted claim, as text or a JSON value.
    certificates : JSON objects with a `kind` that `workbench.checker` verifies without the code
        that found them.
    """

    verdict: str
    summary: str
    argument: str = ""
    counterexample: Any = None
    certificates: tuple[dict[str, Any], ...] = ()


def proved(summary: str, argument: str = "", certificates: Certificates = ()) -> Evidence:
    """Evidence that holds for all parameters. `argued` if a step of the proof is human."""
    return Evidence("proved", summary, argument, None, tuple(certificates))


def argued(summary: str, argument: str = "", certificates: Certificates = ()) -> Evidence:
    """A written proof, some of whose steps are human."""
    return Evidence("argued", summary, argument, None, tuple(certificates))


def checked(summary: str, argument: str = "", certificates: Certificates = ()) -> Evidence:
    """Evidence for every case of a stated finite list."""
    return Evidence("checked", summary, argument, None, tuple(certificates))


def supported(summary: str, argument: str = "", certificates: Certificates = ()) -> Evidence:
    """Statistical evidence."""
    return Evidence("supported", summary, argument, None, tuple(certificates))


def refuted(
    summary: str, argument: str = "", counterexample: Any = None, certificates: Certificates = ()
) -> Evidence:
    """Evidence against: an object that breaks the statement."""
    return Evidence("refuted", summary, argument, counterexample, tuple(certificates))


def misprint(
    summary: str, argument: str = "", counterexample: Any = None, certificates: Certificates = ()
) -> Evidence:
    """Evidence that what is printed is wrong and that something else is meant."""
    return Evidence("misprint", summary, argument, counterexample, tuple(certificates))


def open_(summary: str, argument: str = "") -> Evidence:
    """No verdict."""
    return Evidence("open", summary, argument)


# ---------------------------------------------------------------------- steps


@dataclass(frozen=True)
class ProofStep:
    """A numbered step of a proof: what it says, and whether a machine or a human carries it."""

    key: str
    text: str
    by: str


def machine(key: str, text: str) -> ProofStep:
    """A step that the claim's code carries out."""
    return ProofStep(key, text, "machine")


def human(key: str, text: str) -> ProofStep:
    """A step that a reader has to follow."""
    return ProofStep(key, text, "human")


@dataclass
class Proof:
    """The steps of one run of a claim's code: which were carried out, and which of them failed."""

    steps: tuple[ProofStep, ...] = ()
    done: dict[str, str | None] = field(default_factory=dict)
    inconclusive: set[str] = field(default_factory=set)

    def step(self, key: str, trouble: Any = None, *, refutes: bool = True) -> bool:
        """Carry a step out, and say whether it holds.

        Parameters
        ----------
        key : of a machine step that the claim lists.
        trouble : None or empty if the step holds, else what breaks it. A step that is carried out
            in parts may be named several times; it holds if all parts do.
        refutes : whether a failure speaks against the statement, or only against this proof of it.
        """
        if key not in {step.key for step in self.steps if step.by == "machine"}:
            raise ValueError(f"the claim lists no machine step {key!r}")
        said = None if trouble is None or trouble is False or trouble == "" else str(trouble)
        self.done[key] = self.done.get(key) or said
        if said is not None and not refutes:
            self.inconclusive.add(key)
        return said is None

    @property
    def failed(self) -> tuple[str, ...]:
        """The steps that do not hold, in the order of the claim."""
        return tuple(step.key for step in self.steps if self.done.get(step.key) is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The machine steps that were not carried out."""
        return tuple(s.key for s in self.steps if s.by == "machine" and s.key not in self.done)


# ---------------------------------------------------------------------- claims


@dataclass
class Claim:
    """A statement of the paper, a corrected one, or one of our own, with the code that judges
    it."""

    id: str
    place: str
    statement: str
    documented: str
    establish: Callable[..., Evidence]
    corrected_by: str | None = None
    deep: bool = False
    steps: tuple[ProofStep, ...] = ()
    twins: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    guards: dict[str, str] = field(default_factory=dict)

    def __call__(self, **spoiled: Any) -> Evidence:
        return self.attempt(**spoiled)[0]

    def twin(self, what: str, *, guards: str | None = None, **spoiled: Any) -> None:
        """Add a near miss: the same code with some arguments changed, which must be caught.

        Parameters
        ----------
        what : the change, in words.
        guards : the step that catches it, and the only one that does.
        spoiled : the arguments of the claim's code that are changed.
        """
        if guards is not None:
            if guards not in {step.key for step in self.steps if step.by == "machine"}:
                raise ValueError(f"{self.id} lists no machine step {guards!r}")
            self.guards[what] = guards
        self.twins.append((what, spoiled))

    def attempt(self, **spoiled: Any) -> tuple[Evidence, Proof]:
        """What the code finds, and the steps that it carried out."""
        proof = Proof(self.steps)
        if not self.steps:
            return self.establish(**spoiled), proof
        try:
            found = self.establish(proof, **spoiled)
        except Exception as error:
            if not proof.failed:
                raise
            # a step had failed before, and what follows was not made for that
            found = open_(f"stopped after {proof.failed[0]}", repr(error))
        return concluded(self, proof, found), proof


def concluded(one: Claim, proof: Proof, found: Evidence) -> Evidence:
    """The verdict that the steps allow: all carried out, all hold, none of them human if proved."""
    if proof.failed:
        key = proof.failed[0]
        trouble = proof.done[key] or ""
        inconclusive = one.documented in AGAINST or key in proof.inconclusive
        return Evidence(
            "open" if inconclusive else "refuted", f"fails: {key}", trouble, counterexample=trouble
        )
    if proof.missing:
        return open_(f"not carried out: {proof.missing[0]}", f"missing: {', '.join(proof.missing)}")
    if found.verdict == "proved" and any(step.by == "human" for step in one.steps):
        return replace(found, verdict="argued")
    return found


LEDGER: dict[str, Claim] = {}


def claim(
    id: str,
    *,
    place: str,
    statement: str,
    verdict: str,
    steps: Iterable[ProofStep] = (),
    corrected_by: str | None = None,
    deep: bool = False,
) -> Callable[[Callable[..., Evidence]], Claim]:
    """Register a function as the judge of a claim.

    Parameters
    ----------
    verdict : what the project documents; `workbench verify` fails when the code finds something
        else.
    steps : of the proof, in order; the function is then given a `Proof` as its first argument.
    corrected_by : for a refuted claim or a misprint, the id of the statement that holds instead.
    deep : takes long; runs with `workbench verify --deep`.
    """
    steps = tuple(steps)
    if verdict not in VERDICTS:
        raise ValueError(f"{id}: the verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}")
    if len({step.key for step in steps}) < len(steps):
        raise ValueError(f"{id}: two steps have the same name")
    humans = [step for step in steps if step.by == "human"]
    if steps and ((verdict == "proved" and humans) or (verdict == "argued" and not humans)):
        raise ValueError(f"{id}: a claim is argued exactly if a step of its proof is human")

    def register(establish: Callable[..., Evidence]) -> Claim:
        if id in LEDGER:
            raise ValueError(f"two claims have the id {id}")
        LEDGER[id] = Claim(id, place, statement, verdict, establish, corrected_by, deep, steps)
        return LEDGER[id]

    return register
