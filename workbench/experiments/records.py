"""The tabular figures of the paper as data: Figures 2, 3, 4, 5, 7 and 11.

An `Experiment` says what is run (a task, methods, memories), for how long, what is measured, and where the optimum lies.
Nothing here computes. The settings that the paper gives (Appendices D.1 and D.6.1) are the defaults of the learners'
records; those that it leaves open are visible: actor-critic figures are run with v starting at 0 and at 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from workbench.errors import UnknownLabel
from workbench.learning.options import ActorCritic, Learner, OptionError, QLearning, Sarsa

PER_100 = "average reward per 100 steps"
GREEDY = "value of the greedy policy"
FINAL = "value of the final greedy policy"
ORACLE = "value of the policy"


@dataclass(frozen=True)
class OracleLoop:
    """The oracle loop from the uniform policy: its step, how ties are broken, the most iterates to make and to show."""

    step: float = 0.02
    ties: str = "last"
    budget: int = 20_000
    shown: int = 400

    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        return {"method": "OracleLoop", **asdict(self)}


Method = Learner | OracleLoop


@dataclass(frozen=True)
class Length:
    """How long learners run: the number of seeds, the steps of each, and the steps of a block of the curve."""

    seeds: int
    steps: int
    every: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise OptionError(f"{name} of an experiment must be at least 1, not {value}")
        if self.every > self.steps:
            raise OptionError(f"a block of {self.every} does not fit into {self.steps} steps")


@dataclass(frozen=True)
class Panel:
    """One set of axes: a method with several memories."""

    title: str
    method: Method
    memories: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """One figure.

    Attributes
    ----------
    id, place, title : "fig2", "Fig. 2" and a few words.
    task : the name of a POMDP.
    panels, columns : the axes, and how many stand side by side.
    measure : `PER_100`, `GREEDY` (exact, undiscounted) or `ORACLE`; sweeps also have `FINAL`.
    optimum : of the measure.
    statements : ids of the paper's statements that the figure bears on.
    length : None for the oracle loop, which is deterministic and ends by itself.
    """

    id: str
    place: str
    title: str
    task: str
    panels: tuple[Panel, ...]
    columns: int
    measure: str
    optimum: float
    statements: tuple[str, ...]
    length: Length | None

    @property
    def pairs(self) -> tuple[tuple[Method, str], ...]:
        """Each method and memory that is run, once."""
        return tuple(dict.fromkeys((panel.method, memory) for panel in self.panels for memory in panel.memories))

    def with_length(self, seeds: int, steps: int, every: int) -> Experiment:
        """The same with other seeds and steps; the oracle loop stays as it is."""
        return self if self.length is None else replace(self, length=Length(seeds, steps, every))

    def with_memories(self, memories: Iterable[str]) -> Experiment:
        """The same with only some of its memories; panels without any of them go."""
        kept = set(memories)
        panels = (replace(p, memories=tuple(m for m in p.memories if m in kept)) for p in self.panels)
        return replace(self, panels=tuple(panel for panel in panels if panel.memories))

    def with_starts(self, starts: Iterable[int]) -> Experiment:
        """The same with only some starts of v; other methods than actor-critic stay."""
        kept = set(starts)
        panels = (p for p in self.panels if not isinstance(p.method, ActorCritic) or p.method.initial_value in kept)
        return replace(self, panels=tuple(panels))


SIZE_1 = ("none", "K1", "B1", "O1", "OA1")
SIZE_2 = ("none", "K2", "B2", "O2", "OA2")

GRAVITY_OPTIMUM = 100 / 12
"""The best path takes 12 steps and earns 1."""

_SARSA = Length(seeds=30, steps=2_000_000, every=20_000)
_ACTOR_CRITIC = Length(seeds=30, steps=4_000_000, every=40_000)
"""The slowest, 5-step actor-critic with OA2 and V = 1, only begins to learn after two million steps."""


def actor_critic(n: int, v: int) -> ActorCritic:
    """n-step actor-critic with the paper's settings and v starting at the given value."""
    return ActorCritic(n=n, initial_value=float(v))


