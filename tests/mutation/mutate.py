"""Mutation testing: change one thing in a line, run the tests that should notice, list survivors.

    python tests/mutation/mutate.py checker --sample 40 --seed 0
    python tests/mutation/mutate.py core --only ties.py

A room is a folder of `workbench`. A mutant is the file with one comparison, sign, bound, constant
or quantifier changed; it lives in a copy of the tree, so that nothing here is touched. The tests of
a mutant are those named in `TESTS`, cheapest first, and stop at the first failure; a run that takes
ten times as long as the unchanged one counts as noticed. What survives is equivalent, a matter of
speed, or a hole: `survivors.md` says which, line by line.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

TESTS = {
    "checker": {
        "sums.py": ["tests/checker/test_sums.py"],
        "sum_claims.py": ["tests/checker/test_sums.py"],
        "plane_polynomials.py": ["tests/checker/test_fixed_regions.py"],
        "fixed_region_claims.py": ["tests/checker/test_fixed_regions.py"],
        "": ["tests/checker/test_soundness.py", "tests/checker/test_recheck.py"],
    },
    "core": {
        "ties.py": ["tests/improvement/test_ties.py"],
        "td.py": ["tests/evaluation/test_td.py", "tests/evaluation/test_error_bounds.py"],
        "bootstrap.py": ["tests/evaluation/test_td.py", "tests/evaluation/test_error_bounds.py"],
        "shortcuts.py": ["tests/evaluation/test_shortcuts.py"],
        "weights.py": ["tests/evaluation/test_weights.py"],
        "policy.py": ["tests/core/test_policy.py"],
        "pomdp.py": ["tests/core/test_pomdp.py"],
        "build.py": ["tests/core/test_pomdp.py"],
        "augment.py": ["tests/core/test_augment.py"],
        "memory.py": ["tests/core/test_memories.py"],
        "families.py": ["tests/core/test_memories.py", "tests/core/test_own_family.py"],
        "ending.py": ["tests/improvement/test_improve.py"],
        "oracle_loop.py": ["tests/improvement/test_improve.py"],
        "improve.py": ["tests/improvement/test_improve.py"],
        "evaluate.py": ["tests/evaluation/test_evaluate.py"],
        "gain.py": ["tests/evaluation/test_gain.py"],
        "": ["tests/evaluation/test_evaluate.py", "tests/improvement/test_improve.py"],
    },
}
"""By room and file; "" stands for all others."""

COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.Mod: "*"}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


def mutants(text: str) -> Iterator[tuple[int, str, str]]:
    """Every changed version of a file: the line, what was changed, the text."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    source = text.encode()

    def span(node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr)
        first = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return first, starts[node.end_lineno - 1] + node.end_col_offset

    def changed(node: ast.AST, new: str) -> str:
        a, b = span(node)
        return (source[:a] + new.encode() + source[b:]).decode()

    def between(left: ast.AST, right: ast.AST, new: str) -> str:
        a, b = span(left)[1], span(right)[0]
        kept = source[a:b].decode()
        closing, opening = kept.count(")"), kept.count("(")
        return (
            source[:a] + f"{')' * closing} {new} {'(' * opening}".encode() + source[b:]
        ).decode()

    docs = {id(x) for x in ast.walk(ast.parse(text)) if isinstance(x, ast.JoinedStr)}
    for node in ast.walk(ast.parse(text)):
        if id(node) in docs:
            continue
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                yield (
                    node.lineno,
                    f"compare {COMPARED[type(op)]}",
                    between(left, right, COMPARED[type(op)]),
                )
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                if not any(
                    isinstance(x, ast.Constant) and isinstance(x.value, str) for x in (left, right)
                ):
                    yield (
                        node.lineno,
                        f"sign {SIGNS[type(op)]}",
                        between(left, right, SIGNS[type(op)]),
                    )
            case ast.BoolOp(op=op, values=[left, right]):
                new = "or" if isinstance(op, ast.And) else "and"
                yield node.lineno, new, between(left, right, new)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                yield node.lineno, "without not", changed(node, f"({ast.unparse(inner)})")
            case ast.Call(func=ast.Name(id=name)) if name in NAMES:
                yield node.lineno, NAMES[name], changed(node.func, NAMES[name])
            case ast.Constant(value=bool(value)):
                yield node.lineno, str(not value), changed(node, str(not value))
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                yield node.lineno, f"{value} + 1", changed(node, str(value + 1))


def is_noticed(copy: Path, tests: list[str], seconds: float) -> bool:
    """Whether a test fails on the tree as it is, or takes far too long."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    try:
        found = {"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin", "HOME": str(copy)}
        done = subprocess.run(
            command, cwd=copy, capture_output=True, timeout=seconds, check=False, env=found
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def main() -> None:
    """Draw mutants of a room, run their tests, print the survivors and how many are noticed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("room", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=40, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a file of the room")
    asked = parser.parse_args()
    copy = Path(tempfile.mkdtemp(prefix="mutants-"))
    ignored = shutil.ignore_patterns(".git", "__pycache__", "*.pyc")
    shutil.copytree(ROOT, copy, ignore=ignored, dirs_exist_ok=True)
    room = copy / "workbench" / asked.room
    files = [p for p in sorted(room.glob("*.py")) if asked.only in ("", p.name)]
    every = [(path, *one) for path in files for one in mutants(path.read_text())]
    drawn = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    taken: dict[tuple[str, ...], float] = {}
    survivors = []
    for i, (path, line, what, text) in enumerate(sorted(drawn, key=lambda one: (one[0], one[1]))):
        tests = TESTS[asked.room].get(path.name, TESTS[asked.room][""])
        key = tuple(tests)
        if key not in taken:
            began = time.monotonic()
            if is_noticed(copy, tests, 3600):
                sys.exit(f"{' '.join(tests)} fails on the unchanged tree")
            taken[key] = time.monotonic() - began
        whole = path.read_text()
        path.write_text(text)
        noticed = is_noticed(copy, tests, 60 + 10 * taken[key])
        path.write_text(whole)
        shown = f"{path.relative_to(copy)}:{line} {what}: {whole.splitlines()[line - 1].strip()}"
        print(f"{i + 1}/{len(drawn)} {'noticed ' if noticed else 'SURVIVES'} {shown}", flush=True)
        if not noticed:
            survivors.append(shown)
    shutil.rmtree(copy)
    print(f"{asked.room}: {len(drawn) - len(survivors)} of {len(drawn)} mutants noticed "
          f"({len(every):,} possible), seed {asked.seed}")  # fmt: skip
    print("\n".join(survivors))


if __name__ == "__main__":
    main()
