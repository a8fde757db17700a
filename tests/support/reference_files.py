"""A slow, obvious reader of `.POMDP` files and the process that a file describes, as the oracle of
`workbench.interop.pomdp_file`.

Everything is dense and exact: T[a][s][s'], O[a][s'][o], R[a][s][s'][o] as nested lists of
Fractions, filled line by line in the order of the file, which is what "later lines override earlier
ones" means. It accepts well-formed files only.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

WORDS = {"discount", "values", "states", "actions", "observations", "start", "T", "O", "R"}


@dataclass
class DenseFile:
    gamma: Fraction
    S: list
    A: list
    O: list
    mu: list
    T: list
    Z: list
    R: list


def read(text: str) -> DenseFile:
    """The tables of a file."""
    text = re.sub(r"#.*", "", text)
    words = text.replace(":", " : ").replace("*", " * ").split()
    statements, current = [], []
    for k, word in enumerate(words):
        if word in WORDS and (k + 1 == len(words) or words[k + 1] in (":", "include", "exclude")):
            current = []
            statements.append(current)
        current.append(word)
    head = {s[0]: s for s in statements}
    S, A = _labels(head["states"][2:]), _labels(head["actions"][2:])
    O = _labels(head["observations"][2:]) if "observations" in head else list(S)
    sign = -1 if head["values"][2] == "cost" else 1
    mu = _start(head.get("start"), S)
    T = _cube(len(A), len(S), len(S))
    Z = _cube(len(A), len(S), len(O))
    R = [[[[Fraction(0)] * len(O) for _ in S] for _ in S] for _ in A]
    if "observations" not in head:
        for a, s in itertools.product(range(len(A)), range(len(S))):
            Z[a][s][s] = Fraction(1)
    for statement in statements:
        if statement[0] == "T":
            _probabilities(statement[2:], T, A, S, S, mu)
        elif statement[0] == "O":
            _probabilities(statement[2:], Z, A, S, O, mu)
        elif statement[0] == "R":
            _rewards(statement[2:], R, A, S, O, sign, "observations" in head)
    return DenseFile(Fraction(head["discount"][2]), S, A, O, mu, T, Z, R)


def _labels(words):
    return list(range(int(words[0]))) if len(words) == 1 and words[0].isdigit() else words


def _cube(a, b, c):
    return [[[Fraction(0)] * c for _ in range(b)] for _ in range(a)]


def _places(word, labels):
    if word == "*":
        return range(len(labels))
    return [labels.index(word) if word in labels else int(word)]


def _key_and_rest(words):
    """`a : s : s' rest` as ([a, s, s'], rest)."""
    key, k = [words[0]], 1
    while k < len(words) and words[k] == ":":
        key.append(words[k + 1])
        k += 2
    return key, words[k:]


def _start(statement, S):
    if statement is None or statement[1:] == [":", "uniform"]:
        return [Fraction(1, len(S))] * len(S)
    if statement[1] == ":":
        words = statement[2:]
        if len(words) == len(S) and (len(S) > 1 or words[0] != "0") and words[0] not in S[:1]:
            return [Fraction(word) for word in words]
        chosen = set(_places(words[0], S))
    else:
        chosen = {s for word in statement[3:] for s in _places(word, S)}
        if statement[1] == "exclude":
            chosen = set(range(len(S))) - chosen
    return [Fraction(int(s in chosen), len(chosen)) for s in range(len(S))]


def _probabilities(words, table, A, S, columns, mu):
    key, rest = _key_and_rest(words)
    width = len(columns)
    for a in _places(key[0], A):
        for s in _places(key[1], S) if len(key) > 1 else range(len(S)):
            if len(key) == 3:
                for c in _places(key[2], columns):
                    table[a][s][c] = Fraction(rest[0])
            elif rest == ["uniform"]:
                table[a][s] = [Fraction(1, width)] * width
            elif rest == ["identity"]:
                table[a][s] = [Fraction(int(c == s)) for c in range(width)]
            elif rest == ["reset"]:
                table[a][s] = list(mu)
            else:
                first = s * width if len(key) == 1 else 0
                table[a][s] = [Fraction(word) for word in rest[first : first + width]]


def _rewards(words, R, A, S, O, sign, observed):
    key, rest = _key_and_rest(words)
    numbers = [sign * Fraction(word) for word in rest]
    for a in _places(key[0], A):
        for s in _places(key[1], S) if len(key) > 1 else range(len(S)):
            for s_next in _places(key[2], S) if len(key) > 2 else range(len(S)):
                for o in _places(key[3], O) if len(key) > 3 else range(len(O)):
                    k = 0
                    if observed and len(key) < 4:
                        k = o
                    if len(key) < 3:
                        k += s_next * (len(O) if observed else 1)
                    if len(key) < 2:
                        k += s * len(S)
                    R[a][s][s_next][o] = numbers[k]


# ---------------------------------------------------------------------- the process


def first_rows(file: DenseFile, first: str):
    """For each start state the distribution of the first observation; None for the observation
    "start"."""
    starts = [s for s, x in enumerate(file.mu) if x]
    agree = all(len({tuple(file.Z[a][s]) for a in range(len(file.A))}) == 1 for s in starts)
    return {s: file.Z[0][s] for s in starts} if first == "auto" and agree else None


def endings(file: DenseFile, goals):
    """The pairs (s, a) that end an episode and the states that are terminal themselves."""
    nS, nA, nO = range(len(file.S)), range(len(file.A)), range(len(file.O))

    def pays(s, a):
        return any(file.T[a][s][t] * file.Z[a][t][o] * file.R[a][s][t][o] for t in nS for o in nO)

    def silent(s):
        """Absorbing, and staying pays what each way to enter pays."""
        if any(file.T[a][s][s] != 1 for a in nA):
            return False
        ways = [(a, t) for a in nA for t in nS if file.T[a][t][s]]
        paid = {file.R[a][t][s][o] for a, t in ways for o in nO if file.Z[a][s][o]}
        return len(paid) == 1 and (any(t != s for _, t in ways) or not file.mu[s])

    ends = {(s, a) for s in nS for a in nA if file.S[s] in goals or (file.S[s], file.A[a]) in goals}
    terminal = {
        s
        for s in nS
        if all((s, a) in ends for a in nA) and (silent(s) or not any(pays(s, a) for a in nA))
    }
    return ends, terminal


def file_process(file: DenseFile, first: str, actions, ends=(), terminal=()):
    """{(o0, r1, o1, ..., "over" or not): probability} when these actions are taken, from the tables
    of the file."""
    alive: dict = defaultdict(Fraction)
    rows = first_rows(file, first)
    for s, x in enumerate(file.mu):
        for o, y in (
            [("start", Fraction(1))] if rows is None else zip(file.O, rows.get(s, ()), strict=False)
        ):
            if x * y:
                alive[s, (o,)] += x * y
    done: dict = defaultdict(Fraction)
    for a in actions:
        following: dict = defaultdict(Fraction)
        for (s, seen), x in alive.items():
            if s in terminal:
                done[(*seen, "over")] += x
                continue
            for t in range(len(file.S)):
                for o in range(len(file.O)):
                    y = x * file.T[a][s][t] * file.Z[a][t][o]
                    if not y:
                        continue
                    r = file.R[a][s][t][o]
                    if (s, a) in ends:
                        done[(*seen, r, "end", "over")] += y
                    else:
                        following[t, (*seen, r, file.O[o])] += y
        alive = following
    for (s, seen), x in alive.items():
        done[(*seen, "over") if s in terminal else seen] += x
    return dict(done)


def pomdp_process(P, actions):
    """The same for a POMDP."""
    alive: dict = defaultdict(Fraction)
    for s, x in P.mu.items():
        for o, y in P.omega(s).items():
            alive[s, (o,)] += x * y
    done: dict = defaultdict(Fraction)
    for a in actions:
        following: dict = defaultdict(Fraction)
        for (s, seen), x in alive.items():
            if s in P.terminal:
                done[(*seen, "over")] += x
                continue
            for (t, r), y in P.p(s, P.A[a]).items():
                for o, z in P.omega(t).items():
                    following[t, (*seen, r, o)] += x * y * z
        alive = following
    for (s, seen), x in alive.items():
        done[(*seen, "over") if s in P.terminal else seen] += x
    return {seen: x for seen, x in done.items() if x}
