"""Shrinking: from a task on which a statement holds to one that no single simplification makes
smaller.

The size of a task is compared part by part, in this order:

    states that are not terminal, actions, observations, outcomes of p, the cost of its numbers

where a number p/q costs 2 (|p| + 2 (q - 1)), one more if it is negative, and 0 costs nothing: small
and round is cheap. A simplification shortens a sequence task, removes an action, or puts a cheaper
number in the place of another. Each is taken if the task gets smaller and the statement still
holds, exactly; when none can be taken any more the task is *locally minimal*. Only sequence tasks
are made smaller.

>>> from workbench.improvement.batch import sequence_task
>>> from workbench.lab.statements import as_statement
>>> shrink(
...     sequence_task([[0, 3, 1], [2, 5, 0], [0, 0, 7]]), as_statement("several-fixed-points")
... ).rewards
[[1, 0], [0, 2]]
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.pomdp import POMDP
from workbench.lab.find import Find
from workbench.lab.sequences import discounted_sequence_task, table_of
from workbench.lab.statements import Statement, Verdict
from workbench.progress import Waiting

Size = tuple[int, int, int, int, int]


def cost(x: Fraction) -> int:
    """The cost of a number. Small and round ones are cheap.

    >>> [cost(Fraction(x)) for x in (0, 1, -1, 2, "1/2", "-3/4")]
    [0, 2, 3, 4, 6, 19]
    """
    return 0 if x == 0 else 2 * (abs(x.numerator) + 2 * (x.denominator - 1)) + (x < 0)


def size(P: POMDP) -> Size:
    """The size of a task, part by part."""
    numbers = [Fraction(P.gamma), *P.mu.values()]
    for s in P.S:
        if s not in P.terminal:
            numbers += P.omega(s).values()
            numbers += [x for a in P.A for (_, r), prob in P.p(s, a).items() for x in (r, prob)]
    alive = len(P.S) - len(P.terminal)
    return alive, len(P.A), len(P.O), len(P.p.s_next), sum(cost(Fraction(x)) for x in numbers)


def shrink(what: Find | POMDP, statement: Statement | None = None) -> Find:
    """A locally minimal task on which the statement holds, from one on which it does.

    Ctrl-C stops with what there is.

    Parameters
    ----------
    what : a find, or a task and its statement.
    """
    if isinstance(what, Find):
        P, statement = what.task, what.statement
    else:
        P = what
    if not isinstance(P, POMDP) or statement is None:
        raise WrongType(f"shrink needs a find, or a task and a statement, not {what!r}")
    P.require_exact()
    verdict = statement.exactly(P)
    if not verdict.holds:
        raise WorkbenchError(f"nothing to shrink: the statement does not hold for {P.name}")
    steps = 0
    with contextlib.suppress(KeyboardInterrupt), Waiting(f"shrinking {P.name}") as waiting:
        while (found := _next(P, statement, waiting)) is not None:
            P, verdict = found
            steps += 1
    before = what if isinstance(what, Find) else None
    provenance = {**(before.provenance if before else {}), "shrunk_in": steps}
    return Find(P, statement, verdict, provenance, before)


def is_locally_minimal(P: POMDP, statement: Statement) -> bool:
    """Whether no single simplification leaves a task on which the statement holds."""
    return all(_holds(one, statement) is None for one in simplifications(P))


def _next(P: POMDP, statement: Statement, waiting: Waiting) -> tuple[POMDP, Verdict] | None:
    for tried, one in enumerate(simplifications(P)):
        waiting.report(0.0, f"{len(P.S)} states, {len(P.A)} actions, {tried} simplifications tried")
        if (verdict := _holds(one, statement)) is not None:
            return one, verdict
    return None


def _holds(P: POMDP, statement: Statement) -> Verdict | None:
    """The exact verdict if the statement holds. Most candidates fail in floats already."""
    try:
        if not statement.score(P) > 0:
            return None
        verdict = statement.exactly(P)
    except WorkbenchError:  # episodes that never end, beliefs without end: not a task to report
        return None
    return verdict if verdict.holds else None


def simplifications(P: POMDP) -> Iterator[POMDP]:
    """The tasks that one simplification makes of a task and that are smaller, the smallest first
    within each kind."""
    before = size(P)
    table = table_of(P)
    if table is None:
        raise WorkbenchError(f"{P.name} is no sequence task, and only those are made smaller")
    for one in _simpler_tables(P, table):
        if size(one) < before:
            yield one


def cheaper(x: Fraction, others: tuple[Fraction, ...] = ()) -> list[Fraction]:
    """Numbers to put in the place of x, all of them cheaper, the cheapest first."""
    toward = [
        Fraction(0),
        Fraction(1),
        Fraction(-1),
        Fraction(int(x)),
        Fraction(int(x / 2)),
        Fraction(round(x)),
    ]
    toward += [x - 1 if x > 0 else x + 1, x / 2, *others]
    return sorted({y for y in toward if cost(y) < cost(x)}, key=lambda y: (cost(y), y))


def _simpler_tables(P: POMDP, table: NDArray[Any]) -> Iterator[POMDP]:
    def task(r: NDArray[Any]) -> POMDP:
        return discounted_sequence_task(r, P.gamma)

    n = len(table)
    if table.ndim > 2:
        for axis, a in product(range(table.ndim), range(n)):
            yield task(np.take(table, a, axis=axis))
    if n > 1:
        for a in range(n):
            rest = [b for b in range(n) if b != a]
            yield task(table[np.ix_(*[rest] * table.ndim)])
    flat = [Fraction(x) for x in table.ravel()]
    for values in _rounder(flat):
        yield task(_shaped(values, table.shape))
    for place in sorted(range(len(flat)), key=lambda i: -cost(flat[i])):
        for y in cheaper(flat[place], tuple(set(flat))):
            yield task(_shaped([*flat[:place], y, *flat[place + 1 :]], table.shape))
    for gamma in (Fraction(1), Fraction(1, 2)):
        if cost(gamma) < cost(Fraction(P.gamma)):
            yield discounted_sequence_task(table, gamma)


def _shaped(values: list[Fraction], shape: tuple[int, ...]) -> NDArray[Any]:
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return table.reshape(shape)


def _rounder(values: list[Fraction]) -> Iterator[list[Fraction]]:
    """All rewards changed at once: made whole, divided, shifted, or replaced by their ranks."""
    whole = lcm(*(x.denominator for x in values))
    yield [x * whole for x in values]
    divisor = gcd(*(int(x * whole) for x in values))
    if divisor:
        yield [x * whole / divisor for x in values]
    ordered = sorted(set(values))
    for zero in ordered:
        yield [x - zero for x in values]
        rank = {x: Fraction(i - ordered.index(zero)) for i, x in enumerate(ordered)}
        yield [rank[x] for x in values]
