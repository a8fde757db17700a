"""Sentences of Section 6 and Appendix D about the tasks themselves, which need no learning.

The MiniGrid tasks are asked of the `minigrid` package, the hallway of its model here. Sentences on
what networks learn there are judged by runs (`workbench reproduce fig6-doors`, docs/deep.md).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from pomdps import hallway_cookie, hallway_keys
from proofs.ledger import Evidence, Proof, checked, claim, machine, misprint
from proofs.ledger.prose import text
from workbench import is_sufficiently_expressive
from workbench.extras import need

DOORS, MEMORY = "MiniGrid-RedBlueDoors-8x8-v0", "MiniGrid-MemoryS7-v0"


@cache
def environment(id: str) -> Any:
    """An environment of the package."""
    need("minigrid", "proofs")
    return need("gymnasium", "proofs").make(id).unwrapped


def paid_after(id: str, t: int) -> float:
    """What the package pays for success at step t."""
    env = environment(id)
    env.reset(seed=0)
    env.step_count = t
    return float(env._reward())


# ---------------------------------------------------------------------- MiniGrid


@claim(
    "D3.minigrid",
    place="App. D.3",
    statement="MiniGrid's agents have the 7 actions that are named. Episodes of RedBlueDoors end "
    "after 1280 steps and those of MemoryS7 after 245. Success at step t of RedBlueDoors pays 1 - "
    "0.9 t/1280.",
    verdict="checked",
    steps=(
        machine("actions", "the package names these 7 actions"),
        machine("limits", "its step limits are 1280 and 245"),
        machine("doors", "it pays 1 - 0.9 t/1280 at every step t"),
    ),
)
def minigrid_as_described(
    proof: Proof, named: int = 7, limits: tuple[int, int] = (1280, 245), price: float = 0.9
) -> Evidence:
    """Asked of the package."""
    names = [a.name for a in environment(DOORS).actions]
    asked = ["left", "right", "forward", "pickup", "drop", "toggle", "done"][:named]
    proof.step("actions", None if names == asked else f"{names}")
    found = environment(DOORS).max_steps, environment(MEMORY).max_steps
    proof.step("limits", None if found == limits else f"{found}, not {limits}")
    wrong = next((t for t in range(1, 1281)
                  if abs(paid_after(DOORS, t) - (1 - price * t / 1280)) > 1e-12), None)  # fmt: skip
    proof.step("doors", None if wrong is None else f"step {wrong}: {paid_after(DOORS, wrong)}")
    return checked(
        "the package has 7 actions and episodes of 1280 and 245 steps",
        text(f"The package has {', '.join(names)}."),
    )


minigrid_as_described.twin("6 actions", guards="actions", named=6)
minigrid_as_described.twin("250 steps", guards="limits", limits=(1280, 250))
minigrid_as_described.twin("1 - t/1280", guards="doors", price=1.0)


@claim(
    "D3.reward",
    place="App. D.3",
    statement="MemoryS7 as printed: the right object 'results in a reward of 1'. The package pays "
    "1 - 0.9 t/245 for reaching it at step t, as RedBlueDoors does; the wrong object pays 0.",
    verdict="misprint",
    corrected_by="D3.minigrid",
    steps=(
        machine("less", "at step 100 it pays less than 1"),
        machine("formula", "it pays 1 - 0.9 t/245 at every step t"),
    ),
)
def memory_pays_less(proof: Proof, paid: float = 1.0, limit: int = 245) -> Evidence:
    """Asked of the package."""
    found = paid_after(MEMORY, 100)
    proof.step("less", None if found < paid else f"{found} at step 100")
    wrong = next((t for t in range(1, 246)
                  if abs(paid_after(MEMORY, t) - (1 - 0.9 * t / limit)) > 1e-12), None)  # fmt: skip
    proof.step("formula", None if wrong is None else f"another reward at step {wrong}")
    return misprint(
        "the package pays 1 - 0.9 t/245, not 1",
        f"At step 100 the package pays {found:.4f}.",
        f"step 100: {found:.4f}",
    )


memory_pays_less.twin("less than 1/2 is printed", guards="less", paid=0.5)
memory_pays_less.twin("1 - 0.9 t/1280", guards="formula", limit=1280)


@claim(
    "S6.view",
    place="Sec. 6",
    statement="As printed the agent's field of view was decreased 'from 8x8 to 3x3 cells'. The "
    "package's view is 7x7, in both tasks, and it has to be odd; 8x8 is the size of a room.",
    verdict="misprint",
    corrected_by="D3.minigrid",
    steps=(
        machine("seven", "the package's agents see 7 x 7 cells in both tasks"),
        machine("odd", "a view of 8 x 8 is refused, one of 3 x 3 is not"),
    ),
)
def view_is_seven(proof: Proof, printed: int = 7, even: int = 8) -> Evidence:
    """Asked of the package."""
    seen = {id: environment(id).observation_space["image"].shape[:2] for id in (DOORS, MEMORY)}
    right = set(seen.values()) == {(printed, printed)}
    proof.step("seven", None if right else f"{seen}")
    make = need("gymnasium", "proofs").make
    assert make(DOORS, agent_view_size=3).observation_space["image"].shape[:2] == (3, 3)
    try:
        make(DOORS, agent_view_size=even)
        refused = False
    except AssertionError:
        refused = True
    proof.step("odd", None if refused else f"{even} x {even} can be seen")
    return misprint("the view is 7x7, not 8x8", text(f"{seen}"), counterexample=f"{DOORS}: 7 x 7")


view_is_seven.twin("8 x 8", guards="seven", printed=8)
view_is_seven.twin("9 x 9 refused", guards="odd", even=9)


# ---------------------------------------------------------------------- the hallway


HALL = tuple((row, 2) for row in range(5, 12))
"""The cells of the hallway between the north and the south room."""

HALLWAYS = {"cookie": hallway_cookie, "keys": hallway_keys}


@cache
def optimal_actions(task: str) -> dict[Any, frozenset[str]]:
    """The optimal actions of each state of a hallway task, by value iteration on states.

    4,000 sweeps leave an error of 1e-15; that in the hallway no action lies between 1e-9 and 1e-6
    below the best is asserted, so that what counts as optimal there is.
    """
    P = HALLWAYS[task](gamma=Fraction(99, 100))
    states = {s: i for i, s in enumerate(P.S)}
    rows = {
        (s, a): [(states[t], float(r), float(x)) for (t, r), x in P.p(s, a).items()]
        for s in P.S
        for a in P.A
    }
    index = np.array([[t for t, _, _ in _padded(rows[s, a])] for s in P.S for a in P.A])
    reward = np.array([sum(r * x for _, r, x in rows[s, a]) for s in P.S for a in P.A])
    weight = np.array([[x for _, _, x in _padded(rows[s, a])] for s in P.S for a in P.A])
    v = np.zeros(len(P.S))
    for _ in range(4000):
        q = (reward + 0.99 * (weight * v[index]).sum(axis=1)).reshape(len(P.S), len(P.A))
        v = q.max(axis=1)
    here = [i for s, i in states.items() if s[0] in HALL]
    assert np.array_equal((q > v[:, None] - 1e-9)[here], (q > v[:, None] - 1e-6)[here])
    return {
        s: frozenset(a for j, a in enumerate(P.A) if q[i, j] > v[i] - 1e-9)
        for s, i in states.items()
    }


def _padded(row: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    return [*row, *[(0, 0.0, 0.0)] * (12 - len(row))]


def side(task: str, s: Any) -> str | None:
    """The room in which all lies that the agent looks for: the cookie, or keys if it has none."""
    if task == "cookie":
        things = [s[1]] if isinstance(s[1], tuple) and s[1] != s[0] else []
    else:
        things = list(s[2]) if s[1] == "-" else []
    rows = {row for row, _ in things}
    if not rows or (min(rows) < 5 < 12 <= max(rows)):
        return None
    return "north" if max(rows) < 5 else "south"


def common_actions(task: str, sides: tuple[str, str]) -> dict[Any, frozenset[str]]:
    """By observation in the hallway: what is optimal in a state of each of the two sides."""
    best, P = optimal_actions(task), HALLWAYS[task]()
    behind: dict[Any, list[Any]] = {}
    for s in best:
        if s[0] in HALL and side(task, s) in sides:
            ((o, _),) = P.omega(s).items()
            behind.setdefault(o, []).append(s)
    found: dict[Any, frozenset[str]] = {}
    for o, states in behind.items():
        one, other = ([best[s] for s in states if side(task, s) == x] for x in sides)
        found[o] = frozenset().union(*(x & y for x in one for y in other))
    return found


@claim(
    "D2.hallway",
    place="App. D.2",
    statement="In both hallway tasks the optimal actions at one and the same observation depend "
    "on what was seen before, completely. In each of the seven cells on the way between the north "
    "and the south room the optimal actions with the cookie in the north and with it in the south "
    "have none in common. So it is with all keys that are left in the north or in the south, none "
    "carried. (With full information, discount 99/100.)",
    verdict="checked",
    steps=(
        machine("cookie", "with the cookie they are disjoint in each of these cells"),
        machine("keys", "and with the keys"),
    ),
)
def hallway_actions_differ(
    proof: Proof,
    cookie: tuple[str, str] = ("north", "south"),
    keys: tuple[str, str] = ("north", "south"),
) -> Evidence:
    """Value iteration on the 309 and 622 states."""
    for task, sides in (("cookie", cookie), ("keys", keys)):
        common = common_actions(task, sides)
        wrong = [o for o, actions in common.items() if actions]
        if len(common) != len(HALL):
            wrong = list(common)
        proof.step(task, f"a common optimal action at {wrong[0]}" if wrong else None)
    return checked(
        "in 7 cells of both tasks no action is optimal in both cases",
        text("Up with all in the north, down in the south."),
    )


hallway_actions_differ.twin("both cookies in the north", guards="cookie", cookie=("north", "north"))
hallway_actions_differ.twin("all keys in the south", guards="keys", keys=("south", "south"))


@claim(
    "D2.hallway-memory",
    place="Sec. 6, App. D.2",
    statement="What O6 and OA6 can represent in the hallway tasks is all that matters. Already O1 "
    "is sufficiently expressive (Definition A.2) in the cookie world and O2 in the keys world, "
    "and O6 and OA6 hold in their last entries what O1 and O2 hold under the same writes. B2 is "
    "not: more than four beliefs share an observation. (Whether O1 is in the keys world is not "
    "known.)",
    verdict="checked",
    steps=(
        machine("o1", "some f keeps the 449 reachable beliefs of the cookie world apart with O1"),
        machine("keys", "some f keeps the 863 of the keys world apart with O2"),
        machine("b2", "more than four beliefs share an observation, so B2 has too few states"),
    ),
)
def hallway_memories(
    proof: Proof, enough: str = "O1", keys: str = "O2", short: str = "B2"
) -> Evidence:
    """The graphs of reachable beliefs, in rationals."""
    yes, no = _expressive("cookie", enough), _expressive("cookie", short)
    also, none = _expressive("keys", keys), _expressive("keys", short)
    proof.step("o1", None if yes.holds else str(yes))
    proof.step("keys", None if also.holds else str(also))
    proof.step("b2", None if not (no.holds or none.holds) else f"{no}; {none}")
    return checked(
        "O1 is sufficiently expressive for cookie, O2 for keys; B2 for neither",
        text(f"{yes}. {also}. {no}. {none}."),
    )


@cache
def _expressive(task: str, memory: str) -> Any:
    return is_sufficiently_expressive(HALLWAYS[task](), memory)


hallway_memories.twin("B1 enough", guards="o1", enough="B1")
hallway_memories.twin("B4 enough with keys", guards="keys", keys="B4")
hallway_memories.twin("O2 not", guards="b2", short="O2")
