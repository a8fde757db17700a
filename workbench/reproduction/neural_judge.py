"""What the paper says about Figures 6 and 12, judged at the budget that was run.

A verdict is always one *at this budget*: a task that nobody learns in it decides nothing.

What a run earns is its reward per 100 steps in the hallway, which never ends, and its reward per
episode in MiniGrid, as in the paper (per step, a quick guess would look as good as a detour that is
sure), over its last tenth. It counts as *solved* when that is at least `SOLVED_SHARE` of what the
best history-based policy earns. Runs have *learned* something when they earn, on average, what is
`LEARNED_SHARE` of the way from uniformly random actions to the best; those that have not win no
comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.core.evaluate import evaluate
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.learning.run import Run
from workbench.reproduction.neural_figures import AT_RANDOM, EPISODIC, LSTM, shown_name
from workbench.sweeps.experiment import Experiment
from workbench.sweeps.results import Results

SOLVED_SHARE = 0.8
"""The share of the best from which a run counts as solved."""

LEARNED_SHARE = 0.1
"""The share of the way from random actions to the best from which runs have learned something."""


@dataclass(frozen=True)
class Sentence:
    """What the paper says about a figure, in our words, and how it is judged.

    Attributes
    ----------
    judge : from how the runs of each memory stand: True, False or None for undecided.
    """

    id: str
    place: str
    text: str
    judge: Callable[[Mapping[str, Standing]], bool | None]


@dataclass(frozen=True)
class Standing:
    """How the runs of one memory stand.

    Attributes
    ----------
    solved : the share that is solved.
    mean, worst, best : what they earn in the end as a share of the best: the mean over runs, the
        worst run, the best run.
    overall : what each of them earns over all its steps, likewise.
    random : what random actions earn, likewise.
    """

    solved: float
    mean: float
    worst: float
    best: float
    overall: tuple[float, ...]
    random: float

    @property
    def learned(self) -> bool:
        """Whether the runs have learned something."""
        return self.mean >= self.random + LEARNED_SHARE * (1 - self.random)

    @classmethod
    def of(cls, run: Run, experiment: Experiment) -> Standing:
        share, overall = (  # a run none of whose episodes end earns nothing
            np.nan_to_num(earned(run, experiment, over) / experiment.optimum) for over in (0.1, 1.0)
        )
        return cls(
            float((share >= SOLVED_SHARE).mean()),
            float(share.mean()),
            float(share.min()),
            float(share.max()),
            tuple(overall.tolist()),
            AT_RANDOM[experiment.task] / experiment.optimum,
        )


_Rewards = Callable[[Standing], tuple[float, ...]]
"""Of runs, to compare them by."""


def _lstm_fails(found: Mapping[str, Standing]) -> bool | None:
    """Contradicted if its runs have learned something; supported if they earn no more than random
    actions while another memory solves the task every time: else a longer run might succeed."""
    if LSTM not in found:
        return None
    lstm = found[LSTM]
    if lstm.learned:
        return False
    solvable = any(one.solved == 1 for one in found.values())
    return True if solvable and lstm.mean <= lstm.random else None


def _o_and_oa_solve(found: Mapping[str, Standing]) -> bool | None:
    return True if all(one.solved == 1 for one in _o_and_oa(found)) else None


def _o_and_oa_best(found: Mapping[str, Standing]) -> bool | None:
    """Supported if both solve every seed and no other does; contradicted if another memory solves
    every seed and one of them none."""
    both = _o_and_oa(found)
    others = [one for name, one in found.items() if not name.startswith("O")]
    if all(one.solved == 1 for one in both) and all(one.solved < 1 for one in others):
        return True
    if any(one.solved == 1 for one in others) and any(one.solved == 0 for one in both):
        return False
    return None


def _lstm_unreliable(found: Mapping[str, Standing]) -> bool | None:
    """About half of the runs end badly: supported if some and not all are solved."""
    return True if LSTM in found and 0 < found[LSTM].solved < 1 else None


def _in_the_end(one: Standing) -> tuple[float, ...]:
    return one.worst, one.best


def _over_the_run(one: Standing) -> tuple[float, ...]:
    return one.overall


def _all_beat(winners: list[Standing], losers: list[Standing], of: _Rewards) -> bool:
    """Whether all of the first have learned something, and each run of theirs beats every run of
    the second."""
    least = min(min(of(one)) for one in winners)
    return all(one.learned for one in winners) and least > max(max(of(one)) for one in losers)


def _compared(
    ours: list[Standing], others: list[Standing], of: _Rewards = _in_the_end
) -> bool | None:
    """Supported if every run of ours beats every other run; contradicted if every run of one of the
    others beats every run of ours."""
    if not others:
        return None
    if _all_beat(ours, others, of):
        return True
    return False if any(_all_beat([one], ours, of) for one in others) else None


def _o_and_oa(found: Mapping[str, Standing]) -> list[Standing]:
    return [one for name, one in found.items() if name.startswith("O")]


def _of_lstm(found: Mapping[str, Standing]) -> list[Standing]:
    return [found[LSTM]] if LSTM in found else []


def _o_beats_others(found: Mapping[str, Standing]) -> bool | None:
    (o,) = (name for name in found if name[0] == "O" and name[1] != "A")
    return _compared([found[o]], [one for name, one in found.items() if name != o])


SENTENCES = {
    one.id: one
    for one in (
        Sentence(
            "S6.hallway-lstm",
            "Section 6",
            "PPO with an LSTM does no better than at random in the hallway.",
            _lstm_fails,
        ),
        Sentence(
            "S6.hallway-solved",
            "Section 6",
            "PPO with O6 and OA6 solves the hallway.",
            _o_and_oa_solve,
        ),
        Sentence(
            "S6.minigrid-best",
            "Section 6",
            "In MiniGrid O3 and OA3 are best and converge to good solutions on all runs.",
            _o_and_oa_best,
        ),
        Sentence(
            "S6.minigrid-lstm",
            "Section 6",
            "In MiniGrid about half of the LSTM's runs converge to poor policies.",
            _lstm_unreliable,
        ),
        Sentence(
            "S1.efficient",
            "Section 1",
            "O(k) and OA(k) are more sample efficient than an LSTM.",
            lambda found: _compared(_o_and_oa(found), _of_lstm(found), _over_the_run),
        ),
        Sentence(
            "S7.outperform",
            "Section 7",
            "With the same learner O(k) and OA(k) outperform an LSTM.",
            lambda found: _compared(_o_and_oa(found), _of_lstm(found)),
        ),
        Sentence(
            "D6.ddqn",
            "Appendix D.6.2",
            "With DDQN, O(k) outperforms the other memories.",
            _o_beats_others,
        ),
        Sentence(
            "D6.td",
            "Appendix D.6",
            "Temporal-difference methods can take advantage of O(k) and OA(k).",
            lambda found: _compared(_o_and_oa(found), [found["none"]]),
        ),
    )
}
"""The sentences by their id."""

VERDICTS = {True: "supported", False: "contradicted", None: "undecided"}


@dataclass(frozen=True)
class NeuralVerdict:
    """A sentence, judged at a budget."""

    sentence: Sentence
    verdict: str
    budget: str

    def __str__(self) -> str:
        return f"{self.sentence.text} {self.verdict} at {self.budget}"


def earned(run: Run, experiment: Experiment, over: float = 0.1) -> NDArray[np.float64]:
    """What each seed earns over its last tenth, or another share of its steps: per episode where
    episodes end, per 100 steps elsewhere; NaN if no episode ended."""
    if experiment.task not in EPISODIC:
        return run.late(over)
    assert run.episodes is not None
    blocks = max(1, round(over * run.rewards.shape[1]))
    ended = run.episodes[:, -blocks:].sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(run.rewards[:, -blocks:].sum(axis=1) / ended)


def earned_at_random(P: POMDP, task: str) -> float:
    """What uniformly random actions earn, exactly, in the unit of `earned`."""
    if task not in EPISODIC:
        return 100 * float(evaluate(P, uniform(P), weights="stationary").average_reward)
    whole = P.with_gamma(1)
    return float(evaluate(whole, uniform(whole)).value)


def runs_by_memory(results: Results) -> dict[str, Run]:
    """The runs of a figure by the name of the memory, or `LSTM`."""
    return {
        shown_name(panel, memory): results[panel.method, memory]
        for panel in results.experiment.panels
        for memory in panel.memories
    }


def standings(results: Results) -> dict[str, Standing]:
    """How the runs of each memory of a figure stand."""
    runs = runs_by_memory(results)
    return {name: Standing.of(run, results.experiment) for name, run in runs.items()}


def judge_neural(results: Results) -> list[NeuralVerdict]:
    """What the paper says about a figure, judged at the budget that was run."""
    length = results.experiment.length
    assert length is not None
    found = standings(results)
    budget = f"{length.seeds} seeds of {length.steps:,} steps with the tuned settings"
    return [
        NeuralVerdict(SENTENCES[id], VERDICTS[SENTENCES[id].judge(found)], budget)
        for id in results.experiment.statements
    ]


def table_rows(results: Results) -> list[tuple[str, str, str, str, str]]:
    """A row for each memory: its name, what it earns, the share of seeds that solved the task, the
    exact values of the final greedy policies, and how many have one."""
    rows = []
    for name, run in runs_by_memory(results).items():
        assert run.measured is not None
        got = earned(run, results.experiment)
        values = run.measured[:, -1]
        known = values[np.isfinite(values)]
        rows.append(
            (
                name,
                f"{got.mean():.3f} ± {got.std():.3f}",
                f"{Standing.of(run, results.experiment).solved:.0%}",
                " ".join(f"{x:.3f}" for x in known) or "-",
                f"{len(known)} of {len(values)}",
            )
        )
    return rows
