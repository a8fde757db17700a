"""The paper's sentences about its tabular figures, in our words, and their judges.

A statement is one or more sentences, and each is taken apart into findings. A finding is a share of
seeds, or of pairs of seeds (`statistics`), and a criterion: the share is above, or below, a number.
What "solved" or "far superior" mean in numbers is our choice, not the paper's, and so is the length
of the runs; where a share is close to its criterion, both matter. The finding is

    supported       the exact test of the claimed side holds at 2.5%
    contradicted    that of the other side does
    undecided       neither

where the tests of all findings of a statement are corrected for their number (Holm). A sentence is
supported if all its findings are, contradicted if one is. These rules were written before the seeds
that the ledger judges by (`full_runs.JUDGED`) were run; no rule had seen them.

What the paper leaves open about actor-critic is judged under all four readings
(`paper_figures.READINGS`), and one reading must serve all sentences. Runs with fewer seeds or steps
than a figure has decide nothing against a statement: what is not supported by them is *undecided
with n seeds*.

    judge("S4.fig-gravity", results)                         from the results of Fig. 2
    establish("S4.fig-gravity", find, seeds=8, steps=10**6)  run what is needed, then judge
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.core.errors import UnknownLabel
from workbench.core.learners import QLearning, Sarsa
from workbench.reproduction.paper_figures import (
    FIGURES,
    READINGS,
    Reading,
    paper_actor_critic,
    with_readings,
)
from workbench.reproduction.statistics import Estimate, ahead, exactly, share, which_hold
from workbench.sweeps.experiment import Experiment, Method
from workbench.sweeps.results import Results
from workbench.sweeps.run_cells import FindTask, run_experiment

SOLVED = 0.75
"""Share of the optimal reward from which on a seed has solved its task; what a little exploration
costs is far less."""

LEARNED = 0.5
"""Share of the optimal reward from which on a seed has learned to control its memory."""

HALF = 0.5
"""Share of the seeds, or of the pairs of seeds, that has to be passed."""

FAR = 0.1
"""How many of the memories, as a share, "far superior" is superior with at least."""

REACHED = 1e-3
"""How close to its limit the last iterate of an oracle loop has to be."""

SOLVE = f"seeds that solve it: late reward above {SOLVED:g} of the optimum"
SOLVE_PAIRS = "pairs of seeds, of those in which one solves it and the other does not"
STEADY_PAIRS = "pairs of seeds in which the s.d. over blocks is larger"

_LAMBDAS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Finding:
    """One part of a sentence.

    Attributes
    ----------
    sentence : the sentence that it is part of, in a few words.
    what : the part, in words.
    under : a reading of what the paper leaves open, such as "batch, V = 1", or "".
    estimate, measured : the effect with its interval, and what it is.
    above, bound : the criterion: the effect is above the bound, or below it.
    """

    sentence: str
    what: str
    under: str
    estimate: Estimate
    measured: str
    above: bool
    bound: float

    def p_values(self) -> tuple[float, float]:
        """Of the tests that the criterion holds, and that it does not."""
        return (
            self.estimate.p_value(self.bound, self.above),
            self.estimate.p_value(self.bound, not self.above),
        )

    @property
    def criterion(self) -> str:
        """The criterion in a few characters."""
        return f"{'>' if self.above else '<'} {self.bound:g}"


@dataclass(frozen=True)
class Judgement:
    """A statement and what was found about it.

    Attributes
    ----------
    short : the number of seeds, if these or the steps were fewer than the figure's; else None.
    """

    id: str
    place: str
    statement: str
    findings: tuple[Finding, ...]
    short: int | None = None

    @property
    def readings(self) -> tuple[str, ...]:
        """The readings under which the statement was judged. It is one empty word if there are
        none."""
        return tuple(dict.fromkeys(f.under for f in self.findings if f.under)) or ("",)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the statement."""
        return tuple(dict.fromkeys(f.sentence for f in self.findings))

    def is_supported(self, under: str = "") -> bool:
        """Whether all findings that depend on no reading, and all under this one, are supported."""
        return self.verdict_under(under) == "supported"

    def verdict_under(self, under: str, sentence: str | None = None) -> str:
        """ "supported", "contradicted" or "undecided" under a reading. It is the verdict on one
        sentence, or on all together."""
        found = {
            self.verdict_on(f)
            for f in self.findings
            if f.under in ("", under) and sentence in (None, f.sentence)
        }
        if found == {"supported"}:
            return "supported"
        return next((word for word in found if word == "contradicted"), min(found - {"supported"}))

    @cached_property
    def verdicts(self) -> dict[Finding, str]:
        """The verdict on each finding, by tests that are corrected for their number."""
        both = [f.p_values() for f in self.findings]
        holds, fails = (which_hold([pair[side] for pair in both]) for side in (0, 1))
        return {
            f: "supported" if yes else "contradicted" if no else "undecided"
            for f, yes, no in zip(self.findings, holds, fails, strict=True)
        }

    def verdict_on(self, finding: Finding) -> str:
        """The verdict on one finding. A short run decides nothing against it."""
        found = self.verdicts[finding]
        if self.short is None or found == "supported":
            return found
        return f"undecided with {self.short} seed{'s' if self.short != 1 else ''}"

    def verdict_of(self, sentence: str | None = None) -> str:
        """The verdict on a sentence, or on all together: a word, or the readings under each."""
        by_word: dict[str, list[str]] = {}
        for under in self.readings:
            by_word.setdefault(self.verdict_under(under, sentence), []).append(under)
        if len(by_word) == 1:
            return next(iter(by_word))
        words = sorted(by_word, key=lambda word: (word != "supported", word))
        return "; ".join(f"{word} ({' / '.join(by_word[word])})" for word in words)

    @property
    def verdict(self) -> str:
        """The verdict on all sentences together."""
        return self.verdict_of()


