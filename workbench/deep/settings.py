"""The settings of neural learners as frozen records. The defaults are the paper's (Appendices D.3
and D.6.2).

| record | the paper's settings for |
|---|---|
| `PPO()` | MiniGrid: 5 x 128, step 1e-5, n 128, 8 minibatches, 4 epochs |
| `PPO.hallway()` | the hallway: 4 x 512, step 1e-5, n 2048, 16 minibatches, 1 epoch, clip 0.1 |
| `RecurrentPPO()` | MemoryS7: as PPO, and an LSTM of 128 cells, step 1e-3 (1e-5 on RedBlueDoors) |
| `RecurrentPPO.hallway()` | the hallway: 4 x 512 and an LSTM of 512 cells, step 1e-3, n 128 |
| `DDQN()` | the cookie world: 6 x 128, step 1e-5, 64 out of 100,000, epsilon 0.1 |
| `DDQN.doors()` | RedBlueDoors: 4 x 128, 32 out of 100,000, gamma 0.9 |

"The rest of the hyperparameters were set to their default values" of OpenAI baselines: lambda 0.95,
clip 0.2, no entropy bonus, value weight 1/2, gradients cut at norm 1/2, clipped value loss,
normalised advantages, Adam with epsilon 1e-5, one trunk for policy and value (ppo2); Huber loss,
gradients cut at norm 10, learning after 1,000 steps (deepq; its duelling heads are left out). The
paper does not say how many environments run beside each other; here 16 for PPO, as in the MiniGrid
agent that it follows, and one for DDQN.

`X.tuned()` are settings of ours for short runs on two cores: smaller networks, larger steps and,
with PPO, a small entropy bonus. They were searched for, one setting after the other, on 4-action
recall with OA1, the T-maze with O1 and MemoryS7 with O3 (the LSTM without a memory), with the seeds
1000 to 1002, which nothing else uses; every run of the search is in `tests/benchmarks/tuning.csv`.
Of the LSTM only the step was searched for, of DDQN step, batch and epsilon. `TUNED_HALLWAY` is what
PPO needs in the hallway besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.core.errors import WrongType
from workbench.core.learners import Learner, OptionError, check_count, check_number
from workbench.extras import need

if TYPE_CHECKING:
    from workbench.learning.run import Run

_COUNTS = (
    "environments",
    "minibatches",
    "epochs",
    "cells",
    "batch",
    "capacity",
    "target_every",
    "learn_after",
)

_RANGES: dict[str, tuple[float, float, bool]] = {
    "learning_rate": (0, math.inf, True),
    "clip": (0, math.inf, True),
    "entropy": (0, math.inf, False),
    "value_weight": (0, math.inf, False),
    "max_gradient": (0, math.inf, True),
    "fade": (0, 1, False),
    "value_start": (0, math.inf, False),
}


@dataclass(frozen=True)
class Neural(Learner):
    """The base of all neural learners.

    Parameters
    ----------
    hidden : the widths of the layers.
    learning_rate : of Adam.
    environments : copies of the model that are stepped beside each other.
    max_gradient : the norm at which gradients are cut.
    gamma : the discount; None for the POMDP's own.
    max_episode_steps : cut episodes off after this many steps, and go on from the value there.
    fade : a reward at step t of an episode of at most T steps counts 1 - fade t / T of itself;
        MiniGrid's own is 0.9.
    """

    runs_itself = True
    seeds_of_a_cell = 1
    module: ClassVar[str]
    """Where the algorithm is."""

    hidden: tuple[int, ...] = (128,) * 5
    learning_rate: float = 1e-5
    environments: int = 16
    max_gradient: float = 0.5
    gamma: float | None = None
    max_episode_steps: int | None = None
    fade: float = 0.0

    def check(self) -> None:
        super().check()
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, (low, high, open_low) in _RANGES.items():
            if name in values:
                check_number(self.kind, name, values[name], low, high, open_low)
        for name in _COUNTS:
            if name in values:
                check_count(f"{name} of {self.kind}", values[name])
        hidden = values["hidden"]
        if not isinstance(hidden, tuple) or not hidden:
            raise WrongType(
                f"hidden of {self.kind} is a tuple of layer widths, such as (64, 64), not "
                f"{hidden!r}"
            )
        if self.fade and self.max_episode_steps is None:
            raise OptionError(f"fade of {self.kind} needs max_episode_steps")
        for width in hidden:
            check_count(f"a width in hidden of {self.kind}", width)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "hidden": list(self.hidden)}  # as JSON has it

    @property
    def described(self) -> str:
        return f"{self.kind}, {'x'.join(map(str, self.hidden))},"

    def preferred(self, tables: dict[str, Any]) -> Any:
        return tables["h"] if "h" in tables else tables["q"]

    @property
    def quantum(self) -> int:
        """The steps between two updates: runs and blocks are rounded up to whole ones."""
        raise NotImplementedError

    def run(self, P: Any, **options: Any) -> Run:
        """Train on P. `learn` calls this."""
        need("jax", "deep")
        need("optax", "deep")
        # not by a statement: the module needs jax, and settings are read without it
        found: Run = import_module("workbench.deep.train").train(P, self, **options)
        return found


@dataclass(frozen=True)
class PPO(Neural):
    """Proximal policy optimisation (Schulman et al. 2017) with a feed-forward tanh network.

    Parameters
    ----------
    n : steps of each environment between two updates.
    minibatches, epochs : of an update.
    clip : of the probability ratio, and of the change of the value.
    lam : lambda of generalised advantage estimation.
    entropy, value_weight : weights in the loss.
    value_start : the scale of the first weights of the value head; with 0 it starts at 0.
    others : as in `Neural`.

    >>> PPO(hidden=(64, 64), learning_rate=1e-3).n
    128

    See also: `RecurrentPPO`, `DDQN`, `MemoryPair`, `learn`.
    """

    module = "workbench.deep.ppo"
    n: int = 128
    minibatches: int = 8
    epochs: int = 4
    clip: float = 0.2
    lam: float = 0.95
    entropy: float = 0.0
    value_weight: float = 0.5
    value_start: float = 1.0

    def check(self) -> None:
        super().check()
        if self.per_minibatch * self.minibatches != self.divided:
            raise OptionError(
                f"minibatches of {self.kind} must divide {self.what_is_divided}: "
                f"{self.minibatches} does not divide {self.divided}"
            )

    @property
    def quantum(self) -> int:
        return self.n * self.environments

    @property
    def divided(self) -> int:
        """The number of steps, or sequences, that an update deals into minibatches."""
        return self.quantum

    what_is_divided: ClassVar[str] = "n times environments"

    @property
    def per_minibatch(self) -> int:
        return self.divided // self.minibatches

    @classmethod
    def hallway(cls, **changes: Any) -> Self:
        """The paper's settings for the hallway tasks (Appendix D.2)."""
        found: dict[str, Any] = {
            "hidden": (512,) * 4,
            "n": 2048,
            "minibatches": 16,
            "epochs": 1,
            "clip": 0.1,
        }
        return cls(**found | changes)

    @classmethod
    def tuned(cls, **changes: Any) -> Self:
        """Settings for short runs on two cores, chosen on seeds of their own."""
        found: dict[str, Any] = {
            "hidden": (64, 64),
            "learning_rate": 3e-3,
            "n": 64,
            "environments": 32,
            "entropy": 0.01,
        }
        return cls(**found | changes)


