"""Figures 6 and 12 as data, and what is known exactly about their tasks.

    Fig. 6     PPO with each memory, and PPO with an LSTM: hallway cookie and keys (size 6),
               RedBlueDoors and MemoryS7 (size 3)
    Fig. 12    DDQN with each memory (size 3): cookie, RedBlueDoors; and, which the paper does not
               show, keys and MemoryS7

The two Atari games are no exact models and are not here. Limits, seeds and units are those of
`docs/section-6-rules.md`. Settings and lengths come from one search with the same budget for every
memory (`neural_settings`); `settings="paper"` gives the paper's own.
`neural_cells` runs and keeps the cells of a figure, `neural_judge` judges what the paper says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import UnknownLabel
from workbench.core.learners import OptionError
from workbench.deep.settings import (
    DDQN,
    PPO,
    Neural,
    RecurrentPPO,
    paper_episodes,
    paper_settings,
)
from workbench.reproduction.neural_settings import CANDIDATES, STEPS, found_settings, read_log

_SIZE_6 = ("none", "K6", "B6", "O6", "OA6")
_SIZE_3 = ("none", "K3", "B3", "O3", "OA3")

LSTM = "LSTM"
"""The name under which PPO with an LSTM, and no memory besides, is judged."""

SEEDS = tuple(range(100, 130))
"""The seeds of the figures, which nothing else uses."""

COOKIE_PACE = 100 / 45.381913
KEYS_PACE = 100 / 66.184441
"""Per 100 steps, of the best history-based policies (`pomdps.hallway`)."""

PER_EPISODE = 1.0
"""In MiniGrid a policy that remembers what it has seen succeeds always; on RedBlueDoors, where late
success pays less, this is an upper bound."""

AT_RANDOM: dict[str, float] = {
    "hallway_cookie": 0.027078,
    "hallway_keys": 0.017765,
    "memory_s7": 0.228573,
    "red_blue_doors": 0.039558,
}
"""What uniformly random actions earn with the limits, per 100 steps or per episode."""

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
        "none": (0.69004, 0.844265),
        "K3": (0.75538, 0.844265),
        "B3": (0.69078, 0.844265),
        "O3": (0.77127, 0.844265),
        "OA3": (0.78046, 0.844265),
    },
}
"""What else `best_memoryless` and networks find: the value of a policy, and a bound on all."""

EPISODIC = ("memory_s7", "red_blue_doors")
"""Tasks whose episodes end, and whose reward is counted by episode."""


_ABOUT_PPO = ("S1.efficient", "S7.outperform")
_ABOUT_DDQN = ("D6.ddqn", "D6.td")
"""Sentences about all figures of a learner."""

_HALLWAY = ("S6.hallway-lstm", "S6.hallway-solved", *_ABOUT_PPO)
_MINIGRID = ("S6.minigrid-best", "S6.minigrid-all", "S6.minigrid-lstm", *_ABOUT_PPO)


@dataclass(frozen=True)
class NeuralFigure:
    """A figure whose learners are networks.

    Attributes
    ----------
    id, place, title : its name on the command line, its place in the paper, and its task in words.
    task : the task.
    learners : by the name of the memory, or `LSTM`.
    steps : of each seed.
    statements : the ids of the sentences that it bears on.
    settings : "found" or "paper".
    unfinished : the memories whose settings the search has not found yet; their learners are the
        first candidates, and are not run.
    seeds : of each memory.
    """

    id: str
    place: str
    title: str
    task: str
    learners: Mapping[str, Neural]
    steps: int
    statements: tuple[str, ...]
    settings: str = "found"
    unfinished: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS

    @property
    def by_episode(self) -> bool:
        """Whether rewards are counted by episode. Otherwise they are per 100 steps."""
        return self.task in EPISODIC

    @property
    def optimum(self) -> float:
        """The reward of the best history-based policy."""
        return {"hallway_cookie": COOKIE_PACE, "hallway_keys": KEYS_PACE}.get(
            self.task, PER_EPISODE
        )


_ABOUT: dict[str, tuple[str, str, str, tuple[str, ...], tuple[str, ...]]] = {
    "fig6-cookie": ("Fig. 6", "Hallway cookie", "hallway_cookie", _SIZE_6, _HALLWAY),
    "fig6-keys": ("Fig. 6", "Hallway keys", "hallway_keys", _SIZE_6, _HALLWAY),
    "fig6-doors": ("Fig. 6", "RedBlueDoors", "red_blue_doors", _SIZE_3, _MINIGRID),
    "fig6-memory": ("Fig. 6", "MemoryS7", "memory_s7", _SIZE_3, _MINIGRID),
    "fig12-cookie": ("Fig. 12", "Hallway cookie, DDQN", "hallway_cookie", _SIZE_3, _ABOUT_DDQN),
    "fig12-doors": ("Fig. 12", "RedBlueDoors, DDQN", "red_blue_doors", _SIZE_3, _ABOUT_DDQN),
    "fig12-keys": ("Beside Fig. 12", "Hallway keys, DDQN", "hallway_keys", _SIZE_3, _ABOUT_DDQN),
    "fig12-memory": ("Beside Fig. 12", "MemoryS7, DDQN", "memory_s7", _SIZE_3, _ABOUT_DDQN),
}
"""Place, title, task, memories and sentences of the figures, by their id."""

PAPER_STEPS = 20_480_000
"""Of each seed with the paper's settings; the paper's axes go to tens of millions."""


def neural_figure(id: str, settings: str = "found") -> NeuralFigure:
    """A figure with the settings that were found, or with the paper's.

    >>> neural_figure("fig6-memory").learners["O3"].max_episode_steps
    245
    """
    if id not in _ABOUT:
        raise UnknownLabel(f"unknown figure {id!r}; known are {', '.join(_ABOUT)}")
    if settings not in ("found", "paper"):
        raise OptionError(f"settings of a figure are found or paper, not {settings!r}")
    place, title, task, memories, statements = _ABOUT[id]
    names = memories if id.startswith("fig12") else (*memories, LSTM)
    if settings == "paper":
        learners = {name: paper_settings(_kind(id, name), task) for name in names}
        return NeuralFigure(id, place, title, task, learners, PAPER_STEPS, statements, settings)
    rows = read_log()
    shared = found_settings(id, memories, rows)
    found = dict.fromkeys(memories, shared) | (
        {LSTM: found_settings(id, [LSTM], rows)} if LSTM in names else {}
    )
    learners = {name: found_learner(id, name, found[name] or CANDIDATES[id][0]) for name in names}
    unfinished = tuple(name for name in names if found[name] is None)
    return NeuralFigure(
        id, place, title, task, learners, STEPS[id], statements, settings, unfinished
    )


def found_learner(id: str, memory: str, settings: dict[str, Any]) -> Neural:
    """The learner of a figure with one of the candidates of the search."""
    made: Neural = _kind(id, memory).tuned(**settings, **paper_episodes(_ABOUT[id][2]))
    return made


def _kind(id: str, memory: str) -> type[PPO] | type[DDQN]:
    return DDQN if id.startswith("fig12") else RecurrentPPO if memory == LSTM else PPO


def quick_figure(figure: NeuralFigure) -> NeuralFigure:
    """Shorten a figure to three seeds of 100 updates, for a first look. It is never recorded."""
    longest = max(learner.quantum for learner in figure.learners.values())
    return replace(figure, steps=100 * longest, unfinished=(), seeds=(0, 1, 2))


NEURAL_FIGURES = {id: neural_figure(id) for id in _ABOUT}
"""The figures by their id, with the settings that were found."""


def best_between(task: str, memory: str) -> tuple[float, float]:
    """Bounds on the value of the best deterministic policy of (m, o) with a memory. They are equal
    where it is known.

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
