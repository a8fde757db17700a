"""Certificates about what a policy is worth as theorems of Coq.

The task, the memory and the policy are written down as rational numbers. The theorem says what the
policy is worth by the definitions of `Model.v`; its proof hands `Check.v` a value and a bound on
the steps that are left for each place that the policy comes to, and lets it compute.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from workbench.checker.place_graph import PlaceGraph, PolicyValues
from workbench.checker.reader import (
    CheckedTask,
    MemoryRule,
    read_fraction,
    read_memory,
    read_policy,
    read_task,
)


class Numbered:
    """The labels of a task and its memory as the numbers that Coq sees."""

    def __init__(self, task: CheckedTask, memory: MemoryRule):
        self.s = {s: i for i, s in enumerate(task.omega)}
        self.o = {o: i for i, o in enumerate(task.O)}
        self.a = {a: i for i, a in enumerate(task.A)}
        self.w = {w: i for i, w in enumerate(memory.W)}
        self.kind = re.sub(r"\d+$", "", memory.name)
        self.size = int(re.findall(r"\d+$", memory.name)[0]) if memory.name != "none" else 0

    @property
    def memory(self) -> str:
        """The memory by its constructor in Coq."""
        if self.kind == "none":
            return "Nothing"
        if self.kind == "B":
            return f"(Words {2**self.size})"
        must, pairs = self.kind in ("K", "window"), self.kind in ("OA", "window")
        return f"(Buffer {str(must).lower()} {str(pairs).lower()} {self.size})"

    def state(self, m: Any) -> str:
        """A memory state as a list of numbers."""
        if self.kind == "none":
            return "[]"
        if self.kind == "B":
            return f"[{int(m, 2)}]"
        cells = [self._cell(cell) for cell in m]
        return f"[{'; '.join(map(str, cells))}]"

    def _cell(self, cell: Any) -> int:
        if cell is None:
            return 0
        if self.kind in ("OA", "window"):
            o, a = cell
            return 1 + self.o[o] * len(self.a) + self.a[a]
        return 1 + self.o[cell]


def _q(x: Fraction) -> str:
    return f"({x.numerator} # {x.denominator})"


def _listed(parts: Any) -> str:
    return f"[{'; '.join(parts)}]"


def value_theorem(certificate: dict[str, Any], name: str) -> str:
    """What a policy is worth, if all numbers are rational."""
    task = read_task(certificate["model"], read_fraction)
    memory = read_memory(certificate["memory"])
    rows = read_policy(certificate["policy"], task, memory, read_fraction)
    value = read_fraction(certificate["value"])
    at = Numbered(task, memory)
    values = PolicyValues(PlaceGraph(task, memory, rows, aside=False)).v
    # the mean number of steps that are left bounds how slowly episodes end
    ones = {key: _paid(row) for key, row in task.p.items()}
    lengths = PolicyValues(PlaceGraph(replace(task, p=ones), memory, rows, aside=False)).v
    places = _listed(
        f"(({at.s[s]}, {at.state(m)}, {at.o[o]})%nat, ({_q(x)}, {_q(lengths[s, m, o])}))"
        for (s, m, o), x in values.items()
    )
    policy = _listed(
        f"(({at.state(m)}, {at.o[o]})%nat, "
        + _listed(f"(({at.a[a]}, {at.w[w]})%nat, {_q(x)})" for (a, w), x in row.items())
        + ")"
        for (m, o), row in rows.items()
    )
    return (
        f"Definition t_{name} : qtask := {_task(task, at)}.\n"
        f"Definition p_{name} : qrows := {policy}.\n"
        f"Theorem {name} : is_value (P := product t_{name} {at.memory}) "
        f"(to_policy t_{name} {at.memory} p_{name}) (Q2R {_q(value)}).\n"
        f"Proof. apply (check_value_right t_{name} {at.memory} p_{name} {places}). "
        "vm_compute. reflexivity. Qed.\n"
    )


def _paid(row: dict[Any, Fraction]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = {}
    for (s, _), x in row.items():
        found[s, Fraction(1)] = found.get((s, Fraction(1)), Fraction(0)) + x
    return found


def _task(task: CheckedTask, at: Numbered) -> str:
    outcomes = _listed(
        _listed(
            _listed(f"({at.s[t]}%nat, {_q(r)}, {_q(x)})" for (t, r), x in task.p[s, a].items())
            for a in task.A
        )
        if s not in task.terminal
        else "[]"
        for s in task.omega
    )
    seen = _listed(
        _listed(f"({at.o[o]}%nat, {_q(x)})" for o, x in row.items()) for row in task.omega.values()
    )
    start = _listed(f"({at.s[s]}%nat, {_q(x)})" for s, x in task.mu.items())
    ends = _listed("true" if s in task.terminal else "false" for s in task.omega)
    return f"QTask {len(task.A)} {outcomes} {seen} {_q(task.gamma)} {start} {ends}"


HEAD = """From Coq Require Import Reals QArith Qreals List.
From Remembering Require Import Sums Model TwoSteps Check.
Import ListNotations.
Open Scope Q_scope.
"""
