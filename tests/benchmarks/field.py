"""How long frontiers and rows of the census take, and what discovering a memory costs.

python tests/benchmarks/field.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pomdps import gravity, recall, t_maze, tiger
from workbench import POMDP, Memory, augment, frontier, memories
from workbench.sufficiency.census import count_task


def seconds(work: Callable[[], object]) -> float:
    """What a second call takes: kernels are compiled, or read from the disk, by the first."""
    work()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def discovered(P: POMDP, family: memories.Family) -> None:
    """A listed memory, found again from its Gamma and eta."""
    listed = family.on(P)
    augment(P, Memory.discovered("found", listed.W, listed.Gamma, listed.eta))


def main() -> None:
    for P, up_to in ((recall(), 4), (t_maze(5), 3)):
        took = seconds(lambda P=P, up_to=up_to: frontier(P, up_to))
        print(f"frontier of {P.name} up to {up_to} nodes: {took:.2f} s")
    for P in (recall(), t_maze(5), tiger()):
        took = seconds(lambda P=P: count_task(P, seconds=1))
        print(f"census of {P.name}, 1 s a search: {took:.2f} s")
    for P, family in ((gravity(), memories.O(1)), (t_maze(5), memories.OA(2))):
        listed = seconds(lambda P=P, family=family: augment(P, family))
        found = seconds(lambda P=P, family=family: discovered(P, family))
        print(f"{P.name} x {family.name}: listed {listed:.3f} s, discovered {found:.3f} s")
    for name in ("OA2*B3", "clock3*OA2"):
        took = seconds(lambda name=name: augment(t_maze(8), name))
        print(f"t-maze 8 x {name}, a product of memories: {took:.2f} s")


if __name__ == "__main__":
    main()
