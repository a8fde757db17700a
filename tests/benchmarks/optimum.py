"""How long the yardsticks take: `python tests/benchmarks/optimum.py`.

Each line: the task, its size (states and actions of the decision process), the value, the gap, the
nodes and the seconds of the best of three runs. `--peer` adds HiGHS on the equivalent mixed-integer
program. With `--files FILE ...` only the bounds on the best history-based value of these `.POMDP`
files are compared, after 2, 4, 8 and 16 seconds of processor time, with those of SARSOP where its
`pomdpsol` is on the path: no observation before the first action, for both.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import reference_optimum as reference

from pomdps import (
    cheese_maze,
    gravity,
    load_unload,
    recall,
    recall4,
    recall_variant,
    short_corridor,
    shuttle,
    tiger,
)
from workbench import augment, load_pomdp
from workbench.core.fields import FLOATS
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states

MEMORIES = {
    gravity: ("none", "B1", "K1", "O1", "OA1"),
    recall: ("none", "B1", "B2", "B5", "OA1", "OA2"),
    recall_variant: ("none", "B1", "B2", "B5", "OA1", "OA2"),
    recall4: ("none", "B1", "B2", "B5", "OA1", "OA2"),
}


def deterministic(peer: bool) -> None:
    print(
        f"{'best_memoryless':24} {'states':>7} {'actions':>7} {'value':>10} {'gap':>8} "
        f"{'nodes':>6} {'seconds':>8}"
    )
    for task, names in MEMORIES.items():
        for name in names:
            E = augment(task(), name)
            runs = [best_memoryless(E) for _ in range(3)]
            best = min(runs, key=lambda run: run.seconds)
            states, actions = from_states(E, FLOATS).shape
            line = (
                f"{E.name:24} {states:7,} {actions:7} {best.value:10.6f} "
                f"{best.gap:8.1e} {best.nodes:6} {best.seconds:8.3f}"
            )
            if peer and task is gravity and states <= 200:
                began = time.perf_counter()
                value = reference.best_by_integer_program(E)
                line += (
                    f"   HiGHS: {value:.6f} in {time.perf_counter() - began:.2f} s, model included"
                )
            print(line, flush=True)


def boxes() -> None:
    """Boxes of stochastic policies: how many a second, and how the gap goes down with them."""
    print(f"\n{'stochastic':24} {'rows':>4} {'value':>11} {'boxes':>7} {'gap':>8} {'a second':>9}")
    tasks = (short_corridor(), recall(), recall_variant(), recall4(), tiger(), load_unload())
    for P in (*tasks, shuttle(), cheese_maze(), augment(recall(), "B1")):
        for most in (100, 1_000, 10_000, 100_000):
            found = best_memoryless(P, deterministic=False, max_boxes=most, starts=4)
            began = time.perf_counter()
            again = best_memoryless(P, deterministic=False, max_boxes=0, starts=4)
            spent = max(found.seconds - (time.perf_counter() - began), 1e-9)
            assert again.value <= found.bound
            print(
                f"{P.name:24} {int(P.decides.sum()):4} {found.value:11.6f} {found.boxes:7,} "
                f"{found.gap:8.1e}" + (f" {found.boxes / spent:9,.0f}" if most > 1_000 else ""),
                flush=True,
            )
            if found.certified:
                break


def others() -> None:
    for task in MEMORIES:
        print(f"{best_history(task())!r}")
    for E in (gravity(), augment(gravity(), "B1"), augment(recall(), "B1")):
        found = best_memoryless(E, deterministic=False)
        print(f"{E.name}: stochastic {found.value:.9g}, kkt {found.kkt:.0e}, {found.seconds:.2f} s")


def histories(paths: list[str]) -> None:
    """The gap between bounds over processor time, beside SARSOP's."""
    solver = shutil.which("pomdpsol")
    for path in paths:
        P = load_pomdp(Path(path), first="start")
        best_history(P, False, max_beliefs=10, max_backups=20)  # compile
        for seconds in (2, 4, 8, 16):
            began, backups, spent = time.process_time(), 100, 0.0
            while spent < seconds:  # the search is bit for bit the same, and goes on further
                began = time.process_time()
                found = best_history(P, False, max_beliefs=10, max_backups=backups)
                spent = time.process_time() - began
                backups = int(backups * max(1.1, min(2.0, seconds / max(spent, 0.1))))
            line = f"{Path(path).stem:12} {spent:5.1f} s [{found.lower:.4f}, {found.upper:.4f}]"
            line += f" gap {found.gap:.4f}"
            if solver is not None:
                line += f"   SARSOP: {_sarsop(solver, path, seconds)}"
            print(line, flush=True)


def _sarsop(solver: str, path: str, seconds: float) -> str:
    """The last line of its table: seconds, lower, upper, gap."""
    command = [solver, "--timeout", str(seconds), path, "-o", "/dev/null"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^ *([\d.]+) +\d+ +\d+ +(\S+) +(\S+) +(\S+) +\d+ +\d+", shown, re.MULTILINE)
    spent, lower, upper, gap = rows[-1]
    return f"{float(spent):5.1f} s [{lower}, {upper}] gap {float(gap):.4f}"


if __name__ == "__main__":
    if "--files" in sys.argv[1:]:
        histories(sys.argv[sys.argv.index("--files") + 1 :])
        sys.exit()
    deterministic("--peer" in sys.argv[1:])
    boxes()
    others()
