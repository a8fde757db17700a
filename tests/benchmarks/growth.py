"""How searches for certified optima grow with the rows of a policy, beside peers in the same run.

    python tests/benchmarks/growth.py [--rows 4] [--seconds 20]

Deterministic policies: drawn tasks of two states and three actions for each row, by branch and
bound over nodes, and by HiGHS on the mixed-integer program. Stochastic ones: short corridors in a
row, one look and so one row of two actions for each, gamma .95, who falls out of one is back in the
first; by branch and bound over boxes. Nodes and boxes are counted for each second of processor
time, and seconds ~ base^rows is fitted by least squares. Gap: of the largest of the corridors,
after so many boxes. Histories: bounds beside Storm's belief unfolding (lower) and discretisation
(upper), where stormpy is installed. For SARSOP see `optimum.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import reference_optimum as reference

from pomdps import cheese_maze, gravity, load_unload, recall
from workbench import POMDP
from workbench.interop.storm import export_drn
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless

AIM = 1e-6
BOXES = (10, 30, 100, 300, 1_000, 3_000, 10_000)

Found = TypeVar("Found")


def corridors(rows: int) -> POMDP:
    """Short corridors in a row; who falls out of one is back in the first."""

    def p(s: Any, a: str) -> dict[Any, int]:
        room, i = s
        j = i + (1 if (a == "right") != (i == 1) else -1)
        if j < 0:
            room, j = 0, 0
        if j == 3:
            room, j = room + 1, 0
        return {("end" if room == rows else (room, j), -1): 1}

    return POMDP.from_functions(
        name=f"{rows} corridors",
        A=("right", "left"),
        p=p,
        omega=lambda s: {"out" if s == "end" else s[0]: 1},
        mu={(0, 0): 1},
        gamma=Fraction(19, 20),
        terminal={"end"},
    )


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    """What a call returns, and its processor time."""
    began = time.process_time()
    found = work()
    return found, max(time.process_time() - began, 1e-9)


def drawn(rows: int) -> POMDP:
    """A task of two states for each look, with drawn successors and rewards."""
    rng = np.random.default_rng(rows)
    to = rng.integers(2 * rows, size=(2 * rows, 3, 2)).tolist()
    pay = rng.integers(10, size=(2 * rows, 3)).tolist()

    def p(s: int, a: int) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for t in to[s][a]:
            key = (t, pay[s][a])
            found[key] = found.get(key, Fraction(0)) + Fraction(1, 2)
        return found

    return POMDP.from_functions(
        name=f"{rows} drawn rows",
        A=(0, 1, 2),
        p=p,
        omega=lambda s: {s // 2: 1},
        mu={0: 1},
        gamma=Fraction(19, 20),
    )


def grow_nodes(most: int, seconds: float) -> None:
    print(f"{'rows':>4} {'nodes':>7} {'s':>7} {'nodes/s':>8} {'gap':>8} {'HiGHS s':>8}")
    spent: dict[str, list[float]] = {"nodes": [], "HiGHS": []}
    best_memoryless(drawn(2))  # compile
    counts = range(3, 3 * most + 1, 3)
    for rows in counts:
        P = drawn(rows)
        found, by_nodes = timed(lambda P=P: best_memoryless(P, max_seconds=seconds))
        value, by_program = timed(lambda P=P: reference.best_by_integer_program(P))
        assert abs(value - float(found.value)) < 1e-3 or not found.certified
        spent["nodes"].append(by_nodes)
        spent["HiGHS"].append(by_program)
        print(
            f"{rows:4} {found.nodes:7,} {by_nodes:7.3f} {found.nodes / by_nodes:8,.0f} "
            f"{found.gap:8.1e} {by_program:8.3f}",
            flush=True,
        )
    fit(counts, spent)


def grow_boxes(most: int, seconds: float) -> None:
    print(f"\n{'rows':>4} {'boxes':>7} {'s':>7} {'boxes/s':>8} {'gap':>8}")
    spent: dict[str, list[float]] = {"boxes": []}
    best_memoryless(corridors(1), deterministic=False)  # compile
    counts = range(1, most + 1)
    for rows in counts:
        P = corridors(rows)
        found, took = timed(
            lambda P=P: best_memoryless(P, deterministic=False, starts=4, max_seconds=seconds)
        )
        spent["boxes"].append(took)
        print(
            f"{rows:4} {found.boxes:7,} {took:7.3f} {found.boxes / took:8,.0f} "
            f"{found.gap:8.1e}{'' if found.gap < AIM else ' *'}",
            flush=True,
        )
    fit(counts, spent)


def fit(counts: range, spent: dict[str, list[float]]) -> None:
    """The growth of seconds, by least squares on their logarithms."""
    if len(counts) > 1:
        for name, took in spent.items():
            slope = np.polyfit(np.array(counts), np.log(took), 1)[0]
            print(f"seconds by {name}: a factor of {np.exp(slope):.2f} for each row")


def close_gap(rows: int, seconds: float) -> None:
    print(f"\n{rows} corridors, stochastic policies: the gap over boxes and processor time")
    for boxes in BOXES:
        P = corridors(rows)
        found, took = timed(
            lambda P=P, boxes=boxes: best_memoryless(
                P, deterministic=False, starts=4, max_boxes=boxes, max_seconds=seconds
            )
        )
        print(f"{found.boxes:7,} boxes {took:7.2f} s   gap {found.gap:.1e}", flush=True)
        if found.certified or took > seconds:
            break


def compare_histories(seconds: float) -> None:
    print("\nbest history-based value: ours; Storm")
    for P in (recall(), gravity(), cheese_maze(), load_unload()):
        ours, took = timed(lambda P=P: best_history(P, False, max_seconds=seconds))
        line = f"{P.name:12} [{ours.lower:.7f}, {ours.upper:.7f}] {took:6.2f} s"
        print(f"{line}; {_storm_bounds(P, seconds)}", flush=True)


def _storm_bounds(P: POMDP, seconds: float) -> str:
    """Storm's bounds on the largest expected reward, for tasks whose rewards are not negative."""
    try:
        import stormpy
        import stormpy.developer
        import stormpy.pomdp
    except ImportError:
        return "Storm is not installed"
    if P.p.r.floats.min() < 0:
        return "Storm takes rewards of at least 0"
    options = stormpy.developer.DirectEncodingParserOptions()
    options.build_choice_labeling = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.drn"
        path.write_text(export_drn(P))
        model = stormpy.build_model_from_drn(path, options=options)
    query = stormpy.parse_property('Rmax=? [F "done"]')
    below, one = timed(
        lambda: stormpy.pomdp.verify_with_belief_unfolding(
            model, query, max_exploration_time=max(1, int(seconds / 2))
        )
    )
    above, other = timed(
        lambda: stormpy.pomdp.verify_with_belief_discretization(model, query, resolution=4)
    )
    return f"[{below.value:.7f}, {above.value:.7f}] {one + other:6.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    grow_nodes(given.rows, given.seconds)
    grow_boxes(given.rows, given.seconds)
    close_gap(given.rows, given.seconds)
    compare_histories(given.seconds)


if __name__ == "__main__":
    main()
