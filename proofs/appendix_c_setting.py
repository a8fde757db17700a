"""The 4-action recall task with binary memory: the notation of Appendix C.

    r_ij      the reward of action i, then j
    p^m_aw    pi(<a,w> | <o,m>), and p^m_a = sum_w p^m_aw
    Q^m_aw    q_pi((m,o), (a,w)), discount 1
    pi_l      the local optimum: in memory state 0 <1, last>, in any other one <3, last>; "last" is
              11...1
    pi_u      the uniform policy

Lemma C.1 is written down once here, for any number of memory states:

    Q^0_aw = ( sum_i r_ia p^0_i0  +  sum_i p^w_i r_ai ) / (1 + sum_j p^0_j0)
    Q^m_aw =   sum_i r_ia p^0_im  /  sum_j p^0_jm                                   m /= 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import sympy

from pomdps import recall4
from pomdps.recalls import RECALL4_REWARDS
from workbench import POMDP, Memory, Policy

A = (0, 1, 2, 3)

Rewards = Sequence[Sequence[Any]]
Row = Mapping[tuple[int, str], Any]


def recall4_task(rewards: Rewards = RECALL4_REWARDS, scale: Any = 1) -> POMDP:
    """The 4-action recall task with any table of rewards, numbers or symbols."""
    return recall4(scale, rewards=rewards)


def changed_rewards(i: int, j: int, r: Any) -> Rewards:
    """The table of Figure 7 with one entry changed."""
    return tuple(
        tuple(r if (a, b) == (i, j) else x for b, x in enumerate(row))
        for a, row in enumerate(RECALL4_REWARDS)
    )


def symbolic_rewards() -> list[list[sympy.Symbol]]:
    """r00, ..., r33."""
    return [[sympy.Symbol(f"r{i}{j}") for j in A] for i in A]


def words(k: int) -> list[str]:
    """The memory states of B(k), 0^k first."""
    return ["".join(bits) for bits in product("01", repeat=k)]


def any_policy(E: POMDP) -> Policy:
    """A symbol for each p^m_aw. The last one of each row is what is missing to 1."""
    rows = {}
    for m, o in E.O:
        row: dict[Any, Any] = {(a, w): sympy.Symbol(f"p{m}_{a}{w}") for a, w in E.A}
        last = list(row)[-1]
        del row[last]
        row[last] = 1 - sum(row.values())
        rows[m, o] = row
    return Policy.from_mapping(E, rows)


def local_optimum(E: POMDP) -> Policy:
    """pi_l, in the product with any memory whose writes are its states."""
    states = list(dict.fromkeys(w for _, w in E.A))
    first, last = states[0], states[-1]
    return Policy.deterministic(E, {(m, o): (1 if m == first else 3, last) for m, o in E.O})


def closed_form(rewards: Rewards, pi: Policy, m: str, a: int, w: str, start_visits: Any = 1) -> Any:
    """Lemma C.1, for B(k) with any k. `start_visits` is the 1 of its denominator. None where nobody
    comes."""
    first = next(iter(pi.O))[0]

    def p(m: str, i: int, w: str) -> Any:
        return pi[(m, "o"), (i, w)]

    def marginal(m: str, i: int) -> Any:
        return sum(p(m, i, v) for v in dict.fromkeys(v for _, v in pi.A))

    came = sum(p(first, j, m) for j in A)
    seen = sum(rewards[i][a] * p(first, i, m) for i in A)
    if m != first:
        return None if came == 0 else seen / came
    later = sum(marginal(w, i) * rewards[a][i] for i in A)
    return (seen + later) / (start_visits + came)


def lumped_memory() -> Memory:
    """B(k) with its memory states in three classes: 0, the last one, and the 2^k - 2 others.

    A policy that treats the others alike, as something to write and as something to read, makes the
    same episodes here, class by class, when it gives the class the probability of all its members
    together.
    """
    classes = ["0", "others", "last"]
    return Memory("B lumped", classes, classes, lambda m, w, o, a, r, o_next: {w: 1}, {"0": 1})


def lumped_uniform(E: POMDP, K: Any) -> dict[Any, dict[Any, Any]]:
    """The rows of pi_u of B(k), lumped. K = 2^k."""
    share = {"0": 1 / K, "others": (K - 2) / K, "last": 1 / K}
    return {
        o: {(a, w): share[w] / len(dict.fromkeys(a for a, _ in E.A)) for a, w in E.A} for o in E.O
    }


def mixed_rows(E: POMDP, start: Mapping[Any, Mapping[Any, Any]], goal: Policy, x: Any) -> Policy:
    """x start + (1 - x) goal."""
    return Policy.from_mapping(
        E, {o: {a: x * start[o][a] + (1 - x) * goal[o, a] for a in E.A} for o in E.O}
    )


def policy_rows(pi: Policy) -> dict[Any, dict[Any, Any]]:
    return {o: {a: pi[o, a] for a in pi.A} for o in pi.O}
