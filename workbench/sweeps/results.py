"""Results of an experiment by method and memory, or of a folder as one tidy table. Those of a
folder can be listed and filtered.

In a folder, a cell's content gives it columns: task, memory, method, its settings by name (`step`
as `step_size`, since the step of a row is the number of steps done), measure, steps, every, and the
versions of the task's tables and of the code. Cells that agree in all of these and differ in their
seeds belong together: a `ResultLine`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.extras import need
from workbench.learning.run import Columns, Run
from workbench.sweeps.cell import Cell, cells_of
from workbench.sweeps.compute import LoopValues
from workbench.sweeps.experiment import Experiment, Method
from workbench.sweeps.store import cells_in
from workbench.sweeps.worker import CellOutcome
from workbench.text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


_RUN = {"seed": "u", "step": "i", "reward": "f", "episodes": "iuf", "value": "f"}
_LOOP = {"iterate": "i", "value": "f", "end_value": "f", "amplitude": "f", "ended": "U"}
"""The columns of either kind of cell, and of which numpy kinds they are."""


def outcome_of(columns: Columns) -> CellOutcome:
    """The outcome that the columns of a cell hold. `ValueError` if they are those of none."""
    known = _RUN if "reward" in columns else _LOOP
    needed = [name for name in known if known is _LOOP or name in ("seed", "step", "reward")]
    if any(name not in columns for name in needed) or any(
        name not in known or column.dtype.kind not in known[name] or not len(column)
        for name, column in columns.items()
    ):
        raise ValueError("its columns are those of no cell")
    if known is _LOOP:
        return LoopValues.from_columns(columns)
    blocks = len(columns["seed"]) // len(np.unique(columns["seed"]))
    step, seed = columns["step"][:blocks], columns["seed"][::blocks]
    # the rows of a seed lie together, and all seeds have the same blocks
    if not (
        np.array_equal(columns["seed"], np.repeat(seed, blocks))
        and np.array_equal(columns["step"], np.tile(step, len(seed)))
        and (np.diff(step, prepend=0) > 0).all()
    ):
        raise ValueError("its seeds and steps are no curves")
    return Run.from_columns(columns)


def join_outcomes(parts: Sequence[CellOutcome]) -> CellOutcome:
    """The cells of one method and memory together, seeds in order. The oracle loop has one cell."""
    runs = [part for part in parts if isinstance(part, Run)]
    return Run.join(runs) if runs else parts[0]


def _tidy_columns(outcome: CellOutcome) -> Columns:
    """The columns of an outcome. A learner's hold the measure of the paper's figures."""
    if not isinstance(outcome, Run):
        return outcome.columns()
    columns = outcome.columns()
    first = {name: columns.pop(name) for name in ("seed", "step")}
    return {**first, "per_100": outcome.per_100.ravel(), **columns}


# ---------------------------------------------------------------------- of an experiment


@dataclass(frozen=True, eq=False)
class Results:
    """The outcomes of an experiment. `results[method, memory]` is one of them."""

    experiment: Experiment
    outcomes: Mapping[tuple[Method, str], CellOutcome]

    def __getitem__(self, pair: tuple[Method, str]) -> Any:
        if pair not in self.outcomes:
            raise UnknownLabel(f"{self.experiment.place} has no {pair[0]} with memory {pair[1]}")
        return self.outcomes[pair]

    @classmethod
    def of(cls, experiment: Experiment, computed: Mapping[Cell, CellOutcome]) -> Results:
        """Put the cells of an experiment together, seeds in order."""
        parts: dict[tuple[Method, str], list[CellOutcome]] = {}
        for cell in cells_of(experiment):
            parts.setdefault((cell.method, cell.memory), []).append(computed[cell])
        return cls(experiment, {pair: join_outcomes(found) for pair, found in parts.items()})

    def to_frame(self) -> pd.DataFrame:
        """The numbers, tidy: a row for each panel, memory, seed and point of a curve."""
        pd = need("pandas", "frames")

        frames = []
        for panel in self.experiment.panels:
            for memory in panel.memories:
                frame = pd.DataFrame(_tidy_columns(self[panel.method, memory]))
                frames.append(frame.assign(panel=panel.title, memory=memory))
        tidy = pd.concat(frames, ignore_index=True)
        first = ["panel", "memory"]
        return tidy[first + [column for column in tidy.columns if column not in first]]


# ---------------------------------------------------------------------- of a folder


_FIRST = ("task", "memory", "method")
_LAST = ("measure", "steps", "every", "tables", "code")

_WHOLE = {"seed": "UInt64", "step": "Int64", "iterate": "Int64"}
"""Whole numbers that some lines have and others have not."""

Fields = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class ResultLine:
    """Cells that differ in their seeds only.

    Attributes
    ----------
    fields : what they are, by name.
    outcome : what they hold together.
    """

    fields: Fields
    outcome: CellOutcome

    def __getitem__(self, name: str) -> Any:
        """A field, or None if these cells have no such field."""
        return dict(self.fields).get(name)

    def but_for(self, name: str) -> dict[str, Any]:
        """All fields except one."""
        return {field: value for field, value in self.fields if field != name}

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of a learner. The oracle loop has none."""
        return self.outcome.seeds if isinstance(self.outcome, Run) else ()

    def with_seeds(self, wanted: set[str]) -> ResultLine | None:
        """The same outcome with only some seeds, or None if it has none of them."""
        kept = [seed for seed in self.seeds if str(seed) in wanted]
        if not kept or not isinstance(self.outcome, Run):
            return None
        return replace(self, outcome=self.outcome.only(kept))