# ---------------------------------------------------------------------- the statements


def _five_step(readings: Iterable[Reading]) -> list[tuple[str, str, Method]]:
    """The learners of Fig. 2: a name, a reading, the method."""
    return [
        ("Q-learning", "", QLearning()),
        *(("5-step actor-critic", str(r), paper_actor_critic(5, r)) for r in readings),
    ]


def _gravity(
    results: Results,
    solve: Sequence[str] = ("O1",),
    fail: Sequence[str] = ("B1",),
    below: Sequence[str] = ("B1", "K1"),
    readings: Sequence[Reading] = READINGS,
) -> Iterable[Finding]:
    """Fig. 2. `solve` and `fail`: the memories said to solve the task, and not to do so
    consistently; `below`: those said to be outperformed."""
    shown = {
        "fail": f"not solved consistently with {_listed(fail)}",
        "solve": f"solved with {_listed(solve)}",
        "below": f"{_listed(solve)} outperforms {_listed(below)}",
    }
    for name, under, method in _five_step(readings):
        solved = {m: has_solved(results, method, m) for m in {*solve, *fail, *below}}
        for memory in fail:
            what = f"{name} with {_shown(memory)} does not solve gravity consistently"
            yield Finding(shown["fail"], what, under, share(solved[memory]), SOLVE, False, HALF)
        for memory in solve:
            what = f"{name} with {_shown(memory)} solves gravity"
            yield Finding(shown["solve"], what, under, share(solved[memory]), SOLVE, True, HALF)
        for memory in solve:
            for other in below:
                what = f"{name}: {_shown(memory)} outperforms {_shown(other)}"
                found = ahead(solved[memory], solved[other])
                yield Finding(shown["below"], what, under, found, SOLVE_PAIRS, True, HALF)


def has_solved(results: Results, method: Method, memory: str) -> np.ndarray:
    """`solved[seed]`: whether the late reward is above `SOLVED` of the optimum."""
    found: np.ndarray = results[method, memory].late() > SOLVED * results.experiment.optimum
    return found


def _better(
    results: Results,
    above: Sequence[str] = ("O1", "OA1"),
    below: Sequence[str] = ("B1",),
    readings: Sequence[Reading] = READINGS,
) -> Iterable[Finding]:
    """Fig. 2. `above`: memories said to perform better than those in `below`."""
    for name, under, method in _five_step(readings):
        solved = {m: has_solved(results, method, m) for m in {*above, *below}}
        for memory in above:
            for other in below:
                sentence = f"{_listed(above)} perform better than {_listed(below)}"
                what = f"{name}: {_shown(memory)} performs better than {_shown(other)}"
                found = ahead(solved[memory], solved[other])
                yield Finding(sentence, what, under, found, SOLVE_PAIRS, True, HALF)


