"""Many copies of a model, stepped at once inside `jax.jit`.

    p(s', r | s, a) omega(o' | s')     the outcomes of row s |A| + a, with thresholds in 2^-32
    mu(s) omega(o | s)                 the outcomes of the last row: where episodes start

The tables are those of the tabular learners (`workbench.learning.sampling`), with 32 bits of each
threshold: an outcome's probability is off by at most 2^-32. A copy is a state s, the view of its
agent (`pair`) and the age of its episode. A step draws an outcome and a new start at once, and
takes the start where the episode ends, so that all copies always run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from workbench.core.rows import point_rows
from workbench.deep.pair import MemoryPair
from workbench.learning.sampling import SamplingTables
from workbench.learning.sampling_kernels import END

Array = Any
"""An array of jax."""

_NO_LIMIT = 2**31 - 1


class StepTables(NamedTuple):
    """The arrays that simulated time steps read. They are rows of outcomes, the entry that a buffer
    stores at (o, a), where each write takes the contents of its cells from, and the features of
    each slot."""

    row_ptr: Array
    threshold: Array
    s: Array
    o: Array
    r: Array
    entry: Array
    moves: Array
    features: tuple[Array | None, ...]


@dataclass(frozen=True)
class Layout:
    """The layout of a pair, which the compiler has to know."""

    nA: int
    nW: int
    cells: int
    overwrites: bool
    symbols: tuple[int, ...]
    widths: tuple[int, ...]
    start: int
    halvings: int
    limit: int
    fade: float

    @property
    def actions(self) -> int:
        return self.nA * self.nW

    @property
    def slots(self) -> int:
        return len(self.symbols)


class ModelCopies(NamedTuple):
    """The copies of a model: `s[copy]`, `view[copy, slot]`, `age[copy]`."""

    s: Array
    view: Array
    age: Array


class StepOutcome(NamedTuple):
    """The result of one time step. It holds the reward, whether the episode ended in a terminal
    state, whether it was cut off, and what was seen at its end."""

    r: Array
    ended: Array
    cut: Array
    view: Array


def layout_of(pair: MemoryPair, limit: int | None, fade: float = 0.0) -> tuple[Layout, StepTables]:
    """A pair as arrays.

    Parameters
    ----------
    limit : cut episodes off after so many steps; None for never.
    fade : what share of a reward is lost by the time of the limit, evenly.
    """
    found = SamplingTables.of(pair.P)
    rows, starts = found.rows, found.starts
    single = rows["first"] == rows["last"]
    count = np.where(single, 1, rows["last"].astype(np.int64) - rows["first"] + 1)
    row_ptr = point_rows(np.append(count, len(starts)))
    places = np.arange(row_ptr[-1]) - np.repeat(row_ptr[:-1], np.diff(row_ptr))
    packed = {}
    for name in ("s", "o", "r"):
        # a row of one outcome holds it itself; the others lie in a list, starts in a third place
        packed[name] = np.empty(row_ptr[-1], dtype=found.outcomes[name].dtype)
        packed[name][row_ptr[:-2][single]] = rows[name][single]
        packed[name][row_ptr[-2] :] = starts[name]
    threshold = np.zeros(row_ptr[-1], dtype=np.uint64)
    threshold[row_ptr[-2] :] = starts["threshold"]
    own = np.repeat(np.append(~single, False), np.diff(row_ptr))
    taken = (np.repeat(np.append(rows["first"].astype(np.int64), 0), np.diff(row_ptr)) + places)[
        own
    ]
    for name in ("s", "o", "r"):
        packed[name][own] = found.outcomes[name][taken]
    threshold[own] = found.outcomes["threshold"][taken]
    o = packed["o"].astype(np.int64)
    o[o == int(END)] = -1
    moves = np.zeros((1, 0), dtype=np.int64) if pair.buffer is None else pair.buffer.moves
    tables = StepTables(
        jnp.asarray(row_ptr, jnp.int32),
        jnp.asarray(np.minimum(threshold >> np.uint64(21), np.uint64(2**32 - 1)), jnp.uint32),
        jnp.asarray(packed["s"], jnp.int32),
        jnp.asarray(o, jnp.int32),
        jnp.asarray(packed["r"], jnp.float32),
        jnp.asarray(pair.entries, jnp.int32),
        jnp.asarray(moves, jnp.int32),
        tuple(None if x is None else jnp.asarray(x) for x in pair.features),
    )
    layout = Layout(
        len(pair.P.A),
        len(pair.memory.W),
        pair.cells,
        pair.overwrites,
        pair.symbols,
        tuple(
            n if x is None else x.shape[1] for n, x in zip(pair.symbols, pair.features, strict=True)
        ),
        len(rows),
        int(np.ceil(np.log2(max(1, int(np.diff(row_ptr).max()))))),
        _NO_LIMIT if limit is None else int(limit),
        fade,
    )
    return layout, tables


def draw_outcomes(layout: Layout, tables: StepTables, row: Array, word: Array) -> Array:
    """The outcome of each row that a word of 32 bits draws. It is the first whose threshold exceeds
    the word, or the last."""
    low, high = tables.row_ptr[row], tables.row_ptr[row + 1] - 1
    for _ in range(layout.halvings):
        middle = (low + high) >> 1
        below = word < tables.threshold[middle]
        high = jnp.where(below, middle, high)
        low = jnp.minimum(jnp.where(below, low, middle + 1), high)
    return low


def begin_copies(layout: Layout, tables: StepTables, word: Array) -> ModelCopies:
    """New episodes, one for each word."""
    k = draw_outcomes(layout, tables, jnp.full(word.shape, layout.start, jnp.int32), word)
    view = jnp.zeros((*word.shape, layout.slots), jnp.int32).at[:, 0].set(tables.o[k])
    return ModelCopies(tables.s[k], view, jnp.zeros(word.shape, jnp.int32))


def remember(layout: Layout, tables: StepTables, view: Array, a: Array, w: Array) -> Array:
    """The memory's slots after a write: Gamma on symbols."""
    if layout.overwrites:
        return w[:, None]
    if layout.cells:
        stored = tables.entry[view[:, 0], a][:, None]
        sources = jnp.concatenate([view[:, 1:], stored, jnp.zeros_like(stored)], axis=1)
        return jnp.take_along_axis(sources, tables.moves[w], axis=1)
    return view[:, 1:]


