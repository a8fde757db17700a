"""Labels as binary features: the input of a network (Appendices D.2 and D.3).

The paper describes an observation by binary matrices, one for each kind of thing, or by one-hot
vectors of the parts of each tile. Here a label is taken apart in the same way:

    a tuple, all of the same length      the features of each part, side by side
    a tuple of numbers                   a place: one feature for each place
    tuples of different lengths          a set of things: one feature for each thing
    a text                               one feature for each of its words
    anything else                        one feature for each label

so that ("closed red door", "wall") has features for closed, red and door in one tile and for wall
in the next. Labels that would look alike get a feature of their own instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Number as AnyNumber
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.space import Label

Features = NDArray[np.float32]
"""`features[label, feature]`, zeros and ones."""


def features_of(labels: Sequence[Label]) -> Features:
    """The features of some labels, all of which differ.

    >>> features_of([("red key", "wall"), ("blue key", "wall"), ("wall", "wall")])[:, :4]
    array([[1., 1., 0., 0.],
           [0., 1., 1., 0.],
           [0., 0., 0., 1.]], dtype=float32)
    """
    found = _parts(list(labels))
    if len(np.unique(found, axis=0)) < len(labels):
        return np.eye(len(labels), dtype=np.float32)
    return found


def _parts(labels: list[Label]) -> Features:
    if all(isinstance(label, tuple) and not _is_place(label) for label in labels):
        lengths = {len(label) for label in labels}
        if len(lengths) == 1:
            columns = [_parts(list(part)) for part in zip(*labels, strict=True)]
            return np.concatenate([*columns, np.zeros((len(labels), 0), np.float32)], axis=1)
        return _listed(labels)
    if all(isinstance(label, str) for label in labels):
        return _listed([label.split() for label in labels])
    return _listed([[label] for label in labels])


def _is_place(label: tuple[Any, ...]) -> bool:
    return bool(label) and all(isinstance(part, AnyNumber) for part in label)


def _listed(things: Iterable[Iterable[Hashable]]) -> Features:
    """One feature for each thing that occurs in any of the lists."""
    rows = [list(row) for row in things]
    places = {
        thing: i for i, thing in enumerate(dict.fromkeys(thing for row in rows for thing in row))
    }
    found = np.zeros((len(rows), len(places)), dtype=np.float32)
    for i, row in enumerate(rows):
        found[i, [places[thing] for thing in row]] = 1
    return found


def bit_features(k: int) -> Features:
    """The k bits of each number below 2^k, the highest first."""
    return (np.arange(1 << k)[:, None] >> np.arange(k - 1, -1, -1) & 1).astype(np.float32)


def cell_features(entries: Features) -> Features:
    """The features of a buffer's cell: its entry, or that it is empty. "Empty" comes first."""
    n, f = entries.shape
    found = np.zeros((n + 1, f + 1), dtype=np.float32)
    found[0, 0] = 1
    found[1:, 1:] = entries
    return found


def pair_features(first: Features, second: Features) -> Features:
    """Of all pairs, the second running fastest."""
    return np.concatenate(
        [np.repeat(first, len(second), axis=0), np.tile(second, (len(first), 1))], axis=1
    )
