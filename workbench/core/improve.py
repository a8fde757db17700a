"""The oracle loop (Section 5.2, Appendices B and C): small steps towards the greedy policy,
q-values exact at every step.

    pi_0      the start, as a rule uniform
    tau_n     greedy on q_{pi_n}(o, a), ties broken as told; on rows that pi_n does not visit, pi_n
              itself
    pi_{n+1}  = (1 - eps_n) pi_n + eps_n tau_n

`iterates` is the stream, `improve` collects it and says how it ended:

    fixed         pi tends to a deterministic policy, which is greedy on all of the segment that is
                  left: decided in fractions where the horizon is finite, seen at places of it
                  elsewhere (`Improvement.decided`, `oracle_loop`); certificates prove ends
    limit cycle   greedy repeats itself, and pi with it: chattering around a stochastic point
    budget        neither was seen within the iterates allowed
    interrupted   Ctrl-C

Ties among actions that do not simply do the same are told in the result. A float step is the
decimal that it is printed as.

q(o, a) by expected visits has no meaning for policies that may never end: with weights="visits" the
loop refuses such tasks and says which weights to take; `weights_for` chooses them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import reached_rows
from workbench.core.ending import LoopRun
from workbench.core.errors import NotExact, WorkbenchError, WrongType
from workbench.core.evaluate import check_arguments, check_criterion
from workbench.core.fields import FLOATS, dynamics, field_of
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.oracle_loop import GreedyLoop
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes
from workbench.core.steps import Schedule
from workbench.core.ties import Tie
from workbench.core.weights import WEIGHTS
from workbench.plain_numbers import deadline
from workbench.progress import Waiting
from workbench.tables.sheet import BEST, Column, Drawn, Sheet, Showing, WrittenNumber, beside_best
from workbench.text import brief, shown

BUDGET = 20_000
"""The most iterates, unless told otherwise."""

_UNSURE = "On the way actions came closer than floats can tell apart; exact=True decides."


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iterate: its number, the policy, its value, and the greedy policy on its q-values."""

    n: int
    pi: Policy
    value: Number
    greedy: Policy


def iterates(
    P: POMDP,
    pi: Policy,
    step: Number | Schedule,
    ties: str = "last",
    weights: str = "visits",
    exact: bool = False,
    criterion: str = "return",
) -> Iterator[Iterate]:
    """The oracle loop as an endless stream of iterates. Arguments as for `improve`.

    >>> from fractions import Fraction
    >>> from pomdps import recall4
    >>> stream = iterates(recall4(), uniform(recall4()), step=Fraction(1, 2), exact=True)
    >>> [next(stream).value for _ in range(2)]
    [Fraction(-41, 64), Fraction(35, 256)]
    """
    loop = start_loop(P, pi, step, ties, weights, exact, criterion)
    while True:
        now = loop.policy()
        loop.advance(1, looks=False)
        value = loop.field.back(loop.values[0, -1])
        yield Iterate(loop.n - 1, now, value, loop.completed(loop.state.greedy[0]))


