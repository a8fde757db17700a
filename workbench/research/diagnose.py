"""What theory says about an agent state z = (m, o), number by number, with the true gap beside it.

| question | of | where |
|---|---|---|
| what is lost | <P, memory> | V* - the best value of a memoryless policy |
| is Q* uniform on z | <P, memory> | `information_state` (Majeed and Hutter) |
| is z an (approximate) information state | <P, memory> | `information_state` (Subramanian et al.) |
| does z determine the state | <P, memory> | no two states behind one z |
| does TD(0) agree with Monte Carlo | <P, memory> | `lambda_discrepancy` (Allen et al.) |
| how long a window determines the state | P | `theories` (Efroni et al.) |
| how much an observation tells | P | `theories` (Golowich et al.) |
| how fast the filter forgets | P | `theories` (Kara and Yueksel) |
| how large a linear PSR is | P | `theories` (Littman, Sutton and Singh) |

Bounds are on what a memoryless policy of <P, memory> loses against V*; each must be at least the
true loss, and usually says much less. Numbers are exact. What cannot be had exactly is bounded or
left out (None), never guessed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import sympy

from workbench.agents.beliefs import BeliefGraph, explore_beliefs
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, NotExact, TooLarge
from workbench.core.fields import FLOATS
from workbench.core.numbers import Number
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.td import td_values
from workbench.evaluation.discrepancy import lambda_discrepancy
from workbench.memories import Memory, MemoryFamily, attach
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.cap import reads_rewards
from workbench.optima.mdp import from_states, in_rationals, size_of_values
from workbench.optima.optimum import MemorylessOptimum
from workbench.plain_numbers import LEAST_SECONDS, deadline
from workbench.progress import TimeOver, check_time, ends_in
from workbench.research.information_state import (
    InformationState,
    Uniformity,
    facts_of_beliefs,
    facts_of_states,
    information_state,
    uniformity,
)
from workbench.research.theories import (
    READING,
    decodable_after,
    dynamics_rank,
    filter_rate,
    observability,
    window_bound,
)
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import brief, counted, shown

MAX_BELIEFS = 2_000
_MOST_SYMBOLS = 8
"""Free probabilities of a policy up to which an identity in it is proved by algebra."""

_NEARLY = 1e-9
"""Bounds this close, as a share of the size of rewards and values, are shown as one number."""

_DRAWS = 4
"""Random policies at which a discrepancy is looked for."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, eq=False)
class Diagnosis(Showing, Drawn):
    """What theory says about z = (m, o) on a task.

    Attributes
    ----------
    P, memory : the task in rationals, and the memory.
    states_behind : the most states of P behind one z; z determines the state if it is 1.
    lower, upper : bounds on V*, the best history-based value of <P, memory>; equal where it is
        known exactly.
    best : the best deterministic memoryless policy of <P, memory>; None if none ends.
    uniformity : Q* on z; None if the beliefs are not finitely many.
    information : z as an approximate information state; None if the time did not suffice.
    discrepancy : the largest |q_TD(0) - q_MC| under the uniform policy; None if it is not defined.
    discrepancy_always_zero : whether it is zero for every policy; None if that is not decided.
    decodable_after, observability, filter_rate, window_bound, rank : of P, as in the module's text;
        None where they are not defined or too large to compute. `decodable_after` is None as well
        if no window is long enough.
    late : the figures, by name, that are None because the time did not suffice.
    from_decimals : whether the task was given in floats: every yes and no is about their decimals.

    `plot` draws the values that TD(lambda) has under the uniform policy: the discrepancy is the
    difference between their two ends.
    """

    figure = "lambda_sweep"

    P: POMDP
    memory: Memory
    states_behind: int
    lower: Number
    upper: Number
    best: MemorylessOptimum | None
    uniformity: Uniformity | None
    information: InformationState | None
    discrepancy: Number | None
    discrepancy_always_zero: bool | None
    decodable_after: int | None
    observability: Fraction | None
    filter_rate: Number | None
    window_bound: Number | None
    rank: int | None
    late: frozenset[str] = frozenset()
    from_decimals: bool = False

    def drawn_from(self) -> tuple[Any, ...]:
        return self.P, self.memory

    @property
    def gap(self) -> tuple[Number, Number] | None:
        """Bounds on V* minus the best deterministic memoryless value. None if no search ends."""
        if self.best is None:
            return None
        return max(self.lower - self.best.bound, 0), self.upper - self.best.value

    def sheet(self) -> Sheet:
        """The questions of the module's text, a row each, with what theory and truth answer."""
        most = "a theorem says that the best policy of (m, o) loses no more"
        columns = (
            Column("question", "m is what the memory holds, o what is seen"),
            Column("answer"),
            Column(
                "loss by theory",
                f"{most} (says nothing: larger than any loss; no bound: it gives none here)",
                True,
            ),
            Column(
                "true loss",
                "what (m, o) costs; in row [2] the loss of the policy that the theorem builds",
                True,
            ),
        )
        title = f"What {self.memory.name} keeps on {self.P.name}"
        return Sheet(title, columns, tuple(self._rows()), self._conclusion(), tuple(self._notes()))

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        gap = "none ends" if self.gap is None else self._range(*self.gap)
        value = self._range(self.lower, self.upper)
        yield "Value of the best policy of the history", value, "", ""
        most = None if self.best is None else min(self.best.bound, self.upper)
        best = "none ends" if self.best is None else self._range(self.best.value, most)
        yield "Value of the best policy of (m, o)", best, "", gap
        u = self.uniformity
        same = "Same best q-values for all histories that end in (m, o)? [1]"
        if u is None:
            yield same, self._in_time("uniformity", "unknown: too many beliefs"), "", gap
        else:
            differ = f"they differ by up to {shown(u.spread)}"
            yield same, _yes(u.holds, differ), self._loss(u.bound), gap
        predicts = "(m, o) predicts reward and next (m, o)? [2]"
        if (i := self.information) is None:
            yield predicts, self._in_time("information", ""), "", ""
        else:
            most = "" if i.exact else "at most "
            off = f"{most}{shown(i.eps)} off in rewards, {shown(i.delta)} in probabilities"
            worth = i.value
            loss = "-" if worth is None else self._range(self.lower - worth, self.upper - worth)
            yield predicts, _yes(i.holds, off), self._loss(i.bound), loss
        behind = _yes(self.states_behind == 1, f"up to {counted(self.states_behind, 'state')}")
        yield "(m, o) tells the state?", behind, "", ""
        agree = self._in_time("discrepancy", _yes_if_zero(self.discrepancy))
        yield "TD(0) = Monte Carlo, uniform policy? [3]", agree, "", ""
        always = {True: "yes, identically", False: "no", None: "not decided"}
        yield "TD(0) = Monte Carlo, every policy? [3]", always[self.discrepancy_always_zero], "", ""
        windows = self.decodable_after
        steps = "no number does" if windows is None else counted(windows, "step")
        steps = self._in_time("decodable_after", steps)
        yield "How many recent steps tell the state [4]", steps, "", ""
        tell = "How much an observation tells, 0 (may tell nothing) to 1 (the state) [5]"
        yield tell, self._in_time("observability", shown(self.observability)), "", ""
        bound = self._loss(self.window_bound) if self.window_bound is not None else ""
        fade = "Factor by which the error of a wrong belief shrinks with each step [6]"
        fades = "no bound" if self.filter_rate is None else shown(self.filter_rate)
        if self.filter_rate is not None and self.filter_rate >= 1:
            fades += " (it need not shrink)"
        yield fade, self._in_time("filter_rate", fades), bound, gap if bound else ""
        rank = self._in_time("rank", shown(self.rank))
        yield "How many numbers predict all that follows [7]", rank, "", ""

    def _in_time(self, name: str, text: str) -> str:
        return "not computed in time" if name in self.late else text

    def _conclusion(self) -> str:
        if self.gap is None:
            return "No deterministic policy of (m, o) ends with probability one."
        loss = self._range(*self.gap)
        if loss == "0":
            return "Nothing is lost: some policy of (m, o) is as good as any of the history."
        best = self._range(self.lower, self.upper)
        return f"The best policy of (m, o) loses {loss} of the {best} that the history allows."

    def _notes(self) -> Iterator[str]:
        """Whose theorems these are, how floats are read, and which theorems are used in a reading
        of ours."""
        yield (
            "[1] Majeed and Hutter 2018; [2] approximate information states, Subramanian et al. "
            "2022; [3] lambda discrepancy, Allen et al. 2024; [4] decodability, Efroni et al. 2022"
            "; [5] observability, Golowich et al. 2022; [6] filter stability, Kara and Yueksel 2022"
            "; [7] rank of a predictive state representation, Littman et al. 2001."
        )
        if self.from_decimals:
            yield "Floats are read as the decimals that they are printed as."
        if self.window_bound is not None:
            yield f"{READING[0].upper()}{READING[1:]}."

    def _loss(self, bound: Number | None) -> str:
        """A bound on the loss. One beyond the range of all values says nothing."""
        if bound is None:
            return "no bound"
        if float(bound) >= 2 * self._size:
            return "says nothing"
        return f"<= {shown(bound)}"

    def __repr__(self) -> str:
        gap = "no policy ends" if self.gap is None else f"gap {self._range(*self.gap)}"
        return f"diagnosis of {self.P.name} with {self.memory.name}: {gap}"

    def _range(self, lower: Number, upper: Number) -> str:
        """A number if its bounds are nearly equal, for a task with such rewards and values."""
        noise = _NEARLY * self._size
        close = abs(upper - lower) <= noise
        return (
            shown(upper, longest=8, noise=noise) if close else f"{brief(lower)} to {brief(upper)}"
        )

    @cached_property
    def _size(self) -> float:
        return size_of_values(from_states(self.P, FLOATS))


