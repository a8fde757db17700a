"""Agent states of the literature as memories: what an agent keeps without choosing what to write.

| family | keeps | who |
|---|---|---|
| `clock(L)` | the time modulo L | Sinha, Geist and Mahajan 2024: periodic policies |
| `counter(n)` | the number of steps, at most n | |
| `F(n)` | the node of a controller, which the write names | Hansen 1998 |
| `window(k)` | the last k pairs (o, a): OA(k) that has to push | |
| `trace(lam)` | z' = lam z + (1 - lam) e_o, e_o the unit vector of o | Eberhard et al. 2025 |
| `belief()` | P(s \\| history), before the current observation | Kaelbling et al. 1998 |
| `function(f)` | whatever f makes of it | agent states in general: m' = f(m, o, a, r, o') |
| `reward_machine(...)` | the state of an automaton that reads events | Toro Icarte et al. 2018 |

M of the last four is discovered, so exact traces and beliefs are memories wherever they take
finitely many values; elsewhere they are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.agents.beliefs import Belief, BeliefDynamics, canonical_weights
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.families import BufferFamily, Family, Overwritten, Places, register
from workbench.core.memory import MOST_DISCOVERED, About, Memory, MemoryFamily
from workbench.core.numbers import Number
from workbench.core.space import Label, Space

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_SILENT = ("-",)
"""W of a memory that leaves nothing to choose."""

MOST_BELIEFS = 2_000
"""Beliefs that do not close have ever longer fractions: they are refused earlier than others."""

Update = Callable[[Label, Label, Label, Number, Label], Label]
"""f(m, o, a, r, o_next): what is kept next."""


@register
class F(Overwritten):
    """A finite-state controller with k nodes: the write names the next node."""

    kind = "F"
    about = About("F(n)", "", "{0, ..., n-1}", "the same", "m' = w: a controller of n nodes")

    def list_writes(self) -> Space:
        return Space(map(str, range(self.k)))


@register
class Window(BufferFamily):
    """The last k pairs (observation, action): OA(k) that has to push."""

    kind = "window"
    about = About("window(k)", "", "(O x A + empty)^k", "push", "always pushes (o, a)")
    writes = ("push",)
    pairs = True


@register
class Clock(Family):
    """The time modulo k: a policy that sees it may be periodic (Sinha, Geist and Mahajan 2024).

    >>> Clock(3), Clock(3).update(2, "-", "o", "a")
    (clock3, 0)
    """

    kind = "clock"
    about = About("clock(L)", "", "{0, ..., L-1}", "{-}", "m' = m + 1 modulo L")

    def states(self, O: Space, A: Space) -> Space:
        return Space(range(self.k))

    @property
    def start(self) -> Label:
        return 0

    def after(self, m: Any) -> Any:
        """m' of one m, or of an array of them."""
        return (m + 1) % self.k

    def update(self, m: Label, w: Label, o: Label, a: Label) -> Label:
        return self.after(m)

    def step_arrays(self, P: POMDP, m: Places, o: Places) -> Places:
        return np.broadcast_to(self.after(m)[:, None, None], (len(m), len(P.A), 1))


@register
class Counter(Clock):
    """The number of steps taken, which stays at k - 1 once it is there."""

    kind = "counter"
    about = About("counter(n)", "", "{0, ..., n-1}", "{-}", "m' = m + 1, at most n - 1")

    def after(self, m: Any) -> Any:
        return m + (m < self.k - 1)


def function(f: Update, start: Label = None, name: str = "function") -> MemoryFamily:
    """An agent state m' = f(m, o, a, r, o_next) from a given start. M is discovered.

    Parameters
    ----------
    f : what is kept next; any hashable value.
    start : what is kept at first.

    >>> function(lambda m, o, a, r, o_next: m or r > 0, start=False, name="won before")
    won before
    """
    if not callable(f):
        raise WrongType(f"an agent state needs a function f(m, o, a, r, o_next), not {f!r}")
    return _discovered(f, start, name, MOST_DISCOVERED)


def _discovered(
    f: Update, start: Label, name: str, limit: int, advice: str | None = None
) -> MemoryFamily:
    def Gamma(
        m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
    ) -> dict[Label, Number]:
        return {f(m, o, a, r, o_next): 1}

    told = {} if advice is None else {"advice": advice}
    return Memory.discovered(name, _SILENT, Gamma, {start: 1}, limit, **told)


def reward_machine(
    transitions: Mapping[tuple[Label, Hashable], Label],
    events: Callable[[Label, Label, Number, Label], Hashable],
    start: Label,
    name: str = "reward machine",
) -> MemoryFamily:
    """An automaton that reads events: u' = transitions[u, event], u where there is no such entry.

    Parameters
    ----------
    transitions : {(u, event): u_next}.
    events : `events(o, a, r, o_next)` names what happened.
    start : its first state.

    >>> machine = reward_machine(
    ...     {("closed", "pressed"): "open"},
    ...     lambda o, a, r, o_next: "pressed" if a == "press" else None,
    ...     "closed",
    ... )
    >>> machine
    reward machine
    """

    def f(u: Label, o: Label, a: Label, r: Number, o_next: Label) -> Label:
        return transitions.get((u, events(o, a, r, o_next)), u)

    return function(f, start, name)


