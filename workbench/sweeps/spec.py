"""Sweeps as text: a TOML file that names tasks, memories, learners, settings and seeds. All their
combinations are run.

    [lists]                                     lists that several grids share
    small = ["none", "K1", "B1", "O1", "OA1"]

    [[grid]]                                    or [grid] if there is only one
    task = ["recall", "gravity"]                every list is an axis of the grid
    memory = ["lists.small", "OA2"]
    learner = "sarsa"
    lam = [0.0, 0.5, 1.0]                     any setting of the learner; layers as hidden = "64,64"
    settings = "tuned"                        of networks, where no others are given; else "paper"
    seeds = 30                                  0, 1, ..., 29; or a list of seeds
    steps = 1_000_000
    every = 10_000                            steps of a block; a hundredth of the steps if left out
    measure = "final"                           "rewards", "final" or "values"

    [budget]                                    the next run continues
    cells = 10_000
    seconds = 3600

`rewards` keeps the average reward per 100 steps of each block; `final` adds the exact value of the
last greedy policy under the task's discount, `values` the exact undiscounted values of the greedy
policies at the ends of all blocks. The learner "oracle" is the oracle loop of Section 5.2, which
has neither seeds nor steps.

The file is data: nothing in it is executed. Whatever is wrong with it is told with its key, its
value and what could be meant.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.learners import check_count
from workbench.core.ties import TIES
from workbench.deep.settings import NEURAL_LEARNERS, neural_by_name, parse_widths
from workbench.learning import LEARNERS
from workbench.memories import parse_memory
from workbench.sweeps.cell import Cell, batches
from workbench.sweeps.experiment import FINAL, GREEDY, ORACLE, PER_100, Method, OracleLoop
from workbench.sweeps.run_cells import Budget
from workbench.text import did_you_mean, shorten

EXAMPLE = """\
# workbench sweep SPEC.toml -o FOLDER      computes what FOLDER does not hold yet
# workbench sweep SPEC.toml --dry-run      says how much that is, and how long it takes

[lists]
small = ["none", "K1", "B1", "O1", "OA1"]

[[grid]]                            # every list is an axis
task = ["recall", "gravity"]
memory = "lists.small"
learner = "sarsa"
lam = [0.0, 0.5, 1.0]
seeds = 10                          # 0, 1, ..., 9; or a list
steps = 200_000
every = 2_000                       # steps of a block of the curve
measure = "final"                   # rewards, final or values

[[grid]]
task = "recall4"
memory = ["lists.small", "B2"]
learner = "oracle"                  # the oracle loop of Section 5.2
step = [0.02, 0.1]

[budget]                            # of one run; the next one continues
seconds = 3600
"""

_LONGEST = 400
"""Characters of an error that are shown."""

MEASURES = {"rewards": PER_100, "final": FINAL, "values": GREEDY}
MOST_CELLS = 1_000_000
"""The most that a file may ask for or hold: cells, seeds, blocks of a curve, characters."""

_DEEPEST = 10
"""Parts of a key and levels of lists: the parser of the standard library recurses."""

_MOST_STEPS = 2**62
"""Of a run: kernels count in 64 bits."""

_TEXT_OR_COMMENT = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|'
    r"'''(?:[^']|'(?!''))*'''|"
    r'"(?:[^"\\\n]|\\[^\n])*"|'
    r"'[^'\n]*'|#[^\n]*",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]+(?:[ \t]*\.[ \t]*[\w-]+){{{_DEEPEST},}}")

_METHODS: ChainMap[str, Any] = ChainMap({"oracle": OracleLoop}, LEARNERS, NEURAL_LEARNERS)
"""A view: a learner that is defined later is there, too."""

_SHARED = ("task", "memory", "learner")
_LENGTH = ("seeds", "steps", "every", "measure")
_VARIANT = "settings"
"""The key for a whole set of a network's settings."""

_MEMORIES = (
    "none",
    *(f"{family}{size}" for family in ("K", "B", "O", "OA") for size in range(1, 6)),
)


class SpecError(WorkbenchError):
    """A sweep that cannot be run as it is written. The message names the key and its value."""


@dataclass(frozen=True)
class Sweep:
    """The cells of a sweep, each once, and the budget of one run."""

    cells: tuple[Cell, ...]
    budget: Budget


