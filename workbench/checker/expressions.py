"""Polynomials and quotients of polynomials in several names, read from text.

    sum    ::=  term  { (+ | -) term }          power  ::=  atom [ ** whole number ]
    term   ::=  sign  { (* | /) sign }          atom   ::=  whole number | name | ( sum )
    sign   ::=  - sign | power                  relation ::= sum (> | >= | < | <= | == | !=) sum

A polynomial is a dictionary {((name, exponent), ...): coefficient}. Texts that are too long, too
deeply nested, or that multiply out to too much are refused, so that reading ends quickly.

>>> read_polynomial("(x - y)*(x + y)") == read_polynomial("x**2 - y**2")
True
>>> is_same_function("(x**2 - y**2)/(x - y)", "x + y")
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from workbench.checker.spoiled import Spoiled

LONGEST_TEXT, MOST_DIGITS, DEEPEST, LARGEST_EXPONENT = 1_000_000, 2_000, 100, 200
MOST_TERMS, MOST_PRODUCTS = 20_000, 500_000
"""So many terms a polynomial may have; so many products of terms may be formed for one
certificate."""

MOST_BITS = 200_000
"""So long a coefficient may be: powers of powers of numbers have few terms and no end."""

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\*\*|>=|<=|==|!=|[-+*/()<>]))")

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


class _Reader:
    """A text of numbers, names and operations, read once from left to right."""

    def __init__(self, text: str, name: Callable[[str], Any], integer: Callable[[int], Any]):
        self.text, self.name, self.integer = text, name, integer
        self.tokens = _tokens(text)
        self.place = self.depth = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.next
        self.place += 1
        return token

    def trouble(self) -> Spoiled:
        return Spoiled(
            f"{self.text[:60]!r} holds something other than numbers, names, + - * / ** and one "
            "relation"
        )

    def sum(self) -> Any:
        total = self.term()
        while self.next in ("+", "-"):
            total = total + self.term() if self.take() == "+" else total - self.term()
        return total

    def term(self) -> Any:
        total = self.sign()
        while self.next in ("*", "/"):
            total = total * self.sign() if self.take() == "*" else total / self.sign()
        return total

    def sign(self) -> Any:
        negative = False
        while self.next == "-":
            self.take()
            negative = not negative
        found = self.power()
        return -found if negative else found

    def power(self) -> Any:
        base = self.atom()
        if self.next != "**":
            return base
        self.take()
        shown = self.take()
        if not shown.isdigit() or len(shown) > 4 or not 1 <= int(shown) <= LARGEST_EXPONENT:
            raise Spoiled(
                f"{self.text[:60]!r} holds the exponent {shown!r}; exponents are whole numbers "
                f"from 1 to {LARGEST_EXPONENT}"
            )
        found = base
        for _ in range(int(shown) - 1):
            found = found * base
        return found

    def atom(self) -> Any:
        token = self.take()
        if token.isdigit():
            return self.integer(int(token))
        if token == "(":
            self.depth += 1
            if self.depth > DEEPEST:
                raise Spoiled(f"brackets are nested more than {DEEPEST} times")
            found = self.sum()
            self.depth -= 1
            if self.take() != ")":
                raise self.trouble()
            return found
        if token and (token[0].isalpha() or token[0] == "_"):
            return self.name(token)
        raise self.trouble()


def _tokens(text: str) -> list[str]:
    if not isinstance(text, str):
        raise Spoiled(f"{text!r} is not a text")
    if len(text) > LONGEST_TEXT:
        raise Spoiled(f"a formula has {len(text):,} characters, more than {LONGEST_TEXT:,}")
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise Spoiled(f"{text[:60]!r} holds the sign {text[place : place + 10].strip()[:1]!r}")
        token = match.group(match.lastindex or 0)
        if token.isdigit() and len(token) > MOST_DIGITS:
            raise Spoiled(f"a number has {len(token):,} digits, more than {MOST_DIGITS:,}")
        found.append(token)
        place = match.end()
    return found


def read_expression(
    text: str, name: Callable[[str], Any], integer: Callable[[int], Any] = Fraction
) -> Any:
    """An expression or a relation in text, built from whatever `name` and `integer` return.

    >>> read_expression("x**2 - 3*x/2", {"x": Fraction(2)}.__getitem__)
    Fraction(1, 1)
    """
    reader = _Reader(text, name, integer)
    found = reader.sum()
    if reader.next in _RELATIONS:
        relation = _RELATIONS[reader.take()]
        found = relation(found, reader.sum())
    if reader.next:
        raise reader.trouble()
    return found


Exponents = tuple[tuple[str, int], ...]


class _Budget:
    """Products of terms that may still be formed."""

    left = MOST_PRODUCTS


def renew_budget(products: int = MOST_PRODUCTS) -> None:
    """Allow as many products of terms as one certificate may need."""
    _Budget.left = products


def spend_products(products: int) -> None:
    """Take products of terms from the certificate's budget. Too many are refused."""
    _Budget.left -= products
    if _Budget.left < 0:
        raise Spoiled("a formula multiplies out to too many terms")


