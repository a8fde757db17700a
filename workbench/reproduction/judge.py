"""What the paper says about its tabular figures, in our words, and whether results bear it out.

A statement is taken apart into findings. Each has an effect with a 95% interval over seeds
(`statistics`) and a criterion, an effect above, or below, a number. What "solved" or "far superior"
mean in numbers is our choice, not the paper's, and so is the length of the runs; where an interval
ends close to its criterion, both matter. The finding is

    supported       the whole interval lies on the claimed side
    contradicted    the whole interval lies on the other side
    undecided       it holds the number, or there are too few seeds for an interval

and a statement is supported if all its findings are. Statements about actor-critic are judged
twice, with v starting at 0 and at 1, which the paper does not say and which matters.

    judge("S4.fig-gravity", results)                         from the results of Fig. 2
    establish("S4.fig-gravity", find, seeds=8, steps=10**6)  run what is needed, then judge
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.errors import UnknownLabel
from workbench.learning.learners import QLearning, Sarsa
from workbench.reproduction.paper_figures import FIGURES, paper_actor_critic
from workbench.reproduction.statistics import Estimate, difference, exactly, mean, share
from workbench.sweeps.experiment import Experiment
from workbench.sweeps.results import Results
from workbench.sweeps.run_cells import Find, run_experiment

SOLVED = 0.75
"""Share of the optimal reward from which on a task counts as solved; what a little exploration
costs is far less."""

HALF = 0.5
"""Share of the optimal reward below which a task counts as not solved consistently, and above which
as learned."""

FAR = 0.1
"""How much of the optimal reward "far superior" means at least."""

REACHED = 1e-3
"""How close to its limit the last iterate of an oracle loop has to be."""

LATE = "late reward, share of the optimum"
LATE_DIFFERENCE = "difference of late rewards, share of the optimum"
STEADY_DIFFERENCE = "difference of the s.d. over blocks, share of the optimum"

STARTS = (0, 1)
"""Where v of actor-critic starts."""

_LAMBDAS = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Finding:
    """One part of a statement.

    Attributes
    ----------
    what : the part, in words.
    under : a condition that the paper leaves open, such as "V = 0", or "".
    estimate, measured : the effect with its interval, and what it is.
    above, bound : the criterion: the effect is above the bound, or below it.
    """

    what: str
    under: str
    estimate: Estimate
    measured: str
    above: bool
    bound: float

    @property
    def verdict(self) -> str:
        """ "supported", "contradicted" or "undecided"."""
        low, high = (
            (self.estimate.low, self.estimate.high)
            if self.above
            else (-self.estimate.high, -self.estimate.low)
        )
        bound = self.bound if self.above else -self.bound
        return "supported" if low > bound else "contradicted" if high <= bound else "undecided"

    @property
    def criterion(self) -> str:
        """The criterion in a few characters."""
        return f"{'>' if self.above else '<'} {self.bound:g}"


@dataclass(frozen=True)
class Judgement:
    """A statement and what was found about it."""

    id: str
    place: str
    statement: str
    findings: tuple[Finding, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions under which the statement was judged; one empty word if there are none."""
        return tuple(dict.fromkeys(f.under for f in self.findings if f.under)) or ("",)

    def supported(self, under: str = "") -> bool:
        """Whether all findings that do not depend on a condition, and all under this one, are
        supported."""
        return self.verdict_under(under) == "supported"

    def verdict_under(self, under: str) -> str:
        """ "supported", "not supported", or "not supported (undecided)" if nothing was contradicted
        either."""
        found = {f.verdict for f in self.findings if f.under in ("", under)}
        if found == {"supported"}:
            return "supported"
        return "not supported" if "contradicted" in found else "not supported (undecided)"

    @property
    def verdict(self) -> str:
        """The verdict, or those under each condition where they differ."""
        words = {under: self.verdict_under(under) for under in self.conditions}
        if len(set(words.values())) == 1:
            return next(iter(words.values()))
        return "; ".join(f"{word} with {under}" for under, word in words.items())


# ---------------------------------------------------------------------- the statements


