"""Results that are sequences: what a search found, in order, beside what it tells about itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

One = TypeVar("One")


class Findings(Sequence[One]):
    """A sequence of the things in `found`. A search's result adds more.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Primes(Findings[int]):
    ...     found: tuple[int, ...]
    >>> primes = Primes((2, 3, 5))
    >>> len(primes), primes[0], primes[1:], 5 in primes, list(reversed(primes))
    (3, 2, (3, 5), True, [5, 3, 2])
    """

    found: tuple[One, ...]

    @overload
    def __getitem__(self, i: int) -> One: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[One, ...]: ...
    def __getitem__(self, i: int | slice) -> One | tuple[One, ...]:
        return self.found[i]

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[One]:
        return iter(self.found)
