"""Where Q-learning can settle: recall, its variation and 4-action recall.

The paper's Figure 3 shows Q-learning on recall jumping between optimal policies and worthless ones.
A greedy learner can settle, as its steps get small, only at a policy that is greedy on the table
which its own epsilon-greedy behaviour leads to (`workbench.equilibrium`). Here these policies are
found: with the paper's numbers by exact arithmetic on every greedy policy, and elsewhere with
epsilon and gamma as symbols, as a subdivision of the open square (0, 1) x (0, 1) whose every cell
is decided at a rational point. The certificates of the subdivisions hold every policy and every
cell (`fixed-point-regions`).
"""

from __future__ import annotations

import textwrap
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import sympy

from pomdps import recall, recall4, recall_variant
from proofs.ledger import Evidence, Proof, argued, checked, claim, human, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.prose import text
from proofs.section5_recall import PAPERS_GAMMA
from workbench import (
    POMDP,
    Policy,
    QLearning,
    augment,
    best_history,
    equilibria,
    evaluate,
    subdivide,
)
from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.certificates.fixed_regions import fixed_regions_certificate
from workbench.certificates.set_bounds import set_bounds_certificate
from workbench.equilibrium.equilibria import Equilibria
from workbench.equilibrium.learned_values import deciding_rows
from workbench.optima.symmetry import interchangeable
from workbench.research.subdivision import Subdivision, refute_everywhere

EPSILON = sympy.Symbol("epsilon")
PAPERS_EPSILON = Fraction(1, 100)


def found_on(P: POMDP, memory: str, epsilon: Fraction, symmetry: bool = True) -> Equilibria:
    """The fixed points of Q-learning, in rationals."""
    return equilibria(
        augment(P, memory), QLearning(), epsilon=epsilon, exact=True, symmetry=symmetry
    )


@cache
def settling_points(memory: str, sequence: tuple[int, ...], epsilon: Fraction) -> Equilibria:
    """The fixed points of Q-learning on recall with the paper's discount. Each search is made
    once."""
    return found_on(recall(PAPERS_GAMMA, sequence), memory, epsilon)


@cache
def region_cells(task: str, memory: str, scale: int = 1, gamma: bool = True) -> Subdivision:
    """The square of epsilon and gamma, cut where the fixed points of Q-learning change. Each cut is
    made once. Without `gamma` the discount of the task stays a number."""
    P = _scaled(task, scale, gamma)
    E = P if memory == "none" else augment(P, memory)
    return subdivide(E, QLearning(), epsilon=EPSILON, symmetry=False)


def cells_certificate(task: str, memory: str, gamma: bool = True) -> dict[str, Any]:
    """The certificate of what `region_cells` found: every policy on the whole square, by cells."""
    return fixed_regions_certificate(
        _scaled(task, 1, gamma), memory, region_cells(task, memory, gamma=gamma)
    )


def _scaled(task: str, scale: int, gamma: bool) -> POMDP:
    made = {"recall": recall, "variant": recall_variant, "recall4": recall4, "ones": _ones}[task]()
    return (made.with_gamma(GAMMA) if gamma else made).scale_rewards(scale)


def _ones() -> POMDP:
    return recall(sequence=(1, 1, 1))


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
    "point that earns anything. With OA1 one of 1,296 greedy policies is a fixed point, strict "
    "and worth 0. With B2 none of 20,736 is.",
    verdict="checked",
    steps=(
        machine("OA1", "of all 1,296 greedy policies one is a fixed point, strict and worth 0"),
        machine("bits", "of all 20,736 greedy policies with B2 none is"),
    ),
)
def settle(
    proof: Proof,
    sequence: tuple[int, ...] = (1, 2, 3),
    bits: str = "B2",
    epsilon: Fraction = PAPERS_EPSILON,
    bits_epsilon: Fraction = PAPERS_EPSILON,
) -> Evidence:
    """Every greedy policy, exactly. Those of B2 up to the names of its memory states.

    `sequence`: that of the task with OA1; `bits`, `bits_epsilon`: the binary memory, and how much
    is explored with it.
    """
    P = recall(PAPERS_GAMMA, sequence)
    buffer = settling_points("OA1", sequence, epsilon)
    binary = settling_points(bits, (1, 2, 3), bits_epsilon)
    looked = buffer.complete and not buffer.undefined
    one = looked and [(e.value, e.strict) for e in buffer] == [(0, True)]
    proof.step("OA1", None if one else repr(buffer))
    none = binary.complete and not binary.undefined and not len(binary)
    proof.step("bits", None if none else repr(binary))
    if proof.failed:
        return checked("")
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
        "of 0.1, as in the figure, runs do not stay at the worthless one either (S5.fig-jumps).",
    )
    certificates = [
        certificate_at(P, "OA1", epsilon),
        set_bounds_certificate(recall(), bits, QLearning(epsilon=bits_epsilon)),
    ]
    return checked("OA1 has one fixed point, worth 0; B2 has none", lines(argument), certificates)


