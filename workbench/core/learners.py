"""Learners as frozen records of their settings. The defaults are the paper's (Appendix D.1 and
D.6.1).

A learner says which compiled kernel runs it, on which tables and arrays; where its table settles
(`target`); what it is called. A class that brings a kernel of its own and no target has none: what
asks for one, such as `equilibria`, then refuses it by name.

Settings that the paper leaves open are arguments with a default. "Optimistic" q-values start at 1,
the largest reward of its tasks. `gamma=None` takes the POMDP's own gamma. No episode is cut off
unless `max_episode_steps` says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from importlib import import_module
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.numbers import Number, number, to_float
from workbench.core.pomdp import POMDP
from workbench.core.steps import StepSchedule, step_rule

LEARNERS: dict[str, type[Learner]] = {}
"""The learners by the names that the command line uses; a class with a name puts itself here."""

Shape = tuple[int, ...]

_NO_LIMIT = 2**63


def threshold(probability: float) -> np.uint64:
    """floor(probability 2^53), an integer that kernels compare 53 random bits with."""
    return np.uint64(math.floor(probability * 2.0**53))


class OptionError(WorkbenchError):
    """A setting of a learner, or of a run, that is out of its range."""


def check_number(
    learner: str, name: str, value: Any, low: float, high: float, open_low: bool = False
) -> None:
    """Raise unless `value` is a finite number in the range, whose lower end may be excluded."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(f"{name} of {learner} is a number, not {value!r}")
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not (low < x if open_low else low <= x) or not x <= high or not math.isfinite(x):
        left = "(" if open_low or low == -math.inf else "["
        right = ")" if high == math.inf else "]"
        raise OptionError(
            f"{name} of {learner} must lie in {left}{low:g}, {high:g}{right}, not {value}"
        )


def check_count(what: str, value: Any, low: int = 1) -> None:
    """Raise unless `value` is an integer of at least `low`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or np.ndim(value):
        raise WrongType(f"{what} must be an integer, not {value!r}")
    if value < low:
        raise OptionError(f"{what} must be at least {low}, not {value}")


_RANGES: dict[str, tuple[float, float, bool]] = {
    "epsilon": (0, 1, False),
    "step": (0, 1, True),
    "lam": (0, 1, False),
    "gamma": (0, 1, False),
    "policy_step": (0, math.inf, False),
    "value_step": (0, 1, False),
    "rate": (0, 1, False),
    "initial": (-math.inf, math.inf, False),
    "v": (-math.inf, math.inf, False),
    "trace_cutoff": (0, 1, False),
    "halving": (0, math.inf, True),
    "temperature": (0, math.inf, True),
    "power": (0, 1, True),
}
"""Range of each setting, and whether its lower end is excluded."""

_MAY_BE_NONE = {"gamma", "max_episode_steps"}


@dataclass(frozen=True)
class Target:
    """The bootstrap target of a learner: greedy or the behaviour's own, with n and lambda.

    Attributes
    ----------
    greedy : whether the next observation counts with its greedy action's value (Q-learning).
    n, lam : the target, as for `td_values`.
    """

    greedy: bool
    n: int = 1
    lam: Number = 0

    @property
    def is_one_step(self) -> bool:
        return self.n == 1 and self.lam == 0


@dataclass(frozen=True)
class Learner:
    """What all learners share.

    Subclasses pass `name`, by which the command line knows them, and `title`, their name in texts,
    into which settings are put: `title="Sarsa({lam:g})"`.
    """

    name: ClassVar[str | None] = None
    title: ClassVar[str]

    module: ClassVar[str] = ""
    """Where the algorithm is: for tables, the kernel and its record `LearnerParts`."""

    kernel_name: ClassVar[str]

    runs_itself: ClassVar[bool] = False
    """Whether `learn` hands the run over to `run`, as it does for learners that are not tables."""

    seeds_of_a_cell: ClassVar[int] = 5
    """How many seeds of a sweep are computed and stored together: few enough to lose little at an
    interruption, many enough to pack the task's tables once for them."""

    def __init_subclass__(cls, name: str | None = None, title: str | None = None) -> None:
        cls.name, cls.title = name, title or cls.__name__
        if name is not None:
            LEARNERS[name] = cls
        own = vars(cls).keys()
        if "target" not in own and {"module", "kernel_name", "kernel", "run", "arguments"} & own:
            # Another algorithm does not settle where its parent does.
            cls.target = Learner.target  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        self.check()

    @property
    def kind(self) -> str:
        return type(self).__name__

    @property
    def described(self) -> str:
        """The learner in a few words: its name and the settings that change what it is."""
        return self.title.format(**self.settings())

    @property
    def target(self) -> Target:
        """Where its table goes while its behaviour stays as it is (`learned_values`)."""
        raise WrongType(
            f"equilibria are those of a greedy learner whose target is known, such as "
            f"QLearning(...) or Sarsa(...); not of {self!r}"
        )

    def run(self, P: Any, **options: Any) -> Any:
        """Run on P, with the options of `learn`."""
        raise NotImplementedError(f"{self.kind} is run by its kernel")

    def check(self) -> None:
        """Raise an `OptionError` or `WrongType` that names the setting out of range."""
        values = {
            field.name: x
            for field in fields(self)
            if (x := getattr(self, field.name)) is not None or field.name not in _MAY_BE_NONE
        }
        if isinstance(step := values.get("step"), StepSchedule):
            values |= {"step": step.first, **vars(step)}
        for name, (low, high, open_low) in _RANGES.items():
            if name in values:
                check_number(self.kind, name, values[name], low, high, open_low)
        for name in ("n", "max_episode_steps"):
            if name in values:
                check_count(f"{name} of {self.kind}", values[name])

    def check_task(self, P: POMDP) -> None:
        """Raise if the learner cannot run on P."""

    def settings(self) -> dict[str, Any]:
        """The settings by name, with the learner's own name first."""
        return {
            "learner": self.kind,
            **{field.name: getattr(self, field.name) for field in fields(self)},
        }

    # ------------------------------------------------------------------ the kernel

    @property
    def kernel(self) -> Any:
        """The compiled loop: see `learner_kernels`."""
        return getattr(import_module(self.module), self.kernel_name)

    def tables(self, nO: int, nA: int) -> dict[str, tuple[Shape, float]]:
        """What is learned: the shape of each table, and what it holds at the start."""
        return {"q": ((nO, nA), float(getattr(self, "initial", 0.0)))}

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        """Shape and type of further arrays of a run, which start as zeros."""
        counted = isinstance(step := getattr(self, "step", None), StepSchedule) and step.counts
        return {"updates": ((nO * nA,), float)} if counted else {}

    def preferred(self, tables: dict[str, Any]) -> Any:
        """The table whose largest entries are the greedy actions."""
        return tables["q"]

    def discount(self, P: POMDP) -> float:
        """The learner's gamma, or the POMDP's own."""
        gamma = getattr(self, "gamma", None)
        return to_float(P.gamma if gamma is None else gamma)

    def arguments(self, gamma: float, arrays: dict[str, Any]) -> Any:
        """The kernel's record `LearnerParts`: tables (flat), workspace and settings, by name.

        What the learner does not have is None, and the compiler leaves out what uses it.
        """
        given: dict[str, Any]
        given = {name: float(x) for name, x in self.settings().items() if isinstance(x, Real)}
        cut = given.get("max_episode_steps", _NO_LIMIT)
        given |= {**arrays, "gamma": gamma, "limit": np.uint64(cut)}
        given["epsilon"] = threshold(given.get("epsilon", 0.0))
        if hasattr(self, "step"):
            given["step"] = step_rule(self.step, arrays.get("updates"))
        record = import_module(self.module).LearnerParts
        return record(**{name: given.get(name) for name in record._fields})