@register
@dataclass(frozen=True, repr=False)
class Trace(MemoryFamily):
    """The exponential memory trace z' = lam z + (1 - lam) e_o, one number for each observation.

    Parameters
    ----------
    lam : how much of the old trace stays, in [0, 1), read as a rational number.
    precision : round to so many decimals, which makes finitely many; None for exact traces, which
        are finitely many only where episodes are bounded.
    limit : more traces than this are refused.

    >>> Trace(Fraction(2, 3)), Trace(Fraction(1, 2), precision=3)
    (trace2/3, trace1/2@3)
    """

    lam: Number
    precision: int | None = None
    limit: int = MOST_DISCOVERED

    kind = "trace"
    about = About("trace(lam)", "", "discovered", "{-}", "m' = lam m + (1 - lam) e_o")

    def __post_init__(self) -> None:
        lam = Fraction(str(self.lam)) if isinstance(self.lam, float) else Fraction(self.lam)
        if not 0 <= lam < 1:
            raise WorkbenchError(f"lam of a trace lies in [0, 1), not {self.lam}")
        if self.precision is not None and self.precision < 1:
            raise WorkbenchError(
                f"the precision of a trace is at least one decimal, not {self.precision}"
            )
        object.__setattr__(self, "lam", lam)

    @property
    def name(self) -> str:
        return f"trace{self.lam}" + ("" if self.precision is None else f"@{self.precision}")

    @classmethod
    def parse(cls, text: str) -> MemoryFamily | None:
        match = re.fullmatch(r"trace(\d+(?:/\d+|\.\d+)?)(?:@(\d+))?", text)
        if match is None:
            return None
        return cls(Fraction(match[1]), None if match[2] is None else int(match[2]))

    def on(self, P: POMDP) -> Memory:
        lam, precision = self.lam, self.precision

        @cache  # asked again for every a, r and o'
        def after(z: tuple[Fraction, ...], o: Label) -> tuple[Fraction, ...]:
            seen = P.O.index(o)
            exact = [lam * x + (i == seen) * (1 - lam) for i, x in enumerate(z)]
            return tuple(exact if precision is None else (round(x, precision) for x in exact))

        advice = f"round it, such as {Trace(lam, 2).name}" if precision is None else None
        start = (Fraction(0),) * len(P.O)
        return _discovered(
            lambda z, o, a, r, o_next: after(z, o), start, self.name, self.limit, advice
        ).on(P)


@register
@dataclass(frozen=True, repr=False)
class BeliefMemory(MemoryFamily):
    """The belief about the state, before the current observation: with that, b(H).

    Parameters
    ----------
    depth : follow the history for so many steps and keep the last belief after that, which makes
        finitely many; None for ever. With a depth, memory states are pairs (steps, belief).
    limit : more beliefs than this are refused.
    """

    depth: int | None = None
    limit: int = MOST_BELIEFS

    kind = "belief"
    about = About("belief", "", "discovered", "{-}", "the belief about the state")

    def __post_init__(self) -> None:
        if self.depth is not None:
            Clock(self.depth)  # a size like any other

    @property
    def name(self) -> str:
        return "belief" if self.depth is None else f"belief{self.depth}"

    @classmethod
    def parse(cls, text: str) -> MemoryFamily | None:
        match = re.fullmatch(r"belief([1-9]\d{0,2})?", text)
        return None if match is None else cls(None if match[1] is None else int(match[1]))

    def on(self, P: POMDP) -> Memory:
        depth, dynamics = self.depth, BeliefDynamics(P)
        inside: dict[Belief, Any] = {}

        def labelled(weights: Mapping[int, int]) -> Belief:
            total = sum(weights.values())
            b = Belief({P.S[s]: Fraction(w, total) for s, w in sorted(weights.items())})
            inside[b] = canonical_weights(weights)
            return b

        @cache  # asked again for every r and o'
        def after(b: Belief, o: Label, a: Label) -> Belief:
            seen = dynamics.observed(dict(inside[b]), P.O.index(o))
            moved = dynamics.moved(canonical_weights(seen), P.A.index(a))
            # Nothing goes on: what is kept then is never looked at.
            return labelled(moved) if moved else b

        def f(m: Label, o: Label, a: Label, r: Number, o_next: Label) -> Label:
            if depth is None:
                return after(m, o, a)
            t, b = m
            return (t + 1, after(b, o, a)) if t < depth else m

        start = labelled(dynamics.mu)
        advice = "keep the first few alone, such as belief3" if depth is None else None
        first = start if depth is None else (0, start)
        return _discovered(f, first, self.name, self.limit, advice).on(P)