settle.twin("1, 1, 1 in the place of 1, 2, 3 with OA1", guards="OA1", sequence=(1, 1, 1))
settle.twin("B1, exploring nearly always", guards="bits", bits="B1", bits_epsilon=Fraction(99, 100))


def paying(E: POMDP) -> list[dict[Any, Any]]:
    """What deterministic policies do on the way to a reward, {o: a}: E is deterministic, its start
    too, and pays at its last step only."""
    found: list[dict[Any, Any]] = []

    def go(s: Any, rows: dict[Any, Any]) -> None:
        (o,) = E.omega(s)
        for a in [rows[o]] if o in rows else E.A:
            ((s_next, r),) = E.p(s, a)
            taken = {**rows, o: a}
            if s_next not in E.terminal:
                go(s_next, taken)
            elif r != 0:
                found.append(taken)

    (start,) = E.mu
    go(start, {})
    return found


def first_of_each(E: POMDP, paths: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """One path of each class that exchanging memory states carries into one another. All where
    memory states cannot be exchanged."""
    exchange = interchangeable(E)
    if exchange is None:
        return paths
    kept = []
    for path in paths:
        choice = np.full(len(E.O), -1, dtype=np.int64)
        for o, a in path.items():
            i, j = E.O.index(o), E.A.index(a)
            if not exchange.worth_trying(choice, i)[j]:
                break
            choice[i] = j
        else:
            kept.append(path)
    return kept


@cache
def refuted_on(
    memory: str, sequence: tuple[int, ...]
) -> tuple[POMDP, list[tuple[dict[Any, Any], tuple[Any, Any] | None]]]:
    """The policies of recall that earn, each with the pair that refutes it on the whole square.
    They are taken up to exchanging memory states, each as its way to the reward, up to the first
    that no pair refutes."""
    E = augment(recall(GAMMA, sequence), memory)
    rows = {E.O[int(o)] for o in deciding_rows(E)}
    found: list[tuple[dict[Any, Any], tuple[Any, Any] | None]] = []
    for path in first_of_each(E, paying(E)):
        free = sorted(rows - set(path), key=E.O.index)
        for others in product(E.A, repeat=len(free)):
            actions = {**path, **dict(zip(free, others, strict=True))}
            pi = Policy.deterministic(E, actions, otherwise=E.A[0])
            found.append((path, refute_everywhere(E, QLearning(), pi, EPSILON)))
            if found[-1][1] is None:
                return E, found
    return E, found


@claim(
    "S5.settle-worth",
    place="Sec. 5, Fig. 3",
    statement="On recall, for all epsilon and gamma in (0, 1), no policy that earns anything is a "
    "fixed point of Q-learning, with OA1 or B2. In the table that it leads to a shortcut is "
    "better at the first row. The shortcut takes the memory to where 3 is done without having "
    "done 1 and 2.",
    verdict="proved",
    steps=(
        machine("OA1", "each of the 12 policies that earn is refuted by one inequality"),
        machine(
            "B2",
            "each of the 288 is: 48 looked at, the others are these with memory states exchanged, "
            "which is checked on the tables of the product",
        ),
        machine("shortcut", "the action that is better leads to where the last action is taken"),
    ),
)
def settle_worth(
    proof: Proof,
    sequence: tuple[int, ...] = (1, 2, 3),
    bits_sequence: tuple[int, ...] = (1, 2, 3),
    last: int = 2,
) -> Evidence:
    """epsilon and gamma are symbols, and so every inequality holds on the whole open square.

    `sequence`, `bits_sequence`: those that are paid with OA1 and with B2; `last`: the step, from 0
    on, to which the shortcut leads.
    """
    told, counts, away = [], [], ""
    for memory, paid in (("OA1", sequence), ("B2", bits_sequence)):
        E, found = refuted_on(memory, paid)
        path, better = found[-1]
        kept = better is None
        proof.step(memory, f"not refuted everywhere with {memory}: {path}" if kept else None)
        away = away or next(
            (
                f"{better} with {memory} at {path}"
                for path, better in found
                if better is not None and not _leads_to(E, path, better, last)
            ),
            "",
        )
        counts.append(len(found))
        told.append(f"  {memory}: {len(found)} policies")
    # of a policy that is not refuted there is no better action to speak of
    proof.step("shortcut", None if proof.failed else away or None)
    argument = text(
        "A deterministic policy earns gamma^2 or nothing. Those that earn it do 1, 2, 3 in three "
        "different memory states; their other rows may do anything.",
        *told,
        "In the table of each, one and the same kind of action is better than its own at the first "
        "row, on the whole open square (Bernstein coefficients of one sign). That is computed "
        "here; the certificate, which the checker goes through again, speaks of OA1 at the paper's "
        "epsilon and gamma alone.",
    )
    point = [certificate_at(recall(PAPERS_GAMMA, sequence), "OA1", PAPERS_EPSILON)]
    refuted = f"{counts[0]} policies of OA1 and {counts[1]} of B2 earn something (up to symmetry)"
    return proved(f"{refuted}: none is a fixed point", lines(argument), point)


def _leads_to(E: POMDP, path: dict[Any, Any], better: tuple[Any, Any], last: int) -> bool:
    """Whether the better action leads to the row of step number `last`. It has to be at the path's
    first row."""
    steps = list(path)
    o, a = better
    (start,) = E.mu
    ((s_next, _),) = E.p(start, a)
    (o_next,) = E.omega(s_next)
    return bool(o == steps[0] and steps[last:] and o_next == steps[last])


settle_worth.twin("1, 1, 1 in the place of 1, 2, 3 with OA1", guards="OA1", sequence=(1, 1, 1))
settle_worth.twin("1, 1, 1 with B2", guards="B2", bits_sequence=(1, 1, 1))
settle_worth.twin("a way to the second step", guards="shortcut", last=1)


@claim(
    "S5.fig-recall",
    place="Sec. 5, Fig. 3",
    statement="Q-learning on recall cannot converge to an optimal policy with OA1 or B2. For all "
    "epsilon and gamma in (0, 1) every policy at which it can settle is worth 0 (by the shortcuts "
    "of S5.settle-worth). With the paper's epsilon 1/100 and gamma 19/20 there is one such policy "
    "with OA1 and none with B2 (S5.settle). That runs jump is measured: S5.fig-jumps.",
    verdict="argued",
    steps=(
        human(
            "limit",
            "a learner whose steps get small can converge only to a fixed point: a policy that is "
            "greedy, without ties, on the table that its own behaviour leads to (stochastic "
            "approximation)",
        ),
        machine("earning", "each policy that earns is refuted on the whole square, OA1 and B2"),
        machine("values", "every other one is worth 0: a policy earns gamma^2 or nothing"),
        machine("OA1", "at the paper's numbers one policy is a fixed point, strict and worth 0"),
        machine("bits", "with B2 none is"),
    ),
)
def fig_recall(
    proof: Proof,
    sequence: tuple[int, ...] = (1, 2, 3),
    earned: Any = GAMMA**2,
    strict: bool = True,
    bits: str = "B2",
    bits_epsilon: Fraction = PAPERS_EPSILON,
) -> Evidence:
    """Put together what S5.settle-worth and S5.settle find. A fixed point of a greedy learner is
    where it settles as its steps get small.

    `sequence`: what is paid with symbols; `earned`: what a policy that earns is worth; `strict`:
    whether the fixed point with OA1 is; `bits`, `bits_epsilon`: as in S5.settle.
    """
    for memory in ("OA1", "B2"):
        E, found = refuted_on(memory, sequence)
        path, better = found[-1]
        kept = better is None
        proof.step("earning", f"not refuted everywhere with {memory}: {path}" if kept else None)
        worth = {
            evaluate(E, Policy.deterministic(E, path, otherwise=E.A[0]), exact=True).value
            for path in first_of_each(E, paying(E))
        }
        other = next((x for x in worth if sympy.expand(x - earned) != 0), None)
        proof.step("values", None if other is None else f"a policy is worth {other}")
    one = settling_points("OA1", (1, 2, 3), PAPERS_EPSILON)
    told = one.complete and [(e.value, e.strict) for e in one] == [(0, strict)]
    proof.step("OA1", None if told else repr(one))
    none = settling_points(bits, (1, 2, 3), bits_epsilon)
    proof.step("bits", None if none.complete and not len(none) else repr(none))
    if proof.failed:
        return argued("")
    argument = text(
        "A learner that acts epsilon-greedily and whose steps get small can converge only where "
        "its policy g is greedy on the table to which its own behaviour leads. Of the policies "
        "that earn anything none is, whatever epsilon and gamma: S5.settle-worth names the "
        "shortcut that is better in its table. All others are worth 0, as a deterministic policy "
        "does 1, 2, 3 or earns nothing. At the paper's numbers every greedy policy was looked at:",
        f"  OA1: {len(one)} of {one.cells:,}, {bits}: {len(none)} of {none.cells:,}",
        "S5.settle-b1 has the same with one bit, with the border of where there is one.",
    )
    certificates = [
        certificate_at(recall(PAPERS_GAMMA), "OA1", PAPERS_EPSILON),
        cells_certificate("recall", "B1"),
    ]
    return argued("every fixed point of Q-learning is worth 0", lines(argument), certificates)


fig_recall.twin("1, 1, 1 in the place of 1, 2, 3", guards="earning", sequence=(1, 1, 1))
fig_recall.twin("a policy that earns gamma", guards="values", earned=GAMMA)
fig_recall.twin("a tied fixed point with OA1", guards="OA1", strict=False)
fig_recall.twin(
    "B1, exploring nearly always", guards="bits", bits="B1", bits_epsilon=Fraction(99, 100)
)


@claim(
    "S5.settle-b1",
    place="Sec. 5",
    statement="On recall with B1, no greedy policy is a fixed point of Q-learning if epsilon (2 - "
    "gamma) < 1. If it is > 1, exactly one is, worth 0. That is so for all epsilon and gamma in "
    "(0, 1).",
    verdict="proved",
    steps=(
        machine("border", "the only curve in the square is epsilon (2 - gamma) = 1"),
        machine("cells", "below it no policy is a fixed point, above it one is, worth 0"),
    ),
)
def settle_b1(
    proof: Proof, sequence: tuple[int, ...] = (1, 2, 3), constant: int = 2, above_worth: int = 0
) -> Evidence:
    """epsilon and gamma are symbols. `constant`: the 2 of the border, `above_worth`: the value
    above it."""
    found = region_cells("recall" if sequence == (1, 2, 3) else "ones", "B1")
    proof.step("border", _other_border(found, EPSILON * (constant - GAMMA) - 1))
    for cell in found:
        above = _at(EPSILON * (2 - GAMMA) - 1, cell.sample) > 0
        worth = [found.values[i] for i in cell.settled]
        shown = f"at {cell.sample}: fixed points worth {worth}"
        proof.step("cells", None if worth == ([above_worth] if above else []) else shown)
    if proof.failed:
        return proved("")
    certificates = [cells_certificate("recall", "B1")]
    return proved(
        "the curve epsilon (2 - gamma) = 1 parts the two cases, and no other does",
        lines(found),
        certificates,
    )


settle_b1.twin("3 - gamma in the place of 2 - gamma", guards="border", constant=3)
settle_b1.twin("a fixed point worth 1", guards="cells", above_worth=1)
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
    statement="Without memory no policy is a fixed point of Q-learning on the variation of "
    "recall, for all epsilon and gamma in (0, 1). With B1, off three curves in their square, the "
    "only one is worth -10 gamma^2 and tied, and 3 gamma^2 is the optimum.",
    verdict="proved",
    steps=(
        machine("alone", "without memory no policy is a fixed point, on the whole square"),
        machine("bit", "with B1 the same policy is the only one in every cell, -10 gamma^2"),
        machine("tied", "an action ties with its own on the whole square"),
        machine("best", "3 gamma^2 is the best history-based value"),
    ),
)
def settle_variant(
    proof: Proof,
    alone_factor: int = 1,
    factor: int = 1,
    is_tied: bool = True,
    best: int = 3,
) -> Evidence:
    """epsilon and gamma are symbols.

    `alone_factor`, `factor` multiply the rewards without memory and with it; `is_tied`: whether the
    fixed point is said to be tied; `best`: the best reward.
    """
    P = recall_variant(gamma=GAMMA).scale_rewards(factor)
    alone = region_cells("variant", "none", alone_factor)
    proof.step("alone", None if alone.none_exists else repr(alone))
    found = region_cells("variant", "B1", factor)
    only = set(found.regions) == {(0,)}
    told = only and sympy.expand(found.values[0] + 10 * GAMMA**2) == 0
    proof.step("bit", None if told else f"values {found.values}, {len(set(found.regions))} answers")
    same = not only or bool(found.always_tied[0]) == is_tied
    proof.step("tied", None if same else "an action ties" if not is_tied else "it is strict")
    largest = max(r for s in P.S if s not in P.terminal for a in P.A for _, r in P.p(s, a))
    at_best = best_history(recall_variant(gamma=PAPERS_GAMMA), exact=True).value
    reached = at_best == best * PAPERS_GAMMA**2 and largest == 3 * factor
    proof.step("best", None if factor != 1 or reached else f"it is {at_best}")
    if proof.failed:
        return proved("")
    argument = text(
        f"Without memory both policies are refuted by one inequality on the whole square. With "
        f"B1, {found.refuted} of {found.looked_at} are; the others' {len(found.curves)} curves "
        f"leave {len(found)} cells, and in each of them the answer is the same:",
        f"  {found.policies[0].row(('0', 'o'))} on 0, {found.policies[0].row(('1', 'o'))} on 1",
    )
    certificates = [cells_certificate("variant", name) for name in ("none", "B1")]
    return proved(
        "no fixed point without memory; with B1 one, worth -10 gamma^2, with a tie",
        lines(argument),
        certificates,
    )


