"""What the yardsticks return: a value, what is certain about it, and how it was found."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.chain import reached_rows
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.controller import HistoryPolicy
from workbench.tables.sheet import Column, Drawn, Sheet, Showing, WrittenNumber
from workbench.text import brief, shown

BOUND_COLUMNS = (
    Column("no more than", "no policy of this kind is worth more"),
    Column("gap", "how far the two are apart", right=True),
    Column("how"),
)


def bound_cells(bound: Number, gap: Number) -> tuple[Number | WrittenNumber, str]:
    """Table cells of a bound and of its distance from the value. An infinite bound says nothing."""
    if math.isinf(float(bound)):
        return WrittenNumber(bound, "no bound"), "-"
    return bound, "none" if gap == 0 else f"{float(gap):.2g}"


@dataclass(frozen=True, eq=False)
class HistoryOptimum(Showing, Drawn):
    """The best history-based value, or bounds on it.

    Attributes
    ----------
    value : the optimum where it is known; otherwise the lower bound, a value that some policy
        surely reaches.
    lower, upper : what is certain; upper is infinite where floats certify no bound, and both are
        where values are unbounded.
    exact : whether value is the optimum exactly, a Fraction.
    beliefs : how many pairs (o, b) can be reached; None if not all were listed.
    how : how it was found, in words.
    policy : a finite controller worth at least `lower`, the optimum where that is known; None if
        values are unbounded or nothing was found.
    criterion : what value and bounds are: "return", or "average" reward.
    """

    P: POMDP
    value: Number
    lower: Number
    upper: Number
    exact: bool
    beliefs: int | None
    how: str
    seconds: float
    interrupted: bool = False
    policy: HistoryPolicy | None = None
    criterion: str = "return"

    @classmethod
    def between(
        cls,
        P: POMDP,
        lower: float,
        upper: float,
        how: str,
        began: float,
        policy: HistoryPolicy | None,
        **more: Any,
    ) -> HistoryOptimum:
        """What bounds tell of a search that began at a time (`time.monotonic`)."""
        seconds = time.monotonic() - began
        return cls(P, lower, lower, upper, False, None, how, seconds, policy=policy, **more)

    @property
    def gap(self) -> Number:
        """The distance of the bounds, and 0 where values are unbounded."""
        return 0.0 if self.lower == self.upper == math.inf else self.upper - self.lower

    @property
    def figure(self) -> str:  # type: ignore[override]
        """Values over beliefs where two or three states look alike, else the graph of beliefs."""
        looks = (
            sum(o in self.P.omega(s) for s in self.P.S if s not in self.P.terminal)
            for o in self.P.O
        )
        planar = any(n in (2, 3) for n in looks)
        return "belief_values" if planar and self.policy is not None else "belief_graph"

    def drawn_from(self) -> tuple[Any, ...]:
        return (self.policy if self.figure == "belief_values" else self.P,)

    @property
    def _is_open(self) -> bool:
        """Whether something is certain from below only: an infinite bound is no number."""
        return math.isinf(float(self.upper)) and not math.isinf(float(self.lower))

    def sheet(self) -> Sheet:
        """The value, its bound and how they were found, as one row."""
        what = "average reward" if self.criterion == "average" else "value"
        columns = (Column(what, "what the best policy found is worth"), *BOUND_COLUMNS)
        row = (self.lower, *bound_cells(self.upper, self.gap), self.how)
        worth = brief(self.value) if self.exact else f"{brief(self.lower)} to {brief(self.upper)}"
        if self._is_open:
            worth = f"{brief(self.lower)} or more"
        said = f"The best policy of the whole history is worth {worth}."
        return Sheet(f"Best policy of the history on {self.P.name}", columns, (row,), said)

    def __repr__(self) -> str:
        kind = "average reward" if self.criterion == "average" else "value"
        what = f"best history-based {kind} of {self.P.name}: "
        if self.exact:
            return f"{what}{shown(self.value, digits=9)} ({self.how})"
        if self._is_open:
            return f"{what}{float(self.lower):.9g} or more, without an upper bound ({self.how})"
        return (
            f"{what}{float(self.lower):.9g} to {float(self.upper):.9g}, gap "
            f"{float(self.gap):.1e} ({self.how})"
        )


@dataclass(frozen=True, eq=False)
class MemorylessOptimum(Showing, Drawn):
    """The best memoryless policy that was found, and how good any could be.

    Attributes
    ----------
    policy, value : the policy and its expected return, a Fraction if the search was exact; a float
        has its bound in `evaluate(P, policy).error`.
    bound, gap : no policy of the kind is worth more than `bound`; gap = bound - value.
    certified : whether the policy is optimal for sure: no policy is better, which is decided in
        rationals where floats cannot tell; in large tasks, and in stochastic searches, by more than
        `tolerance`.
    tolerance : the gap that counts as none: what rounding explains, as long as that is less than
        every reward of the task.
    nodes : partial policies bounded by the search.
    how : how it was found and what it certifies, in words.
    criterion : what value and bound are: "return", or "average" reward.
    """

    figure: ClassVar[str] = "policy_table"

    P: POMDP
    policy: Policy
    value: Number
    bound: Number
    gap: Number
    certified: bool
    tolerance: float
    nodes: int
    how: str
    seconds: float
    interrupted: bool = False
    criterion: str = "return"

    kind: ClassVar[str] = "deterministic"
    """Of the policies among which it is the best."""

    def sheet(self) -> Sheet:
        """The value, its bound and how they were found, as one row. The policy below."""
        what = "average reward" if self.criterion == "average" else "value"
        columns = (Column(what, "what the best policy found is worth"), *BOUND_COLUMNS)
        row = (self.value, *bound_cells(self.bound, self.gap), self.how)
        kind = f"{self.kind} memoryless policy"
        said = f"The best {kind} is worth {brief(self.value)}"
        if not self.certified:
            said = f"Some {kind} is worth {brief(self.value)}"
            said += (
                f", and none more than {brief(self.bound)}"
                if self.bound < math.inf
                else " or more; no upper bound is known"
            )
        lines = self.policy.lines(reached_rows(self.P, self.policy))
        policy = f"The policy ({self.policy.legend}): {'; '.join(lines)}."
        return Sheet(f"Best {kind} of {self.P.name}", columns, (row,), f"{said}.", (policy,))

    def __repr__(self) -> str:
        value = shown(self.value, digits=9)
        gap = f"{float(self.gap):.1e}"
        if self.certified:
            sure = f"certified to be optimal within {gap}" if self.gap else "certified optimal"
        else:
            sure = "without an upper bound"
            if self.bound < math.inf:
                sure = f"bound {float(self.bound):.9g}, gap {gap}"
        what = f"best {self.kind} memoryless policy of {self.P.name}"
        worth = "average reward" if self.criterion == "average" else "value"
        return f"{what}: {worth} {value}, {sure} ({self.how})"
