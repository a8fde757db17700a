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

from workbench.checker.polynomials import ONE, ZERO
from workbench.checker.reader import count, field, read_entries, read_fraction
from workbench.checker.spoiled import Spoiled

MOST_ACTIONS, LARGEST_FROM_K, LONGEST_RUN = 40, 8, 20_000


def check_every_k(certificate: dict[str, Any], below: Callable[..., None]) -> str:
    """Verify a claim. `below` verifies the certificates of the k that the argument is not about."""
    rows = field(certificate, "rewards", list)
    r = [[read_fraction(x) for x in row] for row in read_entries(rows, len(rows), "rewards")]
    n, from_k = len(r), count(field(certificate, "from_k"), 1, LARGEST_FROM_K)
    step, claim = read_fraction(field(certificate, "step")), field(certificate, "claim", str)
    if not 1 <= n <= MOST_ACTIONS or field(certificate, "ties") != "last":
        raise Spoiled("the table is empty or too large, or ties are not what the argument is about")
    if field(certificate, "status") != "proved":
        raise Spoiled("a statement about every k is proved")
    if not 0 < step < 1 or step.denominator > 10**6:
        raise Spoiled(f"the step {str(step)[:40]} is no fraction in (0, 1) of at most six digits")
    u = Fraction(1, 2**from_k)
    argument = field(certificate, "argument", str)
    if argument == "stays":
        f = count(field(certificate, "first"), 0, n - 1)
        _stays(r, f, step, u)
        value = r[f][f]
    elif argument == "phases":
        value = _phases(r, field(certificate, "phases", list), step, u)
    else:
        raise Spoiled(f"unknown argument {argument!r}")
    best = max(max(row) for row in r)
    if read_fraction(field(certificate, "value")) != value:
        raise Spoiled(f"the limit is worth {value}, not {certificate['value']}")
    if claim != ("stuck" if value < best else "optimal"):
        raise Spoiled(f"the limit is worth {value} and the best sequence {best}")
    others = list(read_entries(field(certificate, "below", list), 2, "below"))
    if [k for k, _ in others] != list(range(1, from_k)):
        raise Spoiled("some k below the first one has no certificate")
    for k, other in others:
        below(other, f"B{k}", r, step, claim)
    end = (
        f"goes to a policy worth {value}"
        if from_k == 1
        else f"goes, for k >= {from_k}, to a policy worth {value}"
    )
    return f"for every k the loop with B(k), step {step}, is {claim}: it {end}; the best is {best}"


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
    for i, (steps, *tau) in enumerate(read_entries(phases, 4, "phases")):
        if not isinstance(tau[0], list) or len(tau[0]) != 2 or tau[0][1] not in ("0", "last"):
            raise Spoiled(f"phase {i} does what is not to be done")
        first, in_last, in_others = (count(a, 0, n - 1) for a in (tau[0][0], *tau[1:]))
        write = tau[0][1]
        if (steps is None) != (i == len(phases) - 1):
            raise Spoiled("all phases but the last have a number of steps, the last one has none")
        if steps is not None:
            count(steps, 1, LONGEST_RUN)
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
    if not phases:
        raise Spoiled("there are no phases")
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