def _yes(holds: bool, otherwise: str) -> str:
    return "yes" if holds else f"no: {otherwise}"


def _yes_if_zero(x: Number | None) -> str:
    return "not defined" if x is None else _yes(x == 0, f"off by {shown(x)}")


# ---------------------------------------------------------------------- the question


def diagnose(
    P: POMDP,
    memory: Memory | MemoryFamily | str = "none",
    *,
    max_beliefs: int = MAX_BELIEFS,
    max_seconds: float = 10.0,
) -> Diagnosis:
    """What theory says about the agent state (m, o) of a task with a memory.

    Parameters
    ----------
    P : the task; floats are read as the decimals that they print as.
    memory : a `Memory`, a family such as `memories.K(2)`, or its name.
    max_beliefs : with more, beliefs count as too many to list.
    max_seconds : a third for listing beliefs, parts of the rest for the best policies. Figures that
        are not computed then are left out.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]]).with_gamma(Fraction(1, 2))
    >>> diagnose(P), diagnose(P, "window1")
    (diagnosis of sequence task with none: gap 1/2, diagnosis of sequence task with window1: gap 0)

    See also: `can_encode_optimal`, `equilibria`, `shortcuts`.
    """
    P.require_all_actions("diagnose")
    task = in_rationals(P)
    if task is None:
        raise NotExact(
            f"{P.name} is no model of exact numbers once its floats are read as decimals"
        )
    attached = attach(memory, task)
    E = augment(task, attached)
    until = deadline(max_seconds)
    late: set[str] = set()

    def in_time(name: str, compute: Callable[[], _Found | None]) -> _Found | None:
        """One of the figures. None if the time is over before it is computed."""
        try:
            with ends_in(until - time.monotonic()):
                check_time()
                return compute()
        except TimeOver:
            check_time()  # a limit around all of this
            late.add(name)
            return None

    graph = explore_beliefs(E, max_beliefs, until=until - 2 / 3 * max_seconds)
    uniform_q = in_time("uniformity", lambda: uniformity(graph)) if graph.complete else None
    if uniform_q is not None:
        lower = upper = uniform_q.best
    else:
        # (m, o) is a function of history and chance, unless the memory reads rewards.
        source = E if reads_rewards(task, attached) else task
        seconds = max((until - time.monotonic()) / 3, LEAST_SECONDS)
        history = best_history(source, max_beliefs=max_beliefs, max_seconds=seconds)
        lower, upper = history.lower, history.upper
    best = _best(E, max((until - time.monotonic()) / 2, LEAST_SECONDS))
    rate = in_time("filter_rate", lambda: filter_rate(task))
    window = _window(attached)
    return Diagnosis(
        P=task,
        memory=attached,
        states_behind=_states_behind(E),
        lower=lower,
        upper=upper,
        best=best,
        uniformity=uniform_q,
        information=in_time("information", lambda: _information(E, graph)),
        discrepancy=in_time("discrepancy", lambda: _discrepancy(E)),
        discrepancy_always_zero=in_time("discrepancy_always_zero", lambda: has_no_discrepancy(E)),
        decodable_after=in_time("decodable_after", lambda: decodable_after(task)),
        observability=in_time("observability", lambda: _unless_too_large(observability, task)),
        filter_rate=rate,
        window_bound=None if rate is None or window is None else window_bound(task, rate, window),
        rank=in_time("rank", lambda: _unless_too_large(dynamics_rank, task)),
        late=frozenset(late),
        from_decimals=not P.is_exact,
    )