@dataclass(frozen=True)
class RecurrentPPO(PPO):
    """Proximal policy optimisation with an LSTM behind the feed-forward layers.

    Gradients flow back through the n time steps of an update.

    Parameters
    ----------
    cells : of the LSTM.
    minibatches : of whole sequences, so they divide `environments`.
    others : as in `PPO`.

    >>> RecurrentPPO(cells=64, hidden=(64,)).described
    'RecurrentPPO, 64,'

    See also: `PPO`, `DDQN`, `learn`.
    """

    module = "workbench.deep.lstm"
    learning_rate: float = 1e-3
    cells: int = 128

    what_is_divided: ClassVar[str] = "environments"

    @property
    def divided(self) -> int:
        return self.environments

    @classmethod
    def hallway(cls, **changes: Any) -> Self:
        """The paper's settings for the hallway tasks (Appendix D.2)."""
        return super().hallway(**{"cells": 512, "n": 128} | changes)

    @classmethod
    def tuned(cls, **changes: Any) -> Self:
        """Settings for short runs on two cores, chosen on seeds of their own."""
        return super().tuned(**{"hidden": (64,), "cells": 64} | changes)


@dataclass(frozen=True)
class DDQN(Neural):
    """Double deep Q-learning (van Hasselt et al. 2016) with uniform replay, epsilon-greedy.

    Parameters
    ----------
    batch : experiences of an update; there is one update for each step of the environments.
    capacity : experiences kept.
    epsilon : the probability of a uniformly random action.
    target_every : updates after which the target network becomes the learned one.
    learn_after : time steps before the first update.
    others : as in `Neural`.

    >>> DDQN.doors().batch, DDQN.doors().gamma
    (32, 0.9)

    See also: `PPO`, `QLearning`, `learn`.
    """

    module = "workbench.deep.ddqn"
    hidden: tuple[int, ...] = (128,) * 6
    batch: int = 64
    capacity: int = 100_000
    epsilon: float = 0.1
    target_every: int = 100
    learn_after: int = 1_000
    environments: int = 1
    max_gradient: float = 10.0

    def check(self) -> None:
        super().check()
        if self.capacity % self.environments:
            raise OptionError(
                f"environments of DDQN must divide capacity: {self.environments} does not divide "
                f"{self.capacity}"
            )

    @property
    def quantum(self) -> int:
        return self.environments

    @classmethod
    def doors(cls, **changes: Any) -> Self:
        """The paper's settings for RedBlueDoors (Appendix D.6.2)."""
        found: dict[str, Any] = {"hidden": (128,) * 4, "batch": 32, "gamma": 0.9}
        return cls(**found | changes)

    @classmethod
    def tuned(cls, **changes: Any) -> Self:
        """Settings for short runs on two cores, chosen on seeds of their own."""
        found: dict[str, Any] = {
            "hidden": (64, 64),
            "learning_rate": 1e-3,
            "batch": 128,
            "environments": 16,
            "capacity": 32_000,
        }
        return cls(**found | changes)


