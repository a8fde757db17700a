"""The rank of the system dynamics matrix: the size of the smallest linear predictive state
representation. (Littman, Sutton and Singh 2001; Singh, James and Rudary 2004.)

Rows are histories, columns are tests a_1 o_1 ... a_k o_k, entries P(test | history). With
M_{ao}[s,s'] = p(s'|s,a) omega(o|s'), histories span the smallest space that holds the mu(.)
omega(o_0|.) and is closed under v -> v M_{ao}, tests the smallest that holds the vector of ones and
is closed under u -> M_{ao} u; the rank is that of the products of the two. Terminal states are left
out: a test says what is seen while the episode goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial

from workbench.agents.beliefs import require_rational
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.core.space import Label

MOST_STATES = 200
"""Of a task whose rank is computed."""

LabelVector = dict[Label, Fraction]


def states_that_go_on(P: POMDP) -> list[Label]:
    """The states that can be reached and are not terminal, in the order of S."""
    reached = {s for s in P.mu if P.mu[s] != 0}
    waiting = [s for s in P.S if s in reached]
    for s in waiting:  # grows while we walk
        if s in P.terminal:
            continue
        for a in P.A:
            for (t, _), x in P.p(s, a).items():
                if x != 0 and t not in reached:
                    reached.add(t)
                    waiting.append(t)
    return [s for s in P.S if s in reached and s not in P.terminal]


class Span:
    """A linear space of rational vectors, grown one vector at a time. Its rows are in echelon
    form."""

    def __init__(self) -> None:
        self.rows: dict[Label, LabelVector] = {}
        self.given: list[LabelVector] = []

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, v: LabelVector) -> bool:
        """Add a vector to the span. Returns whether it was outside before."""
        rest = {s: x for s, x in v.items() if x != 0}
        for lead, row in self.rows.items():
            if (x := rest.get(lead, Fraction(0))) != 0:
                for s, y in row.items():
                    left = rest.get(s, Fraction(0)) - x * y
                    if left:
                        rest[s] = left
                    else:
                        rest.pop(s, None)
        if not rest:
            return False
        lead = next(iter(rest))
        top = rest[lead]
        self.rows[lead] = {s: x / top for s, x in rest.items()}
        self.given.append(v)
        return True


def dynamics_rank(P: POMDP) -> int:
    """The rank of the system dynamics matrix: the size of the smallest linear PSR.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="coin",
    ...     A=["toss"],
    ...     p=lambda s, a: {(t, 0): Fraction(1, 2) for t in "ht"},
    ...     omega=lambda s: {s: 1},
    ...     mu={"h": 1},
    ...     gamma=Fraction(1, 2),
    ... )
    >>> dynamics_rank(P)
    1
    """
    require_rational(P)
    S = states_that_go_on(P)
    if len(S) > MOST_STATES:
        raise TooLarge(f"{P.name} has {len(S):,} states; ranks are computed up to {MOST_STATES}")
    steps = _steps(P, S)
    histories, tests = Span(), Span()
    first: dict[Label, LabelVector] = {}
    for s in S:
        for o, y in P.omega(s).items():
            first.setdefault(o, {})[s] = P.mu[s] * y
    _close(histories, first.values(), [partial(_forward, step=m) for m in steps])
    _close(tests, [dict.fromkeys(S, Fraction(1))], [partial(_backward, step=m) for m in steps])
    products = Span()
    for v in histories.given:
        products.add(
            {
                i: sum((x * u.get(s, 0) for s, x in v.items()), Fraction(0))
                for i, u in enumerate(tests.given)
            }
        )
    return len(products)


StepLaw = dict[tuple[Label, Label], Fraction]
"""M_{ao} without its zeros."""


def _steps(P: POMDP, S: Sequence[Label]) -> list[StepLaw]:
    going = set(S)
    found: dict[tuple[Label, Label], StepLaw] = {}
    for s in S:
        for a in P.A:
            for (t, _), x in P.p(s, a).items():
                if t in going:
                    for o, y in P.omega(t).items():
                        step = found.setdefault((a, o), {})
                        step[s, t] = step.get((s, t), Fraction(0)) + x * y
    return list(found.values())


def _close(
    span: Span, start: Iterable[LabelVector], maps: Sequence[Callable[[LabelVector], LabelVector]]
) -> None:
    waiting = [v for v in start if span.add(v)]
    for v in waiting:  # grows while we walk
        waiting += [w for f in maps if span.add(w := f(v))]


def _forward(v: LabelVector, step: StepLaw) -> LabelVector:
    found: LabelVector = {}
    for (s, t), x in step.items():
        if s in v:
            found[t] = found.get(t, Fraction(0)) + v[s] * x
    return found


def _backward(u: LabelVector, step: StepLaw) -> LabelVector:
    found: LabelVector = {}
    for (s, t), x in step.items():
        if t in u:
            found[s] = found.get(s, Fraction(0)) + x * u[t]
    return found