@dataclass(frozen=True)
class QLearning(Learner, name="qlearning", title="Q-learning"):
    """Q-learning, epsilon-greedy, ties broken at random.

    Parameters
    ----------
    epsilon : the probability of a uniformly random action.
    step : the step size: a number, `decreasing(...)` or `per_visit(...)`.
    gamma : the discount; None for the POMDP's own.
    initial : every q(o, a) at the start.
    max_episode_steps : cut episodes off after this many steps; None for never.

    >>> QLearning(epsilon=0.1)
    QLearning(epsilon=0.1, step=0.1, gamma=None, initial=1.0, max_episode_steps=None)

    See also: `Sarsa`, `ExpectedSarsa`, `learn`, `equilibria`.
    """

    module = "workbench.learning.learner_kernels"
    kernel_name = "q_learning"
    epsilon: float = 0.01
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None

    @property
    def target(self) -> Target:
        return Target(greedy=True)


@dataclass(frozen=True)
class ExpectedSarsa(QLearning, name="expected-sarsa", title="Expected Sarsa"):
    """Expected Sarsa (van Seijen et al. 2009), epsilon-greedy, ties broken at random. Its settings
    are those of `QLearning`.

    It bootstraps from the mean of the behaviour's values, which is the mean of Sarsa(lam=0)'s
    target: both have the same fixed points.

    >>> ExpectedSarsa(epsilon=0.2).described
    'Expected Sarsa'

    See also: `Sarsa`, `QLearning`, `learn`.
    """

    kernel_name = "expected_sarsa"

    @property
    def target(self) -> Target:
        return Target(greedy=False)


class TracedLearner(Learner):
    """A learner by the kernel of Sarsa(lambda), which has settings `lam` and `trace_cutoff`."""

    module = "workbench.learning.learner_kernels"
    kernel_name = "sarsa"
    lam: float

    @property
    def target(self) -> Target:
        return Target(greedy=False, lam=number(self.lam))

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        traces = {"active": ((nO * nA,), np.uint32), "place": ((nO * nA,), np.uint32)}
        return {**super().workspace(nO, nA, steps), **traces, "z": ((nO * nA,), float)}


@dataclass(frozen=True)
class Sarsa(TracedLearner, name="sarsa", title="Sarsa({lam:g})"):
    """True online Sarsa(lambda) (van Seijen and Sutton 2014), epsilon-greedy, ties broken at
    random.

    Parameters
    ----------
    lam : lambda, from 0 (one-step TD) to 1 (Monte Carlo).
    epsilon, step, gamma, initial, max_episode_steps : as in `QLearning`.
    trace_cutoff : a trace that falls to this or below is forgotten; 0 keeps every trace to the end
        of its episode.

    >>> from pomdps import recall4
    >>> from workbench import learn
    >>> learn(recall4(), Sarsa(lam=0.9), steps=100, seeds=1).learner.described
    'Sarsa(0.9)'

    See also: `QLearning`, `ExpectedSarsa`, `td_values`, `learn`.
    """

    lam: float = 0.5
    epsilon: float = 0.01
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8