def read_spec(path: Path, check_task: Callable[[str], object]) -> Sweep:
    """The sweep that a file describes.

    Parameters
    ----------
    check_task : raises a `WorkbenchError` for a name that means no task.
    """
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_CELLS + 1)  # a device such as /dev/zero never ends
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path with a NUL
        raise SpecError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    try:
        return parse_spec(text, check_task)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def parse_spec(text: str, check_task: Callable[[str], object]) -> Sweep:
    """The sweep that a text describes.

    >>> sweep = parse_spec(
    ...     '[grid]\\ntask = "recall"\\nmemory = ["B1", "OA1"]\\n'
    ...     'learner = "sarsa"\\nlam = [0, 1]\\n'
    ...     "seeds = 10\\nsteps = 1000",
    ...     check_task=lambda name: None,
    ... )
    >>> len(sweep.cells), sweep.cells[0].memory, sweep.cells[0].seeds
    (8, 'B1', (0, 1, 2, 3, 4))
    """
    spec = _toml(text)
    _check_keys("", spec, ("grid", "lists", "budget"))
    lists = _lists(spec.get("lists", {}))
    grids = spec.get("grid")
    if grids is None:
        raise SpecError("there is no [grid]")
    several = isinstance(grids, list)
    read = [
        _Grid(f"grid {place + 1}" if several else "grid", grid, lists, check_task)
        for place, grid in enumerate(grids if several else [grids])
    ]
    count = sum(grid.count for grid in read)
    if count > MOST_CELLS:
        raise SpecError(f"the grid has {count:,} cells, more than {MOST_CELLS:,}: divide it")
    return Sweep(
        tuple(dict.fromkeys(cell for grid in read for cell in grid.cells())),
        _budget(spec.get("budget", {})),
    )


def _toml(text: str) -> dict[str, Any]:
    """The tables of a text, if they are of a size that a person could have meant.

    The parser of the standard library recurses where the text nests and takes quadratic time for
    dotted keys, hence both are looked at before, in the text without its strings and comments:
    up to the first error these are what the parser takes for strings and comments.
    """
    if len(text) > MOST_CELLS:
        raise SpecError(f"it has more than {MOST_CELLS:,} characters")
    bare = _TEXT_OR_COMMENT.sub(lambda found: "" if found[0].startswith("#") else "x", text)
    if found := _LONG_KEY.search(bare):
        line = bare.count("\n", 0, found.start()) + 1
        raise SpecError(f"line {line} or a later one: a key has more than {_DEEPEST} parts")
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > _DEEPEST:
            raise SpecError("its lists or tables are nested too deeply")
    try:
        spec = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"this is not TOML: {shorten(str(error), _LONGEST)}") from None
    except ValueError as error:  # a number with thousands of digits
        raise SpecError(f"a number in it cannot be read: {shorten(str(error), _LONGEST)}") from None
    _check_numbers(spec)
    return spec


def _check_numbers(spec: dict[str, Any]) -> None:
    """Raise a `SpecError` if a whole number in a file has more digits than anyone counts."""
    waiting: list[tuple[str, Any]] = list(spec.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{key}.{name}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(key, inner) for inner in value]
        elif isinstance(value, int) and value.bit_length() > 128:
            raise SpecError(f"{shorten(key, _LONGEST)}: a number in it is beyond 2^128")


