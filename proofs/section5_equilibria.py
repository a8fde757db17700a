"""Where Q-learning can settle: recall, its variation and 4-action recall.

The paper's Figure 3 shows Q-learning on recall jumping between optimal policies and worthless ones.
A greedy learner can settle, as its steps get small, only at a policy that is greedy on the table
which its own epsilon-greedy behaviour leads to (`workbench.equilibrium`). Here these policies are
found: with the paper's numbers by exact arithmetic on every greedy policy, and elsewhere with
epsilon and gamma as symbols, as a subdivision of the open square (0, 1) x (0, 1) whose every cell
is decided at a rational point.
"""

from __future__ import annotations

import textwrap
from fractions import Fraction
from typing import Any

import sympy

from pomdps import recall, recall4, recall_variant
from proofs.ledger import Evidence, checked, claim, open_, proved, refuted
from proofs.ledger.generic import GAMMA
from proofs.ledger.prose import text
from proofs.section5_recall import PAPERS_GAMMA
from workbench import POMDP, QLearning, augment, equilibria, subdivide
from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.equilibrium.equilibria import Equilibria
from workbench.equilibrium.subdivision import Subdivision

EPSILON = sympy.Symbol("epsilon")
PAPERS_EPSILON = Fraction(1, 100)


def found_on(P: POMDP, memory: str, epsilon: Fraction, symmetry: bool = True) -> Equilibria:
    """The fixed points of Q-learning, in rationals."""
    return equilibria(
        augment(P, memory), QLearning(), epsilon=epsilon, exact=True, symmetry=symmetry
    )


def certificate_at(P: POMDP, memory: str, epsilon: Fraction) -> dict[str, Any]:
    """The certificate of a task with numbers."""
    return fixed_points_certificate(P, memory, found_on(P, memory, epsilon, symmetry=False))


def lines(shown: object) -> str:
    """The text of a result, its lines broken to fit a terminal."""
    wrapped = (
        textwrap.fill(line, 84, subsequent_indent="      ", break_on_hyphens=False)
        for line in str(shown).splitlines()
    )
    return "\n".join(wrapped)


# ---------------------------------------------------------------------- recall


@claim(
    "S5.settle",
    place="Sec. 5, Fig. 3",
    statement="With the paper's epsilon 1/100 and gamma 19/20, Q-learning on recall has no fixed "
    "point that earns anything: with OA1 one of 1,296 greedy policies is a fixed point, strict and "
    "worth 0; with B2 none of 20,736 is.",
    verdict="checked",
)
def settle(
    sequence: tuple[int, ...] = (1, 2, 3),
    bits: str = "B2",
    epsilon: Fraction = PAPERS_EPSILON,
    bits_epsilon: Fraction = PAPERS_EPSILON,
) -> Evidence:
    """Every greedy policy, exactly; those of B2 up to the names of its memory states."""
    P = recall(PAPERS_GAMMA, sequence)
    buffer, binary = found_on(P, "OA1", epsilon), found_on(P, bits, bits_epsilon)
    if not buffer.complete or not binary.complete or buffer.undefined or binary.undefined:
        return open_("not every policy was looked at")
    kinds = [(e.value, e.strict) for e in buffer]
    if kinds != [(0, True)]:
        return refuted("OA1 has other fixed points", repr(buffer), counterexample=str(kinds))
    if len(binary):
        return refuted(f"{bits} has a fixed point", repr(binary), counterexample=repr(binary[0]))
    (e,) = buffer
    argument = text(
        "A greedy policy g is a fixed point if it is greedy on the table that Q-learning converges "
        "to while it behaves epsilon-greedily on g.",
        f"  OA1: {e!r}",
        f"  its smallest lead over another action is {float(e.gap):.2g}; the slowest rate at which "
        f"the mean field comes back is {e.rate:.2g}",
        f"  {bits}: none of {binary.cells:,}, {binary.looked_at:,} looked at, the others by "
        "exchanging memory states",
        "So no optimal policy can be where Q-learning settles as its steps get small. With steps "
        "of 0.1, as in the figure, runs do not stay at the worthless one either (S5.fig-recall).",
    )
    certificates = [certificate_at(P, "OA1", epsilon)]
    return checked("OA1: one, worth 0; B2: none", lines(argument), certificates)


settle.twin("1, 1, 1 in the place of 1, 2, 3", sequence=(1, 1, 1))
settle.twin("B1, exploring nearly always", bits="B1", bits_epsilon=Fraction(99, 100))


@claim(
    "S5.settle-b1",
    place="Sec. 5",
    statement="Q-learning on recall with B1, for all epsilon and gamma in (0, 1): no greedy policy "
    "is a fixed point if epsilon (2 - gamma) < 1, and if it is > 1 exactly one is, worth 0.",
    verdict="proved",
)
def settle_b1(sequence: tuple[int, ...] = (1, 2, 3), constant: int = 2) -> Evidence:
    """epsilon and gamma are symbols."""
    P = recall(GAMMA, sequence)
    found = subdivide(augment(P, "B1"), QLearning(), epsilon=EPSILON)
    border = EPSILON * (constant - GAMMA) - 1
    if trouble := _other_border(found, border):
        return refuted("another border", trouble, counterexample=trouble)
    for cell in found:
        above = _at(border, cell.sample) > 0
        worth = [found.values[i] for i in cell.settled]
        if worth != ([0] if above else []):
            shown = f"at {cell.sample}: fixed points worth {worth}"
            return refuted("another answer in a cell", shown, counterexample=shown)
    points = [{EPSILON: Fraction(1, 10)}, {EPSILON: Fraction(99, 100)}]
    certificates = [
        certificate_at(recall(PAPERS_GAMMA, sequence), "B1", point[EPSILON]) for point in points
    ]
    return proved("border epsilon (2 - gamma) = 1", lines(found), certificates)


