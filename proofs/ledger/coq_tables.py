"""Tasks, memories, policies and their numbers as the tables of `proofs/coq/Tasks.v`."""

from __future__ import annotations

import re
from typing import Any

from proofs.ledger.coq_algebra import coq_list, coq_rational
from workbench.checker.expressions import Polynomial, Quotient
from workbench.checker.polynomials import ZERO
from workbench.checker.reader import CLASSES, CheckedTask, MemoryRule, PlainLabel
from workbench.checker.spoiled import Spoiled


class Numbered:
    """The labels of a task and its memory as the numbers that Coq sees."""

    def __init__(self, task: CheckedTask, memory: MemoryRule):
        self.s = {s: i for i, s in enumerate(task.omega)}
        self.o = {o: i for i, o in enumerate(task.O)}
        self.a = {a: i for i, a in enumerate(task.A)}
        self.w = {w: i for i, w in enumerate(memory.W)}
        self.kind = re.sub(r"\d+$", "", memory.name)
        self.size = int("".join(re.findall(r"\d+$", memory.name)) or 0)

    @property
    def memory(self) -> str:
        """The memory by its constructor in Coq."""
        if self.kind == "none":
            return "Nothing"
        if self.kind == "B":
            return f"(Words {2**self.size})"
        if self.kind == "B(k)":
            return f"(Words {len(CLASSES)})"
        must, pairs = self.kind in ("K", "window"), self.kind in ("OA", "window")
        return f"(Buffer {str(must).lower()} {str(pairs).lower()} {self.size})"

    def state(self, m: Any) -> str:
        """A memory state as a list of numbers."""
        if self.kind == "none":
            return "[]"
        if self.kind == "B":
            return f"[{int(m, 2)}]"
        if self.kind == "B(k)":
            return f"[{CLASSES.index(m)}]"
        cells = [self._cell(cell) for cell in m]
        return f"[{'; '.join(map(str, cells))}]"

    def _cell(self, cell: Any) -> int:
        if cell is None:
            return 0
        if self.kind in ("OA", "window"):
            o, a = cell
            return 1 + self.o[o] * len(self.a) + self.a[a]
        return 1 + self.o[cell]

    def row(self, o: PlainLabel) -> str:
        """What is seen, (m, o)."""
        return f"({self.state(o[0])}, {self.o[o[1]]})%nat"

    def action(self, a: PlainLabel) -> str:
        """What is done, (a, w)."""
        return f"({self.a[a[0]]}, {self.w[a[1]]})%nat"


class CoqTables:
    """A task, a memory and numbers, rational or polynomials in names, as terms of Coq."""

    def __init__(self, task: CheckedTask, memory: MemoryRule, names: list[str] | None):
        self.task, self.at, self.names = task, Numbered(task, memory), names

    def number(self, x: Any) -> str:
        """A rational number, or a polynomial as the list of its terms."""
        return coq_rational(x) if self.names is None else coq_terms(x, self.names)

    @property
    def tables(self) -> str:
        """The task."""
        task, at = self.task, self.at
        outcomes = coq_list(
            coq_list(
                coq_list(
                    f"({at.s[t]}%nat, {self.number(r)}, {self.number(x)})"
                    for (t, r), x in task.p[s, a].items()
                )
                for a in task.A
            )
            if s not in task.terminal
            else "[]"
            for s in task.omega
        )
        seen = coq_list(
            coq_list(f"({at.o[o]}%nat, {self.number(x)})" for o, x in row.items())
            for row in task.omega.values()
        )
        start = coq_list(f"({at.s[s]}%nat, {self.number(x)})" for s, x in task.mu.items())
        ends = coq_list("true" if s in task.terminal else "false" for s in task.omega)
        gamma = self.number(task.gamma)
        return f"Task {len(task.A)} {outcomes} {seen} {gamma} {start} {ends}"

    def rows(self, table: dict[Any, dict[Any, Any]]) -> str:
        """Numbers by row and action, such as a policy."""
        return coq_list(
            f"({self.at.row(o)}, "
            + coq_list(f"({self.at.action(a)}, {self.number(x)})" for a, x in row.items())
            + ")"
            for o, row in table.items()
        )


def as_polynomial(x: Any) -> Polynomial:
    """A number or a formula that divides by numbers only."""
    if isinstance(x, Quotient):
        below = x.den.terms.get((), ZERO)
        if x.den.names or not below:
            raise Spoiled("a formula divides by a name")
        return x.num * Polynomial.constant(1 / below)
    return Polynomial.of(x)


def coq_terms(x: Any, names: list[str]) -> str:
    """A polynomial as the list of its terms, in the order that `Polynomials.v` keeps.

    >>> from workbench.checker.reader import read_formula
    >>> coq_terms(read_formula("x*y/2 - 3"), ["x", "y"])
    '[((-3 # 1), []%nat); ((1 # 2), [1; 1]%nat)]'
    """
    terms = {}
    for e, c in as_polynomial(x).terms.items():
        powers = [dict(e).get(v, 0) for v in names]
        while powers and not powers[-1]:
            powers.pop()
        terms[tuple(powers)] = c
    return coq_list(
        f"({coq_rational(c)}, {coq_list(map(str, powers))}%nat)"
        for powers, c in sorted(terms.items())
    )