class _Grid:
    """One table of the file, checked."""

    def __init__(
        self,
        name: str,
        table: Any,
        lists: Mapping[str, list[Any]],
        check_task: Callable[[str], object],
    ) -> None:
        if not isinstance(table, dict):
            raise _wrong(name, table, "a grid is a table of keys")
        self.name, self.table, self.lists = name, table, lists
        for key in _SHARED:
            if key not in table:
                raise SpecError(f"{name}.{key} is missing")
        self.learners = self._axis("learner", lambda value: _one_of(value, _METHODS))
        self.oracle = "oracle" in self.learners
        if self.oracle and len(self.learners) > 1:
            raise self._wrong(
                "learner",
                "the oracle loop has no seeds and no steps: give it a [[grid]] of its own",
            )
        known = {
            learner: [field.name for field in fields(_METHODS[learner])]
            for learner in self.learners
        }
        length = () if self.oracle else _LENGTH
        if any(learner in NEURAL_LEARNERS for learner in self.learners):
            length = (*length, _VARIANT)
        every = dict.fromkeys(setting for settings in known.values() for setting in settings)
        _check_keys(name, table, (*_SHARED, *length, *every))
        self.settings = [key for key in table if key not in (*_SHARED, *length)]
        for key in self.settings:
            for learner in self.learners:
                if key not in known[learner]:
                    why = (
                        f"{learner} has no such setting: give learners with other "
                        "settings a [[grid]] of their own"
                    )
                    raise self._wrong(key, why)
        self.tasks = self._axis("task", lambda value: _task(value, check_task))
        self.memories = self._axis("memory", _memory)
        self.variants = self._axis(_VARIANT, self._variant) if _VARIANT in table else ["paper"]
        self.axes = {learner: self._setting_axes(_METHODS[learner]) for learner in self.learners}
        self.seeds = [()] if self.oracle else self._seeds()
        self.lengths = [(0, 0)] if self.oracle else self._lengths()
        self.measures = [ORACLE] if self.oracle else self._measures()
        methods = sum(math.prod(len(axis) for axis in axes) for axes in self.axes.values())
        others = (
            self.tasks,
            self.memories,
            self.variants,
            self.measures,
            self.lengths,
            self.seeds,
        )
        self.count = methods * math.prod(len(part) for part in others)

    def cells(self) -> Iterable[Cell]:
        """All combinations."""
        for task, memory, method, measure, (steps, every), seeds in product(
            self.tasks, self.memories, self._methods(), self.measures, self.lengths, self.seeds
        ):
            yield Cell(task, memory, method, measure, seeds, steps, every)

    def _wrong(self, key: str, why: str) -> SpecError:
        return _wrong(f"{self.name}.{key}", self.table[key], why)

    def _axis(self, key: str, read: Callable[[Any], Any]) -> list[Any]:
        """The values of an axis, read, with named lists inserted. No value may be there twice."""
        given = self.table[key]
        found: list[Any] = []
        for value in given if isinstance(given, list) else [given]:
            for one in self._named(key, value):
                try:
                    found.append(read(one))
                except WorkbenchError as error:
                    raise _wrong(f"{self.name}.{key}", one, str(error)) from None
        if not found:
            raise self._wrong(key, "the list is empty")
        seen = set()
        for value in found:
            if value in seen:
                raise self._wrong(key, f"{_shown(value)} is there twice")
            seen.add(value)
        return found

    def _named(self, key: str, value: Any) -> list[Any]:
        if not isinstance(value, str) or not value.startswith("lists."):
            return [value]
        name = value.removeprefix("lists.")
        if name not in self.lists:
            meant = did_you_mean(value, [f"lists.{known}" for known in self.lists])
            raise _wrong(f"{self.name}.{key}", value, f"there is no such list{meant}")
        return self.lists[name]

    def _setting_axes(self, kind: type[Any]) -> list[list[Any]]:
        types = {field.name: str(field.type) for field in fields(kind)}
        return [self._axis(key, partial(_setting, kind, key, types[key])) for key in self.settings]

    def _variant(self, value: Any) -> str:
        """The name of a set of settings that every learner of the grid has."""
        for learner in self.learners:
            if learner not in NEURAL_LEARNERS:
                raise WorkbenchError(
                    f"{learner} is no network: give networks a [[grid]] of their own"
                )
            neural_by_name(learner, value)
        return str(value)

    def _methods(self) -> Iterable[Method]:
        for (learner, axes), variant in product(self.axes.items(), self.variants):
            for values in product(*axes):
                chosen = dict(zip(self.settings, values, strict=True))
                if learner in NEURAL_LEARNERS:
                    yield neural_by_name(learner, variant, **chosen)
                else:
                    yield _METHODS[learner](**chosen)

    def _seeds(self) -> list[tuple[int, ...]]:
        given = self._needed("seeds")
        most = min(_METHODS[learner].seeds_of_a_cell for learner in self.learners)
        if not isinstance(given, list):
            self._count("seeds", given, MOST_CELLS)
            return batches(given, most)
        seeds = self._axis("seeds", lambda seed: _counted("a seed", seed, 0, 2**64 - 1))
        return [tuple(seeds[start : start + most]) for start in range(0, len(seeds), most)]

    def _lengths(self) -> list[tuple[int, int]]:
        self._needed("steps")
        found = []
        for steps in self._axis("steps", lambda steps: _counted("steps", steps, high=_MOST_STEPS)):
            every = self.table.get("every", max(1, steps // 100))
            self._count("every", every)
            if every > steps:
                raise self._wrong(
                    "every", f"a block of {every:,} does not fit into {steps:,} steps"
                )
            if steps > MOST_CELLS * every:
                raise self._wrong(
                    "every" if "every" in self.table else "steps",
                    f"{-(-steps // every):,} blocks are more than {MOST_CELLS:,}",
                )
            found.append((steps, every))
        return found

    def _measures(self) -> list[str]:
        if "measure" not in self.table:
            return [PER_100]
        return self._axis("measure", lambda value: MEASURES[_one_of(value, MEASURES)])

    def _needed(self, key: str) -> Any:
        if key not in self.table:
            raise SpecError(f"{self.name}.{key} is missing")
        return self.table[key]

    def _count(self, key: str, value: Any, high: float = math.inf) -> None:
        try:
            _counted(key, value, high=high)
        except WorkbenchError as error:
            raise _wrong(f"{self.name}.{key}", value, str(error)) from None


def _lists(table: Any) -> dict[str, list[Any]]:
    if not isinstance(table, dict):
        raise _wrong("lists", table, "lists is a table of lists")
    for name, values in table.items():
        if not isinstance(values, list) or not values:
            raise _wrong(f"lists.{name}", values, "it must be a list with something in it")
    return table


def _budget(table: Any) -> Budget:
    if not isinstance(table, dict):
        raise _wrong("budget", table, "budget is a table with cells or seconds")
    _check_keys("budget", table, ("cells", "seconds"))
    for key, value in table.items():
        number = (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and (key == "seconds" or value % 1 == 0)
        )
        if not number or not value > 0:
            raise _wrong(f"budget.{key}", value, "it must be a number above 0")
    return Budget(**table)


# ---------------------------------------------------------------------- single values


def _task(value: Any, check: Callable[[str], object]) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise SpecError("a task is named by a text, without NUL")
    check(value)
    return value


def _memory(value: Any) -> str:
    try:
        return str(parse_memory(value))
    except WorkbenchError as error:
        meant = did_you_mean(value, _MEMORIES) if isinstance(value, str) else ""
        raise SpecError(f"{error}{meant}") from None


def _setting(kind: type[Any], key: str, type_: str, value: Any) -> Any:
    """A setting of a learner, tried out. Whole numbers become floats where floats are meant, as 1
    and 1.0 are the same."""
    if "float" in type_ and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if "tuple" in type_ and isinstance(value, str):
        value = parse_widths(value)  # a list would be an axis
    if kind is OracleLoop:
        _check_oracle(key, type_, value)
    return getattr(kind(**{key: value}), key)


def _check_oracle(key: str, type_: str, value: Any) -> None:
    if key == "ties":
        _one_of(value, TIES)
    elif type_ == "int":
        check_count(key, value)
    elif not isinstance(value, float) or not 0 < value <= 1:
        raise SpecError("it must lie in (0, 1]")


def _counted(what: str, value: Any, low: int = 1, high: float = math.inf) -> int:
    check_count(what, value, low)
    if value > high:
        raise SpecError(f"{what} must be at most {high:,}, not {value:,}")
    return int(value)


def _one_of(value: Any, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        meant = did_you_mean(value, names) if isinstance(value, str) else ""
        raise SpecError(f"choose one of {', '.join(names)}{meant}")
    return str(value)


def _check_keys(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    names = list(known)
    for key, value in table.items():
        if key not in names:
            why = f"unknown key{did_you_mean(key, names)}; known are {', '.join(names)}"
            raise _wrong(f"{where}.{key}" if where else key, value, why)


def _wrong(key: str, value: Any, why: str) -> SpecError:
    return SpecError(f"{key} = {_shown(value)}: {shorten(why, _LONGEST)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return shorten(text)
