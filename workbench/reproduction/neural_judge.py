"""The paper's sentences about Figures 6 and 12, judged by the rules of `docs/section-6-rules.md`.

    solved       final reward >= 80% of the best history-based policy's
    learned      final reward >= random + a tenth of the way from there to the best
    better       rank-sum test on final rewards or Fisher's on seeds solved, Holm over the sentence
    efficient    rank-sum test on areas, likewise
    interval     of Clopper and Pearson
    on all runs  29 of 30, or all of at least 10

The rules were committed before the figures were run. Each can say *contradicted*; what they leave
open is *undecided*, and what none of the praised memories learned is *not learned*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.reproduction.neural_cells import NeuralCell
from workbench.reproduction.neural_figures import (
    AT_RANDOM,
    LSTM,
    NeuralFigure,
)
from workbench.reproduction.neural_settings import CANDIDATES
from workbench.reproduction.statistics import Estimate, holm, share

SOLVED_SHARE = 0.8
"""The share of the best from which a seed counts as solved."""

LEARNED_SHARE = 0.1
"""The share of the way from random actions to the best from which a seed has learned something."""

LEAST_SEEDS = 10
"""With fewer seeds of a memory nothing is decided, except that two failures are two failures."""

SIGNIFICANT = 0.05
"""The chance, over all comparisons of a sentence, that one is called a difference and is none."""

RuleAnswer = Literal["supported", "contradicted", "undecided"]


@dataclass(frozen=True)
class Standing:
    """How the seeds of one memory stand, each as a share of the best.

    Attributes
    ----------
    final, area : `[seed]`, over the last tenth of the steps and over all of them.
    random : what random actions earn.
    """

    final: tuple[float, ...]
    area: tuple[float, ...]
    random: float

    @classmethod
    def of(cls, cells: Sequence[NeuralCell], figure: NeuralFigure) -> Standing:
        return cls(
            tuple(cell.final / figure.optimum for cell in cells),
            tuple(cell.area / figure.optimum for cell in cells),
            AT_RANDOM[figure.task] / figure.optimum,
        )

    @property
    def solved(self) -> list[bool]:
        """`[seed]`."""
        return [x >= SOLVED_SHARE for x in self.final]

    @property
    def learned(self) -> list[bool]:
        """`[seed]`."""
        return [self.has_learned(x) for x in self.final]

    def has_learned(self, final: float) -> bool:
        """Whether a final reward is above that of random actions by enough."""
        return final >= self.random + LEARNED_SHARE * (1 - self.random)

    @property
    def median_has_learned(self) -> bool:
        """Whether the seed in the middle has learned something."""
        return self.has_learned(float(np.median(self.final)))

    @property
    def enough(self) -> bool:
        """Whether there are seeds enough to decide something."""
        return len(self.final) >= LEAST_SEEDS


Standings = Mapping[str, Standing]


@dataclass(frozen=True)
class MemoryTest:
    """A test of whether two memories differ.

    Attributes
    ----------
    winner, loser : who is ahead, by this test's own measure.
    p : two-sided, before Holm's correction.
    """

    winner: str
    loser: str
    test: str
    p: float


def compare_ranks(a: str, b: str, x: Sequence[float], y: Sequence[float], of: str) -> MemoryTest:
    """The rank-sum test of two memories, exact where there are no ties."""
    from scipy.stats import mannwhitneyu

    tied = len({*x, *y}) < len(x) + len(y)
    found = mannwhitneyu(x, y, method="asymptotic" if tied else "exact")
    ahead = float(found.statistic) * 2 >= len(x) * len(y)
    return MemoryTest(*((a, b) if ahead else (b, a)), f"rank-sum, {of}", float(found.pvalue))


def _fisher(a: str, b: str, x: Sequence[bool], y: Sequence[bool]) -> MemoryTest:
    from scipy.stats import fisher_exact

    table = [[sum(x), len(x) - sum(x)], [sum(y), len(y) - sum(y)]]
    ahead = sum(x) * len(y) >= sum(y) * len(x)
    p = float(fisher_exact(table).pvalue)
    return MemoryTest(*((a, b) if ahead else (b, a)), "Fisher, solved", p)


def differing_pairs(
    found: Standings, pairs: Sequence[tuple[str, str]], by: str
) -> list[MemoryTest]:
    """The differences between pairs of memories that remain after Holm's correction.

    Parameters
    ----------
    by : "final", by two tests, or "area", by one.
    """
    tests = []
    for a, b in pairs:
        x, y = found[a], found[b]
        if by == "area":
            tests.append(compare_ranks(a, b, x.area, y.area, by))
        elif by == "final":
            tests.append(compare_ranks(a, b, x.final, y.final, by))
            tests.append(_fisher(a, b, x.solved, y.solved))
        else:
            raise ValueError(f"memories are compared by final or area, not {by!r}")
    adjusted = holm([one.p for one in tests])
    return [
        one
        for one, p in zip(tests, adjusted, strict=True)
        if p <= SIGNIFICANT and found[one.winner].median_has_learned
    ]


def all_better(found: Standings, ours: Sequence[str], others: Sequence[str], by: str) -> RuleAnswer:
    """Whether each of ours is better than each of the others."""
    if not others or not all(found[name].enough for name in (*ours, *others)):
        return "undecided"
    pairs = [(a, b) for a in ours for b in others]
    wins = {(one.winner, one.loser) for one in differing_pairs(found, pairs, by)}
    if any((b, a) in wins and (a, b) not in wins for a, b in pairs):
        return "contradicted"
    return "supported" if all(x in wins and x[::-1] not in wins for x in pairs) else "undecided"


def on_all_runs(has: Sequence[bool], whole: int) -> RuleAnswer:
    """Whether a property holds on all runs: 29 of 30, or all of at least ten.

    Parameters
    ----------
    whole : how many seeds the figure has in full.
    """
    failed = len(has) - sum(has)
    if failed > 1:
        return "contradicted"
    if len(has) >= whole or (failed == 0 and len(has) >= LEAST_SEEDS):
        return "supported"
    return "undecided"


def together(answers: Sequence[RuleAnswer]) -> RuleAnswer:
    """The verdict on several parts: supported if all are, contradicted if one is."""
    if any(one == "contradicted" for one in answers):
        return "contradicted"
    return "supported" if all(one == "supported" for one in answers) else "undecided"


def _mostly_solved(one: Standing) -> RuleAnswer:
    if not one.enough:
        return "undecided"
    found = share(one.solved)
    return "supported" if found.low > 0.5 else "contradicted" if found.high < 0.5 else "undecided"


def _half_are_poor(one: Standing) -> RuleAnswer:
    if not one.enough:
        return "undecided"
    found = share([not solved for solved in one.solved])
    if not found.low <= 0.5 <= found.high:
        return "contradicted"
    return "supported" if found.low > 0 and found.high < 1 else "undecided"


def _o_and_oa(found: Standings) -> list[str]:
    return [name for name in found if name.startswith("O")]


def _others(found: Standings) -> list[str]:
    return [name for name in found if not name.startswith("O")]


def _the_o(found: Standings) -> str:
    (o,) = (name for name in found if name[0] == "O" and name[1] != "A")
    return o


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper about a figure, in our words, and its judge.

    Attributes
    ----------
    praised : the memories that it says something good of: where none of their seeds has learned
        anything, the sentence is not judged.
    judge : from how the seeds of each memory stand, and how many seeds the figure has in full.
    """

    id: str
    place: str
    text: str
    praised: Callable[[Standings], list[str]]
    judge: Callable[[Standings, int], RuleAnswer]