settle_b1.twin("3 - gamma in the place of 2 - gamma", constant=3)
settle_b1.twin("1, 1, 1 in the place of 1, 2, 3", sequence=(1, 1, 1))


def _at(f: Any, sample: dict[Any, Fraction]) -> Any:
    return f.subs({s: sympy.Rational(x.numerator, x.denominator) for s, x in sample.items()})


def _other_border(found: Subdivision, border: Any) -> str:
    """What is wrong if the only curve is not this one."""
    curves = [sympy.factor(c) for c in found.curves]
    same = len(curves) == 1 and sympy.cancel(curves[0] / border).is_number
    return "" if same else f"the curves are {curves}, not {border}"


# ---------------------------------------------------------------------- the variation


@claim(
    "B.settle",
    place="App. B",
    statement="Q-learning on the variation of recall, for all epsilon and gamma in (0, 1): without "
    "memory no policy is a fixed point; with B1 the only one is worth -10 gamma^2 and tied, and 3 "
    "gamma^2 is the optimum.",
    verdict="proved",
)
def settle_variant(factor: int = 1, memory: str = "B1") -> Evidence:
    """epsilon and gamma are symbols."""
    P = recall_variant(gamma=GAMMA).scale_rewards(factor)
    alone = subdivide(P, QLearning(), epsilon=EPSILON)
    if not alone.none_exists:
        return refuted("a fixed point without memory", repr(alone), counterexample=repr(alone))
    found = subdivide(augment(P, memory), QLearning(), epsilon=EPSILON)
    answers = set(found.regions)
    if answers != {(0,)} or sympy.expand(found.values[0] + 10 * GAMMA**2) != 0:
        return refuted("other fixed points", repr(found)[:800], counterexample=str(found.values))
    if not found.always_tied[0]:
        return refuted("the fixed point is strict", repr(found)[:800], counterexample="strict")
    argument = text(
        f"Without memory both policies are refuted by one inequality on the whole square. With "
        f"B1, {found.refuted} of {found.looked_at} are; the others' {len(found.curves)} curves "
        f"leave {len(found)} cells, and in each of them the answer is the same:",
        f"  {found.policies[0].row(('0', 'o'))} on 0, {found.policies[0].row(('1', 'o'))} on 1",
    )
    P1 = recall_variant(gamma=PAPERS_GAMMA)
    tenth = Fraction(1, 10)
    certificates = [certificate_at(P1, name, tenth) for name in ("none", "B1")]
    return proved("none; with B1 -10 gamma^2, tied", lines(argument), certificates)


settle_variant.twin("rewards turned over", factor=-1)
settle_variant.twin("rewards doubled", factor=2)


# ---------------------------------------------------------------------- 4-action recall


@claim(
    "C.settle",
    place="App. C",
    statement="Q-learning on 4-action recall with B1 (gamma = 1 as in the paper): no greedy policy "
    "is a fixed point, for any epsilon in (0, 1). With gamma in (0, 1) there are fixed points, "
    "worth gamma/2, exactly where epsilon^2 + 7 epsilon gamma - 8 epsilon - 16 gamma + 16 > 0.",
    verdict="proved",
)
def settle_recall4(linear: int = 16, scale: int = 1) -> Evidence:
    """epsilon, or epsilon and gamma, are symbols."""
    undiscounted = subdivide(augment(recall4(scale), "B1"), QLearning(), epsilon=EPSILON)
    if not undiscounted.none_exists:
        shown = repr(undiscounted)
        return refuted("a fixed point at gamma = 1", shown, counterexample=shown)
    found = subdivide(augment(recall4(scale), "B1"), QLearning(), epsilon=EPSILON, gamma=GAMMA)
    border = EPSILON**2 + 7 * EPSILON * GAMMA - 8 * EPSILON - linear * GAMMA + linear
    if trouble := _other_border(found, border):
        return refuted("another border", trouble, counterexample=trouble)
    for cell in found:
        worth = {found.values[i] for i in cell.settled}
        if worth != ({GAMMA / 2} if _at(border, cell.sample) > 0 else set()):
            shown = f"at {cell.sample}: fixed points worth {worth}"
            return refuted("another answer in a cell", shown, counterexample=shown)
    tenth = Fraction(1, 10)
    return proved(
        "none if gamma = 1, for any epsilon", lines(found), [certificate_at(recall4(), "B1", tenth)]
    )


settle_recall4.twin("15 in the place of 16", linear=15)
settle_recall4.twin("rewards turned over", scale=-1)
