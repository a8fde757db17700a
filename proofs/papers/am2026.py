"""Anderson and Montufar 2026: what memory does to the local optima of the return.

The task is that of `mm2022`: two states, three observations, each shown by both states. All
Kuhn-Tucker points of its return are isolated with certificates in ball arithmetic, face by face of
the polytope of policies. The task is theirs, the numbers are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import text
from proofs.papers.mm2022 import two_states
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, critical_points, evaluate
from workbench.certificates.critical import critical_certificate
from workbench.core.numbers import Number
from workbench.evaluation.gradient import gradient
from workbench.research.critical_points import CriticalPoints

PAPER = Paper(
    "am2026",
    "Anderson and Montufar",
    "What memory does to local optima (our words; the text is not at hand)",
    2026,
    "ours",
)
MAXIMA = (Fraction(6536, 839), Fraction(73, 11))


@cache
def points() -> CriticalPoints:
    """All Kuhn-Tucker points of the task of two states."""
    return critical_points(two_states())


@cache
def summits(memory: str) -> tuple[Number, ...]:
    """What the deterministic policies are worth that are strict local maxima: every other action
    has a smaller derivative. The best first."""
    E = augment(two_states(), memory)
    found = (
        evaluate(E, pi, exact=True, weights="discounted").value
        for pi in _deterministic(E)
        if _is_summit(E, pi)
    )
    return tuple(sorted(found, reverse=True))


def _deterministic(E: POMDP) -> list[Policy]:
    choices = product(E.A, repeat=len(E.O))
    return [Policy.deterministic(E, dict(zip(E.O, choice, strict=True))) for choice in choices]


def _is_summit(E: POMDP, pi: Policy) -> bool:
    slope = gradient(E, pi, exact=True)
    return all(
        slope[o, b] < slope[o, a] for o in E.O for a in E.A if pi[o, a] == 1 for b in E.A if b != a
    )


def _rising(E: POMDP, pi: Policy) -> bool:
    """Whether some other action has a greater derivative."""
    slope = gradient(E, pi, exact=True)
    return any(slope[o, b] > slope[o, a] for o in E.O for a in E.A if pi[o, a] == 1 for b in E.A)


@claim(
    "P.am2026.spread",
    place=PAPER.place,
    statement="The return of the task of two states has three Kuhn-Tucker points. Two are strict "
    "local maxima worth 6536/839 and 73/11, both deterministic, and one is a saddle between them. "
    "A clock of two hours leaves the deterministic strict local maxima as they are: the same two "
    "values, and so the same spread. With K1 neither of the two policies, its memory ignored, is "
    "a local maximum.",
    verdict="checked",
    steps=(
        machine("all", "every face is decided: two maxima and a saddle"),
        machine("worth", "the maxima are deterministic, worth 6536/839 and 73/11"),
        machine("clock", "of the 64 deterministic policies with a clock two are strict maxima"),
        machine("window", "with K1 each of the two has an action with a greater derivative"),
    ),
)
def spread(
    proof: Proof,
    kinds: Sequence[str] = ("maximum", "maximum", "saddle"),
    worth: Sequence[Number] = MAXIMA,
    memory: str = "clock2",
    kept: Sequence[Number] = MAXIMA,
    window: str = "K1",
) -> Evidence:
    """Judge the claim. `kinds`: of the points. `worth`: of the maxima. `kept`: what `memory` makes
    of them. `window`: what makes neither a maximum."""
    found = points()
    seen = sorted(point.kind for point in found)
    right = found.complete and not found.flat and seen == sorted(kinds)
    proof.step("all", None if right else f"{seen}, complete: {found.complete}")
    tops = found.of_kind("maximum")
    values = [point.value for point in tops]
    exact = values == list(worth) and all(point.dimension == 0 for point in tops)
    proof.step("worth", None if exact else f"worth {values}")
    left = summits(memory)
    proof.step("clock", None if left == tuple(kept) else f"{memory}: {[str(x) for x in left]}")
    E = augment(two_states(), window)
    for actions in ((0, 1, 0), (1, 1, 1)):
        ignoring = {(m, o): (actions[two_states().O.index(o)], E.A[0][1]) for m, o in E.O}
        still = not _rising(E, Policy.deterministic(E, ignoring))
        proof.step("window", f"{actions} is one with {window}" if still else None)
    return checked(
        "two maxima and a saddle; both maxima survive a clock, neither survives K1",
        text(
            f"{found!r}. The spread is 6536/839 - 73/11 = {values[0] - values[1]}: the clock does "
            "not reduce it. Where an action has a greater derivative, a small step to it gains."
        ),
        [critical_certificate(two_states(), "none", found)],
    )


spread.twin("three maxima", guards="all", kinds=("maximum", "maximum", "maximum"))
spread.twin("73/12", guards="worth", worth=(Fraction(6536, 839), Fraction(73, 12)))
spread.twin("a clock that leaves the best alone", guards="clock", kept=MAXIMA[:1])
spread.twin("a clock for K1", guards="window", window="clock2")