def step_copies(
    layout: Layout, tables: StepTables, copies: ModelCopies, action: Array, words: Array
) -> tuple[ModelCopies, StepOutcome]:
    """Take the joint action a |W| + w in each copy.

    Parameters
    ----------
    words : `words[copy, 2]`, random, for the outcome and for the next start.
    """
    a, w = action // layout.nW, action % layout.nW
    k = draw_outcomes(layout, tables, copies.s * layout.nA + a, words[:, 0])
    o, r = tables.o[k], tables.r[k]
    ended = o < 0
    seen = jnp.concatenate(
        [jnp.maximum(o, 0)[:, None], remember(layout, tables, copies.view, a, w)], axis=1
    )
    age = copies.age + 1
    if layout.fade:
        r = r * (1 - layout.fade / layout.limit * age)
    cut = ~ended & (age >= layout.limit)
    fresh = begin_copies(layout, tables, words[:, 1])
    over = ended | cut
    after = ModelCopies(
        jnp.where(over, fresh.s, tables.s[k]),
        jnp.where(over[:, None], fresh.view, seen),
        jnp.where(over, 0, age),
    )
    return after, StepOutcome(r, ended, cut, seen)


def choose_actions(probabilities: Array, u: Array) -> Array:
    """The place in each row of probabilities that a number in [0, 1) draws."""
    below = u[:, None] >= jnp.cumsum(probabilities, axis=1)
    return jnp.minimum(below.sum(axis=1), probabilities.shape[1] - 1).astype(jnp.int32)


def words_and_chances(key: Array, *shape: int) -> tuple[Array, Array]:
    """Random words `[..., 2]` for steps, and numbers in [0, 1) for actions."""
    first, second = jax.random.split(key)
    return jax.random.bits(first, (*shape, 2), jnp.uint32), jax.random.uniform(second, shape)
