"""Finite sets with an order: labels at the boundary, integers inside.

A `Space` is an ordered finite set of labels: S, O, A of a POMDP, M and W of a memory. `space[i]` is
the i-th label, `space.index(label)` its place. Labels of products (Appendix A.1 of the paper: S' =
S x M x O) are made only when asked for, so a space of a million tuples holds a few integers until
somebody looks at it.

`space.text(label)` is the one short form in which tables, figures and reports write a label, and
`space.legend` says what stands where in it ("" where there is nothing to say).

>>> colours = Space(["red", "green"])
>>> colours.index("green"), colours[0], len(colours)
(1, 'red', 2)
>>> pairs = Product(colours, Bits(1))
>>> pairs[3], pairs.index(("red", "1"))
(('green', '1'), 1)
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError, UnknownLabel, WrongType
from workbench.core.numbers import Number, Numbers, frozen
from workbench.text import shorten, show

Label = Any
"""A label is anything hashable: a string, a number, a tuple of labels, None."""

_LOOKED_AT = 10_000
"""How many labels are compared when a message proposes the nearest ones."""


class Space(Sequence[Label]):
    """An ordered finite set of labels.

    Parameters
    ----------
    labels : iterable of hashable, all different, at least one.
    text : how a label but None is written; by default as `show` does, but not longer than a line.
    """

    legend = ""
    """The names of the parts of a label's text, or "" for labels without parts."""

    _text: Callable[[Label], str] | None = None

    def __init__(self, labels: Iterable[Label], text: Callable[[Label], str] | None = None):
        if isinstance(labels, str | bytes):
            raise WrongType(f"a space needs a list of labels, not the single string {labels!r}")
        try:
            self._labels = tuple(labels)
        except TypeError:
            raise WrongType(f"a space needs a list of labels, not {labels!r}") from None
        if not self._labels:
            raise ModelError("a space needs at least one label; this one is empty")
        self._text = text
        self._places: dict[Label, int] = {}
        for i, label in enumerate(self._labels):
            if not isinstance(label, Hashable):
                raise WrongType(f"label {label!r} is not hashable")
            if self._places.setdefault(label, i) != i:
                raise ModelError(f"label {show(label)} occurs twice")

    def text(self, label: Label) -> str:
        """A label of this space in few characters, as tables, figures and reports write it."""
        if self._text is None or label is None:
            return shorten(show(label))
        return self._text(label)

    def __len__(self) -> int:
        return len(self._labels)

    def _label(self, i: int) -> Label:
        return self._labels[i]

    def _place(self, label: Label) -> int:
        """The index of a label. KeyError, TypeError or ValueError if it has none."""
        return self._places[label]

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return tuple(self._label(j) for j in range(*i.indices(len(self))))
        if not -len(self) <= int(i) < len(self):
            raise IndexError(f"no label number {i} in a space of {len(self)}")
        return self._label(int(i) % len(self))

    def __iter__(self) -> Iterator[Label]:
        return map(self._label, range(len(self)))

    def __contains__(self, label: Label) -> bool:
        try:
            self._place(label)
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def index(self, label: Label, *_: Any) -> int:
        """The index of a label. `UnknownLabel` shows the nearest ones."""
        try:
            return self._place(label)
        except (KeyError, TypeError, ValueError):
            raise UnknownLabel(self._unknown(label)) from None

    def _unknown(self, label: Label) -> str:
        known = {show(self[i]): self[i] for i in range(min(len(self), _LOOKED_AT))}
        near = difflib.get_close_matches(show(label), known, n=3, cutoff=0.4) or list(known)[:3]
        return (
            f"unknown label {label!r}; the nearest of {len(self)}: "
            f"{', '.join(repr(known[n]) for n in near)}"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self is other or (len(self) == len(other) and self._has_labels_of(other))

    def _has_labels_of(self, other: Space) -> bool:
        """Whether a space of the same length has the same labels in the same order."""
        return all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0]))

    def __repr__(self) -> str:
        return f"{_some(map(self.text, self), len(self))} ({len(self)})"


def _some(texts: Iterable[str], n: int) -> str:
    """The first few of n members of a set."""
    return "{" + ", ".join(islice(texts, 6)) + (", ..." if n > 6 else "") + "}"


class Bits(Space):
    """The strings of k bits in counting order: '00', '01', '10', '11'."""

    legend = "bits"

    def __init__(self, k: int):
        self.k = k

    def __len__(self) -> int:
        return 1 << self.k

    def _label(self, i: int) -> Label:
        return format(i, f"0{self.k}b")

    def _place(self, label: Label) -> int:
        if not isinstance(label, str) or len(label) != self.k or set(label) - {"0", "1"}:
            raise KeyError(label)
        return int(label, 2)


