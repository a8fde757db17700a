"""How far the best stochastic policy is certified: `python tests/benchmarks/stochastic.py`.

Every bundled task, and its product with each memory of size 1, in which at most four rows have
something to choose: the aim is a gap below 1e-6 within a minute. Each line: the task, the rows and
the free probabilities, the value, the bound, the gap, the boxes bounded, the seconds. `--seconds`
sets another limit, and names choose tasks; `--average` asks for the average reward.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pomdps import TASKS
from workbench import augment
from workbench.core.errors import WorkbenchError
from workbench.core.fields import FLOATS
from workbench.core.pomdp import POMDP
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.follow import alternatives
from workbench.optima.mdp import from_states

MEMORIES = ("none", "K1", "B1", "O1", "OA1")
ROWS, AIM = 4, 1e-6
LARGE = 1_000
"""States beyond which no bundled task has so few rows."""


def choices(P: POMDP) -> list[int]:
    """For each observation with something to choose, how many of its actions differ."""
    M = from_states(P, FLOATS)
    differ = alternatives(M, len(P.O))
    return [len(differ[o]) for o in sorted(set(M.seen.tolist())) if len(differ[o]) > 1]


def small_products(names: list[str]) -> Iterator[POMDP]:
    for name, record in TASKS.items():
        if names and name not in names:
            continue
        P = record.make()
        if len(P.S) > LARGE:
            continue
        for memory in MEMORIES:
            E = P if memory == "none" else augment(P, memory)
            if len(E.S) <= LARGE and len(choices(E)) <= ROWS:
                yield E


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--average", action="store_true")
    given = parser.parse_args()
    print(
        f"{'task':28} {'rows':>4} {'free':>4} {'value':>13} {'bound':>13} {'gap':>8} {'boxes':>9} "
        f"{'seconds':>7}"
    )
    missed = 0
    for E in small_products(given.names):
        rows = choices(E)
        head = f"{E.name:28} {len(rows):4} {sum(rows) - len(rows):4}"
        criterion = "average" if given.average else "return"
        try:
            found = best_memoryless(
                E, deterministic=False, max_seconds=given.seconds, criterion=criterion
            )
        except WorkbenchError as error:
            print(f"{head} {error}", flush=True)
            continue
        missed += found.gap >= AIM
        print(
            f"{head} {found.value:13.8f} {found.bound:13.8f} {found.gap:8.1e} {found.boxes:9,} "
            f"{found.seconds:7.2f}{'' if found.gap < AIM else '  *'}",
            flush=True,
        )
    print(f"{missed} with a gap of {AIM:g} or more")


if __name__ == "__main__":
    main()
