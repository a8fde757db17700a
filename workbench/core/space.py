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
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import islice
from typing import Any, overload

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
    """

    def __init__(self, labels: Iterable[Label]):
        if isinstance(labels, str | bytes):
            raise WrongType(f"a space needs a list of labels, not the single string {labels!r}")
        try:
            self._labels = tuple(labels)
        except TypeError:
            raise WrongType(f"a space needs a list of labels, not {labels!r}") from None
        if not self._labels:
            raise ModelError("a space needs at least one label; this one is empty")
        self._places: dict[Label, int] = {}
        for i, label in enumerate(self._labels):
            if not isinstance(label, Hashable):
                raise WrongType(f"label {label!r} is not hashable")
            if self._places.setdefault(label, i) != i:
                raise ModelError(f"label {show(label)} occurs twice")

    @property
    def legend(self) -> str:
        """The names of the parts of a label's text, or "" for labels without parts."""
        return ""

    def text(self, label: Label) -> str:
        """A label of this space in few characters, as tables, figures and reports write it."""
        return shorten(show(label))

    def __len__(self) -> int:
        return len(self._labels)

    def _label(self, i: int) -> Label:
        return self._labels[i]

    def _place(self, label: Label) -> int:
        """The index of a label. KeyError, TypeError or ValueError if it has none."""
        return self._places[label]

    @overload
    def __getitem__(self, i: int) -> Label: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Label, ...]: ...
    def __getitem__(self, i: int | slice) -> Label | tuple[Label, ...]:
        if isinstance(i, slice):
            return tuple(self._label(j) for j in range(*i.indices(len(self))))
        place = int(i)
        if not -len(self) <= place < len(self):
            raise IndexError(f"no label number {place} in a space of {len(self)}")
        return self._label(place % len(self))

    def __iter__(self) -> Iterator[Label]:
        return (self._label(i) for i in range(len(self)))

    def __contains__(self, label: Label) -> bool:
        try:
            self._place(label)
        except (KeyError, TypeError, ValueError):
            return False
        return True

    def index(self, label: Label, *_: Any) -> int:
        """The index of a label. An unknown one raises `UnknownLabel`, whose message shows the
        nearest."""
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
        if self is other:
            return True
        if not isinstance(other, Space):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), self[0]))

    def __repr__(self) -> str:
        return f"{_some(map(self.text, self), len(self))} ({len(self)})"


class Bits(Space):
    """The strings of k bits in counting order: '00', '01', '10', '11'."""

    def __init__(self, k: int):
        self.k = k

    @property
    def legend(self) -> str:
        return "bits"

    def __len__(self) -> int:
        return 1 << self.k

    def _label(self, i: int) -> Label:
        return format(i, f"0{self.k}b")

    def _place(self, label: Label) -> int:
        if not isinstance(label, str) or len(label) != self.k or set(label) - {"0", "1"}:
            raise KeyError(label)
        return int(label, 2)


class WithEmpty(Space):
    """The empty sign None, then the labels of another space: what a cell of a buffer can hold."""

    def __init__(self, base: Space):
        if None in base:
            raise ModelError(
                "None is the empty sign of a buffer and cannot be a label that it stores"
            )
        self.base = base

    def text(self, label: Label) -> str:
        return show(None) if label is None else self.base.text(label)

    def __len__(self) -> int:
        return 1 + len(self.base)

    def _label(self, i: int) -> Label:
        return None if i == 0 else self.base[i - 1]

    def _place(self, label: Label) -> int:
        return 0 if label is None else 1 + self.base._place(label)


class Product(Space):
    """Tuples with one label of each factor, the last factor running fastest."""

    def __init__(self, *factors: Space):
        self.factors = factors
        self._length = 1
        for factor in factors:
            self._length *= len(factor)

    def text(self, label: Label) -> str:
        return " ".join(f.text(part) for f, part in zip(self.factors, label, strict=True))

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

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Product) and self.factors == other.factors:
            return True
        return super().__eq__(other)

    __hash__ = Space.__hash__


class Buffer(Product):
    """The contents of k cells, oldest first, None where a cell is still empty.

    >>> cells = Buffer(Product(Space(["o"]), Space([1, 2])), 2)
    >>> cells.text((None, ("o", 2))), cells.legend
    ('∅ | o 2', 'stored pairs, oldest first, ∅ empty')
    """

    def __init__(self, entries: Space, k: int):
        super().__init__(*[WithEmpty(entries)] * k)
        self._stored = "pair" if isinstance(entries, Product) else "observation"

    @property
    def legend(self) -> str:
        many = len(self.factors) > 1
        return f"stored {self._stored}{'s, oldest first' if many else ''}, ∅ empty"

    def text(self, label: Label) -> str:
        return " | ".join(f.text(part) for f, part in zip(self.factors, label, strict=True))


class Subset(Space):
    """Some members of a larger space, in an order of their own, given by their places there.

    Parameters
    ----------
    parent : the larger space.
    places : int64 array of different places in it.
    """

    def __init__(self, parent: Space, places: NDArray[np.int64]):
        self.parent = parent
        self.places = places
        self.places.setflags(write=False)

    @property
    def legend(self) -> str:
        return self.parent.legend

    def text(self, label: Label) -> str:
        return self.parent.text(label)

    def __len__(self) -> int:
        return len(self.places)

    def _label(self, i: int) -> Label:
        return self.parent[int(self.places[i])]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = np.argsort(self.places)
        return self.places[order], order

    def _place(self, label: Label) -> int:
        place = self.parent._place(label)
        ordered, order = self._sorted
        i = int(np.searchsorted(ordered, place))
        if i == len(ordered) or ordered[i] != place:
            raise KeyError(label)
        return int(order[i])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Subset) and self.parent is other.parent:
            return np.array_equal(self.places, other.places)
        return super().__eq__(other)

    __hash__ = Space.__hash__


def _some(texts: Iterable[str], n: int) -> str:
    """The first few of n members of a set."""
    return "{" + ", ".join(islice(texts, 6)) + (", ..." if n > 6 else "") + "}"


class Distribution(Mapping[Label, Number]):
    """A distribution over a space, as a mapping from the labels in its support to probabilities."""

    def __init__(self, space: Space, prob: Numbers):
        self.space = space
        self.prob = prob

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """The places with a probability that is not zero, in order."""
        if self.prob.codes is None:
            return np.flatnonzero(self.prob.floats)
        nonzero = np.array([value != 0 for value in self.prob.values])
        return np.flatnonzero(nonzero[self.prob.codes])

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