SENTENCES = {
    one.id: one
    for one in (
        Sentence(
            "S6.hallway-lstm",
            "Section 6",
            "PPO with an LSTM does no better than at random in the hallway.",
            lambda found: [],
            lambda found, whole: on_all_runs([not x for x in found[LSTM].learned], whole),
        ),
        Sentence(
            "S6.hallway-solved",
            "Section 6",
            "PPO with O6 and OA6 solves the hallway.",
            _o_and_oa,
            lambda found, whole: together([_mostly_solved(found[x]) for x in _o_and_oa(found)]),
        ),
        Sentence(
            "S6.minigrid-best",
            "Section 6",
            "In MiniGrid O3 and OA3 perform best.",
            _o_and_oa,
            lambda found, whole: all_better(found, _o_and_oa(found), _others(found), "final"),
        ),
        Sentence(
            "S6.minigrid-all",
            "Section 6",
            "In MiniGrid O3 and OA3 converge to good solutions on all runs.",
            _o_and_oa,
            lambda found, whole: together(
                [on_all_runs(found[name].solved, whole) for name in _o_and_oa(found)]
            ),
        ),
        Sentence(
            "S6.minigrid-lstm",
            "Section 6",
            "In MiniGrid about half of the LSTM's runs converge to poor policies.",
            lambda found: [],
            lambda found, whole: _half_are_poor(found[LSTM]),
        ),
        Sentence(
            "S1.efficient",
            "Section 1",
            "O(k) and OA(k) are more sample efficient than an LSTM.",
            _o_and_oa,
            lambda found, whole: all_better(found, _o_and_oa(found), [LSTM], "area"),
        ),
        Sentence(
            "S7.outperform",
            "Section 7",
            "With the same learner O(k) and OA(k) outperform an LSTM.",
            _o_and_oa,
            lambda found, whole: all_better(found, _o_and_oa(found), [LSTM], "final"),
        ),
        Sentence(
            "D6.ddqn",
            "Appendix D.6.2",
            "With DDQN, O(k) outperforms the other memories.",
            lambda found: [_the_o(found)],
            lambda found, whole: all_better(
                found, [_the_o(found)], [x for x in found if x != _the_o(found)], "final"
            ),
        ),
        Sentence(
            "D6.td",
            "Appendix D.6",
            "Temporal-difference methods can take advantage of O(k) and OA(k).",
            _o_and_oa,
            lambda found, whole: all_better(found, _o_and_oa(found), ["none"], "final"),
        ),
    )
}
"""The sentences by their id."""


