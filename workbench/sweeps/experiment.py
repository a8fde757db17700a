"""An experiment as data: what is run, for how long, and what is measured. Nothing here computes.

A `Method` is a learner's record or the oracle loop; a `Panel` is a method with several memories; an
`Experiment` is one figure, a task with its panels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from workbench.core.learners import Learner, OptionError

PER_100 = "average reward per 100 steps"
GREEDY = "value of the greedy policy"
FINAL = "value of the final greedy policy"
ORACLE = "value of the policy"


@dataclass(frozen=True)
class OracleLoop:
    """The oracle loop from the uniform policy. Its settings are the step size, how ties are broken,
    and the most iterates to make and to show."""

    step: float = 0.02
    ties: str = "last"
    budget: int = 20_000
    shown: int = 400

    seeds_of_a_cell: ClassVar[int] = 1

    def settings(self) -> dict[str, Any]:
        """The settings by name."""
        return {"method": "OracleLoop", **asdict(self)}


Method = Learner | OracleLoop


@dataclass(frozen=True)
class Length:
    """The length of learning runs. It is the number of seeds, the time steps of each, and the time
    steps of a block of the curve."""

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
        return tuple(
            dict.fromkeys(
                (panel.method, memory) for panel in self.panels for memory in panel.memories
            )
        )

    def with_length(self, seeds: int, steps: int, every: int) -> Experiment:
        """The same experiment with other seeds and time steps. The oracle loop stays as it is."""
        return self if self.length is None else replace(self, length=Length(seeds, steps, every))

    def with_memories(self, memories: Iterable[str]) -> Experiment:
        """The same experiment with only some of its memories. Panels without any of them go."""
        kept = set(memories)
        panels = (
            replace(p, memories=tuple(m for m in p.memories if m in kept)) for p in self.panels
        )
        return replace(self, panels=tuple(panel for panel in panels if panel.memories))
