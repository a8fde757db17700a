"""Re-checking claims about B(k) for every k, on tasks of two steps: y = 2^-k runs through (0,
2^-from_k].

For a policy sum_j c_j tau_j + c_u uniform, Lemma C.1 gives each q-value, times the visits of its
row, as a number plus a multiple of y: the tau_j contribute what they write and do, the uniform
policy writes each word with probability y. The two arguments are those of `every_k`; the arithmetic
is written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from workbench.checker.polynomials import ONE, ZERO, Spoiled


def every_k(certificate: dict[str, Any], below: Callable[..., None]) -> str:
    """Verify a claim; `below` verifies the certificates of the k that the argument is not about."""
    r = [[Fraction(x) for x in row] for row in certificate["rewards"]]
    n, from_k, step = len(r), certificate["from_k"], Fraction(certificate["step"])
    if (
        any(len(row) != n for row in r)
        or certificate["ties"] != "last"
        or not isinstance(from_k, int)
        or from_k < 1
    ):
        raise Spoiled(
            "the table is not square, or ties or from_k are not what the argument is about"
        )
    if not 0 < step < 1:
        raise Spoiled(f"the step {step} does not lie in (0, 1)")
    u = Fraction(1, 2**from_k)
    if certificate["argument"] == "stays":
        f = certificate["first"]
        if f not in range(n):
            raise Spoiled(f"{f!r} is not an action")
        _stays(r, f, step, u)
        value = r[f][f]
    elif certificate["argument"] == "phases":
        value = _phases(r, certificate["phases"], step, u)
    else:
        raise Spoiled(f"unknown argument {certificate['argument']!r}")
    best = max(max(row) for row in r)
    if Fraction(certificate["value"]) != value:
        raise Spoiled(f"the limit is worth {value}, not {certificate['value']}")
    if certificate["claim"] != ("stuck" if value < best else "optimal"):
        raise Spoiled(f"the limit is worth {value} and the best sequence {best}")
    for k, other in certificate["below"]:
        below(other, f"B{k}", r, step, certificate["claim"])
    if sorted(k for k, _ in certificate["below"]) != list(range(1, from_k)):
        raise Spoiled("some k below the first one has no certificate")
    end = (
        f"goes to a policy worth {value}"
        if from_k == 1
        else f"goes, for k >= {from_k}, to a policy worth {value}"
    )
    return (
        f"for every k the loop with B(k), step {step}, is {certificate['claim']}: "
        f"it {end}; the best is {best}"
    )


def _stays(r: list[list[Fraction]], f: int, step: Fraction, u: Fraction) -> None:
    """After one step towards <f, last> memory state 0 prefers <f, 0> for ever, whatever the others
    do."""
    n = len(r)
    columns = [sum(column, ZERO) for column in zip(*r, strict=True)]
    g = columns.index(max(columns))
    if any(x > r[f][f] for x in r[f]) or r[f][g] >= r[f][f]:
        raise Spoiled(f"{f} after {f} is not the best of its row, or no better than {g}")
    for a in range(n):
        ahead = (
            sum(r[f], ZERO) - sum(r[a], ZERO),
            columns[f] - columns[a],
        )  # n times the difference of means
        if a != f and (
            ahead[0] < 0 or ahead[0] + ahead[1] * u < 0 or (a < f and ahead[0] + ahead[1] * u == 0)
        ):
            raise Spoiled(f"{a} may be preferred to {f} at the uniform policy")
        behind = r[f][f] - max(r[a])
        soon = [(1 - step) * (ahead[0] + ahead[1] * y) / n + step * behind for y in (ZERO, u)]
        if a != f and (soon[0] < 0 or soon[1] <= 0 or r[f][f] - r[f][a] + behind < 0):
            raise Spoiled(f"{a} may be preferred to {f} on the way")


def _phases(r: list[list[Fraction]], phases: list[Any], step: Fraction, u: Fraction) -> Fraction:
    """The value of the limit, if every phase is as it is told."""
    n = len(r)
    mixture: list[tuple[Fraction, Any]] = [(ONE, None)]
    for i, (steps, *tau) in enumerate(phases):
        (first, write), in_last, in_others = tau
        if not {first, in_last, in_others} <= set(range(n)) or write not in ("0", "last"):
            raise Spoiled(f"phase {i} does what is not to be done")
        if (steps is None) != (i == len(phases) - 1) or (
            steps is not None and (not isinstance(steps, int) or steps < 1)
        ):
            raise Spoiled("all phases but the last have a number of steps, the last one has none")
        low = ZERO if steps is None else (1 - step) ** (steps - 1)
        ends = [
            _of_mixture(r, [(x * c, old) for c, old in mixture] + [(1 - x, tau)])
            for x in (ONE, low)
        ]
        for row, chosen in (
            ("0", (first, write)),
            ("last", (in_last, "")),
            ("others", (in_others, "")),
        ):
            order = list(ends[0][row])
            for a in order:
                if a == chosen:
                    continue
                strict = order.index(a) < order.index(chosen)
                for end, values in enumerate(ends):
                    c, s = (x - y for x, y in zip(values[row][chosen], values[row][a], strict=True))
                    ties_allowed = not strict or (end == 1 and steps is None)
                    if c < 0 or c + s * u < 0 or (not ties_allowed and c + s * u == 0):
                        raise Spoiled(
                            f"phase {i}: in memory state {row} {a} may be preferred to {chosen}"
                        )
        x = ZERO if steps is None else (1 - step) ** steps
        mixture = [(x * c, old) for c, old in mixture] + [(1 - x, tau)]
    (first, write), in_last, _ = phases[-1][1:]
    return r[first][in_last if write == "last" else first]


def _of_mixture(
    r: list[list[Fraction]], mixture: list[tuple[Fraction, Any]]
) -> dict[str, dict[Any, tuple[Fraction, Fraction]]]:
    """For each row, in the order of ties, q-values times visits as (c, s), meaning c + s y."""
    n = range(len(r))
    even = Fraction(1, len(r))

    def done(where: str, i: int) -> Fraction:
        """The probability of action i in a kind of memory state."""
        total = ZERO
        for c, tau in mixture:
            if tau is None:
                total += c * even
            else:
                total += c * ({"0": tau[0][0], "last": tau[1], "others": tau[2]}[where] == i)
        return total

    def written(word: str, i: int) -> tuple[Fraction, Fraction]:
        """p^0(i, word), for the others one of them."""
        number = sum(
            (c for c, tau in mixture if tau is not None and tau[0][0] == i and tau[0][1] == word),
            ZERO,
        )
        return number, sum((c * even for c, tau in mixture if tau is None), ZERO)

    def after(word: str, a: int) -> tuple[Fraction, Fraction]:
        parts = [written(word, i) for i in n]
        return sum((r[i][a] * parts[i][0] for i in n), ZERO), sum(
            (r[i][a] * parts[i][1] for i in n), ZERO
        )

    start = {}
    for w in ("last", "others", "0"):
        for a in n:
            c, s = after("0", a)
            start[a, w] = c + sum((done(w, i) * r[a][i] for i in n), ZERO), s
    return {
        "0": start,
        "last": {(a, ""): after("last", a) for a in n},
        "others": {(a, ""): after("others", a) for a in n},
    }
