"""Agent states of the literature as memories: what an agent keeps without choosing what to write.

| family | keeps | who |
|---|---|---|
| `clock(L)` | the time modulo L | Sinha, Geist and Mahajan 2024: periodic policies |
| `counter(n)` | the number of steps, at most n | |
| `trace(lam)` | z' = lam z + (1 - lam) e_o, e_o the unit vector of o | Eberhard et al. 2025 |
| `belief_memory()` | P(s \\| history), before the current observation | Kaelbling et al. 1998 |
| `function(f)` | whatever f makes of it | agent states in general: m' = f(m, o, a, r, o') |
| `reward_machine(...)` | the state of an automaton that reads events | Toro Icarte et al. 2018 |

None has a write to choose: W = {-}. M of the last four is discovered, so exact traces and beliefs
are memories wherever they take finitely many values; elsewhere they are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.memory import MOST_DISCOVERED, Memory, MemoryFamily
from workbench.core.numbers import Number
from workbench.core.space import Label

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_SILENT = ("-",)
"""W of a memory that leaves nothing to choose."""

MOST_BELIEFS = 2_000
"""Beliefs that do not close have ever longer fractions: they are refused earlier than others."""

Update = Callable[[Label, Label, Label, Number, Label], Label]
"""f(m, o, a, r, o_next): what is kept next."""


@dataclass(frozen=True, eq=False, repr=False)
class AgentState(MemoryFamily):
    """A memory family given by its name and by how it is made for a POMDP."""

    called: str
    make: Callable[[POMDP], Memory]

    @property
    def name(self) -> str:
        return self.called

    def on(self, P: POMDP) -> Memory:
        return self.make(P)


def clock(L: int) -> AgentState:
    """The time modulo L: a policy that sees it may be periodic with period L.

    >>> clock(3), clock(3).on(None).M
    (clock3, {0, 1, 2} (3))
    """
    return _counting("clock", _positive("clock", L), lambda m, n: (m + 1) % n)


def counter(n: int) -> AgentState:
    """The number of steps taken, which stays at n - 1 once it is there: n memory states."""
    return _counting("counter", _positive("counter", n), lambda m, n: min(m + 1, n - 1))


def _positive(kind: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int):
        raise WrongType(f"the size of a {kind} is a positive integer, not {n!r}")
    if n < 1:
        raise WorkbenchError(f"the size of a {kind} must be at least 1, not {n}")
    return n


def _counting(kind: str, n: int, after: Callable[[int, int], int]) -> AgentState:
    def Gamma(m: Label, w: Label, *_: Any) -> dict[Label, Number]:
        return {after(m, n): 1}

    memory = Memory(f"{kind}{n}", range(n), _SILENT, Gamma, {0: 1})
    return AgentState(memory.name, lambda P: memory)


def function(
    f: Update,
    start: Label = None,
    name: str = "function",
    limit: int = MOST_DISCOVERED,
    advice: str | None = None,
) -> AgentState:
    """An agent state m' = f(m, o, a, r, o_next) from a given start; M is discovered.

    Parameters
    ----------
    f : what is kept next; any hashable value.
    start : what is kept at first.
    limit : more different values than this are refused.
    advice : what the refusal proposes; to give a larger limit if None.

    >>> function(lambda m, o, a, r, o_next: m or r > 0, start=False, name="won before")
    won before
    """
    if not callable(f):
        raise WrongType(f"an agent state needs a function f(m, o, a, r, o_next), not {f!r}")

    def Gamma(
        m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
    ) -> dict[Label, Number]:
        return {f(m, o, a, r, o_next): 1}

    found = Memory.discovered(name, _SILENT, Gamma, {start: 1}, limit, advice)
    return AgentState(name, found.on)


def trace(lam: Number, precision: int | None = None, limit: int = MOST_DISCOVERED) -> AgentState:
    """The exponential memory trace z' = lam z + (1 - lam) e_o, one number for each observation.

    Parameters
    ----------
    lam : how much of the old trace stays, in [0, 1), read as a rational number.
    precision : round to so many decimals, which makes finitely many; None for exact traces, which
        are finitely many only where episodes are bounded.

    >>> trace(Fraction(2, 3)), trace(Fraction(1, 2), precision=3)
    (trace2/3, trace1/2@3)
    """
    share = Fraction(lam) if not isinstance(lam, float) else Fraction(str(lam))
    if not 0 <= share < 1:
        raise WorkbenchError(f"lam of a trace lies in [0, 1), not {lam}")
    if precision is not None and precision < 1:
        raise WorkbenchError(f"the precision of a trace is at least one decimal, not {precision}")
    name = _traced(share, precision)

    def make(P: POMDP) -> Memory:
        def kept(z: Fraction) -> Fraction:
            return z if precision is None else round(z, precision)

        @cache  # asked again for every a, r and o'
        def after(z: tuple[Fraction, ...], o: Label) -> tuple[Fraction, ...]:
            seen = P.O.index(o)
            return tuple(kept(share * x + (i == seen) * (1 - share)) for i, x in enumerate(z))

        def f(z: Label, o: Label, a: Label, r: Number, o_next: Label) -> Label:
            return after(z, o)

        start = (Fraction(0),) * len(P.O)
        advice = f"round it, such as {_traced(share, 2)}" if precision is None else None
        return function(f, start, name, limit, advice).on(P)

    return AgentState(name, make)


def _traced(share: Fraction, precision: int | None) -> str:
    """The name of a trace, which `parse_memory` reads."""
    return f"trace{share}" + ("" if precision is None else f"@{precision}")


def belief_memory(depth: int | None = None, limit: int = MOST_BELIEFS) -> AgentState:
    """The belief about the state, before the current observation: with that, b(H).

    Parameters
    ----------
    depth : follow the history for so many steps and keep the last belief after that, which makes
        finitely many; None for ever. With a depth, memory states are pairs (steps, belief).
    """
    if depth is not None:
        _positive("belief's depth", depth)
    name = "belief" if depth is None else f"belief{depth}"

    def make(P: POMDP) -> Memory:
        from workbench.model.beliefs import Belief, BeliefDynamics, canonical_weights

        dynamics = BeliefDynamics(P, ended=False)

        def labelled(weights: Mapping[int, int]) -> Belief:
            total = sum(weights.values())
            b = Belief({P.S[s]: Fraction(w, total) for s, w in sorted(weights.items())})
            inside[b] = canonical_weights(weights)
            return b

        inside: dict[Belief, Any] = {}
        start = labelled(dynamics.mu)

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

        first = start if depth is None else (0, start)
        advice = f"keep the first few alone, such as {name}3" if depth is None else None
        return function(f, first, name, limit, advice).on(P)

    return AgentState(name, make)


def reward_machine(
    transitions: Mapping[tuple[Label, Hashable], Label],
    events: Callable[[Label, Label, Number, Label], Hashable],
    start: Label,
    name: str = "reward machine",
) -> AgentState:
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