LIMITS: dict[str, int] = {
    "hallway_cookie": 10_000,
    "hallway_keys": 10_000,
    "memory_s7": 245,
    "red_blue_doors": 1280,
}
"""The steps after which the paper cuts an episode of a task off (Appendices D.2 and D.3)."""

FADES: dict[str, float] = {"red_blue_doors": 0.9}
"""What share of a reward is lost by the time of the limit: "1 minus a small discount, which is
proportional to the length of the episode" (Appendix D.3); elsewhere nothing."""


TUNED_HALLWAY: dict[str, Any] = {
    "environments": 32,
    "n": 512,
    "learning_rate": 1e-3,
    "minibatches": 16,
    "gamma": 0.999,
    "lam": 0.99,
    "value_start": 0.0,
}
"""What PPO needs in the hallway besides `tuned()`: with the usual discount of 0.99 and lambda of
0.95 it learns nothing there (`docs/deep.md`)."""


def paper_episodes(task: str) -> dict[str, Any]:
    """The paper's episode limits and rewards for a task. Nothing for tasks that it does not
    have."""
    if task not in LIMITS:
        return {}
    return {"max_episode_steps": LIMITS[task], "fade": FADES.get(task, 0.0)}


def paper_settings(kind: type[Neural], task: str, **changes: Any) -> Neural:
    """The paper's settings of a learner for a task, with some changed.

    >>> paper_settings(PPO, "hallway_cookie").hidden
    (512, 512, 512, 512)
    """
    changes = paper_episodes(task) | changes
    if issubclass(kind, PPO) and task.startswith("hallway"):
        return kind.hallway(**changes)
    if kind is DDQN and task == "red_blue_doors":
        return DDQN.doors(**changes)
    if kind is RecurrentPPO and task == "red_blue_doors":
        changes = {"learning_rate": 1e-5} | changes
    return kind(**changes)


VARIANTS = ("paper", "hallway", "doors", "tuned")
"""The sets of settings by name; a learner has some of them."""


def neural_by_name(
    name: str, variant: str = "paper", task: str | None = None, **changes: Any
) -> Neural:
    """A neural learner by its name on the command line, with a set of settings and some changed.

    Parameters
    ----------
    variant : one of `VARIANTS`; "paper" means the paper's settings for the task.
    task : its name; None for the settings of MiniGrid.

    >>> neural_by_name("ddqn", "doors", batch=16).batch
    16
    """
    kind = NEURAL_LEARNERS[name]
    known = [variant for variant in VARIANTS if variant == "paper" or hasattr(kind, variant)]
    if variant not in known:
        raise OptionError(f"settings of {name} are {' or '.join(known)}, not {variant!r}")
    settings = [field.name for field in fields(kind)]
    for setting in changes:
        if setting not in settings:
            raise OptionError(f"{name} has no setting {setting!r}; it has {', '.join(settings)}")
    if variant == "paper":
        return kind(**changes) if task is None else paper_settings(kind, task, **changes)
    usual = paper_episodes(task) if task is not None else {}
    if variant == "tuned" and issubclass(kind, PPO) and (task or "").startswith("hallway"):
        usual |= TUNED_HALLWAY
    made: Neural = getattr(kind, variant)(**usual | changes)
    return made


def parse_widths(text: str) -> tuple[int, ...]:
    """The widths of layers from a text.

    >>> parse_widths("64,64")
    (64, 64)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise OptionError(
            f"hidden is a list of layer widths, such as 64,64, not {text!r}"
        ) from None


NEURAL_LEARNERS: dict[str, type[Neural]] = {
    "ppo": PPO,
    "lstm-ppo": RecurrentPPO,
    "ddqn": DDQN,
}
"""The neural learners by the names that the command line uses."""
