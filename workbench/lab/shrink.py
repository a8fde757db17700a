"""Shrinking: from a task on which a statement holds to one that no single simplification makes
smaller.

The size of a task is compared part by part, in this order:

    states that are not terminal, actions, observations, outcomes of p, the cost of its numbers

where a number p/q costs 2 (|p| + 2 (q - 1)), one more if it is negative, and 0 costs nothing: small
and round is cheap. A simplification removes a state, an action or an observation, shortens a
sequence task, makes something certain, or puts a cheaper number in the place of another. Each is
taken if the task gets smaller and the statement still holds, exactly; when none can be taken any
more the task is *locally minimal*. Sequence tasks stay sequence tasks.

>>> from workbench.improvement.batch import sequence_task
>>> from workbench.lab.statements import as_statement
>>> shrink(
...     sequence_task([[0, 3, 1], [2, 5, 0], [0, 0, 7]]), as_statement("expressive-not-by-bound")
... ).rewards
[[0, 0], [0, 0]]
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
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
    candidates = _Model.of(P).simpler() if table is None else _simpler_tables(P, table)
    for make in candidates:
        try:
            one = make()
        except WorkbenchError:
            continue
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


# ---------------------------------------------------------------------- sequence tasks


def _simpler_tables(P: POMDP, table: NDArray[Any]) -> Iterator[Any]:
    def task(r: NDArray[Any], gamma: Any = P.gamma) -> Any:
        return lambda: discounted_sequence_task(r, gamma)

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
            yield task(table, gamma)


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


# ---------------------------------------------------------------------- other tasks


@dataclass
class _Model:
    """A task as plain dictionaries, to be changed and built again."""

    name: str
    A: list[Label]
    p: dict[tuple[Label, Label], dict[tuple[Label, Fraction], Fraction]]
    omega: dict[Label, dict[Label, Fraction]]
    mu: dict[Label, Fraction]
    gamma: Fraction
    terminal: list[Label]

    @classmethod
    def of(cls, P: POMDP) -> _Model:
        alive = [s for s in P.S if s not in P.terminal]
        return cls(
            P.name,
            list(P.A),
            {(s, a): dict(P.p(s, a)) for s in alive for a in P.A},
            {s: dict(P.omega(s)) for s in P.S},
            dict(P.mu.items()),
            Fraction(P.gamma),
            list(P.terminal),
        )

    def built(self, **changed: Any) -> Any:
        """A function that makes the task with some parts changed. Unreachable parts are left
        out."""
        parts = {
            key: changed.get(key, getattr(self, key)) for key in ("A", "p", "omega", "mu", "gamma")
        }
        terminal = set(self.terminal)
        return lambda: POMDP.from_functions(
            name=self.name,
            A=parts["A"],
            p=lambda s, a: parts["p"][s, a],
            omega=parts["omega"].__getitem__,
            mu=parts["mu"],
            gamma=parts["gamma"],
            terminal=terminal.__contains__,
        )

    def simpler(self) -> Iterator[Any]:
        yield from self._without_a_state()
        if len(self.A) > 1:
            for a in self.A:
                yield self.built(A=[b for b in self.A if b != a])
        yield from self._merged_observations()
        yield from self._more_certain()
        yield from self._cheaper_numbers()

    def _without_a_state(self) -> Iterator[Any]:
        """What led to s leads to another state instead, or to the end."""
        alive = [s for s in self.omega if s not in self.terminal]
        for s in reversed(alive):
            for t in [*self.terminal, *(x for x in alive if x != s)]:
                p = {
                    key: _moved(row, lambda out, s=s, t=t: (t, out[1]) if out[0] == s else out)
                    for key, row in self.p.items()
                }
                mu = _moved(self.mu, lambda x, s=s, t=t: t if x == s else x)
                if not any(x in self.terminal for x in mu):
                    yield self.built(p=p, mu=mu)

    def _merged_observations(self) -> Iterator[Any]:
        seen = list(dict.fromkeys(o for row in self.omega.values() for o in row))
        for o, other in product(reversed(seen), seen):
            if o != other:
                moved = {
                    s: _moved(row, lambda x, o=o, t=other: t if x == o else x)
                    for s, row in self.omega.items()
                }
                yield self.built(omega=moved)

    def _more_certain(self) -> Iterator[Any]:
        """Simpler distributions: one outcome instead of several, equal chances, or a terminal state
        instead of another."""
        for key, row in self.p.items():
            for simpler in _simpler_rows(row):
                yield self.built(p={**self.p, key: simpler})
            for end in self.terminal[:1]:
                if any(t not in self.terminal for t, _ in row):
                    yield self.built(
                        p={**self.p, key: _moved(row, lambda out, end=end: (end, out[1]))}
                    )
        for s, emitted in self.omega.items():
            for simpler in _simpler_rows(emitted):
                yield self.built(omega={**self.omega, s: simpler})
        for simpler in _simpler_rows(self.mu):
            yield self.built(mu=simpler)

    def _cheaper_numbers(self) -> Iterator[Any]:
        values = tuple({r for row in self.p.values() for _, r in row})
        whole = lcm(*(r.denominator for r in values)) if values else 1
        divisor = gcd(*(int(r * whole) for r in values)) if values else 0
        if divisor:
            factor = Fraction(whole, divisor)
            yield self.built(
                p={
                    k: _moved(row, lambda out: (out[0], out[1] * factor))
                    for k, row in self.p.items()
                }
            )
        for key, row in self.p.items():
            for t, r in row:
                for y in cheaper(r, values):
                    changed = _moved(
                        row, lambda out, t=t, r=r, y=y: (t, y) if out == (t, r) else out
                    )
                    yield self.built(p={**self.p, key: changed})
        for gamma in (Fraction(1), Fraction(1, 2)) if self.terminal else (Fraction(1, 2),):
            if cost(gamma) < cost(self.gamma):
                yield self.built(gamma=gamma)


def _moved(row: dict[Any, Fraction], to: Any) -> dict[Any, Fraction]:
    """A distribution with its outcomes renamed. Those that become equal are added up."""
    found: dict[Any, Fraction] = {}
    for outcome, x in row.items():
        found[to(outcome)] = found.get(to(outcome), Fraction(0)) + x
    return found


def _simpler_rows(row: dict[Any, Fraction]) -> Iterator[dict[Any, Fraction]]:
    if len(row) > 1:
        for outcome in row:
            yield {outcome: Fraction(1)}
        if len(row) > 2:
            for left in row:
                kept = [x for x in row if x != left]
                yield dict.fromkeys(kept, Fraction(1, len(kept)))
        yield dict.fromkeys(row, Fraction(1, len(row)))
