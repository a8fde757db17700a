"""Mutation testing: change one thing in a line, run the tests that should notice, list survivors.

    python tests/mutation/mutate.py checker --seconds 240 --into checker.jsonl
    python tests/mutation/mutate.py core --only ties.py --into core.jsonl

A room is a folder of `workbench`. A mutant is the file with one comparison, sign, bound, constant
or quantifier changed, outside of messages and budgets.

The checker's are first asked for the frozen verdicts of `test_verdicts`, in a forked process in
which one function has the changed code. No file is touched, and only the questions that come by the
line are asked. What survives, and every mutant of another room, is given to tests in a copy of the
tree beside the results. One run of the tests notes which functions each test calls. A mutant is
given to the tests that call its function, quickest first, in a forked process that has the large
packages loaded; they stop at the first failure, and four times the usual time counts as noticed.

Results are written as they come: asked again, the command goes on with the mutants that have none.
What survives is equivalent, a matter of speed, or a hole: `survivors.md` says which, line by line.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import json
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

TESTS = {
    "checker": [
        "tests/checker",
        "tests/certificates",
        "tests/proofs/test_ledger.py",
        "workbench/checker",
    ],
    "core": ["tests/core", "tests/evaluation", "tests/improvement", "workbench/core"],
}
"""The tests of a room."""

LOADED = ("numpy", "scipy.optimize", "scipy.sparse", "sympy", "numba", "z3", "flint", "pandas")
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]

Reached = dict[str, tuple[float, set[tuple[str, int]]]]

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

    tree = ast.parse(text)
    spared = {id(x) for whole in ast.walk(tree) if _is_spared(whole) for x in ast.walk(whole)}
    for node in ast.walk(tree):
        if id(node) in spared:
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


BUDGETS = ("MOST_", "LARGEST_", "LONGEST_", "DEEPEST")


def _is_spared(node: ast.AST) -> bool:
    """The words of messages, the strictness of zip, and budgets: nothing false passes with
    another."""
    match node:
        case ast.JoinedStr() | ast.keyword(arg="strict"):
            return True
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), *_]) | ast.Name(id=name)]):
            return name.startswith(BUDGETS)
        case ast.Compare(comparators=[ast.Name(id=name)]):
            return name.startswith(BUDGETS)
        case ast.Call(func=ast.Name(id="spend_products")):
            return True
    return False


class Reach:
    """A pytest plugin that notes the functions of the package that each test calls."""

    def __init__(self, room: Path):
        self.room, self.functions, self.failed = str(room.parent), Reached(), set[str]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Watch a test with its fixtures."""
        seen: set[tuple[str, int]] = set()

        def calls(frame: Any, event: str, _: Any) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(self.room):
                seen.add((code.co_filename, code.co_firstlineno))

        began = time.process_time()
        sys.setprofile(calls)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            self.functions[item.nodeid] = time.process_time() - began, seen

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure: watched, a test may miss its own limit of seconds."""
        if report.failed:
            self.failed.add(report.nodeid)


def in_a_child(work: Callable[[], int], seconds: float) -> int | None:
    """The exit code of a forked process that does the work.

    It is killed after so many seconds of its processor, which other programs do not shorten. None
    if it waits without end.
    """
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 9))
        quiet = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        sys.dont_write_bytecode = True
        code = 1
        try:
            code = int(work())
        finally:
            os._exit(code)
    ends = time.monotonic() + 20 * seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.003)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def reached(copy: Path, room: Path, tests: list[str], warm: bool) -> Reached:
    """The seconds of each test and the functions of the package that it calls.

    Tests run once before they are watched if `warm`, so that none waits for kernels.
    """
    found, kept = Reach(room), copy / "reached.pickle"

    def work() -> int:
        pytest.main([*OPTIONS, "--maxfail=30", *tests], plugins=[found])
        kept.write_bytes(
            pickle.dumps({k: x for k, x in found.functions.items() if k not in found.failed})
        )
        print("failed:", *sorted(found.failed))
        return len(found.failed) > 29

    if warm:
        in_a_child(partial(pytest.main, [*OPTIONS, *tests]), 3600)
    if in_a_child(work, 3600) != 0:
        sys.exit(Path("said.txt").read_text() + "fails on the unchanged tree")
    print(Path("said.txt").read_text().splitlines()[-1])
    return pickle.loads(kept.read_bytes())


def put_in_place(module: str, changed: str, line: int) -> None:
    """Give the function of a line the code that it has in the changed text of its module.

    What stands outside of functions is put into the module, whose functions see it.
    """
    here = sys.modules[module]
    again = dict(vars(here))
    exec(compile(changed, str(here.__file__), "exec"), again)
    old, new, body = vars(here), again, ast.parse(changed).body
    while True:
        inner = next(
            (x for x in body if isinstance(x, ast.ClassDef | ast.FunctionDef)
             and x.lineno <= line <= (x.end_lineno or 0)), None)  # fmt: skip
        if inner is None:
            vars(here).update(again)
            return
        found = old[inner.name]
        if isinstance(inner, ast.FunctionDef):
            one, other = _function(found), _function(new[inner.name])
            one.__code__, one.__defaults__ = other.__code__, other.__defaults__
            if hasattr(found, "cache_clear"):
                found.cache_clear()
            return
        old, new, body = vars(found), vars(new[inner.name]), inner.body


def _function(found: Any) -> Any:
    """The plain function behind a property, a class method or a cache."""
    for name in ("fget", "func", "__func__", "__wrapped__"):
        found = getattr(found, name, None) or found
    return found


MOST_OF_A_QUESTION, MOST_OF_ALL = 1.5, 3.0
"""Seconds of the processor for one frozen answer, of which none needs a third of one, and for all
that a mutant is asked, quickest first."""


def asked(chosen: list[tuple[Any, str]], module: str, changed: str, line: int) -> int:
    """Whether frozen answers differ with a changed module. It is called in a forked process."""
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_OF_A_QUESTION)  # the signal ends the process
    began = time.process_time()
    try:
        answer = import_module("test_verdicts").answer
        put_in_place(module, changed, line)
        for question, said in chosen:
            if time.process_time() - began > MOST_OF_ALL:
                return 0
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_OF_A_QUESTION)
            if answer(question) != said:
                return 1
    except Exception:
        return 1
    return 0


Lines = dict[tuple[str, int], list[str]]


def lines_asked(room: Path, kept: Path) -> Lines:
    """For each line of the checker the frozen questions that come by, quickest first."""
    if kept.exists():
        return pickle.loads(kept.read_bytes())
    found: dict[tuple[str, int], list[tuple[float, str]]] = {}
    frozen = import_module("test_verdicts")
    for name, question, said in frozen.questions():
        here: set[tuple[str, int]] = set()

        def line(frame: Any, event: str, _: Any, here: set[tuple[str, int]] = here) -> Any:
            here.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        def call(frame: Any, event: str, _: Any) -> Any:
            return line if frame.f_code.co_filename.startswith(str(room)) else None

        began = time.process_time()
        sys.settrace(call)
        try:
            same = frozen.answer(question) == said
        finally:
            sys.settrace(None)
        if not same:
            sys.exit(f"{name} is answered otherwise by the unchanged checker")
        for where in here:
            found.setdefault(where, []).append((time.process_time() - began, name))
    lines = {where: [name for _, name in sorted(those)] for where, those in found.items()}
    kept.write_bytes(pickle.dumps(lines))
    return lines


def around(tree: ast.AST, line: int) -> range:
    """The lines of the smallest statement that holds a line, without its body if it has one."""
    best = range(0)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else (node.end_lineno or 0)
            found = range(node.lineno, max(node.lineno, last) + 1)
            if line in found and (not best or len(found) < len(best)):
                best = found
    return best


def tried(tests: list[str]) -> int:
    """The exit code of the tests of a mutant."""
    return int(pytest.main([*OPTIONS, "-x", *tests])) if tests else 0


def noticing(code: int | None) -> str:
    """The test that noticed a mutant, "verdicts" or "time"."""
    if code == 0:
        return ""
    if code is None or code < 0:
        return "time"
    said = Path("said.txt").read_text(errors="replace").splitlines()
    return next((x[:200] for x in reversed(said) if x.startswith(("FAILED", "ERROR"))), "verdicts")


def functions_of(path: Path) -> list[ast.FunctionDef]:
    """Every function of a file."""
    return [f for f in ast.walk(ast.parse(path.read_text())) if isinstance(f, ast.FunctionDef)]


def calling(package: Path, called: set[tuple[str, str]], every: Reached) -> set[tuple[str, int]]:
    """The traced functions that name compiled ones, or name one that does.

    The interpreter does not see compiled functions called.
    """
    seen = set[tuple[str, int]]().union(*(functions for _, functions in every.values()))
    named = {
        (str(path), f.name): ({x.id for x in ast.walk(f) if isinstance(x, ast.Name)}, marks(f))
        for path in package.rglob("*.py")
        for f in functions_of(path)
    }
    found, wanted = set[tuple[str, int]](), {name for _, name in called}
    while True:
        more = {key for key, (names, _) in named.items() if names & wanted} - called
        traced = {(path, n) for path, name in more for n in named[path, name][1]} & seen
        found |= traced
        called |= more
        compiled = {
            name for path, name in more if not any((path, n) in seen for n in named[path, name][1])
        }
        if not compiled - wanted:
            return found
        wanted |= compiled


def marks(function: ast.FunctionDef) -> set[int]:
    """The lines at which the interpreter may say that a function begins."""
    return {function.lineno, *(x.lineno for x in function.decorator_list)}


def tests_of(path: Path, line: int, every: Reached) -> list[str]:
    """The tests that call the function of a line, quickest first; other lines: all of the file."""
    around = [f for f in functions_of(path) if f.body[0].lineno <= line <= (f.end_lineno or 0)]
    begins = {(str(path), n) for f in around for n in marks(f)}
    if not around:
        begins = {(str(path), n) for f in functions_of(path) for n in marks(f)}
    if not any(begins & seen for _, seen in every.values()):
        package = next(p for p in path.parents if p.name == "workbench")
        names = {(str(path), f.name) for f in around or functions_of(path)}
        begins = calling(package, names, every)
    return [t for s, t in sorted((s, t) for t, (s, seen) in every.items() if begins & seen)]


def write_result(
    into: Path, known: dict[Any, Any], key: Any, line: int, code: int | None, tests: int
) -> None:
    """Note how a mutant fared, and append it to the file of results."""
    known[key] = dict(zip(("file", "text", "change", "copy"), key, strict=True)) | {
        "line": line, "noticed": code != 0, "tests": tests, "by": noticing(code)
    }  # fmt: skip
    with into.open("a") as out:
        out.write(json.dumps(known[key]) + "\n")


def left_by_verdicts(
    room: Path, waiting: list[Any], known: dict[Any, Any], asked_for: argparse.Namespace
) -> list[Any]:
    """The mutants of the checker about which the frozen verdicts say nothing else."""
    left, began = [], time.monotonic()
    lines = lines_asked(room, asked_for.into.with_suffix(".lines"))
    every = {name: (q, said) for name, q, said in import_module("test_verdicts").questions()}
    for path, line, changed, key in waiting:
        if time.monotonic() - began > asked_for.seconds:
            break
        tree = ast.parse(path.read_text())
        inside = any(f.body[0].lineno <= line <= (f.end_lineno or 0) for f in functions_of(path))
        names = [q for n in around(tree, line) for q in lines.get((str(path), n), ())]
        chosen = [every[q] for q in (dict.fromkeys(names) if inside else every)]
        name = f"workbench.checker.{path.stem}".removesuffix(".__init__")
        code = in_a_child(partial(asked, chosen, name, changed, line), 60) if chosen else 0
        if code == 0:
            left.append((path, line, changed, key))
        if code != 0 or asked_for.quick:
            write_result(asked_for.into, known, key, line, code, 0)
    return left


def main() -> None:
    """Try the mutants of a room that have no result yet; print the survivors of all that have."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("room", choices=sorted(TESTS))
    parser.add_argument("--seconds", type=float, default=240, help="start no mutant after these")
    parser.add_argument("--most", type=int, help="have results of so many, the first ones drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are tried")
    parser.add_argument("--only", default="", help="files of the room, with commas between")
    parser.add_argument("--into", type=Path, required=True, help="a file of results, one a line")
    parser.add_argument("--each", type=float, default=1e9, help="seconds of tests for a mutant")
    parser.add_argument("--cold", action="store_true", help="watch tests that compile kernels")
    parser.add_argument("--quick", action="store_true", help="ask no other tests than these first")
    parser.add_argument("--again", action="store_true", help="try survivors again, and no others")
    asked_for = parser.parse_args()
    asked_for.into = asked_for.into.resolve()
    results = (
        [json.loads(x) for x in asked_for.into.read_text().splitlines()]
        if asked_for.into.exists()
        else []
    )
    known = {(x["file"], x["text"], x["change"], x["copy"]): x for x in results}
    copy = asked_for.into.with_suffix(".tree")
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "*.pyc")
    shutil.copytree(ROOT, copy, ignore=ignored, dirs_exist_ok=True)
    for folder in ("workbench", "tests"):  # else each mutant compiles all that it imports
        compileall.compile_dir(copy / folder, quiet=2)
    os.chdir(copy)
    for folder in ("tests/checker", "tests/support"):
        sys.path.insert(0, str(copy / folder))
    os.environ["PYTHONPATH"] = str(copy)
    sys.path[:] = [
        str(copy),
        *(x for x in sys.path if Path(x).resolve() not in (ROOT, Path(__file__).parent)),
    ]
    room = copy / "workbench" / asked_for.room
    files = [
        p
        for p in sorted(room.rglob("*.py"))
        if not asked_for.only or p.name in asked_for.only.split(",")
    ]
    drawn = []
    for path in files:
        text, seen = path.read_text(), Counter[tuple[str, str]]()
        for line, what, changed in mutants(text):
            shown = text.splitlines()[line - 1].strip()
            seen[shown, what] += 1
            key = str(path.relative_to(room)), shown, what, seen[shown, what]
            drawn.append((path, line, changed, key))
    random.Random(asked_for.seed).shuffle(drawn)
    drawn = drawn[: asked_for.most]
    waiting = [
        x
        for x in drawn
        if (x[3] in known) == asked_for.again and not known.get(x[3], {"noticed": False})["noticed"]
    ]
    began = time.monotonic()
    if asked_for.room == "checker" and not asked_for.again:
        waiting = left_by_verdicts(room, waiting, known, asked_for)
    if not asked_for.quick:
        for package in LOADED:
            try:
                import_module(package)
            except ImportError:
                continue
    every = (
        reached(copy, room, TESTS[asked_for.room], not asked_for.cold)
        if waiting and not asked_for.quick
        else {}
    )
    print(
        f"{len(every)} tests, traced in {sum(s for s, _ in every.values()):.0f} s; "
        f"{len(waiting)} mutants wait"
    )
    for i, (path, line, changed, key) in enumerate(waiting if not asked_for.quick else []):
        if time.monotonic() - began > asked_for.seconds:
            break
        tests = tests_of(path, line, every)
        spent = list(accumulate(every[test][0] for test in tests))
        tests = [test for test, s in zip(tests, spent, strict=True) if s <= asked_for.each]
        whole, stamp = path.read_text(), path.stat().st_mtime
        path.write_text(changed)
        os.utime(path, (i + 1, i + 1))  # bytecode is told apart by it
        usual = sum(every[test][0] for test in tests)
        code = in_a_child(partial(tried, tests), 30 + 4 * usual)
        path.write_text(whole)
        os.utime(path, (stamp, stamp))
        write_result(asked_for.into, known, key, line, code, len(tests))
    still = [known[key] for *_, key in drawn if key in known]
    for x in sorted(still, key=lambda x: (x["file"], x["line"])):
        if not x["noticed"]:
            print(
                f"{x['file']}:{x['line']} {x['change']} ({x['copy']}): {x['text']}",
                x["tests"] or "not reached",
            )
    noticed = sum(x["noticed"] for x in still)
    print(f"{asked_for.room}: {noticed} of {len(still)} mutants noticed, {len(drawn)} in all")


if __name__ == "__main__":
    main()
