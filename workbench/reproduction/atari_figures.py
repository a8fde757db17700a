"""The Atari games of Figures 6 and 12, Pong and Seaquest. They need a GPU.

Runs are those of `workbench.interop.gym.atari`, with the settings that the paper takes. Each memory
and seed has a folder of its own, in which an interrupted run goes on. The rules that judge what the
paper says are those of `docs/section-6-rules.md`, on the reward per episode over the last tenth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.reproduction.neural_judge import RuleAnswer

_MEMORIES = ("none", "K3", "B3", "O3", "OA3")

COMPARABLE = 4.2
"""A tenth of the range of Pong's scores, -21 to 21: who is behind by less performs comparably."""


@dataclass(frozen=True)
class AtariFigure:
    """A game with a learner, and what the paper says about it."""

    id: str
    game: str
    learner: str
    memories: tuple[str, ...]
    sentence: str

    @property
    def place(self) -> str:
        return "Fig. 6" if self.id.startswith("fig6") else "Fig. 12"

    @property
    def title(self) -> str:
        return f"{self.game}, {'DDQN' if self.learner == 'ddqn' else 'PPO'}, on a GPU"

    def folder(self, out: Path, memory: str, seed: int) -> Path:
        """The folder of a run."""
        return out / "atari" / self.id / f"{memory}-{seed}"


ATARI_FIGURES = {
    figure.id: figure
    for figure in (
        AtariFigure(
            "fig6-pong", "Pong", "ppo", (*_MEMORIES, "LSTM"), "In Pong O3 is comparable to K3."
        ),
        AtariFigure(
            "fig6-seaquest",
            "Seaquest",
            "ppo",
            (*_MEMORIES, "LSTM"),
            "In Seaquest O3 outperforms an LSTM.",
        ),
        AtariFigure("fig12-pong", "Pong", "ddqn", _MEMORIES, "With DDQN K3 performs best in Pong."),
    )
}
"""The figures by their id."""


def judge_atari(figure: AtariFigure, finals: Mapping[str, Sequence[float]]) -> RuleAnswer:
    """Judge the figure's sentence by the final rewards of each memory's seeds."""
    if figure.id == "fig6-pong":
        return _is_comparable(finals["O3"], finals["K3"])
    if figure.id == "fig6-seaquest":
        return _is_better("O3", ["LSTM"], finals)
    if figure.id == "fig12-pong":
        return _is_better("K3", [name for name in figure.memories if name != "K3"], finals)
    raise ValueError(f"no rule for {figure.id!r}")


def _is_comparable(x: Sequence[float], y: Sequence[float]) -> RuleAnswer:
    """Whether x is behind y by less than a tenth of the range."""
    from workbench.reproduction.neural_judge import LEAST_SEEDS
    from workbench.reproduction.statistics import difference

    if min(len(x), len(y)) < LEAST_SEEDS:
        return "undecided"
    found = difference(x, y)
    if found.low > -COMPARABLE:
        return "supported"
    return "contradicted" if found.high < -COMPARABLE else "undecided"


def _is_better(
    ours: str, others: Sequence[str], finals: Mapping[str, Sequence[float]]
) -> RuleAnswer:
    """Whether one is better than each of the others, by rank sums with Holm's correction."""
    from workbench.reproduction.neural_judge import (
        LEAST_SEEDS,
        SIGNIFICANT,
        compare_ranks,
        holm,
        together,
    )

    if any(len(finals[name]) < LEAST_SEEDS for name in (ours, *others)):
        return "undecided"
    tests = [compare_ranks(ours, name, finals[ours], finals[name], "final") for name in others]
    adjusted = holm([test.p for test in tests])
    answers: list[RuleAnswer] = []
    for test, p in zip(tests, adjusted, strict=True):
        if p > SIGNIFICANT:
            answers.append("undecided")
        else:
            answers.append("supported" if test.winner == ours else "contradicted")
    return together(answers)