@dataclass(frozen=True)
class Listing:
    """The lines of a folder.

    Attributes
    ----------
    damaged : files whose checksum does not match; they are left alone.
    older : files that are whole and that this version cannot read.
    """

    lines: tuple[ResultLine, ...]
    damaged: tuple[Path, ...] = ()
    older: tuple[Path, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All fields that any line has, in order."""
        settings = dict.fromkeys(
            name for line in self.lines for name, _ in line.fields if name not in (*_FIRST, *_LAST)
        )
        return (*_FIRST, *settings, *_LAST)

    def telling(self, line: ResultLine) -> tuple[str, ...]:
        """The settings that tell a line from others of the same method. It is the code if only that
        differs."""
        others = [other for other in self.lines if other["method"] == line["method"]]
        found = [
            name
            for name, value in line.fields
            if name not in (*_FIRST, *_LAST) and any(other[name] != value for other in others)
        ]
        twins = [
            other
            for other in others
            if other is not line and other.but_for("code") == line.but_for("code")
        ]
        return (*found, *(["code"] if twins else []))

    def where(self, conditions: Iterable[str]) -> Listing:
        """Only lines that meet conditions such as "memory=B1".

        Several conditions on the same field mean any of them; on different fields, all of them.
        "seed=3" keeps that seed.
        """
        wanted: dict[str, set[str]] = {}
        for condition in conditions:
            name, equals, value = condition.partition("=")
            name = {"learner": "method", "step": "step_size"}.get(name.strip(), name.strip())
            if not equals or name not in (*self.names, "seed"):
                meant = did_you_mean(name, (*self.names, "seed"))
                raise WorkbenchError(
                    f"cannot filter by {condition!r}{meant}: write FIELD=VALUE, where FIELD is one "
                    f"of {', '.join((*self.names, 'seed'))}"
                )
            wanted.setdefault(name, set()).add(value.strip())
        seeds = wanted.pop("seed", None)
        lines = [
            line
            for line in self.lines
            if all(_is_one_of(line[name], values) for name, values in wanted.items())
        ]
        if seeds is not None:
            lines = [kept for line in lines if (kept := line.with_seeds(seeds)) is not None]
        return replace(self, lines=tuple(lines))

    def to_frame(self) -> pd.DataFrame:
        """One row for each row of each cell, with the fields of its line in front."""
        pd = need("pandas", "frames")

        frames = []
        for line in self.lines:
            frame = pd.DataFrame(_tidy_columns(line.outcome))
            frame = frame.astype({name: kind for name, kind in _WHOLE.items() if name in frame})
            for place, name in enumerate(self.names):
                frame.insert(place, name, line[name])
            frames.append(
                frame.astype({name: "object" for name in self.names if line[name] is None})
            )
        return (
            pd.concat(frames, ignore_index=True).infer_objects()
            if frames
            else pd.DataFrame(columns=self.names)
        )


def list_folder(folder: Path) -> Listing:
    """What a folder holds: one that `workbench sweep` or `workbench reproduce` wrote, or its folder
    of cells."""
    cells = folder / "cells" if (folder / "cells").is_dir() else folder
    if not cells.is_dir():
        raise WorkbenchError(f"there is no folder {folder}")
    grouped: dict[str, list[tuple[list[int], Fields, CellOutcome]]] = {}
    damaged, older = list[Path](), list[Path]()
    for path, content, columns in cells_in(cells):
        if content is None:
            damaged.append(path)
            continue
        try:
            fields, seeds = _fields(content)
            outcome = outcome_of(columns)
            if isinstance(outcome, Run) and list(outcome.seeds) != seeds:
                raise ValueError("its seeds are not those of its record")
        except ValueError:
            older.append(path)
            continue
        alike = json.dumps([fields, sorted(columns)])
        grouped.setdefault(alike, []).append((seeds, fields, outcome))
    if not grouped and not damaged and not older:
        raise WorkbenchError(f"{folder} holds no cells")
    lines = []
    for group in grouped.values():
        group.sort(key=lambda cell: cell[0])
        lines.append(ResultLine(group[0][1], _once([outcome for *_, outcome in group])))
    order = sorted(lines, key=lambda line: [str(value) for _, value in line.fields])
    return Listing(tuple(order), tuple(damaged), tuple(older))


def _once(outcomes: list[CellOutcome]) -> CellOutcome:
    """Join the cells of a line, each seed once. A seed in two cells, of a shorter and a longer
    list, gives the same numbers in both."""
    seen: set[int] = set()
    parts: list[CellOutcome] = []
    for outcome in outcomes:
        if not isinstance(outcome, Run):
            return outcome
        new = [seed for seed in outcome.seeds if seed not in seen]
        seen.update(new)
        if new:
            parts.append(outcome.only(new))
    return join_outcomes(parts)


def _fields(content: Mapping[str, Any]) -> tuple[Fields, list[int]]:
    """The fields of a cell and its seeds, from its record. `ValueError` for one of another form."""
    words, numbers = ("task", "memory", "measure", "tables", "code"), ("steps", "every")
    kinds: dict[str, type] = {"method": dict, "seeds": list}
    kinds |= dict.fromkeys(words, str) | dict.fromkeys(numbers, int)
    if any(type(content.get(name)) is not kind for name, kind in kinds.items()):
        raise ValueError("its record is not that of a cell")
    method, seeds = dict(content["method"]), content["seeds"]
    name = method.pop("learner", None) or method.pop("method", None)
    if not isinstance(name, str) or not all(map(_is_setting, method.values())):
        raise ValueError("its method is none that this version knows")
    if any(type(seed) is not int for seed in seeds):
        raise ValueError("its seeds are no numbers")
    for key, value in method.items():
        if isinstance(value, list):
            method[key] = ",".join(map(str, value))  # widths of layers, as a spec writes them
    if "step" in method:
        method["step_size"] = method.pop("step")  # a row's step is the number of steps done
    first = {"task": content["task"], "memory": content["memory"], "method": name}
    last = {key: content[key] for key in _LAST}
    if method.keys() & {*first, *last}:
        raise ValueError("its method has settings with the names of other fields")
    return tuple({**first, **method, **last}.items()), seeds


def _is_setting(value: Any) -> bool:
    """Whether a JSON value can be the setting of a method. It is a scalar, or a list of numbers
    such as the widths of layers."""
    if isinstance(value, list):
        return all(type(part) in (int, float) for part in value)
    return value is None or isinstance(value, str | int | float)


def _is_one_of(value: Any, wanted: set[str]) -> bool:
    """Whether a field has one of some values that were given as text: 0.50 is 0.5, and QLearning is
    qlearning."""
    for text in wanted:
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                if float(text) == value:
                    return True
            except ValueError:
                continue
        elif str(value).lower() == text.lower() or _plain(str(value)) == _plain(text):
            return True
    return False


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
