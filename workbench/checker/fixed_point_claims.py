"""Re-checking at which greedy policies a learner can settle.

fixed-points     every greedy policy of a task with a memory is either listed as a fixed point, or
                 refuted by a pair (o, a)

For a greedy policy g the behaviour takes g's action with probability 1 - epsilon + epsilon / |A|
and every other one with epsilon / |A|. Its visits d = mu + P^T d weigh the places behind each row,

    q(o, a) = sum P(place|o) [ R + gamma sum p v(o') ],
    v(o) = q(o, g(o)) for Q-learning,  sum_a b(a|o) q(o, a) for Sarsa(0)

and g is a fixed point if no q(o, a) exceeds q(o, g(o)). A policy is written as a number: the place
of its action in the list of actions is a digit, the first row's first.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, Self

from workbench.checker.place_graph import MemoryPlace, PlaceGraph, last_first, solved, worth
from workbench.checker.polynomials import ZERO
from workbench.checker.reader import (
    MemoryRule,
    NumberReader,
    PlainLabel,
    count,
    done_label,
    field,
    read_entries,
    read_fraction,
    read_label,
    read_memory,
    read_task,
    seen_label,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

MOST_GREEDY_POLICIES = 100_000


GreedyActions = tuple[int, ...]
"""A greedy policy: the place of its action, row by row."""


class GreedyTables:
    """The greedy policies of a task with a memory, and the tables that they lead to."""

    def __init__(
        self,
        E: PlaceGraph,
        memory: MemoryRule,
        rows: list[PlainLabel],
        actions: list[PlainLabel],
        learner: str,
        epsilon: Any,
    ):
        self.E, self.memory, self.rows, self.actions = E, memory, rows, actions
        self.learner, self.greedy_target, self.epsilon = learner, learner == "Q-learning", epsilon
        index = {place: i for i, place in enumerate(E.places)}
        forth: list[dict[int, Any]] = [{} for _ in E.places]
        for place in E.places:
            for a in actions:
                for there in E.steps[place, a]:
                    forth[index[place]][index[there]] = Fraction(1)
        # every behaviour takes every action: one order of the places serves all
        turn = last_first(forth)
        self.turn = None if turn is None else turn[::-1]
        self.index = index
        self.number_of = {o: i for i, o in enumerate(rows)}
        self.behind: dict[PlainLabel, list[MemoryPlace]] = {o: [] for o in rows}
        for place in E.places:
            self.behind[place[1:]].append(place)

    @classmethod
    def read(cls, certificate: dict[str, Any], number: NumberReader = read_fraction) -> Self:
        """Read the task, the memory, the learner and the names of rows and actions. Numbers,
        epsilon among them, are read with `number`."""
        task = read_task(field(certificate, "model", dict), number)
        memory = read_memory(field(certificate, "memory"))
        if memory.name == "B(k)":
            raise Spoiled("fixed points are about one memory, not about all B(k)")
        learner = field(certificate, "learner", str)
        if learner not in ("Q-learning", "Sarsa(0)"):
            raise Spoiled(f"unknown learner {learner!r}")
        epsilon = number(field(certificate, "epsilon"))
        if isinstance(epsilon, Fraction) and not 0 < epsilon <= 1:
            raise Spoiled(f"epsilon {epsilon} does not lie in (0, 1]")
        E = PlaceGraph(task, memory)
        rows = [seen_label(task, memory, read_label(o)) for o in field(certificate, "rows", list)]
        actions = [
            done_label(task, memory, read_label(a)) for a in field(certificate, "actions", list)
        ]
        for what, named, there in (("rows", rows, E.rows), ("actions", actions, E.actions)):
            if len(named) != len(there) or set(named) != set(there):
                raise Spoiled(f"the {what} are not those that the task has")
        return cls(E, memory, rows, actions, learner, epsilon)

    def action_values(self, g: GreedyActions) -> Callable[[int, int], Any]:
        """The q-values of the greedy policy with actions g[row], computed when asked for. Two of
        many entries refute a policy."""
        E, n, epsilon, gamma = self.E, len(self.actions), self.epsilon, self.E.task.gamma
        share = epsilon / n
        shares = [[share + (1 - epsilon if j == d else 0) for j in range(n)] for d in g]
        weights = self._weights(shares)

        @cache
        def step(i: int, j: int) -> tuple[Any, dict[int, Any]]:
            """Reward, and probabilities of the rows that follow, of action j in row i."""
            a = self.actions[j]
            reward: Any = ZERO
            after: dict[int, Any] = {}
            for place, weight in weights[i]:
                reward += weight * E.R[place, a]
                for there, y in E.steps[place, a].items():
                    k = self.number_of[there[1:]]
                    after[k] = after.get(k, ZERO) + weight * y
            return reward, after

        matrix: list[dict[int, Any]] = []
        right: list[Any] = []
        for i, d in enumerate(g):
            row: dict[int, Any] = {}
            total: Any = ZERO
            for j, x in ((d, Fraction(1)),) if self.greedy_target else enumerate(shares[i]):
                reward, after = step(i, j)
                total += x * reward
                for k, y in after.items():
                    row[k] = row.get(k, ZERO) + gamma * x * y
            matrix.append(row)
            right.append(total)
        v = solved(matrix, right, None)

        def q(i: int, j: int) -> Any:
            reward, after = step(i, j)
            return reward + gamma * sum((y * v[k] for k, y in after.items()), ZERO)

        return q

    def _weights(self, shares: list[list[Any]]) -> list[list[tuple[MemoryPlace, Any]]]:
        """The places behind each row, with their shares of its visits. The behaviour takes actions
        with the given shares, row by row."""
        E = self.E
        back: list[dict[int, Any]] = [{} for _ in E.places]
        for i, place in enumerate(E.places):
            for a, x in zip(self.actions, shares[self.number_of[place[1:]]], strict=True):
                for there, y in E.steps[place, a].items():
                    j = self.index[there]
                    back[j][i] = back[j].get(i, ZERO) + x * y
        visits = solved(back, [E.start.get(place, ZERO) for place in E.places], self.turn)
        found = []
        for o in self.rows:
            total = sum((visits[self.index[place]] for place in self.behind[o]), ZERO)
            found.append([(place, visits[self.index[place]] / total) for place in self.behind[o]])
        return found


def check_fixed_point(cells: GreedyTables, g: GreedyActions, strict: Any, value: Fraction) -> None:
    """Check that g is a fixed point: greedy on the values learned under g, with the given value."""
    if not isinstance(strict, bool):
        raise Spoiled("a fixed point is strict or not")
    q, n = cells.action_values(g), len(cells.actions)
    others = [q(i, d) - q(i, j) for i, d in enumerate(g) for j in range(n) if j != d]
    if any(x < 0 for x in others):
        raise Spoiled(f"policy {list(g)} is no fixed point")
    if strict != all(x > 0 for x in others):
        raise Spoiled(f"policy {list(g)} is{'' if strict else ' not'} said to be strict")
    pi = {o: {cells.actions[d]: Fraction(1)} for o, d in zip(cells.rows, g, strict=True)}
    if worth(cells.E, pi) != value:
        raise Spoiled(f"policy {list(g)} is not worth {value}")


def check_refuted(cells: GreedyTables, g: GreedyActions, row: Any, action: Any) -> None:
    """In this row that action is better than g's on the table that g leads to."""
    i, j = count(row, 0, len(cells.rows) - 1), count(action, 0, len(cells.actions) - 1)
    q = cells.action_values(g)
    if not q(i, j) > q(i, g[i]):
        raise Spoiled(f"policy {list(g)} is not refuted by row {i}, action {j}")


