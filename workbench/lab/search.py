"""`search(statement, over=space)`: tasks of a space on which a statement holds.

    exhaustive   every class of the space, in order; "none" then speaks of the whole space
    random       tasks drawn from the space
    climb      from random tasks uphill along the statement's score, one digit of the code at a time

The work is cut into pieces that do not depend on one another: a range of codes, or draws from a
generator of their own, made from the seed and the number of the piece. Their results are taken in
the order of the pieces, so that what is found depends neither on the number of workers nor on which
of them is faster. Ctrl-C ends it with what it has.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.executors.executor import make_executor
from workbench.lab.find import Find, SearchResult
from workbench.lab.spaces import Code, Codes, TaskSpace
from workbench.lab.statements import UNJUDGED, Statement, Verdict, as_statement
from workbench.plain_numbers import whole_number
from workbench.progress import TimeOver, Waiting, check_time, ends_in
from workbench.sweeps.cell import source_digest

METHODS = ("auto", "exhaustive", "random", "climb")

FEASIBLE = 20_000
FEASIBLE_IN_BATCHES = 5_000_000
"""Spaces of up to this many codes are gone through by method="auto", one by one or thousands at
once."""

TRIES = 10_000
"""Tasks judged at random or uphill, unless told otherwise."""

_PIECE, _BATCHED_PIECE = 256, 16_384
_MOVES, _NEIGHBOURS = 60, 48

_JUDGING = (
    *("core", "agents", "evaluation", "improvement", "optima", "sufficiency", "equilibrium"),
    *("research", "certificates", "lab"),
)
"""The rooms on which a verdict depends."""

_A_MOMENT = 0.05
"""Tasks that take less, in seconds, are judged in larger lots before the clock is asked again."""


@dataclass(frozen=True)
class Job:
    """The settings that all pieces of a search share."""

    statement: Statement
    space: TaskSpace
    method: str
    seed: int
    merge: tuple[str, ...]
    exact: bool
    size: int
    keep: int | None

    @property
    def pieces(self) -> int | None:
        """The number of pieces, or None if there is no end to them."""
        return -(-self.space.size // self.size) if self.method == "exhaustive" else None


@dataclass
class Piece:
    """The finds of a piece."""

    judged: int = 0
    looked_at: int = 0
    undecided: int = 0
    seeming: int = 0
    hits: list[tuple[Code, Verdict]] = field(default_factory=list)
    is_cut: bool = False
    """Whether the time was over before all of it was judged."""


# ---------------------------------------------------------------------- one piece


def judge_piece(job: Job, number: int, until: float = math.inf) -> Piece:
    """The piece with a number, or what is judged of it before a time."""
    if job.method == "exhaustive":
        return _range(job, number, until)
    rng = np.random.default_rng([job.seed, number])
    return _draws(job, rng, until) if job.method == "random" else _climb(job, rng, until)


def _range(job: Job, number: int, until: float) -> Piece:
    first, last = number * job.size, min((number + 1) * job.size, job.space.size)
    codes = job.space.codes(first, last)
    piece = Piece()
    classes = np.flatnonzero(job.space.is_canonical(codes, job.merge))
    judged = len(_judge(job, codes[classes], piece, until))
    piece.looked_at = int(classes[judged]) if judged < len(classes) else last - first
    return piece


def _draws(job: Job, rng: np.random.Generator, until: float) -> Piece:
    piece = Piece()
    _judge(job, np.array([job.space.sample(rng) for _ in range(job.size)]), piece, until)
    return piece


def _climb(job: Job, rng: np.random.Generator, until: float) -> Piece:
    """Uphill from one random task, to the best of some neighbours, until a find or the top."""
    piece = Piece()
    here = job.space.sample(rng)
    heights = _judge(job, np.array([here]), piece, until)
    height = heights[0] if len(heights) else np.nan
    for _ in range(_MOVES):
        if piece.hits or time.monotonic() > until:
            break
        around = np.array(job.space.neighbours(here, rng, _NEIGHBOURS))
        if not len(around):
            break
        heights = _judge(job, around, piece, until)
        if not len(heights):
            break
        known = np.where(np.isnan(heights), -np.inf, heights)
        top = int(np.argmax(known))
        if not known[top] > (-np.inf if np.isnan(height) else height):
            break
        here, height = tuple(around[top].tolist()), float(known[top])
    return piece


def _judge(job: Job, codes: Codes, piece: Piece, until: float) -> Any:
    """Judge some tasks, quickly and then exactly. Returns the scores of those judged in time."""
    found = np.empty(0)
    many = len(codes) if until == math.inf else 1
    while len(found) < len(codes):
        began = time.monotonic()
        some = codes[len(found) : len(found) + many]
        judged = 0
        try:
            with ends_in(until - time.monotonic()):
                check_time()
                exact = job.exact
                scores = np.full(len(some), 1.0) if exact else job.statement.scores(job.space, some)
                check_time()  # scores that came too late may be of searches that were cut short
                for code, score in zip(some.tolist(), scores.tolist(), strict=True):
                    _note(job, tuple(code), score, piece)
                    judged += 1
        except TimeOver:
            piece.is_cut = True
            return np.append(found, scores[:judged]) if judged else found
        found = np.append(found, scores)
        if time.monotonic() - began < _A_MOMENT:
            many *= 2
    return found


def _note(job: Job, code: Code, score: float, piece: Piece) -> None:
    """Count a task, and judge it exactly if its score promises a find."""
    if score > 0 and (job.keep is None or len(piece.hits) < job.keep):
        try:
            verdict = job.statement.exactly(job.space.task(code))
        except UNJUDGED as error:
            verdict = Verdict(None, {"undecided": str(error)})
        check_time()
        if verdict.holds:
            piece.hits.append((code, verdict))
        elif verdict.holds is None:
            piece.undecided += 1
    elif score > 0:
        piece.seeming += 1
    else:
        piece.undecided += math.isnan(score)
    piece.judged += 1


# ---------------------------------------------------------------------- all of it


def search(
    statement: Statement | str | Callable[..., Any],
    over: TaskSpace,
    method: str = "auto",
    seed: int = 0,
    tries: int | None = None,
    seconds: float | None = None,
    workers: int | None = None,
    executor: str | None = None,
    scheduler: str | None = None,
    keep: int | None = 10,
    exact: bool = False,
    merge: Collection[str] | None = None,
    **parameters: Any,
) -> SearchResult:
    """Look for tasks on which a statement holds.

    Parameters
    ----------
    statement : a name of `statements.statements()` with its parameters as further keywords, a
        `Statement`, or a Python function of the task (see `statements.Predicate`).
    over : the space to look in.
    method : "exhaustive", "random", "climb", or "auto": exhaustive where that is feasible, else
        climb.
    seed : of random and climb; the same seed gives the same finds.
    tries : the most tasks to judge; without it all for exhaustive, and 10,000 for the others.
    seconds : stop after so long; the task under way is dropped. The first search of a kind also
        compiles its kernels. On Dask it finishes the pieces under way.
    workers, executor, scheduler : where the work is done, as for `make_executor`; a scheduler alone
        means Dask. Without any, here, where statements that are judged in compiled batches use all
        cores.
    keep : stop after so many finds; None goes on to the end.
    exact : judge every task in rationals, so that an exhaustive search without a find is a proof.
    merge : symmetries to merge, if not all that leave the statement's answer alone for certain.

    >>> from workbench.lab.sequences import SequenceTasks
    >>> found = search(
    ...     "oracle-stuck", SequenceTasks(2, 2, lowest=0, highest=2), memory="B1", but_not=["OA1"]
    ... )
    >>> found
    From the uniform policy the oracle loop with B1 ends below the best memoryless value, and with
    OA1 it does not. no find among sequence tasks of length 2, 2 actions, rewards 0, 1, 2, gamma 1:
    all 81 tasks (51 up to scale and shift), judged in floats and the finds exactly; 1 undecided.

    See also: `random_pomdp`, `diagnose`.
    """
    one = as_statement(statement, **parameters)
    if not isinstance(over, TaskSpace):
        raise WrongType(f"a search needs a space of tasks, not {over!r}")
    for what, limit in (("tries", tries), ("keep", keep), ("workers", workers)):
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or limit < 1
        ):
            raise WorkbenchError(f"{what} is a whole number, at least 1, not {limit!r}")
    job = _job(one, over, method, whole_number("seed", seed, 0), exact, merge, keep)
    if tries is None and job.method != "exhaustive":
        tries = TRIES
    if executor in ("local", "dask"):
        _check_travels(job)
    state = _State(job)
    end = math.inf if seconds is None else time.monotonic() + float(seconds)
    here = executor != "dask" and scheduler is None  # other machines have other clocks
    if executor is None and scheduler is not None:
        executor = "dask"
    where = make_executor(executor, workers, scheduler) if executor is not None else nullcontext()
    try:
        with Waiting(f"{one.name} over {over.name}") as waiting, where as running:
            for piece in _in_order(job, running, end if here else math.inf):
                state.take(piece)
                waiting.report(state.share(tries), state.told())
                if state.is_enough(tries):
                    break
                if piece.is_cut or time.monotonic() >= end:
                    break  # pieces after one that is cut are not next to those before it
            state.interrupted = not state.is_over() and not state.is_enough(tries)
    except KeyboardInterrupt:
        state.interrupted = True
    return state.result()


def _job(
    one: Statement,
    space: TaskSpace,
    method: str,
    seed: int,
    exact: bool,
    merge: Collection[str] | None,
    keep: int | None,
) -> Job:
    if method not in METHODS:
        raise WorkbenchError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    batched = one.is_batched(space) and not exact
    if method == "auto":
        method = (
            "exhaustive"
            if space.size <= (FEASIBLE_IN_BATCHES if batched else FEASIBLE)
            else "climb"
        )
    kinds = space.usable(one.symmetries(space) if merge is None else merge)
    size = {
        "exhaustive": _BATCHED_PIECE if batched else _PIECE,
        "random": _BATCHED_PIECE // 8 if batched else _PIECE // 8,
    }
    return Job(one, space, method, seed, kinds, exact, min(size.get(method, 1), space.size), keep)


def _check_travels(job: Job) -> None:
    """Raise unless the statement can be sent to another process."""
    try:
        pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise WorkbenchError(
            "this statement cannot be sent to other processes: define the function at the top of "
            "a module, or search "
            'here or with executor="threads"'
        ) from None


def _in_order(job: Job, running: Any, until: float) -> Iterator[Piece]:
    """The pieces in order, wherever they are computed."""
    numbers: Iterable[int] = count() if job.pieces is None else range(job.pieces)
    if running is None:
        yield from (judge_piece(job, number, until) for number in numbers)
        return
    early: dict[int, Piece] = {}
    due = 0
    for place, piece in running.run(partial(judge_piece, job, until=until), numbers):
        early[place] = piece
        while due in early:
            yield early.pop(due)
            due += 1


class _State:
    """The progress of a search."""

    def __init__(self, job: Job):
        self.job, self.total = job, Piece()
        self.next = 0
        self.interrupted = False
        self.began = time.monotonic()

    def take(self, piece: Piece) -> None:
        total = self.total
        for key in ("judged", "looked_at", "undecided", "seeming"):
            setattr(total, key, getattr(total, key) + getattr(piece, key))
        total.hits += piece.hits
        self.next += not piece.is_cut

    def is_over(self) -> bool:
        return self.job.pieces is not None and self.next >= self.job.pieces

    def is_enough(self, tries: int | None) -> bool:
        keep = self.job.keep
        return (tries is not None and self.total.judged >= tries) or (
            keep is not None and len(self.total.hits) >= keep
        )

    def share(self, tries: int | None) -> float:
        if self.job.method == "exhaustive" and tries is None:
            return self.total.looked_at / self.job.space.size
        return self.total.judged / (tries or TRIES)

    def told(self) -> str:
        return f"{self.total.judged:,} tasks, {len(self.total.hits):,} finds"

    def result(self) -> SearchResult:
        job, total = self.job, self.total
        allowed = job.statement.symmetries(job.space)
        made_by = version_of() if total.hits else {}  # it reads all the code
        finds = tuple(
            Find(job.space.task(code), job.statement, verdict, _provenance(job, code, made_by))
            for code, verdict in total.hits[: job.keep]
        )
        return SearchResult(
            statement=job.statement,
            space=job.space,
            method=job.method,
            seed=job.seed,
            finds=finds,
            judged=total.judged,
            looked_at=total.looked_at,
            merged=job.merge,
            undecided=total.undecided,
            seeming=total.seeming + len(total.hits) - len(finds),
            exact=job.exact,
            provable=set(job.merge) <= set(allowed),
            interrupted=self.interrupted,
            seconds=time.monotonic() - self.began,
        )


def _provenance(job: Job, code: Code, version: dict[str, str]) -> dict[str, Any]:
    return {
        "space": job.space.settings(),
        "code": list(code),
        "method": job.method,
        "seed": job.seed,
        "merged": list(job.merge),
        **version,
    }


def version_of() -> dict[str, str]:
    """The version of the package, and a digest of the code that judges."""
    try:
        number = version("memory-workbench")
    except PackageNotFoundError:
        number = "unknown"
    return {"version": number, "code_version": source_digest(*_JUDGING)}
