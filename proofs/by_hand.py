"""Values by walking through episodes: the second way, which shares no code with the evaluator.

A task is read into plain dictionaries of labels and Fractions, from a POMDP or from the JSON of a
certificate. A memory <M, W, Gamma, eta> is carried along beside the task, so the compiled product
of Appendix A.1 is not used either. Then

    value      the expected return, action by action and outcome by outcome
    weight     sum over all ways to come to (s, m, o) at step t of their probability, times gamma^t if discounted
    q(o', a')  the mean over those (s, m, o) that look like o' = (m, o) of the return after a' = (a, w)

by recursion over episodes, which must be finite. Slow and obvious; without a memory o' is o and a'
is a.

>>> from pomdps import recall4
>>> q, value = by_hand(task_of(recall4()), "B1", lambda o, a: Fraction(1, 8))
>>> value, q[("0", "o"), (1, "1")]
(Fraction(-41, 64), Fraction(7, 24))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from proofs.certificates import decode

Label = Any
Pair = tuple[Label, Label]
Rows = dict[Label, dict[Label, Any]]


@dataclass(frozen=True)
class Task:
    """A POMDP as dictionaries."""

    A: list[Label]
    O: list[Label]
    mu: dict[Label, Any]
    p: dict[Pair, dict[Pair, Any]]
    omega: dict[Label, dict[Label, Any]]
    terminal: set[Label]
    gamma: Any


@dataclass(frozen=True)
class Recorder:
    """A memory: where it starts, what may be written, and what a write does."""

    start: Label
    W: list[Label]
    after: Callable[[Label, Label, Label, Label], Label]


def task_of(P: Any) -> Task:
    """The dictionaries of a POMDP of the workbench."""
    alive = [s for s in P.S if s not in P.terminal]
    return Task(
        A=list(P.A),
        O=list(P.O),
        mu=dict(P.mu.items()),
        p={(s, a): P.p(s, a) for s in alive for a in P.A},
        omega={s: P.omega(s) for s in P.S},
        terminal=set(P.terminal),
        gamma=P.gamma,
    )


def task_from_json(data: dict[str, Any], number: Callable[[str], Any] = Fraction) -> Task:
    """The dictionaries of a model written by `certificates.model_json`; `number` reads its
    numbers."""
    omega = {decode(s): {decode(o): number(x) for o, x in row} for s, row in data["omega"]}
    return Task(
        A=[decode(a) for a in data["actions"]],
        O=sorted({o for row in omega.values() for o in row}, key=str),
        mu={decode(s): number(x) for s, x in data["mu"]},
        p={
            (decode(s), decode(a)): {(decode(t), number(r)): number(x) for t, r, x in row}
            for s, a, row in data["p"]
        },
        omega=omega,
        terminal={decode(s) for s in data["terminal"]},
        gamma=number(data["gamma"]),
    )


def recorder(name: str) -> Recorder | None:
    """The memory of a name such as "B2", "O1" or "OA1", from Definitions 4.3, 4.4, A.3 and A.4;
    None for "none"."""
    if name == "none":
        return None
    kind, k = name.rstrip("0123456789"), int(name.lstrip("BKOA"))
    if kind == "B":
        words = ["".join(bits) for bits in product("01", repeat=k)]
        return Recorder(words[0], words, lambda m, w, o, a: w)
    writes = ["push"] if kind == "K" else ["keep", "push"]

    def after(m: Label, w: Label, o: Label, a: Label) -> Label:
        return m if w == "keep" else (*m[1:], (o, a) if kind == "OA" else o)

    return Recorder((None,) * k, writes, after)


class _Walk:
    """All episodes of a task with a memory under a policy pi(o', a')."""

    def __init__(self, task: Task, memory: Recorder | None, pi: Callable[[Label, Label], Any]):
        self.task, self.memory, self.pi = task, memory, pi
        self.actions = list(product(task.A, memory.W)) if memory else list(task.A)
        self.known: dict[Any, Any] = {}

    def seen(self, m: Label, o: Label) -> Label:
        return (m, o) if self.memory else o

    def starts(self) -> Iterator[tuple[Any, tuple[Label, Label, Label]]]:
        m = self.memory.start if self.memory else None
        for s, x in self.task.mu.items():
            for o, y in self.task.omega[s].items():
                yield x * y, (s, m, o)

    def steps(
        self, place: tuple[Label, Label, Label], action: Label
    ) -> Iterator[tuple[Any, Any, tuple[Label, Label, Label]]]:
        """Probability, reward and next place of each outcome."""
        s, m, o = place
        a, w = action if self.memory else (action, None)
        m_next = self.memory.after(m, w, o, a) if self.memory else None
        for (s_next, r), x in self.task.p[s, a].items():
            for o_next, y in self.task.omega[s_next].items():
                yield x * y, r, (s_next, m_next, o_next)

    def after(self, place: tuple[Label, Label, Label], action: Label) -> Any:
        """The expected return of an action taken at a place."""
        if (place, action) not in self.known:
            total = Fraction(0)
            for x, r, place_next in self.steps(place, action):
                total = total + x * (r + self.task.gamma * self.worth(place_next))
            self.known[place, action] = total
        return self.known[place, action]

    def worth(self, place: tuple[Label, Label, Label]) -> Any:
        if place[0] in self.task.terminal:
            return Fraction(0)
        if place not in self.known:
            total = Fraction(0)
            for action in self.actions:
                if (x := self.pi(self.seen(*place[1:]), action)) != 0:
                    total = total + x * self.after(place, action)
            self.known[place] = total
        return self.known[place]

    def weights(self, discounted: bool) -> dict[tuple[Label, Label, Label], Any]:
        """For each place the sum over the ways to come there of their probability."""
        total: dict[tuple[Label, Label, Label], Any] = {}
        now: dict[tuple[Label, Label, Label], Any] = {}
        for x, place in self.starts():
            now[place] = now.get(place, Fraction(0)) + x
        while now:
            later: dict[tuple[Label, Label, Label], Any] = {}
            for place, x in now.items():
                if place[0] in self.task.terminal:
                    continue
                total[place] = total.get(place, Fraction(0)) + x
                for action in self.actions:
                    y = self.pi(self.seen(*place[1:]), action)
                    if y == 0:
                        continue
                    for z, _, place_next in self.steps(place, action):
                        on = x * y * z * (self.task.gamma if discounted else 1)
                        later[place_next] = later.get(place_next, Fraction(0)) + on
            now = later
        return total


def by_hand(
    task: Task, memory: str, pi: Callable[[Label, Label], Any], discounted: bool = False
) -> tuple[dict[Pair, Any], Any]:
    """q(o', a') at every observation that is seen, and the expected return.

    Parameters
    ----------
    memory : "none" or a name such as "B2" or "OA1".
    pi : `pi(o, a)` is the probability of a; in a task with a memory o is (m, o) and a is (a, w).
    discounted : weigh the states behind an observation by discounted visits instead of visits.
    """
    walk = _Walk(task, recorder(memory), pi)
    weights = walk.weights(discounted)
    together: dict[Label, Any] = {}
    for (_, m, o), x in weights.items():
        o_seen = walk.seen(m, o)
        together[o_seen] = together.get(o_seen, Fraction(0)) + x
    q: dict[Pair, Any] = {(o, a): Fraction(0) for o in together for a in walk.actions}
    for place, x in weights.items():
        o_seen = walk.seen(*place[1:])
        for action in walk.actions:
            q[o_seen, action] = q[o_seen, action] + x / together[o_seen] * walk.after(place, action)
    value = sum((x * walk.worth(place) for x, place in walk.starts()), Fraction(0))
    return q, value


def greedy_by_hand(q: dict[Pair, Any], memory: str, ties: str = "last") -> dict[Label, Label]:
    """The action that is best at each observation that has q-values.

    Among equals the higher write wins, then the lower action (`ties="first"`: the lower write, then
    the lower action). Actions and writes rank by their order in q.
    """
    actions = list(dict.fromkeys(a for _, a in q))
    if memory != "none":
        writes = list(dict.fromkeys(w for _, w in actions))
        rank = writes[::-1] if ties == "last" else writes
        actions.sort(key=lambda action: rank.index(action[1]))  # stable: actions keep their order
    best: dict[Label, Label] = {}
    for o in dict.fromkeys(o for o, _ in q):
        top = max(q[o, a] for a in actions)
        best[o] = next(a for a in actions if q[o, a] == top)
    return best


def rows(pi: Any) -> Rows:
    """A policy of the workbench as dictionaries."""
    return {o: {a: pi[o, a] for a in pi.A} for o in pi.O}


def looked_up(table: Rows) -> Callable[[Label, Label], Any]:
    """The function `pi(o, a)` of a table of rows; actions that are not named have probability 0."""
    return lambda o, a: table[o].get(a, Fraction(0))