def jumps(values: np.ndarray, optimum: float) -> np.ndarray:
    """`jumps[seed]`: whether the value is both the optimum and 0 in the second half of a run.

    >>> jumps(np.array([[0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0]]), 1.0).tolist()
    [False, True]
    """
    half = values[:, values.shape[1] // 2 :]
    return np.any(np.isclose(half, optimum), axis=1) & np.any(np.isclose(half, 0.0), axis=1)


def _recall(results: Results, memories: Sequence[str] = ("OA1", "B2")) -> Iterable[Finding]:
    """Fig. 3, per memory: both kinds of policies, still in the second half, and switches between
    them."""
    for memory in memories:
        values = results[QLearning(), memory].measured
        both = jumps(values, results.experiment.optimum)
        what = (
            f"With {memory} the greedy policy is optimal at some checkpoints and worth 0 at others "
            f"({int(both.sum())} of {len(both)} seeds)"
        )
        measured = "seeds, second half of the run"
        yield Finding(f"{memory} jumps", what, "", share(both), measured, True, HALF)
        rate = switches(values[:, values.shape[1] // 2 :])
        what = f"With {memory} it goes on changing between the two"
        measured = "seeds with a switch in the second half of the run"
        yield Finding(f"{memory} jumps", what, "", share(rate > 0), measured, True, HALF)


def _b2_unstable(results: Results, less: str = "OA1", more: str = "B2") -> Iterable[Finding]:
    """Fig. 3, the two memories compared. `less` and `more`: which is said to be less, and more,
    unstable."""
    rate = {memory: switches(results[QLearning(), memory].measured) for memory in (less, more)}
    what = f"{more} switches more often than {less}"
    if rate[less].mean() > 0:
        what += f" ({rate[more].mean() / rate[less].mean():.1f} times as often)"
    found = ahead(rate[more], rate[less])
    measured = "pairs of seeds in which it switches more often"
    yield Finding(f"{more} is less stable", what, "", found, measured, True, HALF)


def switches(values: np.ndarray) -> np.ndarray:
    """`switches[seed]`: how often the value changes from one checkpoint to the next, per 100.

    >>> switches(np.array([[0.0, 1.0, 1.0, 0.0, 0.0]])).tolist()
    [50.0]
    """
    return 100 * (~np.isclose(values[:, 1:], values[:, :-1])).mean(axis=1)


def _gravity2(
    results: Results,
    better: int = 20,
    worse: int = 5,
    pairs: Sequence[tuple[str, str]] = (("O1", "O2"), ("OA1", "OA2")),
    readings: Sequence[Reading] = READINGS,
) -> Iterable[Finding]:
    """Fig. 4. `better`, `worse`: the n said to be far superior, and inferior; `pairs`: a memory and
    the better, larger one."""
    memories = tuple(
        dict.fromkeys(memory for _, memory in results.experiment.pairs if memory != "none")
    )
    for reading in readings:
        under = str(reading)
        solved = {
            (n, memory): has_solved(results, paper_actor_critic(n, reading), memory)
            for n in (better, worse)
            for memory in memories
        }
        counts = {
            n: np.sum([solved[n, memory] for memory in memories], axis=0) for n in (better, worse)
        }
        what = f"{better}-step is far superior to {worse}-step"
        found = share(counts[better] - counts[worse] >= FAR * len(memories))
        measured = f"pairs of seeds with at least {FAR:.0%} of the memories more solved"
        yield Finding(what, what, under, found, measured, True, HALF)
        sentence = f"{worse}-step performs better with larger memories"
        for small, large in pairs:
            what = f"{worse}-step performs better with {large} than with {small}"
            found = ahead(solved[worse, large], solved[worse, small])
            yield Finding(sentence, what, under, found, SOLVE_PAIRS, True, HALF)


def _sarsa(
    results: Results,
    learned: Sequence[str] = ("O1", "OA1"),
    stable: tuple[float, str] = (0.5, "O1"),
    bit: str = "B1",
) -> Iterable[Finding]:
    """Fig. 11. `learned`: memories learned at every lambda; `stable`: the most stable pair; `bit`:
    what Sarsa(1) can use."""
    optimum = results.experiment.optimum
    for lam in _LAMBDAS:
        for memory in learned:
            late = results[Sarsa(lam=lam), memory].late() / optimum
            what = f"Sarsa({lam:g}) learns to control {memory}"
            sentence = f"{_listed(learned)} learned for every lambda"
            measured = f"seeds with a late reward above {LEARNED:g} of the optimum"
            yield Finding(sentence, what, "", share(late > LEARNED), measured, True, HALF)
    calm = unsteadiness(results[Sarsa(lam=stable[0]), stable[1]].per_100) / optimum
    steadiest = f"Sarsa({stable[0]:g}) with {stable[1]}"
    for lam in _LAMBDAS:
        for memory in learned:
            if (lam, memory) != stable:
                rival = unsteadiness(results[Sarsa(lam=lam), memory].per_100) / optimum
                what = f"Sarsa({lam:g}) with {memory} is less steady than {steadiest}"
                found = ahead(rival, calm)
                sentence = f"{steadiest} is the most stable of {_listed(learned)}"
                yield Finding(sentence, what, "", found, STEADY_PAIRS, True, HALF)
    with_bit = results[Sarsa(lam=1.0), bit]
    reaches = (with_bit.per_100 / optimum).max(axis=1) > SOLVED
    what = f"Sarsa(1) can use {bit}"
    measured = f"seeds with a block above {SOLVED:g} of the optimum"
    yield Finding(what, what, "", share(reaches), measured, True, HALF)
    what = f"Sarsa(1) with {bit} is less steady than {steadiest}"
    found = ahead(unsteadiness(with_bit.per_100) / optimum, calm)
    sentence = f"Sarsa(1) with {bit} is unstable"
    yield Finding(sentence, what, "", found, STEADY_PAIRS, True, HALF)


def _favour(
    results: Results, above: str = "O1", below: Sequence[str] = ("B1", "K1")
) -> Iterable[Finding]:
    """Fig. 11. `above`: the memory that is favoured; `below`: those that it is favoured over."""
    for lam in _LAMBDAS:
        solved = {m: has_solved(results, Sarsa(lam=lam), m) for m in (above, *below)}
        for other in below:
            what = f"Sarsa({lam:g}) solves gravity with {above} more often than with {other}"
            found = ahead(solved[above], solved[other])
            sentence = f"{above} favoured over {_listed(below)}"
            yield Finding(sentence, what, "", found, SOLVE_PAIRS, True, HALF)


def unsteadiness(per_100: np.ndarray) -> np.ndarray:
    """`unsteadiness[seed]`: the standard deviation of the reward over the blocks of the second half
    of a run."""
    return per_100[:, per_100.shape[1] // 2 :].std(axis=1)


def _variant(
    results: Results,
    stuck: Sequence[str] = ("OA1",),
    reach: Sequence[str] = ("OA2", "B1", "B2", "B5"),
) -> Iterable[Finding]:
    """Fig. 5. `stuck` and `reach`: the memories that stay below the optimum, and reach it."""
    optimum = results.experiment.optimum
    for panel in results.experiment.panels:
        for memory in panel.memories:
            loop = results[panel.method, memory]
            gap = exactly(optimum - loop.value)
            if memory in stuck:
                sentence = f"{_listed(stuck)} stays below the optimum"
                what = f"{memory} ends at {loop.value:.4f}, {loop.ended}"
                yield Finding(sentence, what, "", gap, "optimum minus value", True, REACHED)
            if memory in reach:
                sentence = f"{_listed(reach)} reach it"
                what = f"{memory} ends at {loop.value:.4f}, {loop.ended}"
                yield Finding(sentence, what, "", gap, "optimum minus value", False, REACHED)


def _recall4(
    results: Results, limits: Sequence[tuple[str, float]] = (("B5", 0.75), ("OA1", 1.0))
) -> Iterable[Finding]:
    """Fig. 7. `limits`: where the loop is said to end with each memory."""
    (panel,) = results.experiment.panels
    for memory, limit in limits:
        loop = results[panel.method, memory]
        sentence = f"{memory} converges to {limit:g}"
        what = f"{memory} ends at {loop.value:.4f}, {loop.ended}"
        found = exactly(abs(loop.value - limit))
        yield Finding(sentence, what, "", found, "distance", False, REACHED)


def _shown(memory: str) -> str:
    return "no memory" if memory == "none" else memory


def _listed(memories: Sequence[str]) -> str:
    return " and ".join(_shown(memory) for memory in memories)


@dataclass(frozen=True)
class FigureStatement:
    """A statement of the paper about a figure: its place, our words, and the function that takes it
    apart."""

    place: str
    words: str
    findings: Callable[..., Iterable[Finding]]


STATEMENTS = {
    "S4.fig-gravity": FigureStatement(
        "Sec. 4, Fig. 2",
        "On gravity neither Q-learning nor 5-step actor-critic learns to use B1 to solve it "
        "consistently. With O1 they solve it, and O1 outperforms B1 and K1. (The readings of "
        "actor-critic that bear this out contradict S51.fig-gravity2: see S51.fig-shared.)",
        _gravity,
    ),
    "S51.fig-better": FigureStatement(
        "Sec. 5.1, Fig. 2",
        "O1 and OA1 perform better than B1 on gravity, with Q-learning and with 5-step "
        "actor-critic. (That shortcuts are the reason is no matter of this figure.)",
        _better,
    ),
    "S5.fig-jumps": FigureStatement(
        "Sec. 5, Fig. 3",
        "Measured, not proved: the greedy policy of Q-learning on recall jumps between optimal "
        "policies and ones that earn nothing. Runs are as in Figure 3 (steps of 1/10), with OA1 "
        "and with B2. (Why it cannot stay at an optimal one: S5.fig-recall.)",
        _recall,
    ),
    "S51.b2-unstable": FigureStatement(
        "Sec. 5.1, Fig. 3",
        "Q-learning on recall is less stable with B2 than with OA1. Its greedy policy switches "
        "more often between the optimum and zero reward.",
        _b2_unstable,
    ),
    "S51.fig-gravity2": FigureStatement(
        "Sec. 5.1, Fig. 4",
        "On gravity 20-step actor-critic is far superior to 5-step actor-critic. With 5 steps "
        "it does better with O2 and OA2 than with O1 and OA1. (The readings of "
        "actor-critic that bear this out contradict S4.fig-gravity: see S51.fig-shared.)",
        _gravity2,
    ),
    "S52.fig-variant": FigureStatement(
        "Sec. 5.2, Fig. 5",
        "On the variant of recall the oracle loop ends below the optimum with OA1; with the "
        "larger OA2, and with B1, B2 and "
        "B5, it reaches it. (That OA1 could encode an optimal policy is no matter of this figure.)",
        _variant,
    ),
    "C.fig": FigureStatement(
        "App. C, Fig. 7",
        "On the 4-action recall task the oracle loop converges to 3/4 with B5 and to the optimum, "
        "1, with OA1.",
        _recall4,
    ),
    "S53.favour": FigureStatement(
        "Sec. 5.3, Fig. 11",
        "The results of Sarsa(λ) favour O(k) memories. On gravity it solves the task more often "
        "with O1 than with B1 and with K1, for λ = 0, 0.5 and 1. (Deep Q-learning, of which the "
        "sentence speaks as well, is not run.)",
        _favour,
    ),
    "D6.fig-sarsa": FigureStatement(
        "App. D.6.1, Fig. 11",
        "Sarsa(λ) learns to control O1 and OA1 whatever λ. The most stable of these is Sarsa(0.5) "
        "with O1. (K1, B1 and no memory, which other λ do not learn to control, are not asked: who "
        "earns nothing is stable, too.) Sarsa(1) can control B1, but not stably.",
        _sarsa,
    ),
}
"""By their ids, which the ledger takes from here."""


def judge(id: str, results: Results, **changes: Any) -> Judgement:
    """Judge a statement by the results of a figure.

    Parameters
    ----------
    results : of the experiment that the statement belongs to, see `experiment_for`.
    changes : of what the statement says, such as `solve=("B1",)`; to see that a false one is not
        supported.
    """
    statement = _known(id)
    return Judgement(
        id,
        statement.place,
        statement.words,
        tuple(statement.findings(results, **changes)),
        _short(results.experiment),
    )


def _short(experiment: Experiment) -> int | None:
    """The number of seeds, if these or the steps are fewer than those of the figure."""
    made, due = experiment.length, FIGURES[experiment.id].length
    if made is None or due is None or (made.seeds >= due.seeds and made.steps >= due.steps):
        return None
    return made.seeds


def establish(
    id: str,
    find: FindTask,
    seeds: int = 8,
    steps: int = 1_000_000,
    memories: Iterable[str] | None = None,
    **changes: Any,
) -> Judgement:
    """Run the experiment of a statement, shortened, and judge the statement by it. Nothing is
    stored.

    Parameters
    ----------
    find : the POMDP that the name of a task means.
    seeds, steps : the length of learners' runs; a hundredth of the steps is a block, in recall
        10,000 steps are.
    memories : run only these.
    changes : as for `judge`; with `readings=(Reading("batch", 1),)` actor-critic is run and judged
        under this one only.
    """
    experiment = experiment_for(id)
    if experiment.length is not None:
        every = min(steps, 10_000) if experiment.task == "recall" else max(1, steps // 100)
        experiment = experiment.with_length(seeds, steps, every)
    if memories is not None:
        experiment = experiment.with_memories(memories)
    experiment = with_readings(experiment, changes.get("readings", READINGS))
    return judge(id, run_experiment(experiment, find), **changes)


def experiment_for(id: str) -> Experiment:
    """The experiment that a statement is judged by.

    >>> experiment_for("C.fig").place
    'Fig. 7'
    """
    _known(id)
    return next(experiment for experiment in FIGURES.values() if id in experiment.statements)


def _known(id: str) -> FigureStatement:
    if id not in STATEMENTS:
        raise UnknownLabel(
            f"unknown statement {id!r}; statements about figures are {', '.join(STATEMENTS)}"
        )
    return STATEMENTS[id]
