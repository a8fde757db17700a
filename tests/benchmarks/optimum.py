"""Bounds on the best history-based value of `.POMDP` files over processor time, beside SARSOP's.

    python tests/benchmarks/optimum.py FILE ...

After 2, 4, 8 and 16 seconds; SARSOP where its `pomdpsol` is on the path. No observation before the
first action, for both.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from workbench import load_pomdp
from workbench.optima.best_history import best_history


def histories(paths: list[str]) -> None:
    """The gap between bounds over processor time, beside SARSOP's."""
    solver = shutil.which("pomdpsol")
    for path in paths:
        P = load_pomdp(Path(path), first="start")
        best_history(P, False, max_beliefs=10, max_backups=20)  # compile
        for seconds in (2, 4, 8, 16):
            began, backups, spent = time.process_time(), 100, 0.0
            while (
                spent < seconds and backups < 10**8
            ):  # the search is bit for bit the same, and goes on further
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
    histories(sys.argv[1:])