settle_variant.twin("rewards turned over, without memory", guards="alone", alone_factor=-1)
settle_variant.twin("rewards doubled", guards="bit", factor=2)
settle_variant.twin("a strict fixed point", guards="tied", is_tied=False)
settle_variant.twin("a best reward of 2", guards="best", best=2)


# ---------------------------------------------------------------------- 4-action recall


@claim(
    "C.settle",
    place="App. C",
    statement="With gamma = 1, as in the paper, no greedy policy is a fixed point of Q-learning "
    "on 4-action recall with B1, for any epsilon in (0, 1). With gamma in (0, 1) there are fixed "
    "points, worth gamma/2, where epsilon^2 + 7 epsilon gamma - 8 epsilon - 16 gamma + 16 > 0, "
    "and none where it is < 0.",
    verdict="proved",
    steps=(
        machine("none", "gamma = 1: no greedy policy is a fixed point, for any epsilon"),
        machine("border", "with gamma a symbol the only curve is the one printed here"),
        machine("cells", "on one side of it there are fixed points, all worth gamma/2"),
    ),
)
def settle_recall4(
    proof: Proof, linear: int = 16, scale: int = 1, above_worth: Any = GAMMA / 2
) -> Evidence:
    """epsilon, or epsilon and gamma, are symbols.

    `linear`: the 16 of the border; `scale` multiplies the rewards where gamma = 1; `above_worth`:
    the value on the other side.
    """
    undiscounted = region_cells("recall4", "B1", scale, gamma=False)
    proof.step("none", None if undiscounted.none_exists else repr(undiscounted))
    found = region_cells("recall4", "B1")
    curve = EPSILON**2 + 7 * EPSILON * GAMMA - 8 * EPSILON
    proof.step("border", _other_border(found, curve - linear * GAMMA + linear))
    border = curve - 16 * GAMMA + 16
    for cell in found:
        worth = {found.values[i] for i in cell.settled}
        told = worth == ({above_worth} if _at(border, cell.sample) > 0 else set())
        proof.step("cells", None if told else f"at {cell.sample}: fixed points worth {worth}")
    if proof.failed:
        return proved("")
    certificates = [cells_certificate("recall4", "B1", gamma) for gamma in (False, True)]
    return proved("no fixed point if gamma = 1, for any epsilon", lines(found), certificates)


settle_recall4.twin("15 in the place of 16", guards="border", linear=15)
settle_recall4.twin("rewards turned over", guards="none", scale=-1)
settle_recall4.twin("fixed points worth gamma", guards="cells", above_worth=GAMMA)