@dataclass(frozen=True, eq=False)
class Improvement(Showing, Drawn):
    """A run of the oracle loop.

    Attributes
    ----------
    ended : "fixed", "limit cycle", "budget" or "interrupted".
    pi : the limit, where there is one; else the last iterate. value : what pi is worth; floats
        have no bound here, but `evaluate(P, pi)` gives the same value with one.
    greedy : the greedy policy of pi.
    values : those of all iterates, the start first.
    mean : of the values over the limit cycle or the last `window` iterates; `value` at a limit.
    limit, limit_value : the deterministic policy that pi tends to, if it does, and its value, exact
        if P is. Rows that it does not visit are as they were left.
    decided : whether it was decided that greedy stays as it is on all of the way to the limit: in
        exact runs of finite horizon. Else it was seen at places, or rows that the limit does not
        visit go on changing.
    period : of the limit cycle.
    amplitude : the range of the value over the limit cycle or the last `window` iterates; 0 at a
        limit.
    ties : actions among which greedy was told which to take, and how that is known; actions that
        have the same outcomes count as one.
    note : what else there is to say, or "".
    criterion : what values are: "return" or "average".
    """

    figure: ClassVar[str] = "oracle_values"
    find_best: ClassVar[Any] = None
    """Find the best value to show beside the loop's; set by `optima`, which imports the core."""

    P: POMDP
    step: Number | Schedule
    tie_rule: str
    weights: str
    ended: str
    value: Number
    values: NDArray[Any]
    pi: Policy
    greedy: Policy
    limit: Policy | None = None
    mean: Number = None
    limit_value: Number | None = None
    decided: bool = False
    period: int | None = None
    window: int = 0
    amplitude: float = 0.0
    ties: tuple[Tie, ...] = ()
    note: str = ""
    criterion: str = "return"

    @property
    def iterates(self) -> int:
        """How many there were."""
        return len(self.values)

    def sheet(self, best: Any = None) -> Sheet:
        """The run as one row of a table.

        Parameters
        ----------
        best : what the best deterministic policy of P is worth, if it is known; else looked for
            briefly where P is small.
        """
        if best is None and self.find_best is not None and len(self.P.S) <= 2_000:
            best = self.find_best(self.P, self.criterion)
        reached = self.mean if self.limit_value is None else self.limit_value
        moving = self.ended != "fixed"
        spread = f"{brief(reached)} ± {self.amplitude / 2:.1g}"
        how = f"limit cycle of {self.period:,}" if self.period else self.ended
        where = "goes on moving around" if moving else "settles at"
        said = f"The loop {where} a policy worth {brief(reached)}"
        if best is not None:
            said += beside_best(brief(reached), best)
        size = f"step size {shown(self.step(0) if callable(self.step) else self.step)}"
        size += " at first" if callable(self.step) else ""
        columns = (
            Column("start", "value of the policy that the loop starts from"),
            Column("value", "where the loop ends (± half its range, where it goes on moving)"),
            *([] if best is None else [BEST]),
            Column("iterates", "how many policies it went through"),
            Column(
                "ended",
                "fixed: it approaches one policy; limit cycle of n: n policies repeat for ever; "
                "budget: cut off while it moved",
            ),
        )
        value = WrittenNumber(reached, spread) if moving else reached
        row = (self.values[0], value, *([] if best is None else [best]), self.iterates, how)
        notes = [
            f"Greedy takes the {self.tie_rule} of equal actions; {size}; P(s|o) by "
            f"{WEIGHTS[self.weights].words}."
        ]
        if self.limit is not None:
            lines = self.limit.lines(reached_rows(self.P, self.limit))
            notes.append(f"The limit ({self.limit.legend}): {'; '.join(lines)}.")
        notes += [self.note] if self.note else []
        return Sheet(f"Oracle loop on {self.P.name}", columns, (row,), f"{said}.", tuple(notes))

    def to_frame(self) -> Any:
        """The value of every iterate as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(
            {"value": self.values}, index=pd.RangeIndex(len(self.values), name="iterate")
        )

    def __repr__(self) -> str:
        value = brief(self.value if self.limit_value is None else self.limit_value)
        how = f"{self.ended}, value {value}, amplitude {self.amplitude:.2g} at the end"
        if self.ended == "fixed":
            how = f"fixed at {value}"
        elif self.ended == "limit cycle":
            how = f"limit cycle of period {self.period}, value {brief(self.mean)}, "
            how += f"amplitude {self.amplitude:.2g}"
        note = f". {self.note}" if self.note else ""
        return f"{self.P.name}: {how}, after {self.iterates:,} iterates{note}"


def improve(
    P: POMDP,
    pi: Policy | None = None,
    step: Number | Schedule = 0.02,
    ties: str = "last",
    weights: str | None = None,
    exact: bool = False,
    budget: int = BUDGET,
    least: int = 1,
    criterion: str = "return",
    max_seconds: float | None = None,
) -> Improvement:
    """Run the oracle loop until it is seen where it goes.

    That it is fixed is decided in fractions and with a finite horizon; else it is seen at places,
    and a change of greedy between two of them may be missed (`Improvement.decided`).

    Parameters
    ----------
    P : the POMDP, as a rule an augmented one.
    pi : where to start; the uniform policy if None.
    step : the paper's epsilon, in (0, 1]; or a function of n, such as `shrinking_steps(0.02)`.
    ties : which action greedy prefers among equals, see `policy.tie_order`.
    weights : which P_pi(s|o), as for `evaluate`; those of `weights_for` if None. The result's
        `weights` says which.
    exact : rationals; P, pi and the steps have to be exact, and the numbers grow with every
        iterate.
    budget : the most iterates to make.
    least : so many are made even if it is seen before where the loop goes, for their values.
    criterion : "return", or "average": q(o, a) are differential values, weighted by long-run shares
        of time, and values are average rewards. A task that ends begins anew; a policy whose
        average depends on where it starts is refused (`Multichain`).
    max_seconds : no iterate is begun after so long, and the run ends in "budget". At least one is
        made.

    >>> from pomdps import recall4
    >>> from workbench import augment
    >>> run = improve(augment(recall4(), "OA1"))
    >>> run.value, run.ended, run.limit_value
    (1.0, 'fixed', Fraction(1, 1))

    See also: `evaluate`, `policy_slice`, `equilibria`, `best_memoryless`.
    """
    budget, least = _number_of_iterates("budget", budget), _number_of_iterates("least", least)
    pi = uniform(P) if pi is None else pi
    if weights is None:
        average = check_criterion(criterion) == "average"
        weights = "stationary" if average else weights_for(P, pi)
    if not callable(step) and 1 - float(_checked(step, exact)) == 1:
        raise WorkbenchError(
            "the step is too small: 1 - step is 1 in floats, and no run would be seen to settle"
        )
    loop = start_loop(P, pi, step, ties, weights, exact, criterion)
    with Waiting(f"oracle loop on {P.name}") as waiting:
        constant, until = None if callable(step) else step, deadline(max_seconds)
        run = LoopRun(loop, constant, budget, min(least, budget), waiting, until)
        how = run.collect()
    how["values"] = loop.field.leave(how["values"])
    if loop.state.unsure[0]:
        how["note"] = f"{how['note']} {_UNSURE}".strip()
    return Improvement(
        P=P,
        step=step if callable(step) else number(step),
        tie_rule=ties,
        weights=loop.weights,
        criterion=criterion,
        ties=run.ties,
        **how,
    )


def weights_for(P: POMDP, pi: Policy) -> str:
    """The weights under which the oracle loop from pi is defined. They are "visits" if pi ends from
    every state that it visits, else "discounted", or "stationary" where there is no discount.

    >>> from pomdps import tiger
    >>> weights_for(tiger(), uniform(tiger()))
    'discounted'
    """
    check_arguments(P, pi, "visits")
    chain = dynamics(P, FLOATS).follow(pi.prob.floats)
    if not (chain.visited & chain.may_not_end).any():
        return "visits"
    return "stationary" if P.gamma == 1 else "discounted"


# ---------------------------------------------------------------------- at the boundary


def start_loop(
    P: POMDP,
    pi: Policy,
    step: Number | Schedule,
    ties: str = "last",
    weights: str = "visits",
    exact: bool = False,
    criterion: str = "return",
) -> GreedyLoop:
    """The loop at its start, once all arguments have been checked."""
    check_arguments(P, pi, weights)
    if average := check_criterion(criterion) == "average":
        if weights == "discounted":
            raise WorkbenchError('criterion="average" has weights="stationary", not "discounted"')
        P = repeat_episodes(P)
    if symbols := P.symbols | pi.prob.symbols:
        raise WorkbenchError(
            f"the oracle loop compares q-values: give {', '.join(sorted(map(str, symbols)))} a "
            "value"
        )
    field_of(P, pi, exact)  # which asks whether they are exact
    size = None if callable(step) else _checked(step, exact)

    def steps(n: int) -> Number:
        return _checked(step(n), exact) if callable(step) else size

    return GreedyLoop(P, pi, steps, ties, "stationary" if average else weights, exact, average)


def _number_of_iterates(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WrongType(f"{name} is a number of iterates, not {value!r}")
    if value < 1:
        raise WorkbenchError(f"{name} is a number of iterates, at least 1, not {value}")
    return int(value)


def _checked(step: Any, exact: bool) -> Number:
    try:
        size = None if isinstance(step, bool | np.bool_) else number(step)
    except WrongType:
        size = None
    if size is None:
        raise WrongType(f"a step is a number in (0, 1], not {step!r}")
    if is_symbolic(size) or not 0 < size <= 1:
        raise WorkbenchError(f"a step lies in (0, 1], not {size}")
    if exact and isinstance(size, float):
        raise NotExact(
            f"exact arithmetic needs exact steps, not the float {size!r}: use a Fraction"
        )
    return size
