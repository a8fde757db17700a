"""The best controllers of 1, 2, 3 nodes and the best stochastic policies of `.POMDP` files.

python tests/benchmarks/controllers.py FILE ... --paynt PROGRAM > docs/small-controllers.md

A controller of n nodes chooses its action and its next node by node and observation, as in PAYNT.
Each search has `--seconds`. `pip install paynt` brings PAYNT's program. A task at gamma 1 that
never ends has no return: it is discounted by 0.95.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from workbench import best_memoryless, export_drn, frontier, load_pomdp
from workbench.core.errors import NeverEnds
from workbench.core.fields import FLOATS
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.interop.explicit import BEGIN
from workbench.optima.follow import alternatives
from workbench.optima.mdp import from_states
from workbench.optima.optimum import MemorylessOptimum
from workbench.text import brief

NEARLY = 1e-6
"""Values this close, as a share of their size, agree."""

HEAD = """\
# Small controllers of the published files

Written by `python tests/benchmarks/controllers.py FILE ... --paynt PROGRAM`. Each search took at
most {seconds:g} seconds of a busy machine with two cores; times are processor times in seconds.
Files at gamma 1 in which nothing ends are discounted by 0.95; a star marks them.

## The best deterministic controllers

A controller of n nodes chooses its action and its next node by its node and the observation. A
single number is the optimum: the bound for n nodes meets it. *x to y*: some controller of n nodes
is worth x, and none is worth more than y. The search tries controllers that differ only in the
order of their nodes once. `frontier(P, n, [])` finds them; its time includes that of fewer nodes
and of histories. PAYNT {version} read the same task as `export_drn` writes it, in the same run,
with its default precision of 1e-4. *Part* says how much of its space it had explored when its
time was over. The time of starting it, {start:.1f} s, is left out.

| file | nodes | value | s | PAYNT | s |
|---|---:|---|---:|---|---:|"""

STOCHASTIC = """
## The best stochastic memoryless policies

A *row* is an observation at which actions differ. *x to y*: some policy is worth x, and none is
worth more than y. On tasks of up to 282 states with five actions the search cuts the space of
policies into boxes, and bounds the value on each box. So hallway has only the bound of histories.

| file | rows | deterministic | stochastic | gap | s |
|---|---:|---|---|---:|---:|"""


def ending(P: POMDP) -> POMDP:
    """The task, discounted where no return is defined."""
    try:
        best_memoryless(P, max_nodes=1)
    except NeverEnds:
        return replace(P, gamma=0.95, name=f"{P.name}*")
    return P


def rows(P: POMDP) -> int:
    """The observations at which actions differ."""
    M = from_states(P, FLOATS)
    differ = alternatives(M, len(P.O))
    return sum(len(differ[o]) > 1 for o in set(M.seen.tolist()))


def said(value: Number, bound: Number) -> str:
    """A value, or a value and a bound."""
    close = bound - value <= NEARLY * max(abs(value), abs(bound), 1)
    return brief(value) if close else f"{brief(value)} to {brief(bound)}"


def timed(P: POMDP, deterministic: bool, seconds: float) -> tuple[MemorylessOptimum, float]:
    """The best memoryless policy, and the processor time that it took."""
    began = time.process_time()
    found = best_memoryless(P, deterministic, max_seconds=seconds)
    return found, time.process_time() - began


def run(command: list[str], seconds: float) -> tuple[str, float]:
    """What a program prints, and its processor time."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        text = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        text = "over time"
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return text, ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def paynt(program: str, P: POMDP, nodes: int, seconds: float) -> tuple[str, float]:
    """What PAYNT says about a task, and its processor time."""
    text = export_drn(replace(P, gamma=1))
    waits = float(P.gamma) if f"action {BEGIN} " in text else 1.0  # the step that draws the start
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sketch.templ").write_text(text)
        wanted = f'R{{"reward"}}max=? [Cdiscount={float(P.gamma)}]\n'
        (Path(folder) / "sketch.props").write_text(wanted)
        command = [program, folder, "--fsc-memory-size", str(nodes), "--timeout", f"{seconds:.0f}"]
        text, took = run(command, 4 * seconds + 60)
    value = re.search(r"^optimum: (\S+)", text, re.M)
    share = re.search(r"^explored: (\d+) %", text, re.M)
    if value is None:
        return "no answer in time" if share or text == "over time" else "does not read it", took
    part = "" if share is None or share[1] == "100" else f", part: {share[1]} %"
    return f"{float(value[1]) / waits:.6g}{part}", took


def controllers(P: POMDP, given: argparse.Namespace, start: float) -> Iterator[str]:
    """A line of the table for each number of nodes."""
    for nodes in range(1, given.nodes + 1):
        began = time.process_time()
        step = frontier(P, nodes, [], max_seconds=given.seconds).steps[-1]
        took = time.process_time() - began
        line = f"| {P.name} | {nodes} | {said(step.value, step.bound)} | {took:.1f} |"
        if given.paynt:
            theirs, used = paynt(given.paynt, P, nodes, given.seconds)
            yield f"{line} {theirs} | {max(used - start, 0):.1f} |"
        else:
            yield f"{line} | |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--paynt", default="")
    given = parser.parse_args()
    version, start = "", 0.0
    if given.paynt:
        text, start = run([given.paynt, "--version"], 60)
        version = (re.findall(r"\d+\.\d+\.\d+", text) or [""])[0]
    print(HEAD.format(seconds=given.seconds, version=version, start=start))
    tasks = [ending(load_pomdp(file)) for file in given.files]
    for P in tasks:
        for line in controllers(P, given, start):
            print(line, flush=True)
    print(STOCHASTIC)
    for P in tasks:
        sure, _ = timed(P, True, given.seconds)
        found, took = timed(P, False, given.seconds)
        values = [said(x.value, x.bound) for x in (sure, found)]
        line = f"| {P.name} | {rows(P)} | {' | '.join(values)} | {found.gap:.0e} |"
        print(f"{line} {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
