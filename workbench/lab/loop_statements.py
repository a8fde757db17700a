"""Statements about where the oracle loop of Section 5.2 goes (Appendices B and C).

The loop runs from the uniform policy of <P, memory> with a fixed step. It is *stuck* if it ends
below the value of some memoryless policy of <P, memory>. A policy that is worth more proves that it
is; that it is not is proved by the best history-based value of P, which no memory exceeds: a loop
that ends there is not stuck.

Greedy breaks ties by the numbers of writes and actions, so the order of the actions may change
where the loop goes, and relabelled actions are not merged. With `any_order` the statement must hold
for every order of the actions; then they are. Relabelled states and observations, scaled rewards,
and shifted rewards of sequence tasks change nothing.

With a fixed step the loop may tend to a limit cycle instead. Around a best point that is what small
steps do: the cycle is below it by about the square of the step. The loop *chatters* if all policies
of the cycle are worth less than the best memoryless one by a clear share of the largest reward. On
[[0, 1], [1, 0]] it does with K1, B1 and O1, for every step: it stays at a saddle (claim T.saddle of
the ledger). `certificates.cycle` proves where a loop goes for ever; the policy that is better is
part of its certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.certificates.cycle import certify_cycle
from workbench.certificates.loop import certify
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, NotSolved, TooLarge, WorkbenchError
from workbench.core.improve import improve
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.improvement import batch
from workbench.lab.sequences import SequenceTasks, table_of
from workbench.lab.spaces import Codes, TaskSpace
from workbench.lab.statements import NO, Statement, Verdict, largest_reward, listed
from workbench.memories import parse_memory
from workbench.optima.best_memoryless import best_memoryless
from workbench.results.json import model_from_json, model_json

_CLOSE = 1e-7
"""Float values closer than this share of the largest reward count as equal when a task is judged
quickly."""

BUDGET = 4_000
"""Iterates of a loop in floats: at a step of 1/100, a share of 1e-17 of the way is left."""


@dataclass(frozen=True)
class _AboutLoops(Statement):
    """The base of both statements about loops."""

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        kinds = ("states", "observations", "scale")
        return (*kinds, "shift") if isinstance(space, SequenceTasks) else kinds

    def is_batched(self, space: TaskSpace) -> bool:
        return isinstance(space, SequenceTasks) and space.gamma == 1


@dataclass(frozen=True)
class OracleStuck(_AboutLoops):
    """The oracle loop is stuck with each of some memories, and not with any of some others.

    Parameters
    ----------
    memory : a memory's name, or several.
    but_not : memories with which it is not stuck.
    step, ties : of the loop.
    any_order : whether it must be so for every order of the actions, so that no tie among them
        matters.
    """

    memory: str | tuple[str, ...] = "B1"
    but_not: str | tuple[str, ...] = ()
    step: Fraction = Fraction(1, 50)
    ties: str = "last"
    any_order: bool = False
    name = "oracle-stuck"
    about = (
        "the oracle loop ends below the best memoryless value (with some memories, "
        "but not with others)"
    )

    def __post_init__(self) -> None:
        self.read_memories("memory", "but_not")
        object.__setattr__(self, "step", Fraction(self.step))

    def sentence(self) -> str:
        text = (
            f"From the uniform policy the oracle loop with {listed(list(self.memory))} ends below "
            "the best memoryless value"
        )
        text += f", and with {listed(list(self.but_not))} it does not" if self.but_not else ""
        return text + (", in whichever order the actions are." if self.any_order else ".")

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        kinds = super().symmetries(space)
        return (*kinds, "actions") if self.any_order else kinds

    def score(self, P: POMDP) -> float:
        return float(np.min([self._score(Q) for Q in self._orders(P)]))

    def _orders(self, P: POMDP) -> list[POMDP]:
        return [reordered(P, order) for order in permutations(P.A)] if self.any_order else [P]

    def _score(self, P: POMDP) -> float:
        found = np.min([gap_in_floats(P, memory, self.step, self.ties) for memory in self.memory])
        for memory in self.but_not:
            if found > 0:
                found -= 2 * np.maximum(gap_in_floats(P, memory, self.step, self.ties), 0)
        return float(found)

    def scores(self, space: TaskSpace, codes: Codes) -> NDArray[np.float64]:
        if not self.is_batched(space) or not isinstance(space, SequenceTasks):
            return super().scores(space, codes)
        rewards = space.rewards(codes)
        if not self.any_order:
            return self._table_scores(rewards)
        found = np.full(len(codes), np.inf)
        for order in permutations(range(space.actions)):  # most fail for the first order already
            left = np.isnan(found) | (found > 0)
            turned = rewards[left][(slice(None), *np.ix_(*[order] * space.length))]
            found[left] = np.minimum(found[left], self._table_scores(turned))
        return found

    def _table_scores(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.min([_batch_gaps(rewards, m, self.step, self.ties) for m in self.memory], axis=0)
        left = found > 0
        for memory in self.but_not:
            if left.any():
                found[left] -= 2 * np.maximum(
                    _batch_gaps(rewards[left], memory, self.step, self.ties), 0
                )
        return np.asarray(found)

    def exactly(self, P: POMDP) -> Verdict:
        first: Verdict | None = None
        for Q in self._orders(P):
            verdict = self._exactly(Q)
            if not verdict.holds:
                return verdict
            first = first or verdict
        assert first is not None
        return first

    def _exactly(self, P: POMDP) -> Verdict:
        facts: dict[str, str] = {}
        certificates: list[dict[str, Any]] = []
        for memory in (*self.memory, *self.but_not):
            stuck = is_stuck(P, memory, self.step, self.ties)
            facts |= stuck.facts
            certificates += stuck.certificates
            if stuck.holds is None or stuck.holds != (memory in self.memory):
                return Verdict(None if stuck.holds is None else False, facts)
        return Verdict(True, facts, tuple(certificates))


@dataclass(frozen=True)
class LargerDoesWorse(_AboutLoops):
    """The oracle loop with a larger memory of the same family ends lower than with a smaller
    one."""

    kind: str = "B"
    smaller: int = 1
    larger: int = 2
    step: Fraction = Fraction(1, 50)
    ties: str = "last"
    name = "larger-does-worse"
    about = (
        "the oracle loop with a larger memory of the same family ends lower than with a smaller one"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", Fraction(self.step))
        if not 0 <= self.smaller < self.larger:
            raise WorkbenchError(
                f"larger-does-worse needs sizes 0 <= smaller < larger, not {self.smaller}, "
                f"{self.larger}"
            )
        for memory in self.memories:
            parse_memory(memory)

    @property
    def memories(self) -> tuple[str, str]:
        """The smaller and the larger memory by name. Size 0 is none."""
        small, large = (f"{self.kind}{k}" if k else "none" for k in (self.smaller, self.larger))
        return small, large

    def sentence(self) -> str:
        small, large = self.memories
        return f"From the uniform policy the oracle loop with {large} ends lower than with {small}."

    def score(self, P: POMDP) -> float:
        small, large = (_end_in_floats(P, memory, self.step, self.ties) for memory in self.memories)
        return (small - large) / largest_reward(P) - _CLOSE

    def scores(self, space: TaskSpace, codes: Codes) -> NDArray[np.float64]:
        if not self.is_batched(space) or not isinstance(space, SequenceTasks):
            return super().scores(space, codes)
        rewards = space.rewards(codes)
        small, large = (  # not settled: `exactly` decides what has a score
            batch.stuck(rewards, memory, float(self.step), self.ties) for memory in self.memories
        )
        worse = (small.value - large.value) / _sizes(rewards) - _CLOSE
        return np.where((small.ended == "fixed") & (large.ended == "fixed"), worse, np.nan)

    def exactly(self, P: POMDP) -> Verdict:
        ends = [exact_end(P, memory, self.step, self.ties) for memory in self.memories]
        facts = {key: text for end in ends if end for key, text in end.facts.items()}
        small, large = ends
        if small is None or large is None:
            return Verdict(None, facts)
        return Verdict(large.value < small.value, facts, (small.certificate, large.certificate))


@dataclass(frozen=True)
class OracleChatters(Statement):
    """With each of some memories, the oracle loop tends to a limit cycle clearly below the best
    memoryless value.

    Parameters
    ----------
    memory : a memory's name, or several.
    step, ties : of the loop.
    lost : how far below the whole cycle is at least, as a share of the largest reward.
    """

    memory: str | tuple[str, ...] = "B1"
    step: Fraction = Fraction(1, 50)
    ties: str = "last"
    lost: Fraction = Fraction(1, 20)
    name = "oracle-chatters"
    about = "the oracle loop never settles, and stays clearly below the best memoryless value"

    def __post_init__(self) -> None:
        self.read_memories("memory")
        for key in ("step", "lost"):
            object.__setattr__(self, key, Fraction(getattr(self, key)))
        if not self.lost > 0:
            raise WorkbenchError(f"lost is a share above 0, not {self.lost}")

    def sentence(self) -> str:
        return (
            f"From the uniform policy the oracle loop with {listed(list(self.memory))}, step "
            f"{self.step}, never settles, and stays below the best memoryless value by {self.lost} "
            "of the largest reward or more."
        )

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        return "states", "observations", "scale"

    def score(self, P: POMDP) -> float:
        return min(self._score(P, memory) for memory in self.memory)

    def _score(self, P: POMDP, memory: str) -> float:
        E = augment(P, memory)
        run = improve(E, uniform(E), float(self.step), ties=self.ties, budget=BUDGET)
        if run.ended != "limit cycle":
            return NO
        highest = float(np.max(run.values[-run.window :]))
        below = float(best_memoryless(E).value) - highest
        return below / largest_reward(P) - float(self.lost)

    def exactly(self, P: POMDP) -> Verdict:
        facts: dict[str, str] = {}
        certificates = []
        for memory in self.memory:
            found = proof_of_run(certify_cycle, P, memory, self.step, self.ties)
            if found is None:
                return Verdict(None, {**facts, memory: "no limit cycle is proved"})
            low, high = Fraction(found["lowest"]), Fraction(found["highest"])
            facts[f"{memory} goes round between"] = f"{low} and {high}"
            better = found.get("better", {"value": str(high)})["value"]
            facts[f"{memory} could reach"] = better
            largest = max(abs(Fraction(r)) for r in P.R) or 1
            if Fraction(better) - high < self.lost * largest:
                # a better policy that is not known might still be as far above
                return Verdict(None, facts)
            certificates.append(found)
        return Verdict(True, facts, tuple(certificates))


def reordered(P: POMDP, order: Sequence[Label]) -> POMDP:
    """Reorder the actions of a task. Their order breaks ties."""
    return POMDP.from_functions(
        name=P.name,
        A=order,
        p=lambda s, a: P.p(s, a),
        omega=P.omega,
        mu=dict(P.mu.items()),
        gamma=P.gamma,
        terminal=P.terminal.__contains__,
    )


# ---------------------------------------------------------------------- in floats


def _end_in_floats(P: POMDP, memory: str, step: Fraction, ties: str) -> float:
    """The value of the limit. NaN if there is none, since where such a loop goes cannot be
    proved."""
    E = augment(P, memory)
    run = improve(E, uniform(E), float(step), ties=ties, budget=BUDGET)
    return float(run.value) if run.ended == "fixed" else np.nan


def gap_in_floats(P: POMDP, memory: str, step: Fraction, ties: str) -> float:
    """How far below the best memoryless value the loop ends, as a share of the largest reward. NaN
    without a limit."""
    table = table_of(P)
    if table is not None and P.gamma == 1 and table.ndim in batch.LENGTHS:
        return float(_batch_gaps(np.array([table], dtype=float), memory, step, ties)[0])
    end = _end_in_floats(P, memory, step, ties)
    return (float(best_memoryless(augment(P, memory)).value) - end) / largest_reward(P) - _CLOSE


def _batch_gaps(
    rewards: NDArray[np.float64], memory: str, step: Fraction, ties: str
) -> NDArray[np.float64]:
    """Compute these gaps for many sequence tasks. The best value counts stochastic policies as far
    as ascents find them."""
    found = batch.stuck(rewards, memory, float(step), ties)  # `exactly` decides
    gaps = np.where(found.stuck, found.gap / _sizes(rewards), -_CLOSE)
    return np.where(found.ended == "fixed", gaps, np.nan)


def _sizes(rewards: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum(1e-300, np.abs(rewards).reshape(len(rewards), -1).max(axis=1)))


# ---------------------------------------------------------------------- exactly


Certifier = Callable[[POMDP, str, Fraction, str], dict[str, Any] | None]


@dataclass(frozen=True)
class LoopEnd:
    """The exact end of a loop, whether something better is known to be possible, and the
    certificate."""

    value: Fraction
    stuck: bool | None
    certificate: dict[str, Any]

    @property
    def facts(self) -> dict[str, str]:
        """In words."""
        memory = self.certificate["memory"]
        better = self.certificate.get("better")
        return {f"{memory} ends at": str(self.value)} | (
            {f"{memory} could reach": better["value"]} if better else {}
        )


@lru_cache(maxsize=4096)
def _proved(
    prove: Certifier, model: str, memory: str, step: Fraction, ties: str
) -> dict[str, Any] | None:
    try:
        return prove(model_from_json(json.loads(model)), memory, step, ties)
    except (NeverEnds, TooLarge, NotSolved):
        return None


def proof_of_run(
    prove: Certifier, P: POMDP, memory: str, step: Fraction, ties: str
) -> dict[str, Any] | None:
    """The certificate that a proof finds, once for each model. None if it finds none."""
    return _proved(prove, json.dumps(model_json(P), sort_keys=True), memory, step, ties)


def exact_end(P: POMDP, memory: str, step: Fraction, ties: str) -> LoopEnd | None:
    """Where the oracle loop from uniform ends, in rationals. None if that could not be proved."""
    found = proof_of_run(certify, P, memory, step, ties)
    if found is None or found["status"] != "proved":
        return None
    return LoopEnd(
        Fraction(found["value"]), {"stuck": True, "optimal": False}.get(found["claim"]), found
    )


def is_stuck(P: POMDP, memory: str, step: Fraction, ties: str) -> Verdict:
    """Whether the loop is stuck with a memory: see the module's text for what decides it."""
    end = exact_end(P, memory, step, ties)
    if end is None:
        return Verdict(None, {memory: "where the loop ends is not proved"})
    return Verdict(end.stuck, end.facts, (end.certificate,))
