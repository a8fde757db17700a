"""Time to bounds 1e-3 apart on the best history-based value of `.POMDP` files, beside SARSOP's.

python tests/benchmarks/published.py FILE ... > table.md

1e-3 is the default precision of SARSOP's `pomdpsol`, which runs where it is on the path. Processor
times in seconds; kernels are compiled and the file is read before. SARSOP's include starting and
reading. Where the bounds stay further apart, SARSOP gets as much time as the workbench had. Nothing
is seen before the first action, for both. A second table has the bounds over time, after
more and more backups.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from workbench import load_pomdp
from workbench.optima.best_history import best_history
from workbench.optima.optimum import HistoryOptimum

PRECISION = 1e-3
SECONDS, SHORT = 15.0, 0.5
TOLERANCES = (1e-4, 2e-5, 5e-6, 1e-6, 1e-7)
"""Shares of the size of the values; the first that leaves bounds of `PRECISION` counts."""

HEAD = """\
| file | workbench | gap | s | SARSOP | gap | s |
|---|---|---:|---:|---|---:|---:|"""

BACKUPS = (25, 100, 400, 1600)

OVER_TIME = """
| file | s | workbench | gap |
|---|---:|---|---:|"""


def ours(path: Path) -> tuple[HistoryOptimum, float]:
    """Bounds, and the processor time that they took: of short ones, the least of five."""
    P = load_pomdp(path, first="start")
    best_history(P, False, max_seconds=1.0)  # compile
    for tolerance in TOLERANCES:
        times = []
        while not times or (times[0] < SHORT and len(times) < 5):
            began = time.process_time()
            found = best_history(
                P, False, max_backups=10**8, max_seconds=SECONDS, tolerance=tolerance
            )
            times.append(time.process_time() - began)
        took = min(times)
        if found.gap <= PRECISION or took > SECONDS / 2:
            break
    return found, took


def sarsop(solver: str, path: Path, seconds: float) -> str:
    """Its bounds, their distance and its processor time, as cells."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [solver, "--timeout", f"{seconds:.2f}", "--precision", str(PRECISION)]
    text = subprocess.run(
        [*command, str(path), "-o", "/dev/null"], capture_output=True, text=True
    ).stdout
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    rows = re.findall(r"^ *[\d.]+ +\d+ +\d+ +(\S+) +(\S+) +(\S+) +\d+ +\d+", text, re.MULTILINE)
    if not rows:
        return "does not read it | | |"
    lower, upper, gap = rows[-1]
    return f"{lower} to {upper} | {float(gap):.1e} | {took:.2f} |"


def over_time(path: Path) -> Iterator[str]:
    """Bounds after more and more backups, and the processor time."""
    P = load_pomdp(path, first="start")
    best_history(P, False, max_backups=5)  # compile
    for backups in BACKUPS:
        times = []
        for _ in range(3):  # the first time may compile
            began = time.process_time()
            found = best_history(P, False, max_backups=backups)
            times.append(time.process_time() - began)
        took = min(times)
        bounds = f"{found.lower:.6g} to {found.upper:.6g}"
        yield f"| {path.stem} | {took:.2f} | {bounds} | {found.gap:.1e} |"
        if found.gap <= PRECISION:
            return


def main() -> None:
    solver = shutil.which("pomdpsol")
    print(HEAD)
    for name in sys.argv[1:]:
        path = Path(name)
        found, took = ours(path)
        line = f"| {path.stem} | {found.lower:.6g} to {found.upper:.6g} | {found.gap:.1e} |"
        seconds = SECONDS if found.gap <= PRECISION else took
        theirs = sarsop(solver, path, seconds) if solver else "| | |"
        print(f"{line} {took:.2f} | {theirs}", flush=True)
    print(OVER_TIME)
    for name in sys.argv[1:]:
        for line in over_time(Path(name)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