def _information(E: POMDP, graph: BeliefGraph) -> InformationState:
    facts = facts_of_beliefs(graph) if graph.complete else facts_of_states(E)
    return information_state(E, facts, graph.complete)


def _best(E: POMDP, seconds: float) -> MemorylessOptimum | None:
    try:
        return best_memoryless(E, exact=True, max_seconds=seconds)
    except TooLarge:  # for fractions
        return best_memoryless(E, exact=False, max_seconds=seconds)
    except NeverEnds:
        return None


def _unless_too_large(compute: Callable[[POMDP], _Found], P: POMDP) -> _Found | None:
    try:
        return compute(P)
    except TooLarge:
        return None


def _states_behind(E: POMDP) -> int:
    behind: dict[Label, set[Label]] = {}
    for label in E.S:
        if label not in E.terminal:
            s, m, o = label
            behind.setdefault((m, o), set()).add(s)
    return max(map(len, behind.values()), default=0)


def _window(memory: Memory) -> int | None:
    """N of a window of pairs (o, a): the theorem is about these, and none is a window of 0."""
    if memory.name == "none":
        return 0
    digits = memory.name.removeprefix("window")
    return int(digits) if memory.name.startswith("window") and digits.isdigit() else None


def _weights(E: POMDP) -> str:
    return "visits" if len(E.terminal) else "discounted"


