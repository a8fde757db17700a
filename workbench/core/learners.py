"""The learners as frozen records of their settings; the defaults are the paper's (Appendix D.1 and
D.6.1).

Settings that the paper leaves open are arguments with a default. "Optimistic" q-values start at 1,
the largest reward of its tasks. Of actor-critic it says neither how v starts (here at 0; 1 is the
optimistic start) nor how updates are batched (here one a step, `update="window"`); both matter, so
what the paper says about actor-critic is judged under all four readings (`reproduction.judge`).
`gamma=None` takes the POMDP's own gamma. No episode is cut off unless `max_episode_steps` says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.policy import Policy
from workbench.core.steps import Decreasing, PerVisit, Schedule
from workbench.core.words import did_you_mean


class OptionError(WorkbenchError):
    """A setting of a learner, or of a run, that is out of its range."""


def check_number(
    learner: str, name: str, value: Any, low: float, high: float, open_low: bool = False
) -> None:
    """Raise unless `value` is a finite number in the range, whose lower end may be excluded."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongType(f"{name} of {learner} is a number, not {value!r}")
    x = float(value)
    if not (low < x if open_low else low <= x) or not x <= high or not math.isfinite(x):
        left = "(" if open_low or low == -math.inf else "["
        right = ")" if high == math.inf else "]"
        raise OptionError(
            f"{name} of {learner} must lie in {left}{low:g}, {high:g}{right}, not {value}"
        )


def check_count(what: str, value: Any, low: int = 1) -> None:
    """Raise unless `value` is an integer of at least `low`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise WrongType(f"{what} must be an integer, not {value!r}")
    if value < low:
        raise OptionError(f"{what} must be at least {low}, not {value}")


@dataclass(frozen=True)
class Learner:
    """What all learners share."""

    def __post_init__(self) -> None:
        self.check()

    may_decrease: ClassVar[bool] = False
    """Whether `step` may be a schedule (`workbench.core.steps`)."""

    runs_itself: ClassVar[bool] = False
    """Whether `learn` hands the run over to `run`, as it does for learners that are not tables."""

    seeds_of_a_cell: ClassVar[int] = 5
    """How many seeds of a sweep are computed and stored together: few enough to lose little at an
    interruption, many enough to pack the task's tables once for them."""

    def run(self, P: Any, **options: Any) -> Any:
        """Run on P, with the options of `learn`."""
        raise NotImplementedError

    @property
    def kind(self) -> str:
        return type(self).__name__

    def check(self) -> None:
        """Raise an `OptionError` or `WrongType` that names the setting out of range."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(step := values.get("step"), Decreasing | PerVisit) and self.may_decrease:
            values |= {"step": step.first, **_of_schedule(step)}
        for name, (low, high, open_low) in _RANGES.items():
            if name in values and not (values[name] is None and name in _MAY_BE_NONE):
                check_number(self.kind, name, values[name], low, high, open_low)
        for name in ("n", "max_episode_steps"):
            if name in values and not (values[name] is None and name in _MAY_BE_NONE):
                check_count(f"{name} of {self.kind}", values[name])

    def settings(self) -> dict[str, Any]:
        """The settings by name, with the learner's own name first."""
        return {
            "learner": self.kind,
            **{field.name: getattr(self, field.name) for field in fields(self)},
        }


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


def _of_schedule(step: Schedule) -> dict[str, float]:
    """What a schedule has besides its first step."""
    return {"halving": step.halving} if isinstance(step, Decreasing) else {"power": step.power}


_MAY_BE_NONE = {"gamma", "max_episode_steps", "halving"}