def _gravity(
    results: Results,
    solve: Sequence[str] = ("O1", "OA1"),
    fail: Sequence[str] = ("none", "K1", "B1"),
    starts: Sequence[int] = STARTS,
) -> Iterable[Finding]:
    """Fig. 2. `solve` and `fail`: the memories said to solve the task, and not to; `starts`: of
    v."""
    optimum = results.experiment.optimum
    methods = (
        ("Q-learning", "", QLearning()),
        *(("5-step actor-critic", f"V = {v}", paper_actor_critic(5, v)) for v in starts),
    )
    for name, under, method in methods:
        late = {memory: results[method, memory].late() / optimum for memory in (*solve, *fail)}
        for memory in solve:
            what = f"{name} with {_shown(memory)} solves gravity"
            yield Finding(what, under, mean(late[memory]), LATE, True, SOLVED)
        for memory in fail:
            what = f"{name} with {_shown(memory)} does not solve it consistently"
            yield Finding(what, under, mean(late[memory]), LATE, False, HALF)
        for memory in solve:
            for other in fail:
                what = f"{name}: {_shown(memory)} outperforms {_shown(other)}"
                yield Finding(
                    what, under, difference(late[memory], late[other]), LATE_DIFFERENCE, True, 0.0
                )


def _recall(results: Results, memories: Sequence[str] = ("OA1", "B2")) -> Iterable[Finding]:
    """Fig. 3, per memory: both kinds of policies, still in the second half, and switches between
    them."""
    for memory in memories:
        values = results[QLearning(), memory].values
        half = values[:, values.shape[1] // 2 :]
        optimum = results.experiment.optimum
        both = np.any(np.isclose(half, optimum), axis=1) & np.any(np.isclose(half, 0.0), axis=1)
        what = (
            f"With {memory} the greedy policy is optimal at some checkpoints and worth 0 at others"
        )
        yield Finding(what, "", share(both), "share of seeds, second half of the run", True, HALF)
        what = f"With {memory} it goes on changing between the two"
        yield Finding(
            what,
            "",
            mean(switches(half)),
            "switches per 100 checkpoints, second half of the run",
            True,
            0.0,
        )


def _b2_more(results: Results, less: str = "OA1", more: str = "B2") -> Iterable[Finding]:
    """Fig. 3, the two memories compared. `less` and `more`: which is said to be less, and more,
    unstable."""
    rate = {memory: switches(results[QLearning(), memory].values) for memory in (less, more)}
    what = f"{more} switches more often than {less}"
    if rate[less].mean() > 0:
        what += f" ({rate[more].mean() / rate[less].mean():.1f} times as often)"
    yield Finding(
        what,
        "",
        difference(rate[more], rate[less]),
        "difference of switches per 100 checkpoints",
        True,
        0.0,
    )


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
    starts: Sequence[int] = STARTS,
) -> Iterable[Finding]:
    """Fig. 4. `better`, `worse`: the n said to be far superior, and inferior; `pairs`: a memory and
    the better, larger one."""
    optimum = results.experiment.optimum
    memories = tuple(
        dict.fromkeys(memory for _, memory in results.experiment.pairs if memory != "none")
    )
    for v in starts:
        under = f"V = {v}"
        late = {
            (n, memory): results[paper_actor_critic(n, v), memory].late() / optimum
            for n in (better, worse)
            for memory in memories
        }
        averages = {
            n: np.mean([late[n, memory] for memory in memories], axis=0) for n in (better, worse)
        }
        what = f"{better}-step is far superior to {worse}-step"
        yield Finding(
            what,
            under,
            difference(averages[better], averages[worse]),
            f"{LATE_DIFFERENCE}, averaged over memories",
            True,
            FAR,
        )
        for small, large in pairs:
            what = f"{worse}-step performs better with {large} than with {small}"
            found = difference(late[worse, large], late[worse, small])
            yield Finding(what, under, found, LATE_DIFFERENCE, True, 0.0)


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
            yield Finding(what, "", mean(late), LATE, True, HALF)
    calm = unsteadiness(results[Sarsa(lam=stable[0]), stable[1]].per_100) / optimum
    for lam in _LAMBDAS:
        for memory in learned:
            if (lam, memory) != stable:
                rival = unsteadiness(results[Sarsa(lam=lam), memory].per_100) / optimum
                what = (
                    f"Sarsa({lam:g}) with {memory} is less steady than "
                    f"Sarsa({stable[0]:g}) with {stable[1]}"
                )
                yield Finding(what, "", difference(rival, calm), STEADY_DIFFERENCE, True, 0.0)
    with_bit = results[Sarsa(lam=1.0), bit]
    reaches = (with_bit.per_100 / optimum).max(axis=1) > SOLVED
    what = f"Sarsa(1) can use {bit}"
    yield Finding(
        what,
        "",
        share(reaches),
        f"share of seeds with a block above {SOLVED:g} of the optimum",
        True,
        HALF,
    )
    what = f"Sarsa(1) with {bit} is less steady than Sarsa({stable[0]:g}) with {stable[1]}"
    found = difference(unsteadiness(with_bit.per_100) / optimum, calm)
    yield Finding(what, "", found, STEADY_DIFFERENCE, True, 0.0)


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
                what = (
                    f"{memory} stays below the optimum (it ends at {loop.value:.4f}, {loop.ended})"
                )
                yield Finding(what, "", gap, "optimum minus value", True, REACHED)
            if memory in reach:
                what = f"{memory} reaches the optimum (it ends at {loop.value:.4f}, {loop.ended})"
                yield Finding(what, "", gap, "optimum minus value", False, REACHED)