class Product(Space):
    """Tuples with one label of each factor, the last factor running fastest.

    Parameters
    ----------
    words : what the parts are called. Texts then leave out the parts that all labels share, such as
        a task's only observation.
    between : what stands between the texts of the parts.
    alone : the factor that is written where none has two labels.

    >>> both = Product(Bits(1), Space(["o"]), words=("memory", "observation"), alone=1)
    >>> both.text(("1", "o")), both.legend
    ('1', 'memory (bits)')
    """

    def __init__(
        self, *factors: Space, words: Sequence[str] = (), between: str = " ", alone: int = 0
    ):
        self.factors = factors
        self._length = math.prod(map(len, factors))
        self._between = between
        self._written: Sequence[int] = range(len(factors))
        if words:
            self._written = [i for i, factor in enumerate(factors) if len(factor) > 1] or [alone]
            told = ((words[i], factors[i].legend) for i in self._written)
            self.legend = between.join(f"{x} ({y})" if y else x for x, y in told)

    def text(self, label: Label) -> str:
        return self._between.join(self.factors[i].text(label[i]) for i in self._written)

    def __len__(self) -> int:
        return self._length

    def _label(self, i: int) -> Label:
        parts = []
        for factor in reversed(self.factors):
            i, j = divmod(i, len(factor))
            parts.append(factor[j])
        return tuple(reversed(parts))

    def _place(self, label: Label) -> int:
        if not isinstance(label, tuple) or len(label) != len(self.factors):
            raise KeyError(label)
        place = 0
        for factor, part in zip(self.factors, label, strict=True):
            place = place * len(factor) + factor._place(part)
        return place

    def _has_labels_of(self, other: Space) -> bool:
        same = isinstance(other, Product) and self.factors == other.factors
        return same or super()._has_labels_of(other)


def buffer_space(entries: Space, k: int) -> Product:
    """The contents of k cells, oldest first, None where a cell is still empty.

    >>> cells = buffer_space(Product(Space(["o"]), Space([1, 2])), 2)
    >>> cells.text((None, ("o", 2))), cells.legend
    ('∅ | o 2', 'stored pairs, oldest first, ∅ empty')
    """
    if None in entries:
        raise ModelError("None is the empty sign of a buffer and cannot be a label that it stores")
    cells = Product(*[Space([None, *entries], entries.text)] * k, between=" | ")
    stored = "pair" if isinstance(entries, Product) else "observation"
    cells.legend = f"stored {stored}{'s, oldest first' if k > 1 else ''}, ∅ empty"
    return cells


class Subset(Space):
    """Some members of a larger space, in an order of their own, given by their places there.

    Parameters
    ----------
    parent : the larger space.
    places : int64 array of different places in it.
    """

    def __init__(self, parent: Space, places: NDArray[np.int64]):
        self.parent = parent
        self.places = frozen(places)
        self.legend, self._text = parent.legend, parent.text

    def __len__(self) -> int:
        return len(self.places)

    def _label(self, i: int) -> Label:
        return self.parent[int(self.places[i])]

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.places)

    def _place(self, label: Label) -> int:
        place = self.parent._place(label)
        i = int(np.searchsorted(self.places, place, sorter=self._order))
        if i == len(self) or self.places[self._order[i]] != place:
            raise KeyError(label)
        return int(self._order[i])

    def _has_labels_of(self, other: Space) -> bool:
        if isinstance(other, Subset) and self.parent == other.parent:
            return np.array_equal(self.places, other.places)
        return super()._has_labels_of(other)


class Distribution(Mapping[Label, Number]):
    """A distribution over a space, as a mapping from the labels in its support to probabilities."""

    def __init__(self, space: Space, prob: Numbers):
        self.space = space
        self.prob = prob

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """The places with a probability that is not zero, in order."""
        return np.flatnonzero(~self.prob.zeros)

    def __getitem__(self, label: Label) -> Number:
        return self.prob[self.space.index(label)]

    def __iter__(self) -> Iterator[Label]:
        return (self.space[int(i)] for i in self.support)

    def __len__(self) -> int:
        return len(self.support)

    def __repr__(self) -> str:
        shown = (f"{self.space.text(label)}: {x}" for label, x in self.items())
        return _some(shown, len(self))


class StateSet(Set[Label]):
    """A set of states: `label in states`, iteration over labels, `mask` for algorithms."""

    def __init__(self, space: Space, mask: NDArray[np.bool_]):
        self.space = space
        self.mask = frozen(mask)

    @classmethod
    def _from_iterable(cls, it: Iterable[Label]) -> Set[Label]:
        return frozenset(it)

    def __contains__(self, label: object) -> bool:
        return label in self.space and bool(self.mask[self.space.index(label)])

    def __iter__(self) -> Iterator[Label]:
        return (self.space[int(i)] for i in np.flatnonzero(self.mask))

    def __len__(self) -> int:
        return int(self.mask.sum())

    def __repr__(self) -> str:
        return _some(map(self.space.text, self), len(self))
