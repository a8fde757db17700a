"""Figures 6 and 12 as data, and what is known exactly about their tasks.

    Fig. 6     PPO with each memory, and PPO with an LSTM: hallway cookie and keys (size 6),
               RedBlueDoors and MemoryS7 (size 3)
    Fig. 12    DDQN with each memory (size 3): cookie, RedBlueDoors; and, which the paper does not
               show, keys and MemoryS7

The two Atari games are no exact models and are not here. The paper trains for tens of millions of
steps, 30 seeds (3 for DDQN), with a learning rate of 1e-5; a night on two cores allows a few
million with the `tuned()` settings, and `quick` less. What the paper says about them is judged by
`neural_judge`, what was run is kept by `neural_record`.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.errors import UnknownLabel
from workbench.deep.settings import DDQN, PPO, RecurrentPPO
from workbench.sweeps.experiment import FINAL, Experiment, Length, Panel

_SIZE_6 = ("none", "K6", "B6", "O6", "OA6")
_SIZE_3 = ("none", "K3", "B3", "O3", "OA3")

LSTM = "LSTM"
"""The name under which PPO with an LSTM, and no memory besides, is judged."""

COOKIE_PACE = 100 / 45.381913
KEYS_PACE = 100 / 66.184441
"""Per 100 steps, of the best history-based policies (`pomdps.hallway`)."""

PER_EPISODE = 1.0
"""In MiniGrid a policy that remembers what it has seen succeeds always."""

AT_RANDOM: dict[str, float] = {
    "hallway_cookie": 0.029270,
    "hallway_keys": 0.021566,
    "memory_s7": 0.5,
    "red_blue_doors": 0.339416,
}
"""What uniformly random actions earn (`earned_at_random`), per 100 steps or per episode."""

BEST_VALUES: dict[str, dict[str, float]] = {
    "hallway_cookie": {"best by history": 1.911209},
    "hallway_keys": {"best by history": 1.071766, "best without memory": 0.216632},
    "memory_s7": {"best by history": 0.929794, "best without memory": 0.482748},
    "red_blue_doors": {"at most by history": 0.844265},
}
"""Exact values, at the task's own discount, of the best history-based policy (no memory allows
more) and of the best memoryless policy of (m, o) with no memory (each memory allows as much). For
cookie without memory and for RedBlueDoors the searches end with bounds."""

REACHING: dict[str, tuple[str, ...]] = {
    "hallway_cookie": ("B3", "B6", "O3", "O6", "OA3", "OA6"),
    "hallway_keys": ("B3", "B6", "O3", "O6", "OA3", "OA6"),
    "memory_s7": ("B3", "O3", "OA3"),
    "red_blue_doors": (),
}
"""The memories of the figures with which some policy of (m, o) is as good as the best by history:
one that always takes an action that is best at its belief is found for B3 and for O1, of which the
larger memories can do all."""

BETWEEN: dict[str, dict[str, tuple[float, float]]] = {
    "hallway_cookie": {"none": (0.000235, 0.131790)},
    "memory_s7": {"K3": (0.787634, 0.929794)},
    "red_blue_doors": {
        "none": (0.387521, 0.844265),
        "O3": (0.519991, 0.844265),
        "OA3": (0.519991, 0.844265),  # it can do what O3 can
    },
}
"""What else `best_memoryless` and networks find: the value of a policy, and a bound on all."""

EPISODIC = ("memory_s7", "red_blue_doors")
"""Tasks whose episodes end, and whose reward is counted by episode."""


_ABOUT_PPO = ("S1.efficient", "S7.outperform")
_ABOUT_DDQN = ("D6.ddqn", "D6.td")
"""Sentences about all figures of a learner."""


def _figure(
    id: str,
    title: str,
    task: str,
    memories: tuple[str, ...],
    pace: float,
    statements: tuple[str, ...],
    place: str = "",
) -> Experiment:
    ddqn = id.startswith("fig12")
    panels = (
        (Panel("DDQN", DDQN.tuned(), memories),)
        if ddqn
        else (
            Panel("PPO", PPO.tuned(), memories),
            Panel("PPO with an LSTM", RecurrentPPO.tuned(), ("none",)),
        )
    )
    place = place or ("Fig. 12" if ddqn else "Fig. 6")
    length = Length(seeds=5, steps=5_000_000, every=100_000)
    return Experiment(id, place, title, task, panels, 2, FINAL, pace, statements, length)


NEURAL_FIGURES = {
    one.id: one
    for one in (
        _figure(
            "fig6-cookie",
            "Hallway cookie",
            "hallway_cookie",
            _SIZE_6,
            COOKIE_PACE,
            ("S6.hallway-lstm", "S6.hallway-solved", *_ABOUT_PPO),
        ),
        _figure(
            "fig6-keys",
            "Hallway keys",
            "hallway_keys",
            _SIZE_6,
            KEYS_PACE,
            ("S6.hallway-lstm", "S6.hallway-solved", *_ABOUT_PPO),
        ),
        _figure(
            "fig6-doors",
            "RedBlueDoors",
            "red_blue_doors",
            _SIZE_3,
            PER_EPISODE,
            ("S6.minigrid-best", "S6.minigrid-lstm", *_ABOUT_PPO),
        ),
        _figure(
            "fig6-memory",
            "MemoryS7",
            "memory_s7",
            _SIZE_3,
            PER_EPISODE,
            ("S6.minigrid-best", "S6.minigrid-lstm", *_ABOUT_PPO),
        ),
        _figure(
            "fig12-cookie",
            "Hallway cookie, DDQN",
            "hallway_cookie",
            _SIZE_3,
            COOKIE_PACE,
            _ABOUT_DDQN,
        ),
        _figure(
            "fig12-doors",
            "RedBlueDoors, DDQN",
            "red_blue_doors",
            _SIZE_3,
            PER_EPISODE,
            _ABOUT_DDQN,
        ),
        _figure(
            "fig12-keys",
            "Hallway keys, DDQN",
            "hallway_keys",
            _SIZE_3,
            KEYS_PACE,
            _ABOUT_DDQN,
            "Beside Fig. 12",
        ),
        _figure(
            "fig12-memory",
            "MemoryS7, DDQN",
            "memory_s7",
            _SIZE_3,
            PER_EPISODE,
            _ABOUT_DDQN,
            "Beside Fig. 12",
        ),
    )
}
"""The figures by their id."""


def neural_figure(id: str, quick: bool = False) -> Experiment:
    """A figure, in full (a night) or quick (ten minutes for one of them on two free cores).

    >>> neural_figure("fig6-memory", quick=True).length
    Length(seeds=3, steps=600000, every=20000)
    """
    if id not in NEURAL_FIGURES:
        raise UnknownLabel(f"unknown figure {id!r}; known are {', '.join(NEURAL_FIGURES)}")
    full = NEURAL_FIGURES[id]
    return replace(full, length=Length(3, 600_000, 20_000)) if quick else full


def shown_name(panel: Panel, memory: str) -> str:
    """The name of a memory in tables, or `LSTM`."""
    return LSTM if isinstance(panel.method, RecurrentPPO) else memory


def best_between(task: str, memory: str) -> tuple[float, float]:
    """Two values between which that of the best deterministic policy of (m, o) with a memory lies,
    one number twice where it is known.

    The best by history bounds it, and is reached with an LSTM, which sees the history, and with the
    memories in `REACHING`; what no memory allows is allowed with each of them.

    >>> best_between("memory_s7", "O3"), best_between("hallway_keys", "K6")
    ((0.929794, 0.929794), (0.216632, 1.071766))
    """
    known, found = BEST_VALUES[task], BETWEEN.get(task, {})
    if "best by history" in known and (memory == LSTM or memory in REACHING[task]):
        return known["best by history"], known["best by history"]
    least = known.get("best without memory")
    if memory == "none" and least is not None:
        return least, least
    if memory in found:
        return found[memory]
    most = known.get("best by history", known.get("at most by history"))
    assert most is not None
    return found["none"][0] if least is None else least, most
