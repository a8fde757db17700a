"""How often memory hurts. A task on which every small memory hurts, how common that is, and how the
share of stuck tables grows with the number of actions.

Tables are drawn entry by entry from the normal distribution; whether a loop is stuck does not
depend on scale or shift of the rewards (`workbench.lab.frequencies`). The loop has the step 1/50
and the paper's rule for ties. Shares have Clopper and Pearson's 95% intervals.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import sympy
from sympy import Interval

from proofs.appendix_c_setting import mixed_rows, policy_rows
from proofs.ledger import Evidence, Proof, claim, machine, proved, supported
from proofs.ledger.greedy_region import actions_taken, stays_greedy
from proofs.ledger.prose import table_text, text
from workbench import Policy, evaluate, uniform
from workbench.certificates.loop import certify
from workbench.checker.recheck import recheck
from workbench.improvement.batch import sequence_task, stuck
from workbench.lab.frequencies import Share, random_tables

# ---------------------------------------------------------------------- all eight

EIGHT = (((15, 1), (13, 0)), ((11, 13), (14, 14)))
"""Rewards of three steps, by first, second and third action."""

MEMORIES = ("K1", "K2", "B1", "B2", "O1", "O2", "OA1", "OA2")


@cache
def end_with(memory: str, step: Fraction) -> dict[str, Any]:
    """The certificate of where the loop ends on the table, verified."""
    found = certify(sequence_task(EIGHT), memory, step)
    recheck(found)
    return found


@claim(
    "T.eight",
    place="Own, three steps",
    statement="On three steps with rewards [[[15,1],[13,0]],[[11,13],[14,14]]] the loop without "
    "memory reaches the optimum 15, for every step in (0, 1]. With each of K1, K2, B1, B2, O1, "
    "O2, OA1, OA2, which encode it too, it ends at 14 (step 1/50).",
    verdict="proved",
    steps=(
        machine("none", "Without memory greedy is to do 0 at all x pi_u + (1-x) pi, 0 < x <= 1."),
        machine("worth", "To do 0 three times is worth 15, the largest reward."),
        machine("eight", "With each of the eight the loop goes to a policy worth 14, certified."),
        machine("better", "With each of them another policy is worth 15."),
    ),
)
def eight_memories_hurt(
    proof: Proof,
    greedy: int = 0,
    optimum: int = 15,
    memories: tuple[str, ...] = MEMORIES,
    encoded: int = 15,
) -> Evidence:
    """Judge the claim. `greedy`: what is taken without memory. `encoded`: what the eight can be
    worth."""
    P = sequence_task(EIGHT)
    x = sympy.Symbol("x")
    pi = Policy.deterministic(P, {"o": greedy})
    along = evaluate(P, mixed_rows(P, policy_rows(uniform(P)), pi, x))
    box = {x: Interval(0, 1)}
    region = stays_greedy(P, along, actions_taken(P, pi), box, about=(P, "none"))
    proof.step("none", region.failure)
    worth = evaluate(P, Policy.deterministic(P, {"o": 0}), exact=True).value
    most = max(r for first in EIGHT for second in first for r in second)
    proof.step("worth", None if worth == most == optimum else f"{worth}; the largest is {most}")
    certificates, lines = list(region.certificates), []
    for memory in memories:
        found = end_with(memory, Fraction(1, 50))
        ends = found["status"] == "proved" and found["value"] == "14"
        proof.step("eight", None if ends else f"{memory} ends at {found['value']}")
        better = found.get("better", found)["value"]
        proof.step("better", None if better == str(encoded) else f"{memory}: {better}")
        lines.append([memory, found["value"], better])
        certificates.append(found)
    argument = text(
        "Without memory: with pi(0) = x/2 + 1 - x the difference q(0) - q(1) is positive for all "
        "0 <= x <= 1, so every step in (0, 1] leads to 0, 0, 0. With a memory the first visits "
        "prefer 1, 1, ..., under the uniform policy worth 13 and 14, to 0, ..., and rows of the "
        "memory that 1 leads to make it better still. Certified, step 1/50:",
        table_text(["memory", "ends at", "can be"], lines),
        "Windows of pairs, which must push, reach 15 here (T.push says so of window2).",
    )
    return proved(
        "the loop ends at 15 without memory and at 14 with each of eight memories",
        argument,
        certificates,
    )


eight_memories_hurt.twin("without memory 1 is greedy", guards="none", greedy=1)
eight_memories_hurt.twin("an optimum of 14", guards="worth", optimum=14)
eight_memories_hurt.twin("no memory among them", guards="eight", memories=("K1", "none"))
eight_memories_hurt.twin("a better one worth 14", guards="better", encoded=14)


# ---------------------------------------------------------------------- how often memory hurts

COUNT = 1_000

SEED = 20_000
"""Of tables by which no number of the statements below was chosen."""


@cache
def against_none(memory: str, length: int) -> tuple[Share, Share]:
    """The shares of tables of two actions on which the loop with a memory ends lower, and higher,
    than without."""
    tables = random_tables("normal", 2, length, COUNT, seed=SEED + length)
    without, found = ends(length, "none"), ends(length, memory)
    near = 1e-6 * abs(tables).max()
    lower, higher = found < without - near, found > without + near
    return Share(int(lower.sum()), COUNT), Share(int(higher.sum()), COUNT)


@cache
def ends(length: int, memory: str) -> Any:
    """Where the loop ends on each table."""
    return stuck(random_tables("normal", 2, length, COUNT, seed=SEED + length), memory).value


@claim(
    "T.hurts-often",
    place="Own, three steps",
    statement="Memory hurts rarely and helps often, on random tables of three steps and two "
    "actions (normal entries). With each of K1, B1 and O1 the loop ends lower than without memory "
    "on some tables, on fewer than 6% of them, and higher on more than half. On two steps it ends "
    "lower with B1 and O1 on fewer than 4%, and with OA1 never.",
    verdict="supported",
    steps=(
        machine("hurts", "With K1, B1, O1 some of 1,000 tables of three steps end lower."),
        machine("rarely", "With a confidence of 95% fewer than 6% do, and 4% on two steps."),
        machine("helps", "More than half end higher, by the interval."),
        machine("never", "With OA1 no table of two steps ends lower (T.oa1)."),
    ),
)
def memory_hurts_sometimes(
    proof: Proof,
    kinds: tuple[str, ...] = ("K1", "B1", "O1"),
    most: tuple[float, float] = (0.04, 0.06),
    half: float = 0.5,
    safe: str = "OA1",
) -> Evidence:
    """1,000 tables of two and of three steps. `most`: the shares that are not reached."""
    lines = []
    for memory in ("K1", "B1", "O1"):
        for length in (2, 3):
            lines.append([memory, length, *against_none(memory, length)])
    for memory in kinds:
        lower, _ = against_none(memory, 3)
        proof.step("hurts", None if lower.interval[0] > 0 else f"{memory}: {lower}")
    for memory in ("K1", "B1", "O1"):
        lower, higher = against_none(memory, 3)
        rare = lower.interval[1] < most[1]
        proof.step("rarely", None if rare else f"{memory}: {lower}")
        proof.step("helps", None if higher.interval[0] > half else f"{memory}: {higher}")
        two = against_none(memory, 2)[0]
        proof.step("rarely", None if two.interval[1] < most[0] else f"{memory}: {two}")
    never = against_none(safe, 2)[0]
    proof.step("never", None if never.hits == 0 else f"{safe}: {never}")
    argument = text(
        f"{COUNT:,} tables for each length, step 1/50; lower and higher than without memory, with "
        "95% intervals:",
        table_text(["memory", "steps", "lower", "higher"], lines),
        "For two steps and two actions the region of T.hurts is what is behind 'lower' with B(k): "
        "there the statement is exact. K1 tells the two steps apart and hurts on three only.",
    )
    return supported(f"{COUNT:,} random tables of two time steps and {COUNT:,} of three", argument)


memory_hurts_sometimes.twin("OA2 hurts as well", guards="hurts", kinds=("K1", "OA2"))
memory_hurts_sometimes.twin("fewer than 1%", guards="rarely", most=(0.01, 0.01))
memory_hurts_sometimes.twin("more than three quarters", guards="helps", half=0.75)
memory_hurts_sometimes.twin("with B1 never", guards="never", safe="B1")


# ---------------------------------------------------------------------- more actions

ACTIONS = (2, 3, 4, 6)
DRAWN = 1_000


@cache
def share_stuck(memory: str, actions: int) -> Share:
    """The share of tables of two steps on which the loop is stuck."""
    tables = random_tables("normal", actions, 2, DRAWN, seed=100 + actions)
    return Share(int(stuck(tables, memory).stuck.sum()), DRAWN)


@claim(
    "T.grows",
    place="Own, two steps",
    statement="The share of tables on which bits are stuck grows with the number of actions. On "
    "random tables of two steps (normal entries) it grows with B1 and with B2 from 2 to 3 to 4 to "
    "6 actions, from less than 6% to more than 25%. With OA1 it stays 0.",
    verdict="supported",
    steps=(
        machine("grows", "From each number to the next the intervals are apart."),
        machine("ends", "The first interval is below 6%, the last above 25%."),
        machine("oa1", "With OA1 no table is stuck, whatever the number (T.oa1)."),
    ),
)
def bits_and_actions(
    proof: Proof,
    actions: tuple[int, ...] = ACTIONS,
    last: float = 0.25,
    safe: str = "OA1",
) -> Evidence:
    """1,000 tables for each number of actions."""
    lines = []
    for memory in ("B1", "B2"):
        shares = [share_stuck(memory, n) for n in actions]
        for n, one, other in zip(actions, shares, shares[1:], strict=False):
            apart = one.interval[1] < other.interval[0]
            proof.step("grows", None if apart else f"{memory}, {n} actions: {one}, then {other}")
        first, final = share_stuck(memory, ACTIONS[0]), share_stuck(memory, ACTIONS[-1])
        good = first.interval[1] < 0.06 and final.interval[0] > last
        proof.step("ends", None if good else f"{memory}: {first} and {final}")
    for n in ACTIONS:
        found = share_stuck(safe, n)
        proof.step("oa1", None if found.hits == 0 else f"{safe}, {n} actions: {found}")
        lines.append([n, *(share_stuck(memory, n) for memory in ("B1", "B2", "OA1"))])
    argument = text(
        f"{DRAWN:,} tables of two steps for each number of actions, step 1/50, shares of stuck "
        "ones with 95% intervals:",
        table_text(["actions", "B1", "B2", "OA1"], lines),
        "More actions are more ways to be led astray by the uniform policy: the row that looks "
        "best on average is less often the row of the best reward.",
    )
    return supported(f"{DRAWN:,} random tables for each of 2, 3, 4 and 6 actions", argument)


bits_and_actions.twin("it falls", guards="grows", actions=ACTIONS[::-1])
bits_and_actions.twin("more than 60%", guards="ends", last=0.6)
bits_and_actions.twin("B2 is never stuck", guards="oa1", safe="B2")