def _discrepancy(E: POMDP) -> Number | None:
    try:
        found: Number = lambda_discrepancy(
            E, uniform(E), norm=np.inf, exact=True, weights=_weights(E)
        )
        return found
    except NeverEnds:
        return None


def has_no_discrepancy(E: POMDP) -> bool | None:
    """Whether TD(0) and Monte Carlo agree for every policy, or None if that is not decided.

    One policy at which they differ refutes it. That they agree as rational functions of the
    policy's probabilities proves it, where those are few.
    """
    try:
        rng = np.random.default_rng(0)
        for _ in range(_DRAWS):
            rows = rng.integers(1, 10, (len(E.O), len(E.A)))
            pi = Policy(
                E, np.array([[Fraction(int(x), int(row.sum())) for x in row] for row in rows])
            )
            if lambda_discrepancy(E, pi, norm=np.inf, exact=True, weights=_weights(E)) != 0:
                return False
        free = int(E.decides.sum()) * (len(E.A) - 1)
        return _agrees(E) if free <= _MOST_SYMBOLS else None
    except NeverEnds:
        return None


def _agrees(E: POMDP) -> bool:
    """Whether q_TD(0) = q_MC as rational functions of the policy."""
    rows: dict[Label, dict[Label, Number]] = {}
    for i, o in enumerate(E.O):
        if E.decides[i]:
            free = [sympy.Symbol(f"x{i}_{j}") for j in range(len(E.A) - 1)]
            rows[o] = dict(zip(E.A, [*free, 1 - sum(free)], strict=True))
    pi = Policy.from_mapping(E, rows)
    low, high = (td_values(E, pi, lam=lam, exact=True, weights=_weights(E)) for lam in (0, 1))
    return all(
        low.q[o, a] is None or sympy.cancel(low.q[o, a] - high.q[o, a]) == 0
        for o in E.O
        for a in E.A
    )