def check_sizes(numbers: Iterable[Fraction]) -> None:
    """Refuse numbers that are too long to go on with."""
    if any(max(x.numerator.bit_length(), x.denominator.bit_length()) > MOST_BITS for x in numbers):
        raise Spoiled(f"a coefficient has more than {MOST_BITS:,} bits")


@lru_cache(maxsize=100_000)
def _joined(e: Exponents, f: Exponents) -> Exponents:
    """The exponents of a product."""
    powers = dict(e)
    for name, k in f:
        powers[name] = powers.get(name, 0) + k
    return tuple(sorted(powers.items()))


class Polynomial:
    """A polynomial with rational coefficients. Mixes with ints and Fractions."""

    def __init__(self, terms: Mapping[Exponents, Fraction]):
        self.terms = {e: c for e, c in terms.items() if c != 0}

    @classmethod
    def name(cls, name: str) -> Polynomial:
        return cls({((name, 1),): Fraction(1)})

    @classmethod
    def constant(cls, value: int | Fraction) -> Polynomial:
        return cls({(): Fraction(value)})

    @classmethod
    def of(cls, x: Any) -> Polynomial:
        return x if isinstance(x, Polynomial) else cls.constant(x)

    def __repr__(self) -> str:
        shown = ("*".join([str(c), *(f"{v}**{k}" for v, k in e)]) for e, c in self.terms.items())
        return " + ".join(shown) or "0"

    @property
    def names(self) -> set[str]:
        """The names that occur in it."""
        return {name for e in self.terms for name, _ in e}

    def __add__(self, other: Any) -> Polynomial:
        added = Polynomial.of(other).terms
        spend_products((len(self.terms) + len(added)) // 8)  # cheaper than products, yet not free
        total = dict(self.terms)
        for e, c in added.items():
            total[e] = total.get(e, Fraction(0)) + c
        return Polynomial(total)

    def __neg__(self) -> Polynomial:
        return Polynomial({e: -c for e, c in self.terms.items()})

    def __sub__(self, other: Any) -> Polynomial:
        return self + (-Polynomial.of(other))

    def __rsub__(self, other: Any) -> Polynomial:
        return Polynomial.of(other) - self

    def __mul__(self, other: Any) -> Polynomial:
        other = Polynomial.of(other)
        many = max(len(self.terms), len(other.terms)) > MOST_TERMS
        spend_products(MOST_PRODUCTS + 1 if many else len(self.terms) * len(other.terms))
        total: dict[Exponents, Fraction] = {}
        for (e, c), (f, d) in product(self.terms.items(), other.terms.items()):
            key = _joined(e, f)
            total[key] = total.get(key, Fraction(0)) + c * d
        check_sizes(total.values())
        return Polynomial(total)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Polynomial:
        other = Polynomial.of(other)
        if set(other.terms) != {()}:
            raise Spoiled("a polynomial is divided by numbers other than 0 only")
        return Polynomial({e: c / other.terms[()] for e, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polynomial | int | Fraction):
            return NotImplemented
        return self.terms == Polynomial.of(other).terms

    def __hash__(self) -> int:
        number = self.terms.get((), Fraction(0))
        return hash(frozenset(self.terms.items()) if self.names else number)

    def over(self, other: Polynomial) -> Polynomial | None:
        """The quotient of the two, None if the other does not divide it.

        >>> read_polynomial("x**2 - y**2").over(read_polynomial("x + y"))
        1*x**1 + -1*y**1
        """
        if set(other.terms) == {()}:
            return self / other
        names = sorted(self.names | other.names)
        rest, divisor = (
            {tuple(dict(e).get(v, 0) for v in names): c for e, c in f.terms.items()}
            for f in (self, other)
        )
        if not divisor:
            raise Spoiled("a polynomial is divided by the zero polynomial")
        top, found = max(divisor), dict[Exponents, Fraction]()
        while rest:
            lead = max(rest)
            shift = [i - j for i, j in zip(lead, top, strict=True)]
            if min(shift) < 0:
                return None
            spend_products(len(divisor))
            c = rest[lead] / divisor[top]
            found[tuple((v, k) for v, k in zip(names, shift, strict=True) if k)] = c
            for e, d in divisor.items():
                there = tuple(i + k for i, k in zip(e, shift, strict=True))
                if x := rest.pop(there, Fraction(0)) - c * d:
                    rest[there] = x
        return Polynomial(found)

    def by_powers_of(self, name: str) -> list[Polynomial]:
        """Its coefficients as a polynomial in one name, lowest power first."""
        found: dict[int, dict[Exponents, Fraction]] = {}
        for e, c in self.terms.items():
            found.setdefault(dict(e).get(name, 0), {})[
                tuple(power for power in e if power[0] != name)
            ] = c
        return [Polynomial(found.get(k, {})) for k in range(max(found, default=-1) + 1)]

    def derivative(self, name: str) -> Polynomial:
        """Its derivative along a name."""
        total = Polynomial({})
        for k, f in enumerate(self.by_powers_of(name)):
            if k:
                total = total + k * f * Polynomial({((name, k - 1),) if k > 1 else (): Fraction(1)})
        return total

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """Its value where every name has a number."""
        total = Fraction(0)
        for e, c in self.terms.items():
            for name, k in e:
                c *= values[name] ** k
            total += c
        return total


class Quotient:
    """A quotient of polynomials, not reduced. Equal when the cross products are. Mixes with ints
    and Fractions."""

    def __init__(self, num: Polynomial, den: Polynomial):
        # with a leading coefficient of 1, equal denominators look the same
        lead = den.terms[max(den.terms)]
        self.num, self.den = num / lead, den / lead

    @classmethod
    def name(cls, name: str) -> Quotient:
        return cls(Polynomial.name(name), Polynomial.constant(1))

    @classmethod
    def constant(cls, value: int | Fraction) -> Quotient:
        return cls(Polynomial.constant(value), Polynomial.constant(1))

    @classmethod
    def of(cls, x: Any) -> Quotient:
        return x if isinstance(x, Quotient) else cls.constant(x)

    def __hash__(self) -> int:
        return 0  # equal quotients may look different; what is kept in dictionaries here is little

    def __add__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        if self.den == other.den:
            return Quotient(self.num + other.num, self.den)
        return Quotient(self.num * other.den + other.num * self.den, self.den * other.den)

    def __neg__(self) -> Quotient:
        return Quotient(-self.num, self.den)

    def __sub__(self, other: Any) -> Quotient:
        return self + (-Quotient.of(other))

    def __mul__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        return Quotient(self.num * other.num, self.den * other.den)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        if not other.num.terms:
            raise Spoiled("something is divided by the zero function")
        return Quotient(self.num * other.den, self.den * other.num)

    def __rtruediv__(self, other: Any) -> Quotient:
        return Quotient.of(other) / self

    def __rsub__(self, other: Any) -> Quotient:
        return Quotient.of(other) - self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quotient | int | Fraction):
            return NotImplemented
        other = Quotient.of(other)
        return self.num * other.den == other.num * self.den

    @property
    def number(self) -> Fraction | None:
        """The value of a constant expression, or None if it is not constant."""
        if not self.num.terms:
            return Fraction(0)
        ratio = self.num.terms.get(max(self.den.terms), Fraction(0))
        return ratio if self.num == self.den * ratio else None


def read_polynomial(text: str) -> Polynomial:
    """A polynomial from text."""
    found = read_expression(text, Polynomial.name, Polynomial.constant)
    if not isinstance(found, Polynomial):
        raise Spoiled(f"{text[:60]!r} is a relation, not a polynomial")
    return found


def read_quotient(text: str) -> Quotient:
    """A quotient of polynomials from text."""
    found = read_expression(text, Quotient.name, Quotient.constant)
    if not isinstance(found, Quotient):
        raise Spoiled(f"{text[:60]!r} is a relation, not a quotient of polynomials")
    return found


def is_same_function(left: str, right: str) -> bool:
    """Whether two quotients of polynomials, as text, are the same function."""
    return read_quotient(left) == read_quotient(right)
