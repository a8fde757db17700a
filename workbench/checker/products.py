"""Tasks as dictionaries, their products with a memory, and values along a segment of policies:
arithmetic in Fractions alone.

The memories are those of Definitions 4.3, 4.4, A.3 and A.4. Along x pi + (1-x) goal the
probabilities are polynomials in x, and the values and visits

    v = r_pi + gamma P_pi v          d = mu + P_pi^T d

are N/D and C/D' with determinants D and D' (elimination without fractions, Bareiss). For a row o
with visits

    (q(o, b) - q(o, a)) (visits of o) D D'  =  sum_s C(s) omega(o|s) [ (R(s,b) - R(s,a)) D + gamma
    sum (p_b - p_a) N ]

has the sign of q(o, b) - q(o, a) where D and D' are positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.polynomials import (
    ONE,
    ZERO,
    Polynomial,
    Spoiled,
    at,
    eliminated,
    plus,
    positive,
    times,
    trimmed,
)

Label = Any
Place = tuple[Label, Label, Label]
Rows = dict[Label, dict[Label, Fraction]]


def decode(value: Any) -> Label:
    """A label from JSON: {"tuple": [...]} is a tuple."""
    return tuple(decode(part) for part in value["tuple"]) if isinstance(value, dict) else value


# ---------------------------------------------------------------------- the task and its product
# with a memory


@dataclass(frozen=True)
class Task:
    """A POMDP as dictionaries."""

    A: list[Label]
    mu: dict[Label, Fraction]
    p: dict[tuple[Label, Label], dict[tuple[Label, Fraction], Fraction]]
    omega: dict[Label, dict[Label, Fraction]]
    terminal: set[Label]
    gamma: Fraction


def read_task(data: dict[str, Any]) -> Task:
    """The task of a certificate; rows that are no distributions are refused."""
    task = Task(
        A=[decode(a) for a in data["actions"]],
        mu={decode(s): Fraction(x) for s, x in data["mu"]},
        p={
            (decode(s), decode(a)): {(decode(t), Fraction(r)): Fraction(x) for t, r, x in row}
            for s, a, row in data["p"]
        },
        omega={decode(s): {decode(o): Fraction(x) for o, x in row} for s, row in data["omega"]},
        terminal={decode(s) for s in data["terminal"]},
        gamma=Fraction(data["gamma"]),
    )
    for row in [task.mu, *task.p.values(), *task.omega.values()]:
        if sum(row.values()) != 1 or min(row.values()) < 0:
            raise Spoiled("the task has a row that is no distribution")
    if not 0 <= task.gamma <= 1:
        raise Spoiled(f"the discount {task.gamma} does not lie in [0, 1]")
    return task


def writes_and_update(
    name: str,
) -> tuple[Label, list[Label], Callable[[Label, Label, Label, Label], Label]]:
    """Where a memory starts, its writes from low to high, and m' = f(m, w, o, a)."""
    if name == "none":
        return "-", ["-"], lambda m, w, o, a: m
    kind, k = name.rstrip("0123456789"), int(name.lstrip("BKOA"))
    if k < 1 or kind not in ("B", "K", "O", "OA"):
        raise Spoiled(f"{name!r} is not one of the paper's memories")
    if kind == "B":
        words = ["".join(bits) for bits in product("01", repeat=k)]
        return words[0], words, lambda m, w, o, a: w

    def after(m: Label, w: Label, o: Label, a: Label) -> Label:
        return m if w == "keep" else (*m[1:], (o, a) if kind == "OA" else o)

    return (None,) * k, ["push"] if kind == "K" else ["keep", "push"], after


class Product:
    """The places (s, m, o) that can be reached, and where each action leads from them."""

    def __init__(self, task: Task, memory: str):
        self.task = task
        m, self.W, update = writes_and_update(memory)
        self.actions = list(product(task.A, self.W))
        self.start: dict[Place, Fraction] = {}
        for s, x in task.mu.items():
            for o, y in task.omega[s].items():
                if x * y and s not in task.terminal:
                    self.start[s, m, o] = x * y
        self.steps: dict[tuple[Place, Label], dict[Place, Fraction]] = {}
        self.R: dict[tuple[Place, Label], Fraction] = {}
        self.places: list[Place] = []
        self._visit(list(self.start), update)
        self.rows = list(dict.fromkeys((m, o) for _, m, o in self.places))

    def _visit(
        self, waiting: list[Place], update: Callable[[Label, Label, Label, Label], Label]
    ) -> None:
        task, seen = self.task, set(waiting)
        while waiting:
            place = waiting.pop(0)
            self.places.append(place)
            s, m, o = place
            for a, w in self.actions:
                m_next, onward, reward = update(m, w, o, a), dict[Place, Fraction](), ZERO
                for (s_next, r), x in task.p[s, a].items():
                    reward += x * r
                    for o_next, y in (
                        task.omega[s_next].items() if s_next not in task.terminal else ()
                    ):
                        if x * y:
                            onward[s_next, m_next, o_next] = (
                                onward.get((s_next, m_next, o_next), ZERO) + x * y
                            )
                self.steps[place, (a, w)], self.R[place, (a, w)] = onward, reward
                waiting += [there for there in onward if there not in seen]
                seen.update(onward)

    def order(self, ties: str) -> list[Label]:
        """Actions as greedy prefers them among equals: the write first (the higher one if "last"),
        then the lower action."""
        writes = {"last": self.W[::-1], "first": self.W}[ties]
        return [(a, w) for w in writes for a in self.task.A]


