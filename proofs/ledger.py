"""The ledger: what a claim is, what counts as evidence for it, and how all of them are run.

A claim is a function that returns `Evidence`, registered with its id, its place in the paper, the
statement in our words, and the verdict that the project documents for it:

    proved      for all parameters: a symbolic identity, exact algebra, or a solver's unsat of the negation
    checked     every case of a stated finite list, exactly
    supported   statistics: seeds, effect, confidence interval
    refuted     with the object that breaks it; the corrected statement is a claim of its own, id + "*"
    open        neither

Every claim carries spoiled twins: slightly false versions (a changed reward, a dropped term, a
wrong tie-break, a smaller k) that the same code must refute. A twin that survives makes the claim
fail, whatever its evidence says.

>>> @claim("X.half", place="nowhere", statement="Half of an even number is an integer.", verdict="checked")
... def half(numbers=(2, 4, 6)):
...     odd = [n for n in numbers if n % 2]
...     if odd:
...         return refuted(f"{odd[0]} is a counterexample", counterexample=odd[0])
...     return checked(f"all of {numbers}")
>>> half.twin("an odd number among them", numbers=(2, 3))
>>> entry = run(LEDGER.pop("X.half"))
>>> entry.verdict, entry.ok, entry.twins
('checked', True, (('an odd number among them', 'refuted'),))
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

VERDICTS = ("proved", "checked", "supported", "refuted", "open")

ORDER = (
    "S4.ignore",
    "S4.gravity-none",
    "S4.gravity-bit",
    "S4.fig-gravity",
    "S5.oa1-encodes",
    "S5.not-mdp",
    "S5.b2-smallest",
    "S5.fig-recall",
    "S51.mc",
    "S51.td",
    "S51.b2-more",
    "S51.b2-unstable",
    "S51.nstep",
    "S51.fig-gravity2",
    "S51.bigger",
    "S52.local",
    "S52.not-global",
    "S52.stable",
    "S52.fig-variant",
    "A1.equivalent",
    "A2.optimal",
    "A4.bk",
    "A4.oak",
    "A4.ok",
    "B.why",
    "C.b2-expressive",
    "C.optimal",
    "C1",
    "C2",
    "C3",
    "C4",
    "C5",
    "C6",
    "C7",
    "C.fig",
    "D6.fig-sarsa",
)
"""The statements of the paper in the order in which it makes them; a corrected one follows the
printed one."""


@dataclass(frozen=True)
class Evidence:
    """What a claim's code found.

    Attributes
    ----------
    verdict : one of `VERDICTS`.
    summary : the evidence in a few words, for the table.
    argument : the whole of it: formulas, cases, numbers, one paragraph or line after the other.
    counterexample : what breaks a refuted claim, as text or a JSON value.
    certificates : JSON objects with a `kind` that `proofs.recheck` can verify without the code that
        found them.
    """

    verdict: str
    summary: str
    argument: str = ""
    counterexample: Any = None
    certificates: tuple[dict[str, Any], ...] = ()


def proved(
    summary: str, argument: str = "", certificates: Iterable[dict[str, Any]] = ()
) -> Evidence:
    """Evidence that holds for all parameters."""
    return Evidence("proved", summary, argument, None, tuple(certificates))


def checked(
    summary: str, argument: str = "", certificates: Iterable[dict[str, Any]] = ()
) -> Evidence:
    """Evidence for every case of a stated finite list."""
    return Evidence("checked", summary, argument, None, tuple(certificates))


def supported(
    summary: str, argument: str = "", certificates: Iterable[dict[str, Any]] = ()
) -> Evidence:
    """Statistical evidence."""
    return Evidence("supported", summary, argument, None, tuple(certificates))


def refuted(
    summary: str,
    argument: str = "",
    counterexample: Any = None,
    certificates: Iterable[dict[str, Any]] = (),
) -> Evidence:
    """Evidence against: an object that breaks the statement."""
    return Evidence("refuted", summary, argument, counterexample, tuple(certificates))


def open_(summary: str, argument: str = "") -> Evidence:
    """No verdict."""
    return Evidence("open", summary, argument)


@dataclass
class Claim:
    """A statement of the paper, or a corrected one, with the code that judges it."""

    id: str
    place: str
    statement: str
    documented: str
    establish: Callable[..., Evidence]
    corrected_by: str | None = None
    deep: bool = False
    twins: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Evidence:
        return self.establish(*args, **kwargs)

    def twin(self, what: str, **spoiled: Any) -> None:
        """A slightly false version: the same code with some arguments changed must come out
        refuted."""
        self.twins.append((what, spoiled))


LEDGER: dict[str, Claim] = {}


def claim(
    id: str,
    *,
    place: str,
    statement: str,
    verdict: str,
    corrected_by: str | None = None,
    deep: bool = False,
) -> Callable[[Callable[..., Evidence]], Claim]:
    """Register a function as the judge of a claim.

    Parameters
    ----------
    verdict : what the project documents; `workbench verify` fails when the code finds something
        else.
    corrected_by : for a refuted claim, the id of the statement that holds instead.
    deep : takes long; runs with `workbench verify --deep`.
    """
    if verdict not in VERDICTS:
        raise ValueError(f"{id}: the verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}")

    def register(establish: Callable[..., Evidence]) -> Claim:
        if id in LEDGER:
            raise ValueError(f"two claims have the id {id}")
        LEDGER[id] = Claim(id, place, statement, verdict, establish, corrected_by, deep)
        return LEDGER[id]

    return register


@dataclass(frozen=True)
class Entry:
    """A line of the ledger after its code has run."""

    id: str
    place: str
    statement: str
    verdict: str
    documented: str
    evidence: str
    argument: str
    counterexample: Any
    corrected_by: str | None
    certificates: tuple[dict[str, Any], ...]
    twins: tuple[tuple[str, str], ...]
    seconds: float

    @property
    def surviving(self) -> tuple[str, ...]:
        """The spoiled twins that the code did not refute."""
        return tuple(what for what, verdict in self.twins if verdict != "refuted")

    @property
    def ok(self) -> bool:
        """Whether the documented verdict was reached and every spoiled twin was refuted."""
        return self.verdict == self.documented and bool(self.twins) and not self.surviving

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def run(one: Claim) -> Entry:
    """Judge a claim and its spoiled twins."""
    start = time.perf_counter()
    found = one.establish()
    twins = tuple(
        (what, _twin_verdict(one, spoiled, one.documented)) for what, spoiled in one.twins
    )
    return Entry(
        id=one.id,
        place=one.place,
        statement=one.statement,
        verdict=found.verdict,
        documented=one.documented,
        evidence=found.summary,
        argument=found.argument,
        counterexample=found.counterexample,
        corrected_by=one.corrected_by,
        certificates=found.certificates,
        twins=twins,
        seconds=time.perf_counter() - start,
    )


def _twin_verdict(one: Claim, spoiled: dict[str, Any], documented: str) -> str:
    """How the code judged a twin. The twin of a refuted claim must fail to refute: it is then
    reported as refuted."""
    found = one.establish(**spoiled).verdict
    if documented != "refuted":
        return found
    return "refuted" if found != "refuted" else "survives"


def load() -> dict[str, Claim]:
    """Every claim of the modules of this package, in the order of the paper."""
    import proofs

    for module in pkgutil.iter_modules(proofs.__path__):
        importlib.import_module(f"proofs.{module.name}")
    place = {name: i for i, name in enumerate(ORDER)}
    for name in sorted(LEDGER, key=lambda name: (place.get(name.rstrip("*"), len(place)), name)):
        LEDGER[name] = LEDGER.pop(name)
    return LEDGER
