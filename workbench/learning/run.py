"""What a run of a learner leaves behind: rewards by block, greedy policies and their exact values,
tables, settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import NeverEnds, UnknownLabel, WorkbenchError
from workbench.evaluation.evaluate import evaluate
from workbench.learning.learners import Learner
from workbench.learning.table_kernels import forget_unreached
from workbench.model.numbers import Number
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """One learner on one POMDP, several seeds.

    Attributes
    ----------
    P, learner : what was run.
    steps, every : the steps of each seed, and of each block; the last block may be shorter.
    seeds : the seeds, in the order of the first axis of all arrays.
    rewards : `rewards[seed, block]`, the sum of the rewards of a block.
    episodes : `episodes[seed, block]`, how many episodes ended in it.
    actions : `actions[seed, block, o]`, the place of the greedy action at the end of a block, the
        first among equals; None if the run kept no policies.
    tables : what was learned, `tables[name][seed]`: "q" `[o, a]`; "q1", "q2" of Double Q-learning;
        preferences "h" `[o, a]` and values "v" `[o]` of actor-critic.
    """

    P: POMDP
    learner: Learner
    steps: int
    every: int
    seeds: tuple[int, ...]
    rewards: NDArray[np.float64]
    episodes: NDArray[np.int64]
    actions: NDArray[np.uint16] | None
    tables: dict[str, NDArray[np.float64]]

    def __repr__(self) -> str:
        return (
            f"Run of {self.learner} on {self.P.name}: {len(self.seeds)} seeds, {self.steps:,} "
            "steps each, "
            f"reward per 100 steps {self.late().mean():.3f} in the last tenth"
        )

    # ------------------------------------------------------------------ rewards

    @property
    def ends(self) -> NDArray[np.int64]:
        """`ends[block]`: how many steps were done at the end of each block."""
        return np.minimum(np.arange(1, self.rewards.shape[1] + 1) * self.every, self.steps)

    @property
    def per_100(self) -> NDArray[np.float64]:
        """`per_100[seed, block]`: the average reward per 100 steps, the measure of the paper's
        figures."""
        return 100 * self.rewards / np.diff(self.ends, prepend=0)

    def early(self, share: float = 0.1) -> NDArray[np.float64]:
        """`early[seed]`: the average reward per 100 steps over the first `share` of the blocks."""
        return self._average(slice(0, self._blocks(share)))

    def late(self, share: float = 0.1) -> NDArray[np.float64]:
        """`late[seed]`: the average reward per 100 steps over the last `share` of the blocks."""
        return self._average(slice(-self._blocks(share), None))

    def _blocks(self, share: float) -> int:
        """How many blocks make up a share of the run, at least one."""
        if not 0 < share <= 1:
            raise WorkbenchError(f"share must lie in (0, 1], not {share}")
        return max(1, round(share * self.rewards.shape[1]))

    def _average(self, blocks: slice) -> NDArray[np.float64]:
        return (
            100 * self.rewards[:, blocks].sum(axis=1) / np.diff(self.ends, prepend=0)[blocks].sum()
        )

    # ------------------------------------------------------------------ policies

    def policy(self, seed: int, block: int | None = None) -> Policy:
        """The greedy policy of a seed: at the end of a block (0, 1, ... or -1), or of the run if
        `block` is None."""
        row = self._row(seed)
        if block is None:
            return Policy.from_actions(self.P, self._final()[row])
        return Policy.from_actions(self.P, self._kept()[row, block])

    def softmax(self, seed: int) -> Policy:
        """The stochastic policy that actor-critic ends with."""
        if "h" not in self.tables:
            raise WorkbenchError(
                f"{self.learner.kind} has no softmax policy; only ActorCritic has one"
            )
        h = self.tables["h"][self._row(seed)]
        weights = np.exp(h - h.max(axis=1, keepdims=True))
        return Policy(self.P, weights / weights.sum(axis=1, keepdims=True))

    def values(
        self, gamma: Number | None = None, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[Any]:
        """`values[seed, block]`: the exact value of each greedy policy.

        Policies that act alike wherever they get to are evaluated once.

        Parameters
        ----------
        gamma : evaluate with this discount instead of the POMDP's own; with 1, a policy that may
            not end has value NaN.
        progress : called with the numbers of policies done and to do.
        """
        return self._evaluated(self._kept(), gamma, progress)

    def final_values(
        self, gamma: Number | None = None, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float64]:
        """`final_values[seed]`: as `values`, of the greedy policy at the end of the run only."""
        return self._evaluated(self._final()[:, None, :], gamma, progress)[:, 0]

    def _row(self, seed: int) -> int:
        if seed not in self.seeds:
            raise UnknownLabel(
                f"this run has no seed {seed!r}; its seeds are {_listed(self.seeds)}"
            )
        return self.seeds.index(seed)

    def _kept(self) -> NDArray[np.uint16]:
        if self.actions is None:
            raise WorkbenchError(
                "this run kept no greedy policies: learn(..., policies=True) keeps one for each "
                "block"
            )
        return self.actions

    def _final(self) -> NDArray[np.int64]:
        t = self.tables
        preferred = t["h"] if "h" in t else t["q"] if "q" in t else t["q1"] + t["q2"]
        return np.argmax(preferred, axis=2)

    def _evaluated(
        self,
        actions: NDArray[Any],
        gamma: Number | None,
        progress: Callable[[int, int], None] | None,
    ) -> NDArray[np.float64]:
        P = self.P if gamma is None else self.P.with_gamma(gamma)
        rows = actions.reshape(-1, actions.shape[2]).astype(np.uint32)
        p, omega = P.p, P.omega
        forget_unreached(
            p.row_ptr,
            p.s_next,
            p.prob.floats,
            omega.row_ptr,
            omega.o,
            omega.prob.floats,
            P.terminal.mask,
            P.mu.prob.floats,
            len(P.A),
            rows,
        )
        keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        found = np.empty(len(first))
        for k, i in enumerate(first.tolist()):
            found[k] = _value(P, Policy.from_actions(P, rows[i]))
            if progress is not None:
                progress(k + 1, len(first))
        return found[which].reshape(actions.shape[:2])

    # ------------------------------------------------------------------ tidy

    def to_frame(self, values: bool = False, gamma: Number | None = None) -> pd.DataFrame:
        """One row for each seed and block.

        Parameters
        ----------
        values : add the exact value of the greedy policy at the end of each block, under `gamma` if
            given.
        """
        import pandas as pd

        blocks = self.rewards.shape[1]
        columns: dict[str, Any] = {
            "seed": np.repeat(np.array(self.seeds, dtype=np.uint64), blocks),
            "block": np.tile(np.arange(blocks), len(self.seeds)),
            "step": np.tile(self.ends, len(self.seeds)),
            "reward": self.rewards.ravel(),
            "per_100": self.per_100.ravel(),
            "episodes": self.episodes.ravel(),
        }
        if values:
            columns["value"] = self.values(gamma).ravel()
        return pd.DataFrame(columns)


def _value(P: POMDP, pi: Policy) -> float:
    try:
        return float(evaluate(P, pi).value)
    except NeverEnds:
        return np.nan


def _listed(seeds: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, seeds[:6]))
    return shown + (f", ... ({len(seeds)})" if len(seeds) > 6 else "")
