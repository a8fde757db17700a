"""Rebuild the numbers of README, docs and paper into one report: `python paper/artifact.py`.

Run it from the root of a checkout. Each part runs one command, and the report says what the command
checks, whether it agrees with what is printed, how long it took, and how it ended. The report is
written anew after each part, so that Ctrl-C leaves what is finished.

    pip install -e '.[test,deep]'
    python paper/artifact.py -o artifact           # a quarter of an hour on two cores
    python paper/artifact.py --only paper          # one part
    python paper/artifact.py --benchmarks          # times too, an hour or more

Values and counts have to be equal to what is printed. Times and speeds are those of your machine:
the report shows them, and compares nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parent.parent
PYTHON = sys.executable
WORKBENCH = (PYTHON, "-c", "from workbench.cli.main import main; main()")
OUT = "@OUT"
"""Stands for the report's folder in a command."""

SHOWN = 25
"""Last lines of a command's output that the report shows; the whole is in a file beside it."""


@dataclass(frozen=True)
class Part:
    """A command, the numbers that it rebuilds, and where they are printed.

    `tool` is a program without which the part is left out; `limit` are the seconds it may take. A
    part that does not compare shows its numbers for you to read.
    """

    name: str
    rebuilds: str
    command: tuple[str, ...]
    tool: str | None = None
    limit: int = 3600
    compares: bool = True


def tests(*paths: str) -> tuple[str, ...]:
    """A command that runs tests and examples, slow ones included, on two processes."""
    return (PYTHON, "-m", "pytest", "-q", "-n", "2", "-m", "slow or not slow", *paths)


PARTS = (
    Part(
        "ledger",
        "every verdict, count and value of README.md's ledger, proofs/README.md and the site",
        (*WORKBENCH, "verify", "--all"),
    ),
    Part("coq", "the theorems of proofs/coq/README.md", (*WORKBENCH, "verify", "--coq"), "coqc"),
    Part(
        "pages",
        "the values in README.md, docs/*.md and in the documentation of every function",
        tests("README.md", "docs", "workbench", "pomdps", "proofs"),
    ),
    Part("paper", "the numbers of paper/paper.md, its PDF too", tests("tests/test_paper.py")),
    Part("notebooks", "what each notebook asserts", tests("tests/notebooks")),
    Part(
        "figures",
        "Figures 2 to 5, 7 and 11 of the paper, and their verdicts",
        (*WORKBENCH, "reproduce", "--out", f"{OUT}/figures"),
    ),
    Part(
        "networks",
        "the tables of docs/deep.md, from the stored seeds",
        (
            *WORKBENCH,
            "reproduce",
            "fig6-doors",
            "fig6-memory",
            "--seeds",
            "0",
            "--out",
            f"{OUT}/figures",
        ),
    ),
    Part("finds", "docs/findings.md and the gallery, each find checked again", tests("tests/lab")),
    Part(
        "census",
        "the table of docs/census.md, with two seconds for each search instead of more",
        (*WORKBENCH, "census", "--seconds", "2", "--out", f"{OUT}/census"),
        compares=False,
    ),
)

BENCHMARKS = tuple(
    Part(
        f"time-{name}",
        "a table of docs/benchmarks.md",
        (PYTHON, f"{ROOT}/tests/benchmarks/{name}.py"),
        compares=False,
    )
    for name in ("evaluation", "learners", "equilibria", "lab", "growth")
)


@dataclass(frozen=True)
class Outcome:
    """How a part ended."""

    part: Part
    ending: str
    seconds: float
    processor: float
    last: str


def run_part(part: Part, folder: Path) -> Outcome:
    """Run a command in the checkout, its whole output into a file of `folder`."""
    if part.tool is not None and shutil.which(part.tool) is None:
        return Outcome(part, f"left out: needs {part.tool}", 0.0, 0.0, "")
    log, begin, used = folder / f"{part.name}.txt", time.monotonic(), processor_time()
    command = [word.replace(OUT, str(folder)) for word in part.command]
    environment = os.environ | {"COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    with log.open("w", encoding="utf-8") as file:
        try:
            done = subprocess.run(
                command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, timeout=part.limit,
                env=environment, check=False,
            )  # fmt: skip
            good = "agrees" if part.compares else "ran"
            ending = good if done.returncode == 0 else f"DIFFERS (exit {done.returncode})"
        except subprocess.TimeoutExpired:
            ending = f"stopped after {part.limit} s"
    lines = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    seconds, processor = time.monotonic() - begin, processor_time() - used
    return Outcome(part, ending, seconds, processor, "\n".join(lines[-SHOWN:]))


def processor_time() -> float:
    """The seconds that commands which have ended kept a core busy: on a busy machine they say more
    than a clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> list[str]:
    """The commit, the machine and the versions that a number may depend on."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = []
    for name in ("numpy", "scipy", "sympy", "python-flint", "numba", "z3-solver", "jax"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name}: not installed")
    return [
        f"- commit: {commit.stdout.strip() or 'unknown'}",
        f"- Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores",
        f"- {', '.join(found)}",
    ]


def report(outcomes: Sequence[Outcome], planned: int) -> str:
    """The report: a table, then the end of each command's output."""
    total = sum(outcome.seconds for outcome in outcomes)
    busy = sum(outcome.processor for outcome in outcomes)
    lines = [
        "# Numbers, rebuilt",
        "",
        *machine(),
        f"- {len(outcomes)} of {planned} parts, {total:,.0f} s in all, {busy:,.0f} s of one core",
        "",
        "| part | rebuilds | result | seconds | of one core |",
        "|---|---|---|---|---|",
    ]
    for one in outcomes:
        lines.append(
            f"| {one.part.name} | {one.part.rebuilds} | {one.ending} | {one.seconds:,.0f} "
            f"| {one.processor:,.0f} |"
        )
    for one in outcomes:
        words = " ".join("workbench" if word == WORKBENCH[2] else word for word in one.part.command)
        words = words.replace(f"{PYTHON} -c workbench", "workbench").replace(PYTHON, "python")
        shown = words.replace(f"{ROOT}/", "").replace(OUT, "artifact")
        lines += ["", f"## {one.part.name}", "", f"`{shown}`", "", "```", one.last, "```"]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and write the report. Return 1 if a part differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("-o", "--out", default="artifact", type=Path, help="a folder")
    parser.add_argument("--only", action="append", choices=[p.name for p in PARTS + BENCHMARKS])
    parser.add_argument("--benchmarks", action="store_true", help="times too: an hour or more")
    wanted = parser.parse_args(arguments)
    parts = [p for p in PARTS + BENCHMARKS if wanted.only and p.name in wanted.only]
    parts = parts or [*PARTS, *(BENCHMARKS if wanted.benchmarks else ())]
    folder = wanted.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for number, part in enumerate(parts, start=1):
        print(f"{number} of {len(parts)}: {part.name}: {part.rebuilds} ...", flush=True)
        try:
            outcomes.append(run_part(part, folder))
        except KeyboardInterrupt:
            print(f"Stopped. {folder / 'report.md'} has the {len(outcomes)} parts that finished.")
            return 130
        (folder / "report.md").write_text(report(outcomes, len(parts)), encoding="utf-8")
        print(f"  {outcomes[-1].ending}, {outcomes[-1].seconds:,.0f} s", flush=True)
    print(f"The report is {folder / 'report.md'}.")
    return int(any("DIFFERS" in one.ending or "stopped" in one.ending for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