FIGURE_2 = Experiment(
    id="fig2",
    place="Fig. 2",
    title="Gravity: Q-learning and 5-step actor-critic",
    task="gravity",
    panels=(
        Panel("Q-learning", QLearning(), SIZE_1),
        *(Panel(f"5-step actor-critic, V = {v}", actor_critic(5, v), SIZE_1) for v in (0, 1)),
    ),
    columns=3,
    measure=PER_100,
    optimum=GRAVITY_OPTIMUM,
    statements=("S4.fig-gravity",),
    length=_ACTOR_CRITIC,
)

FIGURE_3 = Experiment(
    id="fig3",
    place="Fig. 3",
    title="Recall: the greedy policy of Q-learning every 10,000 steps",
    task="recall",
    panels=(Panel("Q-learning, OA1", QLearning(), ("OA1",)), Panel("Q-learning, B2", QLearning(), ("B2",))),
    columns=2,
    measure=GREEDY,
    optimum=1.0,
    statements=("S5.fig-recall", "S51.b2-more"),
    length=Length(seeds=30, steps=4_000_000, every=10_000),
)

FIGURE_4 = Experiment(
    id="fig4",
    place="Fig. 4",
    title="Gravity: 5-step and 20-step actor-critic, memories of size 1 and 2",
    task="gravity",
    panels=tuple(
        Panel(f"{n}-step, size {size}, V = {v}", actor_critic(n, v), memories)
        for v in (0, 1)
        for n in (5, 20)
        for size, memories in ((1, SIZE_1), (2, SIZE_2))
    ),
    columns=4,
    measure=PER_100,
    optimum=GRAVITY_OPTIMUM,
    statements=("S51.fig-gravity2",),
    length=_ACTOR_CRITIC,
)

FIGURE_5 = Experiment(
    id="fig5",
    place="Fig. 5",
    title="Variant of recall: the oracle loop",
    task="recall_variant",
    panels=(
        Panel("OA memories", OracleLoop(), ("OA1", "OA2")),
        Panel("B memories", OracleLoop(), ("B1", "B2", "B5")),
    ),
    columns=2,
    measure=ORACLE,
    optimum=3.0,
    statements=("S52.fig-variant",),
    length=None,
)

FIGURE_7 = Experiment(
    id="fig7",
    place="Fig. 7",
    title="4-action recall: the oracle loop",
    task="recall4",
    panels=(Panel("Oracle loop", OracleLoop(), ("OA1", "B5")),),
    columns=1,
    measure=ORACLE,
    optimum=1.0,
    statements=("C.fig",),
    length=None,
)

FIGURE_11 = Experiment(
    id="fig11",
    place="Fig. 11",
    title="Gravity: true online Sarsa(λ)",
    task="gravity",
    panels=tuple(Panel(f"Sarsa({lam:g})", Sarsa(lam=lam), SIZE_1) for lam in (0.0, 0.5, 1.0)),
    columns=3,
    measure=PER_100,
    optimum=GRAVITY_OPTIMUM,
    statements=("D6.fig-sarsa",),
    length=_SARSA,
)

FIGURES = {figure.id: figure for figure in (FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_7, FIGURE_11)}
"""All of them, in the order of the paper."""


def quick(experiment: Experiment) -> Experiment:
    """A shorter version: enough to see that everything works, not enough to judge by.

    >>> quick(FIGURE_11).length
    Length(seeds=5, steps=400000, every=10000)
    """
    if experiment.length is None:
        return experiment
    return experiment.with_length(5, 400_000, 10_000)


def by_name(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Figures by their names, `fig2` or just `2`, in the order of the paper; all of them if none is named.

    >>> [figure.place for figure in by_name(["11", "fig2"])]
    ['Fig. 2', 'Fig. 11']
    """
    wanted = set()
    for name in names:
        id = "fig" + name.lower().replace(" ", "").removeprefix("fig").removeprefix("ure").removeprefix(".")
        if id not in FIGURES:
            raise UnknownLabel(f"unknown figure {name!r}; the tabular figures are {', '.join(FIGURES)}")
        wanted.add(id)
    return tuple(figure for id, figure in FIGURES.items() if not wanted or id in wanted)