@dataclass(frozen=True)
class NeuralVerdict:
    """A sentence, judged by the seeds that have finished.

    Attributes
    ----------
    verdict : "supported", "contradicted", "undecided", or "not learned".
    budget : seeds, steps and settings, in words.
    """

    sentence: Sentence
    verdict: str
    budget: str

    def __str__(self) -> str:
        return f"{self.sentence.text} {self.verdict} at {self.budget}"


def judge_neural(
    figure: NeuralFigure, cells: Mapping[str, Sequence[NeuralCell]]
) -> list[NeuralVerdict]:
    """Judge the paper's sentences about a figure by the cells that are stored."""
    found = {name: Standing.of(cells[name], figure) for name in figure.learners}
    least, whole = min(len(one.final) for one in found.values()), len(figure.seeds)
    most = max(len(one.final) for one in found.values())
    seeds = f"{least}" if least == most else f"{least} to {most}"
    budget = f"{seeds} of {whole} seeds, {figure.steps:,} steps, " + (
        "the paper's settings" if figure.settings == "paper" else "our settings"
    )
    verdicts = []
    for id in figure.statements:
        sentence = SENTENCES[id]
        praised = [found[name] for name in sentence.praised(found)]
        verdict: str = sentence.judge(found, whole)
        if praised and all(one.enough and not any(one.learned) for one in praised):
            tried = len(CANDIDATES[figure.id]) if figure.settings == "found" else 1
            verdict = f"not learned with {tried} settings"
        verdicts.append(NeuralVerdict(sentence, verdict, budget))
    return verdicts


def solved_share(cells: Sequence[NeuralCell], figure: NeuralFigure) -> Estimate:
    """The share of seeds that solved the task, with its exact interval."""
    return share(Standing.of(cells, figure).solved)


def table_rows(
    figure: NeuralFigure, cells: Mapping[str, Sequence[NeuralCell]]
) -> list[tuple[str, str, str, str, str, str]]:
    """A table row for each memory. It holds its name, its seeds, what they earn, the share that
    solved the task, the exact values of the final greedy policies (least, median, most), and their
    probabilities of success or paces likewise."""
    rows = []
    for name in figure.learners:
        own = cells[name]
        if not own:
            rows.append((name, "0", "-", "-", "-", "-"))
            continue
        got, solved = np.array([cell.final for cell in own]), solved_share(own, figure)
        values = [cell.values[-1] for cell in own]
        ends = [cell.success if figure.by_episode else cell.pace for cell in own]
        rows.append(
            (
                name,
                str(len(own)),
                f"{got.mean():.3f} ± {got.std():.3f}",
                f"{solved.effect:.0%} ({solved.low:.0%} to {solved.high:.0%})",
                _spread(values),
                _spread(ends),
            )
        )
    return rows


def writing_lines(cells: Mapping[str, Sequence[NeuralCell]]) -> list[str]:
    """Tell what the final greedy policies with each memory write and when, means over seeds, in
    words."""
    lines = []
    for name, own in cells.items():
        known = [cell for cell in own if cell.writes]
        if not known or not all(cell.ages for cell in known):
            continue  # nothing is written, or the cells were kept before this was
        ages = np.array([[np.nan if x is None else x for x in cell.ages] for cell in known])
        by_age = [f"{column[np.isfinite(column)].mean():.0%}" for column in ages.T
                  if np.isfinite(column).any()]  # fmt: skip
        stored: dict[str, float] = {}
        for cell in known:
            for what, share_of in cell.stored.items():
                stored[what] = stored.get(what, 0.0) + share_of / len(known)
        most = sorted(stored, key=lambda what: -stored[what])[:4]
        lines.append(
            f"With {name} the memory changes in {np.mean([cell.writes for cell in known]):.0%} of "
            f"all time steps (in time steps 1, 2 to 3, 4 to 7, ... of an episode: "
            f"{', '.join(by_age)}). Stored most: "
            + ", ".join(f"{what} ({stored[what]:.0%})" for what in most)
            + "."
        )
    return lines


def _spread(numbers: Sequence[float | None]) -> str:
    """Least, median and most of the numbers that are known, and of how many seeds if not of all.

    >>> _spread([0.5, 0.25, 1.0]), _spread([0.5, None]), _spread([None])
    ('0.250 0.500 1.000', '0.500 0.500 0.500 (1 of 2)', '-')
    """
    known = [x for x in numbers if x is not None]
    if not known:
        return "-"
    told = " ".join(f"{x:.3f}" for x in (min(known), float(np.median(known)), max(known)))
    return told if len(known) == len(numbers) else f"{told} ({len(known)} of {len(numbers)})"