# ---------------------------------------------------------------------- values along a segment


class Segment:
    """x pi + (1-x) goal: its visits C/D and values N/D as polynomials in x."""

    def __init__(self, E: Product, pi: Rows, goal: Rows):
        self.E = E
        places, index = E.places, {place: i for i, place in enumerate(E.places)}
        acts = {
            o: {
                a: trimmed([goal[o].get(a, ZERO), pi[o].get(a, ZERO) - goal[o].get(a, ZERO)])
                for a in E.actions
            }
            for o in E.rows
        }
        n = len(places)
        forth: list[dict[int, Polynomial]] = [{i: [ONE]} for i in range(n)]
        back: list[dict[int, Polynomial]] = [{i: [ONE]} for i in range(n)]
        right: list[Polynomial] = [[] for _ in range(n)]
        for i, place in enumerate(places):
            for a, x in acts[place[1:]].items():
                if not x:
                    continue
                right[i] = plus(right[i], x, E.R[place, a])
                for there, y in E.steps[place, a].items():
                    j = index[there]
                    forth[i][j] = plus(forth[i].get(j, []), x, -y * E.task.gamma)
                    back[j][i] = plus(back[j].get(i, []), x, -y)
        # places come in the order in which they are met: from the end, a task without loops needs
        # no elimination
        turn = list(range(n))[::-1]
        self.N, self.D = _in_turn(forth, right, turn)
        starts = [trimmed([E.start.get(place, ZERO)]) for place in places]
        self.C, self.D_visits = _in_turn(back, starts, list(range(n)))
        self.index = index

    def value(self, x: Fraction) -> Fraction:
        """The return at a point."""
        total = sum(
            (y * at(self.N[self.index[place]], x) for place, y in self.E.start.items()), ZERO
        )
        return total / at(self.D, x)

    def visits(self, o: Label) -> Polynomial:
        """Of a row, times the determinant."""
        total: Polynomial = []
        for place, c in zip(self.E.places, self.C, strict=True):
            if place[1:] == o:
                total = plus(total, c)
        return total

    def difference(self, o: Label, best: Label, other: Label) -> Polynomial:
        """The polynomial with the sign of q(o, best) - q(o, other), given that both determinants
        are positive."""
        E = self.E
        total: Polynomial = []
        for place, c in zip(E.places, self.C, strict=True):
            if place[1:] != o or not c:
                continue
            part = times(self.D, trimmed([E.R[place, best] - E.R[place, other]]))
            for a, sign in ((best, ONE), (other, -ONE)):
                for there, y in E.steps[place, a].items():
                    part = plus(part, self.N[self.index[there]], sign * y * E.task.gamma)
            total = plus(total, times(c, part))
        return total


def _in_turn(
    matrix: list[dict[int, Polynomial]], right: list[Polynomial], turn: list[int]
) -> tuple[list[Polynomial], Polynomial]:
    """`eliminated` with rows and columns in another order."""
    place = {i: k for k, i in enumerate(turn)}
    solved, D = eliminated(
        [{place[j]: x for j, x in matrix[i].items()} for i in turn], [right[i] for i in turn]
    )
    return [solved[place[i]] for i in range(len(turn))], D


def checked_segment(E: Product, pi: Rows, goal: Rows, low: Fraction) -> Segment:
    """The segment, if every policy on it from x = 1 down to `low` ends with probability one."""
    segment = Segment(E, pi, goal)
    for D in (segment.D, segment.D_visits):
        if not positive(D, low, strict=True):
            raise Spoiled("values or visits have no definite sign on the way")
    return segment


def worth(E: Product, pi: Rows) -> Fraction:
    """The return of a policy."""
    for row in pi.values():
        if sum(row.values()) != 1 or min(row.values()) < 0:
            raise Spoiled("a policy has a row that is no distribution")
    full = {o: pi.get(o, {}) for o in E.rows}
    if any(not row for row in full.values()):
        raise Spoiled("a policy is silent on a row")
    return Segment(E, full, full).value(ONE)
