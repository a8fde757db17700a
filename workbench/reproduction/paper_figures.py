"""The tabular figures of the paper as data: Figures 2, 3, 4, 5, 7 and 11.

An `Experiment` says what is run (a task, methods, memories), for how long, what is measured, and
where the optimum lies. Nothing here computes. The settings that the paper gives (Appendices D.1 and
D.6.1) are the defaults of the learners' records. Two that it leaves open matter for actor-critic:
when updates are made and where v starts. A choice of both is a `Reading`; actor-critic figures are
run under all four, and figures that share a panel share their runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from workbench.core.errors import UnknownLabel
from workbench.core.learners import QLearning, Sarsa
from workbench.learning.actor_critic import UPDATES, ActorCritic
from workbench.sweeps.experiment import (
    GREEDY,
    ORACLE,
    PER_100,
    Experiment,
    Length,
    OracleLoop,
    Panel,
)
from workbench.text import did_you_mean

SIZE_1 = ("none", "K1", "B1", "O1", "OA1")
SIZE_2 = ("none", "K2", "B2", "O2", "OA2")

GRAVITY_OPTIMUM = 100 / 12
"""The best path takes 12 steps and earns 1."""

_SARSA = Length(seeds=30, steps=2_000_000, every=20_000)
_ACTOR_CRITIC = Length(seeds=30, steps=4_000_000, every=40_000)
"""The slowest, 5-step actor-critic with OA2 (window, V = 1), only begins to learn after two million
steps."""


@dataclass(frozen=True)
class Reading:
    """What the paper does not say about its actor-critic: when updates are made, where v starts.

    >>> str(Reading("batch", 1))
    'batch, V = 1'
    """

    update: str
    v: int

    def __str__(self) -> str:
        return f"{self.update}, V = {self.v}"


READINGS = tuple(Reading(update, v) for update in UPDATES for v in (0, 1))
"""All four."""


def paper_actor_critic(n: int, reading: Reading) -> ActorCritic:
    """n-step actor-critic with the paper's settings, under a reading of what it leaves open."""
    return ActorCritic(n=n, v=float(reading.v), update=reading.update)


def with_readings(experiment: Experiment, readings: Iterable[Reading]) -> Experiment:
    """Keep only some readings of actor-critic. Other methods stay."""
    kept = {(reading.update, reading.v) for reading in readings}
    panels = (
        p
        for p in experiment.panels
        if not isinstance(p.method, ActorCritic) or (p.method.update, p.method.v) in kept
    )
    return replace(experiment, panels=tuple(panels))


FIGURE_2 = Experiment(
    id="fig2",
    place="Fig. 2",
    title="Gravity: Q-learning and 5-step actor-critic",
    task="gravity",
    panels=(
        Panel("Q-learning", QLearning(), SIZE_1),
        *(
            Panel(f"5-step actor-critic, {reading}", paper_actor_critic(5, reading), SIZE_1)
            for reading in READINGS
        ),
    ),
    columns=3,
    measure=PER_100,
    optimum=GRAVITY_OPTIMUM,
    statements=("S4.fig-gravity", "S51.fig-better"),
    length=_ACTOR_CRITIC,
)

FIGURE_3 = Experiment(
    id="fig3",
    place="Fig. 3",
    title="Recall: the greedy policy of Q-learning every 10,000 steps",
    task="recall",
    panels=(
        Panel("Q-learning, OA1", QLearning(), ("OA1",)),
        Panel("Q-learning, B2", QLearning(), ("B2",)),
    ),
    columns=2,
    measure=GREEDY,
    optimum=1.0,
    statements=("S5.fig-jumps", "S51.b2-unstable"),
    length=Length(seeds=30, steps=4_000_000, every=10_000),
)

FIGURE_4 = Experiment(
    id="fig4",
    place="Fig. 4",
    title="Gravity: 5-step and 20-step actor-critic, memories of size 1 and 2",
    task="gravity",
    panels=tuple(
        Panel(f"{n}-step, size {size}, {reading}", paper_actor_critic(n, reading), memories)
        for reading in READINGS
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
    title="Variation of recall: the oracle loop",
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
    statements=("D6.fig-sarsa", "S53.favour"),
    length=_SARSA,
)

FIGURES = {
    figure.id: figure for figure in (FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_7, FIGURE_11)
}
"""All of them, in the order of the paper."""


def quick(experiment: Experiment) -> Experiment:
    """Shorten an experiment: enough to see that everything works, not enough to judge by.

    >>> quick(FIGURE_11).length
    Length(seeds=5, steps=400000, every=10000)
    """
    if experiment.length is None:
        return experiment
    return experiment.with_length(5, 400_000, 10_000)


def figures_by_name(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Figures by their names, `fig2` or just `2`, in the order of the paper. All of them if none is
    named.

    >>> [figure.place for figure in figures_by_name(["11", "fig2"])]
    ['Fig. 2', 'Fig. 11']
    """
    wanted = set()
    for name in names:
        id = "fig" + name.lower().replace(" ", "").removeprefix("fig").removeprefix(
            "ure"
        ).removeprefix(".")
        if id not in FIGURES:
            raise UnknownLabel(
                f"unknown figure {name!r}{did_you_mean(name, FIGURES)}; the tabular figures are "
                f"{', '.join(FIGURES)}"
            )
        wanted.add(id)
    return tuple(figure for id, figure in FIGURES.items() if not wanted or id in wanted)
