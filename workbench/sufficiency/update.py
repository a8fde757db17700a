"""Memory-update functions f: M x O x A -> W, and whether they keep beliefs apart.

Written in labels and straight from Appendix A.2, without the belief graph and the searches, so that
what those find can be checked: along a history H = o_0, a_0, ..., o_t the memory is at m_0 ~ eta,
then at m_{i+1} ~ Gamma(. | m_i, f(m_i, o_i, a_i), o_i, a_i, r_i, o_{i+1}), and Omega_f(H) is the
set of all m_t that have a chance. Rewards are not part of H, so they range over all that the hidden
states allow; m and s are followed together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.agents.beliefs import Belief, require_rational
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.space import Label
from workbench.memories import Family, Memory, attach
from workbench.text import show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

Argument = tuple[Label, Label, Label]
Update = Mapping[Argument, Label] | Callable[[Label, Label, Label], Label]
"""f, as a mapping {(m, o, a): w} or as a function f(m, o, a)."""


@dataclass(frozen=True)
class Collision:
    """Two histories that end alike and differ in belief, and a memory state that both may lead
    to."""

    history_1: tuple[Label, ...]
    history_2: tuple[Label, ...]
    b_1: Belief
    b_2: Belief
    m: Label
    words: str = field(default="", compare=False, repr=False)
    """The memory state in the short form of its memory's labels."""

    def __str__(self) -> str:
        one, other = (", ".join(map(show, h)) for h in (self.history_1, self.history_2))
        return (
            f"the memory state {self.words or show(self.m)} possible after {one} and after "
            f"{other}, where the beliefs differ"
        )


@dataclass(frozen=True)
class Verification:
    """Whether one f satisfies Definition A.2: true if `collision` is None.

    Attributes
    ----------
    collision : two histories that f does not keep apart.
    arguments : the arguments (m, o, a) of f that occurred.
    """

    collision: Collision | None
    arguments: tuple[Argument, ...]

    def __bool__(self) -> bool:
        return self.collision is None


def verify_f(P: POMDP, memory: Memory | Family | str, f: Update) -> Verification:
    """Check one memory-update function against Definition A.2, on all histories.

    It ends, however many beliefs there are: every pair (m, o) may hold one belief, and a second one
    is a collision.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> bool(verify_f(P, "OA1", lambda m, o, a: "push"))
    True
    >>> print(verify_f(P, "O1", lambda m, o, a: "push").collision)
    the memory state o possible after o, 0, o and after o, 1, o, where the beliefs differ
    """
    require_rational(P)
    attached = attach(memory, P)
    first = _observed(P, P.mu)
    holder: dict[tuple[Label, Label], tuple[Belief, tuple[Label, ...]]] = {}
    arguments: dict[Argument, None] = {}
    steps: dict[tuple[Belief, Label], dict[Label, Belief]] = {}
    begin: list[tuple[tuple[Label, ...], Belief, Label, Label]]
    begin = [
        ((o,), b, s, m)
        for o, b in first.items()
        for s in b
        for m, x in attached.eta.items()
        if x != 0
    ]
    queue = deque(begin)
    seen = {(H[-1], b, s, m) for H, b, s, m in begin}
    while queue:
        H, b, s, m = queue.popleft()
        o = H[-1]
        held, earlier = holder.setdefault((m, o), (b, H))
        if held != b:
            return Verification(
                Collision(earlier, H, held, b, m, attached.M.text(m)), tuple(arguments)
            )
        for a in P.A:
            if (b, a) not in steps:
                steps[b, a] = _observed(P, _moved(P, b, a))
            for s_next, r, o_next in _outcomes(P, s, a):
                if s_next in P.terminal:
                    continue
                arguments[m, o, a] = None
                b_next = steps[b, a][o_next]
                for m_next in _written(attached, f, m, o, a, r, o_next):
                    reached = (o_next, b_next, s_next, m_next)
                    if reached not in seen:
                        seen.add(reached)
                        queue.append(((*H, a, o_next), b_next, s_next, m_next))
    return Verification(None, tuple(arguments))


def _outcomes(P: POMDP, s: Label, a: Label) -> Iterable[tuple[Label, Number, Label]]:
    """The triples (s', r, o') that are possible."""
    for (s_next, r), x in P.p(s, a).items():
        for o_next, y in P.omega(s_next).items():
            if x != 0 and y != 0:
                yield s_next, r, o_next


def _written(
    memory: Memory, f: Update, m: Label, o: Label, a: Label, r: Number, o_next: Label
) -> list[Label]:
    if callable(f):
        w = f(m, o, a)
    elif (m, o, a) in f:
        w = f[m, o, a]
    else:
        raise WorkbenchError(
            f"f says nothing about m={memory.M.text(m)}, o={show(o)}, a={show(a)}, which occurs"
        )
    return [m_next for m_next, x in memory.Gamma(m, w, o, a, r, o_next).items() if x != 0]


def _moved(P: POMDP, b: Belief, a: Label) -> dict[Label, Number]:
    """sum_s p(s'|s,a) b(s)."""
    found: dict[Label, Number] = {}
    for s, x in b.items():
        for (s_next, _), y in P.p(s, a).items():
            found[s_next] = found.get(s_next, 0) + x * y
    return found


def _observed(P: POMDP, weights: Mapping[Label, Number]) -> dict[Label, Belief]:
    """For each observation, normalise the weights times omega(o|s), but for terminal states."""
    found: dict[Label, dict[Label, Number]] = {}
    for s, x in weights.items():
        if s not in P.terminal:
            for o, y in P.omega(s).items():
                if x * y != 0:
                    found.setdefault(o, {})[s] = x * y
    return {
        o: Belief({s: x / sum(row.values()) for s, x in row.items()}) for o, row in found.items()
    }