def _recall4(
    results: Results, limits: Sequence[tuple[str, float]] = (("B5", 0.75), ("OA1", 1.0))
) -> Iterable[Finding]:
    """Fig. 7. `limits`: where the loop is said to end with each memory."""
    (panel,) = results.experiment.panels
    for memory, limit in limits:
        loop = results[panel.method, memory]
        what = f"{memory} converges to {limit:g} (it ends at {loop.value:.4f}, {loop.ended})"
        yield Finding(what, "", exactly(abs(loop.value - limit)), "distance", False, REACHED)


def _shown(memory: str) -> str:
    return "no memory" if memory == "none" else memory


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
        "Q-learning and 5-step actor-critic learn to solve gravity with O1 and OA1, which "
        "outperform None, K1 and B1; "
        "with these three they do not solve it consistently.",
        _gravity,
    ),
    "S5.fig-recall": FigureStatement(
        "Sec. 5, Fig. 3",
        "Q-learning on recall does not converge with OA1 or B2: its greedy policy jumps between "
        "optimal ones and ones that "
        "earn nothing.",
        _recall,
    ),
    "S51.b2-more": FigureStatement(
        "Sec. 5.1, Fig. 3",
        "Q-learning on recall is less stable with B2 than with OA1. (That B2 has more "
        "non-Markovian shortcuts, the other "
        "half of the statement, is no matter of this figure.)",
        _b2_more,
    ),
    "S51.fig-gravity2": FigureStatement(
        "Sec. 5.1, Fig. 4",
        "On gravity 20-step actor-critic is far superior to 5-step actor-critic, and 5-step "
        "actor-critic does better with O2 "
        "and OA2 than with O1 and OA1.",
        _gravity2,
    ),
    "S52.fig-variant": FigureStatement(
        "Sec. 5.2, Fig. 5, App. B",
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
    "D6.fig-sarsa": FigureStatement(
        "App. D.6.1, Fig. 11",
        "Sarsa(λ) learns to control O1 and OA1 whatever λ; the most stable is Sarsa(0.5) with O1; "
        "Sarsa(1) can control B1, "
        "but not stably.",
        _sarsa,
    ),
}
"""By the ids of the ledger."""


def judge(id: str, results: Results, **changes: Any) -> Judgement:
    """What the results of a figure say about a statement.

    Parameters
    ----------
    results : of the experiment that the statement belongs to, see `experiment_for`.
    changes : of what the statement says, such as `solve=("B1",)`; to see that a false one is not
        supported.
    """
    statement = _known(id)
    return Judgement(
        id, statement.place, statement.words, tuple(statement.findings(results, **changes))
    )


def establish(
    id: str,
    find: Find,
    seeds: int = 8,
    steps: int = 1_000_000,
    memories: Iterable[str] | None = None,
    **changes: Any,
) -> Judgement:
    """Run the experiment of a statement, shortened, and judge the statement by it; nothing is
    stored.

    Parameters
    ----------
    find : the POMDP that the name of a task means.
    seeds, steps : the length of learners' runs; a hundredth of the steps is a block, in recall
        10,000 steps are.
    memories : run only these.
    changes : as for `judge`; with `starts=(0,)` actor-critic is run and judged with V = 0 only.
    """
    experiment = experiment_for(id)
    if experiment.length is not None:
        every = min(steps, 10_000) if experiment.task == "recall" else max(1, steps // 100)
        experiment = experiment.with_length(seeds, steps, every)
    if memories is not None:
        experiment = experiment.with_memories(memories)
    experiment = experiment.with_starts(changes.get("starts", STARTS))
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