def told_values(fixed: list[tuple[bool, Any]]) -> str:
    """What the fixed points are worth, in words."""
    if not fixed:
        return "no fixed point"
    times: dict[str, int] = {}
    for strict, value in fixed:
        shown = f"{value} ({'strict' if strict else 'tied'})"
        times[shown] = times.get(shown, 0) + 1
    values = [f"{shown} {n:,} times" if n > 1 else shown for shown, n in times.items()]
    return f"fixed points worth {', '.join(values)}"


def check_fixed_points(certificate: dict[str, Any]) -> str:
    """Every greedy policy is a fixed point that is listed, or is refuted by a pair (o, a)."""
    cells = GreedyTables.read(certificate)
    rows, base = len(cells.rows), len(cells.actions)
    total = base**rows
    if total > MOST_GREEDY_POLICIES:
        raise Spoiled(f"{total:,} greedy policies are more than {MOST_GREEDY_POLICIES:,}")
    seen: set[int] = set()
    fixed = []
    for g, strict, shown in read_entries(field(certificate, "fixed", list), 3, "fixed"):
        note_policy(count(g, 0, total - 1), seen)
        value = read_fraction(shown)
        check_fixed_point(cells, greedy_policy(g, rows, base), strict, value)
        fixed.append((strict, value))
    for g, row, action in read_entries(field(certificate, "refuted", list), 3, "refuted"):
        note_policy(count(g, 0, total - 1), seen)
        check_refuted(cells, greedy_policy(g, rows, base), row, action)
    if len(seen) < total:
        raise Spoiled(f"{total - len(seen):,} of {total:,} greedy policies are not spoken of")
    return (
        f"{cells.learner} with epsilon {cells.epsilon} on "
        f"{shown_task(cells.E.task, cells.memory)}: {told_values(fixed)}, among {total:,} greedy "
        "policies"
    )


def note_policy(g: int, seen: set[int]) -> None:
    """Add the number of a policy to those that were treated. Twice is refused."""
    if g in seen:
        raise Spoiled(f"policy {g} is spoken of twice")
    seen.add(g)


def greedy_policy(g: int, rows: int, base: int) -> GreedyActions:
    """The greedy policy of a number, its digits in base |A|.

    >>> greedy_policy(7, rows=3, base=2)
    (1, 1, 1)
    """
    found = []
    for _ in range(rows):
        g, digit = divmod(g, base)
        found.append(digit)
    return tuple(found)
