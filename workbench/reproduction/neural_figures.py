"""Figures 6 and 12 as data, and what the paper says about them, judged at the budget that was run.

    Fig. 6     PPO with each memory, and PPO with an LSTM: hallway cookie and keys (size 6),
               RedBlueDoors and MemoryS7 (size 3)
    Fig. 12    DDQN with each memory (size 3): cookie, RedBlueDoors; and, which the paper does not
               show, keys and MemoryS7

The two Atari games are no exact models and are not here. The paper trains for tens of millions of
steps, 30 seeds (3 for DDQN), with a learning rate of 1e-5; a night on two cores allows a few
million with the `tuned()` settings, and `quick` less. A verdict is therefore always one *at this
budget*: a task that nobody learns in it decides nothing.

What a run earns is its reward per 100 steps in the hallway, which never ends, and its reward per
episode in MiniGrid, as in the paper (per step, a quick guess would look as good as a detour that is
sure), over its last tenth. It counts as *solved* when that is at least `SOLVED_SHARE` of what the
best history-based policy earns. Runs have *learned* something when they earn, on average, what is
`LEARNED_SHARE` of the way from uniformly random actions to the best; those that have not win no
comparison.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.deep.settings import DDQN, PPO, RecurrentPPO
from workbench.errors import UnknownLabel
from workbench.evaluation.evaluate import evaluate
from workbench.learning.learners import Learner
from workbench.learning.run import Run
from workbench.model.policy import uniform
from workbench.model.pomdp import POMDP
from workbench.sweeps.experiment import FINAL, Experiment, Length, Panel
from workbench.sweeps.results import Results
from workbench.sweeps.store import write_whole

SOLVED_SHARE = 0.8
"""The share of the best from which a run counts as solved."""

LEARNED_SHARE = 0.1
"""The share of the way from random actions to the best from which runs have learned something."""

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


# ---------------------------------------------------------------------- sentences


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


def _shown_name(panel: Panel, memory: str) -> str:
    return LSTM if isinstance(panel.method, RecurrentPPO) else memory


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


def runs_by_memory(results: Results) -> dict[str, Run]:
    """The runs of a figure by the name of the memory, or `LSTM`."""
    return {
        _shown_name(panel, memory): results[panel.method, memory]
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


# ---------------------------------------------------------------------- the record

NEURAL_RECORD = Path(__file__).with_name("neural_runs.npz")
"""What was run: rewards and exact values, `[seed, block]`, with settings and versions."""


def write_neural_record(all_results: Iterable[Results], versions: Mapping[str, str]) -> None:
    """Put results into the package's record, in place of earlier ones of the same figures.

    Parameters
    ----------
    versions : of the packages that they were computed with.
    """
    arrays, about = _recorded()
    for results in all_results:
        one = results.experiment
        assert one.length is not None
        about[one.id] = {
            "length": [one.length.seeds, one.length.steps, one.length.every],
            "methods": [panel.method.settings() for panel in one.panels],
            "versions": dict(versions),
        }
        arrays = {name: x for name, x in arrays.items() if not name.startswith(f"{one.id}/")}
        for name, run in runs_by_memory(results).items():
            assert run.measured is not None
            ends = [run.steps, run.every, *run.seeds]
            arrays[f"{one.id}/{name}/rewards"] = run.rewards.astype(np.float32)
            if run.episodes is not None:
                arrays[f"{one.id}/{name}/episodes"] = run.episodes.astype(np.int32)
            arrays[f"{one.id}/{name}/values"] = run.measured[:, -1]
            arrays[f"{one.id}/{name}/length"] = np.array(ends)
    ordered = {id: about[id] for id in NEURAL_FIGURES if id in about}
    sink = io.BytesIO()
    np.savez_compressed(sink, about=np.array(json.dumps({"figures": ordered})), **arrays)
    write_whole(NEURAL_RECORD, sink.getvalue())


def _recorded() -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of the record, and what it says of each figure; nothing if there is none."""
    if not NEURAL_RECORD.exists():
        return {}, {}
    with np.load(NEURAL_RECORD, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    return held, json.loads(str(held.pop("about")))["figures"]


def read_neural_record() -> dict[str, Results]:
    """The recorded results by the id of their figure; their experiment has the length and the
    panels that were run."""
    held, about = _recorded()
    found = {}
    for id, told in about.items():
        one = replace(NEURAL_FIGURES[id], length=Length(*told["length"]))
        outcomes: dict[Any, Any] = {}
        kept = [p for p in one.panels if f"{id}/{_shown_name(p, p.memories[0])}/length" in held]
        one = replace(one, panels=tuple(kept))
        for panel in one.panels:
            for memory in panel.memories:
                name = _shown_name(panel, memory)
                steps, every, *seeds = held[f"{id}/{name}/length"].tolist()
                rewards = held[f"{id}/{name}/rewards"].astype(np.float64)
                measured = np.full(rewards.shape, np.nan)
                measured[:, -1] = held[f"{id}/{name}/values"]
                run = Run.from_rewards(
                    rewards,
                    every=every,
                    steps=steps,
                    seeds=seeds,
                    learner=panel.method.kind if isinstance(panel.method, Learner) else None,
                    measured=measured,
                )
                episodes = held.get(f"{id}/{name}/episodes")
                outcomes[panel.method, memory] = replace(run, episodes=episodes)
        found[id] = Results(one, outcomes)
    return found
