"""Bounds of the literature on what a window loses, beside the true loss, of `.POMDP` files.

python tests/benchmarks/windows.py FILE ... > table.md

The window holds the last observation and action. *Filter* is the rate alpha of Kara and Yueksel:
from 1 on, their bound says nothing. *Information state* is the bound of Subramanian et al. on the
loss, with eps and delta of the agent state; *factor* is that bound by the true loss. A gamma of 1
becomes .95, since both bounds need a discount.
"""

from __future__ import annotations

import sys
from pathlib import Path

from workbench import diagnose, load_pomdp
from workbench.core.errors import NotExact
from workbench.text import brief

SECONDS = 8.0

HEAD = """\
| file | true loss | filter | window bound | information state | factor |
|---|---|---:|---:|---:|---:|"""


def row(path: Path) -> str:
    """A line of the table."""
    P = load_pomdp(path)
    P = P if P.gamma < 1 else P.with_gamma(0.95)
    try:
        found = diagnose(P, "window1", max_seconds=SECONDS)
    except NotExact:
        return f"| {path.stem} | refused: its numbers are not exact | | | | |"
    low, high = found.gap if found.gap is not None else (0, 0)
    near = float(high - low) <= 1e-6 * max(1.0, abs(float(found.upper)))
    loss = brief(float(low)) if near else f"{brief(float(low))} to {brief(float(high))}"
    rate = "it ends" if found.filter_rate is None else brief(float(found.filter_rate))
    window = "none" if found.window_bound is None else brief(float(found.window_bound))
    bound = None if found.information is None else found.information.bound
    state = "not in time" if bound is None else brief(float(bound))
    least = float(bound) / float(high) if bound is not None and float(high) > 1e-6 else None
    factor = "" if least is None else (brief(least) if near else f"from {brief(least)}")
    return f"| {path.stem} | {loss} | {rate} | {window} | {state} | {factor} |"


def main() -> None:
    print(HEAD)
    for name in sys.argv[1:]:
        print(row(Path(name)), flush=True)


if __name__ == "__main__":
    main()
