"""How large a memory of a family has to be: the smallest k for which a property holds.

For each of the paper's families the k-th memory can do all that a smaller one can (more bits; a
buffer whose newest cells are the smaller buffer), so the first k that has the property is the
smallest, and larger ones have it too. k = 0 is no memory at all: no bits, or a buffer without
cells.

Proposition A.2(1) says that B(k) is sufficiently expressive if

    k >= ceil(log2 |O|) + ceil(log2 |A|) + ceil(log2 u)

with a code for each last observation, action and belief. Its proof leaves out the start: 0^k is the
code of some (o, a, b), and also of "nothing has happened yet". With a code for that too,

    k >= ceil(log2(|O| |A| u + 1))

is enough. The two differ only where |O|, |A| and u are all powers of two, and there by one bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.beliefs import reachable_beliefs
from workbench.core.errors import WorkbenchError
from workbench.memories import OA, B, Family, K, O, none

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

KINDS = {"B": B, "K": K, "O": O, "OA": OA}


@dataclass(frozen=True)
class Smallest:
    """The smallest k, or how far it was looked for.

    Attributes
    ----------
    k : None if none of those tried has the property, or one of them is undecided.
    tried : the answers for k = 0, 1, ..., up to the first that is not a plain no.
    """

    task: str
    kind: str
    predicate: str
    k: int | None
    tried: tuple[Any, ...]

    def __repr__(self) -> str:
        what = {
            "expressive": "is sufficiently expressive",
            "encodes": "can encode an optimal policy",
        }[self.predicate]
        if self.k is not None:
            return f"{self.task}: the smallest {self.kind}(k) that {what} has k = {self.k}"
        if self.tried[-1].holds is None:
            return (
                f"{self.task}: {self.kind}{len(self.tried) - 1} is undecided: "
                f"{self.tried[-1].reason}"
            )
        return f"{self.task}: no {self.kind}(k) with k <= {len(self.tried) - 1} {what}"


def smallest_k(P: POMDP, kind: str, predicate: str = "expressive", most: int = 5) -> Smallest:
    """The smallest k such that the memory of that kind and size has the property.

    Parameters
    ----------
    kind : "B", "K", "O" or "OA".
    predicate : "expressive" for Definition A.2, "encodes" for `can_encode_optimal`.
    most : the largest k to try.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="two steps",
    ...     A=[0, 1],
    ...     p=lambda s, a: {(("s", a) if s == "start" else "end", 0): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"start": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> smallest_k(P, "B")
    two steps: the smallest B(k) that is sufficiently expressive has k = 2
    >>> smallest_k(P, "O")
    two steps: no O(k) with k <= 5 is sufficiently expressive
    """
    if kind not in KINDS:
        raise WorkbenchError(f"unknown family {kind!r}: one of {', '.join(KINDS)}")
    if predicate not in ("expressive", "encodes"):
        raise WorkbenchError(f"predicate must be 'expressive' or 'encodes', not {predicate!r}")
    tried: list[Any] = []
    for k in range(most + 1):
        family: Family = KINDS[kind](k) if k else none
        tried.append(_ask(P, family, predicate))
        if tried[-1].holds is None:
            break
        if tried[-1].holds:
            return Smallest(P.name, kind, predicate, k, tuple(tried))
    return Smallest(P.name, kind, predicate, None, tuple(tried))


def _ask(P: POMDP, family: Family, predicate: str) -> Any:
    if predicate == "expressive":
        from workbench.sufficiency.expressive import is_sufficiently_expressive

        return is_sufficiently_expressive(P, family)
    from workbench.sufficiency.can_encode import can_encode_optimal

    return can_encode_optimal(P, family)


def printed_bits(P: POMDP) -> int:
    """The k of Proposition A.2(1) as printed."""
    return sum(map(_bits, (len(P.O), len(P.A), reachable_beliefs(P).u)))


def enough_bits(P: POMDP) -> int:
    """The k of Proposition A.2(1) with a code for the start.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="two steps",
    ...     A=[0, 1],
    ...     p=lambda s, a: {(("s", a) if s == "start" else "end", 0): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"start": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> printed_bits(P), enough_bits(P)
    (3, 3)
    """
    return _bits(len(P.O) * len(P.A) * reachable_beliefs(P).u + 1)


def _bits(n: int) -> int:
    """ceil(log2 n)."""
    return max(n - 1, 0).bit_length()
