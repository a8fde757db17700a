"""What the format cannot say, in comments of the file: other programs skip them, `load_pomdp` reads
them.

    #@workbench name: "gravity"                     the POMDP's name
    #@workbench states: [[[0, 0], "on"], ...]       labels that are no names of the format; a tuple
                                                    is a JSON array
    #@workbench observations: [...]                 likewise, and `actions`
    #@workbench terminal: [4, 7]                    states, by number, that end an episode; T keeps
                                                    them where they are
    #@workbench copies: [2, 2]       the last states of the file are copies of state 2 (and 2 again)
    #@workbench allowed: {"0": [0, 2]}    the actions, by number, of observation 0; the others do
                                          there what the first of them does
    #@workbench exact: {"0.3333333333333333": "1/3"}    read decimals as rationals, and this
                                                        spelling as that number

A file may hold any of them, or none. Copies exist because the format knows one reward for each (a,
s, s', o): where a POMDP has two rewards for the same (s, a, s'), the file has two states that
differ only in the reward of entering.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.source import PomdpFileError, Source

PREFIX = "#@workbench"
_NOTE = re.compile(rf"^[ \t]*{PREFIX}\b[ \t]*(.*)$", re.MULTILINE)
_FRACTION = re.compile(r"-?\d{1,4000}(/\d{1,4000})?")
_KEYS = ("name", "states", "actions", "observations", "terminal", "copies", "exact", "allowed")


@dataclass(frozen=True)
class Notes:
    """The notes of a file. None or empty where it has none."""

    name: str | None = None
    labels: Mapping[str, list[Label]] = field(default_factory=dict)
    terminal: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    exact: Mapping[str, Fraction] | None = None
    allowed: Mapping[int, list[int]] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)


def read_notes(source: Source) -> Notes:
    """The notes in the comments of a file."""
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for match in _NOTE.finditer(source.text):
        line = source.text.count("\n", 0, match.start()) + 1
        key, _, value = match[1].partition(":")
        if key not in _KEYS:
            raise source.fault_at_line(
                line, f"expected a note {', '.join(_KEYS)}, found {key[:40]!r}"
            )
        if key in found:
            raise source.fault_at_line(line, f"the note {key} is given a second time")
        try:
            found[key] = _checked(key, json.loads(value))
        except (ValueError, RecursionError, ZeroDivisionError) as wrong:
            raise source.fault_at_line(line, f"the note {key} cannot be read: {wrong}") from None
        lines[key] = line
    return Notes(
        name=found.get("name"),
        labels={key: found[key] for key in ("states", "actions", "observations") if key in found},
        terminal=found.get("terminal", ()),
        copies=found.get("copies", ()),
        exact=found.get("exact"),
        allowed=found.get("allowed", {}),
        lines=lines,
    )


def _checked(key: str, value: Any) -> Any:
    if key == "name":
        if not isinstance(value, str):
            raise ValueError("it must be a string")
        return value
    if key == "exact":
        if not isinstance(value, dict) or not all(
            isinstance(v, str) and _FRACTION.fullmatch(v) for v in value.values()
        ):
            raise ValueError(
                'it must give fractions to spellings, such as {"0.3333333333333333": "1/3"}'
            )
        return {spelling: Fraction(fraction) for spelling, fraction in value.items()}
    if key == "allowed":
        if not isinstance(value, dict) or not all(
            isinstance(row, list) and all(type(a) is int and a >= 0 for a in row)
            for row in value.values()
        ):
            raise ValueError('it must give numbers of actions to observations, such as {"0": [1]}')
        return {int(o): row for o, row in value.items()}
    if not isinstance(value, list):
        raise ValueError("it must be a list")
    if key in ("terminal", "copies"):
        if not all(type(number) is int and number >= 0 for number in value):
            raise ValueError("it must be a list of the numbers of states")
        return tuple(value)
    labels = [_as_label(label) for label in value]
    Space(labels)
    return labels


def _as_label(value: Any) -> Label:
    if isinstance(value, list):
        return tuple(_as_label(part) for part in value)
    if isinstance(value, dict):
        raise ValueError(f"{value} is not a label")
    return value


# ---------------------------------------------------------------------- writing


def note(key: str, value: Any) -> str:
    """A note as a line of a file."""
    return f"{PREFIX} {key}: {json.dumps(value, ensure_ascii=True, allow_nan=False)}"


def writable(label: Label) -> Any:
    """A label as JSON that reads back as an equal label. Raises `PomdpFileError` where there is
    none."""
    if isinstance(label, tuple):
        return [writable(part) for part in label]
    if label is None or isinstance(label, bool | int | str):
        return label
    if isinstance(label, float) and label - label == 0:
        return float(label)
    if hasattr(label, "item") and getattr(label, "shape", None) == ():  # a numpy scalar
        return writable(label.item())
    raise PomdpFileError(
        f"the label {label!r} cannot be written: a file holds strings, numbers, None and tuples of "
        "them. Use P.relabel to give it another"
    )
