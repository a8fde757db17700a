"""The last step of reading a file: compressed rows and labels of a POMDP from outcomes that are
already decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.numbers import Numbers
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import pick_rows, point_rows, row_places
from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.entries import Ints, Rows, TooMany
from workbench.interop.pomdp_file.notes import Notes
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.spelling import Value, Values, full, values, zeros

if TYPE_CHECKING:
    from workbench.interop.pomdp_file.compile import Outcomes
    from workbench.interop.pomdp_file.tables_of import FileTables

START = "start"
"""The observation of start states that show nothing; a word of the format, so that no file has it
for a name."""


@dataclass(frozen=True)
class Copies:
    """The states of the POMDP, in their order.

    Attributes
    ----------
    key : ascending, made of the two that follow.
    owner : the state of the file.
    shows : the observation it stands for; -1 for a plain state, |O| for the observation "start".
    reference : for each state of the file, the row of O that it shows while it is plain.
    mu : the start distribution.
    with_start : whether the observation "start" exists.
    """

    key: Ints
    owner: Ints
    shows: Ints
    reference: Ints
    mu: Values
    with_start: bool


def assemble(
    model: FileTables,
    copies: Copies,
    outcomes: Outcomes,
    endings: Mapping[int, Mapping[Any, Value]],
    terminal: NDArray[np.bool_],
    name: str,
    notes: Notes,
    source: Source,
    limit: int,
) -> POMDP:
    """The POMDP.

    Parameters
    ----------
    outcomes : of the rows (s, a) of the file that go on.
    endings : {row: {r: probability}} for the rows that lead to the added state "end".
    terminal : which states of the file are terminal.
    """
    n, nA, nO, exact = len(copies.key), model.nA, len(model.O), copies.mu.dtype == object
    # a state of the POMDP is (state of the file, what it shows): 0 is the start, 1 plain, 2 + o
    code = outcomes.s_next * (nO + 2) + np.where(outcomes.o < 0, 1, 2 + outcomes.o)
    target = np.searchsorted(copies.key, code)
    row, target, prob, r = _with_endings(outcomes, target, endings, n, exact)
    order = np.lexsort((target, row))
    counts = np.bincount(row, minlength=len(model.S) * nA)
    ptr = point_rows(counts)
    of_file = Rows(ptr, target[order], prob[order], np.zeros(0, dtype=np.int64))
    rewards = r[order]

    rows = (copies.owner[:, None] * nA + np.arange(nA)).ravel()
    total = int(counts[rows].sum())
    # copies share the rows of their state, which multiplies them: count before they are written
    if total > limit:
        raise TooMany(total)
    row_ptr, entries = pick_rows(ptr, rows)
    # the added end has no outcomes, hence empty rows
    row_ptr = np.append(row_ptr, np.full(nA if endings else 0, total))
    shown = _emissions(model, copies, bool(endings), exact)
    extra = [_fresh("end", model.S)] if endings else []
    labels = [
        _label(model, s, o)
        for s, o in zip(copies.owner.tolist(), copies.shows.tolist(), strict=True)
    ]
    S = Space(labels + extra)
    O = Space(
        [
            *model.O,
            *([START] if copies.with_start else []),
            *([_fresh("end", model.O)] if endings else []),
        ]
    )
    mask = np.concatenate((terminal[copies.owner], np.ones(len(extra), dtype=bool)))
    P = POMDP(
        name=name,
        S=S,
        O=O,
        A=model.A,
        p=Transitions(
            S,
            model.A,
            row_ptr,
            of_file.column[entries].astype(np.int32),
            Numbers.of(rewards[entries]),
            Numbers.of(of_file.value[entries]),
        ),
        omega=Emissions(S, O, shown.ptr, shown.column.astype(np.int32), Numbers.of(shown.value)),
        gamma=model.gamma,
        mu=Distribution(S, Numbers.of(np.concatenate((copies.mu, zeros(len(extra), exact))))),
        terminal=StateSet(S, mask),
    )
    return merge_copies(P, notes, source) if notes.copies else P


def _fresh(label: str, space: Space) -> str:
    """A label that the file does not use; its names hold no blanks."""
    return label if label not in space else f"{label} of the episode"


def _label(model: FileTables, s: int, shows: int) -> Label:
    if shows < 0:
        return model.S[s]
    return (model.S[s], START if shows == len(model.O) else model.O[shows])


def _with_endings(
    outcomes: Outcomes,
    target: Ints,
    endings: Mapping[int, Mapping[Any, Value]],
    end: int,
    exact: bool,
) -> tuple[Ints, Ints, Values, Values]:
    """The outcomes with those that lead to the added state number `end`."""
    rows = np.array([row for row, dist in endings.items() for _ in dist], dtype=np.int64)
    probs = values((x for dist in endings.values() for x in dist.values()), len(rows), exact)
    rewards = values((r for dist in endings.values() for r in dist), len(rows), exact)
    return (
        np.concatenate((outcomes.row, rows)),
        np.concatenate((target, np.full(len(rows), end))),
        np.concatenate((outcomes.prob, probs)),
        np.concatenate((outcomes.r, rewards)),
    )


def _emissions(model: FileTables, copies: Copies, with_end: bool, exact: bool) -> Rows:
    """omega(o | s): the file's row for a plain state, one observation for the others."""
    plain = np.flatnonzero(copies.shows < 0)
    fixed = np.flatnonzero(copies.shows >= 0)
    places, which = model.omega.gather(copies.reference[copies.owner[plain]])
    one = zeros(1, exact)[0] + 1
    end = [len(copies.key)] if with_end else []
    last = len(model.O) + copies.with_start
    state = np.concatenate((plain[which], fixed, np.array(end, dtype=np.int64)))
    column = np.concatenate(
        (
            model.omega.column[places],
            copies.shows[fixed],
            np.array([last] * len(end), dtype=np.int64),
        )
    )
    value = np.concatenate((model.omega.value[places], full(len(fixed) + len(end), one)))
    # plain states, fixed ones and the end were put together in this order, rows are by state
    order = np.lexsort((column, state))
    counts = np.bincount(state, minlength=len(copies.key) + len(end))
    return Rows(
        point_rows(counts),
        column[order],
        value[order],
        np.zeros(0, dtype=np.int64),
    )