@dataclass(frozen=True)
class QLearning(Learner):
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
    """

    may_decrease = True
    epsilon: float = 0.01
    step: float | Schedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None


@dataclass(frozen=True)
class DoubleQLearning(QLearning):
    """Double Q-learning (van Hasselt 2010): two tables, each corrected with the other; settings as
    `QLearning`."""


@dataclass(frozen=True)
class MonteCarlo(QLearning):
    """Every-visit Monte Carlo control with a constant step, epsilon-greedy; settings as
    `QLearning`.

    Nothing is learned before an episode ends: a policy that may wander for ever needs
    `max_episode_steps`.
    """


@dataclass(frozen=True)
class Sarsa(Learner):
    """True online Sarsa(lambda) (van Seijen and Sutton 2014), epsilon-greedy, ties broken at
    random.

    Parameters
    ----------
    lam : lambda, from 0 (one-step TD) to 1 (Monte Carlo).
    epsilon, step, gamma, initial, max_episode_steps : as in `QLearning`.
    trace_cutoff : a trace that falls to this or below is forgotten; 0 keeps every trace to the end
        of its episode.
    """

    may_decrease = True
    lam: float = 0.5
    epsilon: float = 0.01
    step: float | Schedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8


@dataclass(frozen=True)
class SoftQLearning(Learner):
    """Q-learning that acts by a softmax of its table, pi(a|o) proportional to
    exp(q(o, a) / temperature).

    Parameters
    ----------
    temperature : how much worse actions are still taken: a positive number.
    step, gamma, initial, max_episode_steps : as in `QLearning`.

    >>> SoftQLearning(temperature=0.5)
    SoftQLearning(temperature=0.5, step=0.1, gamma=None, initial=1.0, max_episode_steps=None)
    """

    may_decrease = True
    temperature: float = 1.0
    step: float | Schedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None


@dataclass(frozen=True)
class SoftSarsa(Learner):
    """True online Sarsa(lambda) that acts by a softmax of its table, as `SoftQLearning` does.

    Parameters
    ----------
    temperature : as in `SoftQLearning`.
    lam, step, gamma, initial, max_episode_steps, trace_cutoff : as in `Sarsa`.
    """

    may_decrease = True
    temperature: float = 1.0
    lam: float = 0.5
    step: float | Schedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8


@dataclass(frozen=True)
class NStepSarsa(Learner):
    """n-step Sarsa (Sutton and Barto 2018, Section 7.2), epsilon-greedy, ties broken at random.

    Parameters
    ----------
    n : how many rewards a return holds, at most, before q takes over; 1 is Sarsa(lam=0).
    epsilon, step, gamma, initial, max_episode_steps : as in `QLearning`.

    >>> NStepSarsa(n=8)
    NStepSarsa(n=8, epsilon=0.01, step=0.1, gamma=None, initial=1.0, max_episode_steps=None)
    """

    may_decrease = True
    n: int = 4
    epsilon: float = 0.01
    step: float | Schedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None


@dataclass(frozen=True)
class Prediction(Learner):
    """True online Sarsa(lambda) that follows a fixed policy: it learns q-values and does not act on
    them.

    Parameters
    ----------
    policy : the policy to follow, one for the POMDP that is learned.
    lam, gamma, initial, max_episode_steps, trace_cutoff : as in `Sarsa`.
    step, halving : the step size at time t is step / (1 + t / halving); constant if `halving` is
        None.
    """

    policy: Policy
    lam: float = 0.0
    step: float = 0.1
    halving: float | None = None
    gamma: float | None = None
    initial: float = 0.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8

    def check(self) -> None:
        if not isinstance(self.policy, Policy):
            raise WrongType(f"policy of Prediction is a Policy, not {self.policy!r}")
        super().check()


@dataclass(frozen=True)
class RLearning(Learner):
    """R-learning (Schwartz 1993): Q-learning for average reward, epsilon-greedy, ties broken at
    random. Episodes follow one another, and no reward is discounted.

    Parameters
    ----------
    epsilon, step, initial, max_episode_steps : as in `QLearning`.
    rate : the step size of the average reward rho, which starts at 0.

    >>> RLearning(epsilon=0.1)
    RLearning(epsilon=0.1, step=0.1, rate=0.01, initial=0.0, max_episode_steps=None)
    """

    may_decrease = True
    epsilon: float = 0.01
    step: float | Schedule = 0.1
    rate: float = 0.01
    initial: float = 0.0
    max_episode_steps: int | None = None


UPDATES = ("window", "batch")
"""When actor-critic makes its updates."""


@dataclass(frozen=True)
class ActorCritic(Learner):
    """n-step actor-critic with a softmax policy that starts uniform.

    Parameters
    ----------
    n : how many rewards a return holds, at most, before v takes over.
    policy_step, value_step : the step sizes of the preferences and of v.
    gamma, max_episode_steps : as in `QLearning`.
    v : every v(o) at the start.
    update : "window", the textbook's: each pair is updated n steps later with its n-step return; or
        "batch", as A3C does: after n steps all of them are updated at once with what they have
        seen.

    >>> ActorCritic(n=20, update="batch", v=1)
    ActorCritic(n=20, policy_step=0.1, value_step=0.001, gamma=None, v=1, max_episode_steps=None,
    update='batch')
    """

    n: int = 5
    policy_step: float = 0.1
    value_step: float = 0.001
    gamma: float | None = None
    v: float = 0.0
    max_episode_steps: int | None = None
    update: str = "window"

    def check(self) -> None:
        if self.update not in UPDATES:
            raise OptionError(
                f"update of ActorCritic must be {' or '.join(UPDATES)}, not {self.update!r}"
            )
        super().check()


LEARNERS: dict[str, type[Learner]] = {
    "qlearning": QLearning,
    "sarsa": Sarsa,
    "n-step-sarsa": NStepSarsa,
    "actor-critic": ActorCritic,
    "monte-carlo": MonteCarlo,
    "double-q": DoubleQLearning,
    "r-learning": RLearning,
    "soft-q": SoftQLearning,
    "soft-sarsa": SoftSarsa,
}
"""The learners by the names that the command line uses."""


def learner_by_name(name: str, **settings: Any) -> Learner:
    """A learner by its name on the command line, with some settings changed.

    >>> learner_by_name("sarsa", lam=0)
    Sarsa(lam=0, epsilon=0.01, step=0.1, gamma=None, initial=1.0, max_episode_steps=None,
    trace_cutoff=1e-08)
    """
    if name not in LEARNERS:
        meant = did_you_mean(name, LEARNERS)
        raise OptionError(f"unknown learner {name!r}{meant}: choose one of {', '.join(LEARNERS)}")
    kind = LEARNERS[name]
    known = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in known:
            raise OptionError(f"{name} has no setting {setting!r}; it has {', '.join(known)}")
    return kind(**settings)
