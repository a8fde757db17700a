"""Sums over index sets of any size, and their normal form.

    term    ::=  number | name | name(index, ..., index) | sum[index, ..., index](term)
              |  term + term | term - term | term * term | term ** whole number
              |  term / whole number
    index   ::=  letters with or without digits, such as s, s1, o      (its letters are its sort)
              |  0 | n | n+1                                           (a time)

`sum[s, a](mu(s)*pi(s, a))` ranges over all s and all a, however many there are. `eq(s, t)` is 1 if
the two indices are the same and 0 otherwise. A term is multiplied out to a sum of products, each
with the indices it is summed over; the names of these do not matter, and

    sum_s eq(s, t) f(s) = f(t)         sum_s' p(s, a, s') = 1  for what is said to be a distribution

are used wherever they can be. Two terms with the same normal form are equal whatever the functions
and the sizes of the index sets are; that is what makes them worth comparing.

>>> read_sum("sum[s](mu(s)*v(s)) - sum[s1](v(s1)*mu(s1))").is_zero
True
>>> read_sum("sum[s1](eq(s1, s)*v(s1)) - v(s)").is_zero
True
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod

from workbench.checker.expressions import check_sizes, spend_products
from workbench.checker.spoiled import Spoiled

LONGEST_SUM, MOST_SUMMANDS, MOST_ORDERS = 4_000, 4_000, 5_040
"""So many characters a text may have, so many products a term, so many orders of indices that look
alike may be tried."""

TIMES = ("0", "n", "n+1")
_INDEX = re.compile(r"([A-Za-z]+)\d*")

Atom = tuple[str, tuple[str, ...]]
Factors = tuple[Atom, ...]
Summand = tuple[tuple[str, ...], Factors]
"""The indices that are summed over, and the factors."""

Distributions = frozenset[tuple[str, frozenset[int]]]
"""Functions that sum to one over the arguments at these places."""

NO_DISTRIBUTIONS: Distributions = frozenset()


def sort_of(index: str) -> str:
    """The set that an index ranges over: its letters, or "time".

    >>> sort_of("s1"), sort_of("n+1")
    ('s', 'time')
    """
    found = _INDEX.match(index)
    return "time" if index in TIMES or not found else found[1]


@dataclass(frozen=True)
class Sum:
    """A sum of products in normal form."""

    parts: Mapping[Summand, Fraction]

    @property
    def is_zero(self) -> bool:
        return not self.parts

    @property
    def free(self) -> set[str]:
        """The indices that are not summed over, times left out."""
        return {
            index
            for bound, factors in self.parts
            for _, indices in factors
            for index in indices
            if index not in bound and index not in TIMES
        }

    def __add__(self, other: Sum) -> Sum:
        return _collect([*self.parts.items(), *other.parts.items()])

    def __sub__(self, other: Sum) -> Sum:
        return self + other.scaled(Fraction(-1))

    def scaled(self, number: Fraction) -> Sum:
        return _collect((part, x * number) for part, x in self.parts.items())

    def times(self, other: Sum, rules: Distributions = NO_DISTRIBUTIONS) -> Sum:
        """The product of two sums. The indices that each side is summed over stay apart."""
        if len(self.parts) * len(other.parts) > MOST_SUMMANDS:
            raise Spoiled("a sum multiplies out to too much")
        found = []
        for (one, x), (two, y) in product(self.parts.items(), other.parts.items()):
            left, right = _fresh(one, "l"), _fresh(two, "r")
            both = (*left[0], *right[0]), (*left[1], *right[1])
            found.append((normal_summand(both, rules), x * y))
        return _collect(found)

    def over(self, indices: Iterable[str], rules: Distributions = NO_DISTRIBUTIONS) -> Sum:
        """The sum over some indices."""
        indices = tuple(indices)
        found = []
        for part, x in self.parts.items():
            bound, factors = _fresh(part, "b")
            found.append((normal_summand(((*bound, *indices), factors), rules), x))
        return _collect(found)

    def renamed(self, names: Mapping[str, str], rules: Distributions = NO_DISTRIBUTIONS) -> Sum:
        """The same with other names for free indices, and where rules apply without what is one."""
        found = []
        for part, x in self.parts.items():
            bound, factors = _fresh(part, "b")
            found.append((normal_summand((bound, _rename(factors, names)), rules), x))
        return _collect(found)


def _collect(parts: Iterable[tuple[Summand, Fraction]]) -> Sum:
    found: dict[Summand, Fraction] = {}
    for part, x in parts:
        found[part] = found.get(part, Fraction(0)) + x
        if len(found) > MOST_SUMMANDS:
            raise Spoiled("a sum has too many terms")
    spend_products(len(found) // 2)
    check_sizes(found.values())
    return Sum({part: x for part, x in found.items() if x})


def _rename(factors: Factors, names: Mapping[str, str]) -> Factors:
    found = ((f, tuple(names.get(i, i) for i in indices)) for f, indices in factors)
    return tuple((f, tuple(sorted(those)) if f == "eq" else those) for f, those in found)


def _fresh(part: Summand, mark: str) -> Summand:
    """The same summand with names for its summed indices that no text can contain."""
    bound, factors = part
    names = {index: f"{sort_of(index)}'{mark}{i}" for i, index in enumerate(bound)}
    return tuple(names.values()), _rename(factors, names)


# ---------------------------------------------------------------------- normal form


def normal_summand(part: Summand, rules: Distributions = NO_DISTRIBUTIONS) -> Summand:
    """A summand without eq and without sums that are one, its indices named in a fixed order."""
    bound, factors = list(part[0]), list(part[1])
    while _drop_equal(bound, factors) or _drop_one(bound, factors, rules):
        pass
    return _ordered(tuple(bound), tuple(factors))


def _drop_equal(bound: list[str], factors: list[Atom]) -> bool:
    """Use one eq(i, j): the two are one index from now on."""
    for k, (f, indices) in enumerate(factors):
        if f != "eq":
            continue
        i, j = indices
        if i == j:
            del factors[k]
            return True
        if i in bound or j in bound:
            gone, stays = (i, j) if i in bound else (j, i)
            del factors[k]
            bound.remove(gone)
            factors[:] = _rename(tuple(factors), {gone: stays})
            return True
        others = _rename((*factors[:k], *factors[k + 1 :]), {j: i})
        if others != (*factors[:k], *factors[k + 1 :]):  # both are free: f(j) eq(i, j) is f(i)
            factors[:] = [*others, (f, (i, j))]
            return True
    return False


def _drop_one(bound: list[str], factors: list[Atom], rules: Distributions) -> bool:
    """Leave out one distribution that is summed over whole."""
    for k, (f, indices) in enumerate(factors):
        for name, places in rules:
            if name != f:
                continue
            summed = [indices[i] for i in sorted(places)]
            others = [i for n, (_, those) in enumerate(factors) if n != k for i in those]
            kept = [i for n, i in enumerate(indices) if n not in places]
            alone = all(i in bound and i not in others and i not in kept for i in summed)
            if alone and len(set(summed)) == len(summed):
                del factors[k]
                for i in summed:
                    bound.remove(i)
                return True
    return False


def _ordered(bound: tuple[str, ...], factors: Factors) -> Summand:
    """The summand with its summed indices in canonical order. They are ordered by where they occur,
    and, among those that look alike, by the least of all orders."""
    colour: dict[str, tuple[object, ...]] = {i: (sort_of(i),) for i in bound}
    for _ in range(len(bound) + 1):
        seen = {
            i: (colour[i], sorted(
                (f, tuple(
                    (0, "") if j == i else (1, repr(colour[j])) if j in colour else (2, j)
                    for j in indices
                ))
                for f, indices in factors if i in indices
            ))
            for i in bound
        }  # fmt: skip
        ranks = {text: k for k, text in enumerate(sorted({repr(x) for x in seen.values()}))}
        colour = {i: (sort_of(i), ranks[repr(seen[i])]) for i in bound}
    classes: dict[tuple[object, ...], list[str]] = {}
    for i in bound:
        classes.setdefault(colour[i], []).append(i)
    groups = [classes[key] for key in sorted(classes, key=repr)]
    orders = prod(factorial(len(group)) for group in groups)
    if orders > MOST_ORDERS:
        raise Spoiled("too many indices of a sum look alike")
    # each order names all indices anew; colours are found once for each index
    spend_products((8 + orders + len(bound) * (len(bound) + 1)) * (1 + len(factors)))
    best: Summand | None = None
    for choice in product(*(permutations(group) for group in groups)):
        order = [i for group in choice for i in group]
        names = {i: f"{sort_of(i)}'{k}" for k, i in enumerate(order)}
        found = tuple(sorted(names.values())), tuple(sorted(_rename(factors, names)))
        if best is None or found < best:
            best = found
    assert best is not None
    return best


# ---------------------------------------------------------------------- reading


class SumReader:
    """Texts of sums that belong together: a function has the same sorts of arguments in all."""

    def __init__(self) -> None:
        self.signatures: dict[str, tuple[str, ...]] = {"eq": ()}

    def read(self, text: str) -> Sum:
        """The normal form of a text."""
        if not isinstance(text, str) or len(text) > LONGEST_SUM:
            raise Spoiled("a sum is a text, and not too long a one")
        try:
            return self._term(ast.parse(text.strip(), mode="eval").body)
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise Spoiled(f"{text[:60]} is no sum") from error

    def _term(self, node: ast.AST) -> Sum:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return _number(Fraction(node.value))
        if isinstance(node, ast.Name):
            return self._atom(node.id, ())
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._term(node.operand).scaled(Fraction(-1))
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call) and not node.keywords:
            if isinstance(node.func, ast.Name):
                return self._atom(node.func.id, tuple(_index(each) for each in node.args))
            if isinstance(node.func, ast.Subscript) and len(node.args) == 1:
                return self._sum(node.func, node.args[0])
        raise Spoiled(f"{ast.unparse(node)[:60]} is no sum")

    def _operation(self, node: ast.BinOp) -> Sum:
        left, right = self._term(node.left), self._term(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left.times(right)
        number = right.parts.get(((), ()), Fraction(0)) if len(right.parts) == 1 else Fraction(0)
        if isinstance(node.op, ast.Div) and number:
            return left.scaled(1 / number)
        if isinstance(node.op, ast.Pow) and number in range(1, 9):
            found = left
            for _ in range(int(number) - 1):
                found = found.times(left)
            return found
        raise Spoiled(f"{ast.unparse(node)[:60]} is no sum")

    def _atom(self, name: str, indices: tuple[str, ...]) -> Sum:
        if name == "sum":
            raise Spoiled("a sum says over which indices")
        sorts = tuple(map(sort_of, indices))
        if name == "eq":
            if len(sorts) != 2 or sorts[0] != sorts[1] or sorts[0] == "time":
                raise Spoiled("eq compares two indices of one sort")
        elif self.signatures.setdefault(name, sorts) != sorts:
            raise Spoiled(f"{name} is used with other arguments elsewhere")
        return Sum({normal_summand(((), ((name, indices),))): Fraction(1)})

    def _sum(self, head: ast.Subscript, body: ast.expr) -> Sum:
        if not isinstance(head.value, ast.Name) or head.value.id != "sum":
            raise Spoiled("only sum takes indices in brackets")
        given = head.slice.elts if isinstance(head.slice, ast.Tuple) else [head.slice]
        indices = [_index(each) for each in given]
        if len(set(indices)) < len(indices) or set(indices) & set(TIMES):
            raise Spoiled("a sum names each of its indices once, and no time")
        return self._term(body).over(indices)


def _number(x: Fraction) -> Sum:
    return Sum({((), ()): x} if x else {})


def is_index(text: str) -> bool:
    """Whether a text is an index that can be summed over."""
    return bool(_INDEX.fullmatch(text)) and text not in TIMES


def _index(node: ast.AST) -> str:
    text = ast.unparse(node).replace(" ", "")
    if text in TIMES or is_index(text):
        return text
    raise Spoiled(f"{text[:30]} is no index")


def read_sum(text: str) -> Sum:
    """The normal form of one text."""
    return SumReader().read(text)