# ---------------------------------------------------------------------- copies of states


def merge_copies(P: POMDP, notes: Notes, source: Source) -> POMDP:
    """The POMDP without the copies that a note declares: ways into a copy become ways into its
    state."""
    kept = len(P.S) - len(notes.copies)

    def wrong(why: str) -> PomdpFileError:
        return source.fault_at_line(
            notes.lines["copies"], f"the note copies does not fit this file: {why}"
        )

    if kept < 1 or any(original >= kept for original in notes.copies):
        raise wrong("the last states must be copies of earlier ones")
    owner = np.concatenate((np.arange(kept), np.array(notes.copies, dtype=np.int64)))
    S = Space(P.S[:kept])
    for i, original in enumerate(notes.copies, start=kept):
        # a note is a claim about the file, which others may have edited since
        if _behaviour(P, i, owner) != _behaviour(P, original, owner):
            raise wrong(
                f"state number {i} differs from state number {original} in more than the reward "
                "of entering it"
            )
    last = int(P.p.row_ptr[kept * len(P.A)])
    # outcomes of kept states come first in compressed rows, so that a slice is all of them
    mu: list[Any] = [P.mu.prob[i] for i in range(kept)]
    for i, original in enumerate(notes.copies, start=kept):
        mu[original] += P.mu.prob[i]
    o_last = int(P.omega.row_ptr[kept])
    return POMDP(
        name=P.name,
        S=S,
        O=P.O,
        A=P.A,
        p=Transitions(
            S,
            P.A,
            P.p.row_ptr[: kept * len(P.A) + 1],
            owner[P.p.s_next[:last]].astype(np.int32),
            P.p.r.take(slice(last)),
            P.p.prob.take(slice(last)),
        ),
        omega=Emissions(
            S,
            P.O,
            P.omega.row_ptr[: kept + 1],
            P.omega.o[:o_last],
            P.omega.prob.take(slice(o_last)),
        ),
        gamma=P.gamma,
        mu=Distribution(S, Numbers.of(mu)),
        terminal=StateSet(S, P.terminal.mask[:kept]),
    )


def _behaviour(P: POMDP, i: int, owner: Ints) -> tuple[Any, ...]:
    """All that matters of a state besides the ways into it."""
    found: list[Any] = [bool(P.terminal.mask[i])]
    for row in range(i * len(P.A), (i + 1) * len(P.A)):
        span = row_places(P.p.row_ptr, row)
        found.append([(int(owner[P.p.s_next[k]]), P.p.r[k], P.p.prob[k]) for k in span])
    span = row_places(P.omega.row_ptr, i)
    found.append([(int(P.omega.o[k]), P.omega.prob[k]) for k in span])
    return tuple(found)
