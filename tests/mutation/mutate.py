"""Mutation testing: change one thing in a line, run the tests that should notice, list survivors.

    python tests/mutation/mutate.py checker --most 300 --seed 7 --into checker.jsonl
    python tests/mutation/mutate.py core --only ties.py --into core.jsonl

A room is a folder of `workbench`. A mutant is a file with one comparison, sign, bound, constant or
quantifier changed, outside of messages and budgets.

No file is touched. The tests of the room run once, and the lines that each runs are noted. Then
every mutant has a forked process, in which the functions that differ get the changed code; compiled
ones are compiled anew, with those that call them. The tests that run the changed statement are
asked, quickest first, for so many seconds (`--each`), as they take while lines are noted. The
checker is also asked for the frozen verdicts of `test_verdicts`. A failure notices a mutant, and so
does a test that takes several times its usual time.

Results are written as they come: asked again, the command goes on with the mutants that have none.
What survives is equivalent, a matter of speed, or a hole: `survivors.md` says which.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from workbench.core.kernels import Kernel

ROOT = Path(__file__).parents[2]
TESTS = {
    "checker": [
        "tests/checker",
        "tests/certificates",
        "tests/proofs/test_ledger.py",
        "workbench/checker",
    ],
    "core": [
        "tests/core",
        "tests/evaluation",
        "tests/improvement",
        "tests/learning",
        "tests/test_kernels.py",
        "workbench/core",
    ],
}
"""The tests of a room."""

OPTIONS = [
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--capture=sys",
    "--rootdir",
    str(ROOT),
]
OURS = {"workbench", "pomdps", "proofs"} | {p.stem for p in (ROOT / "tests").rglob("*.py")}
CACHE = type(cache(list))
KERNEL_SECONDS = 30
"""What a mutant of a kernel may take more, since kernels are compiled anew."""

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


@dataclass
class Question:
    """Something that can fail: a test, or a frozen verdict. `run` says whether it passes."""

    name: str
    run: Callable[[], bool]
    seconds: float = 1e9
    lines: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class Mutant:
    """A changed file: its path, the line, the change, the whole text, and a name for results."""

    path: Path
    line: int
    text: str
    key: tuple[str, str, str, int]


class Asking:
    """A pytest plugin that asks mutants instead of running each test once."""

    def __init__(self, options: argparse.Namespace):
        self.options, self.failed = options, False

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note that the test that runs has failed."""
        self.failed = self.failed or report.failed

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Frozen verdicts are asked one by one."""
        items[:] = [x for x in items if "test_verdicts_that" not in x.name]

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run the tests, then the mutants."""
        asked_for = self.options
        questions = [self.question(item) for item in session.items]
        if asked_for.room == "checker":
            questions += verdicts()
        room = ROOT / "workbench" / asked_for.room
        began, live = time.monotonic(), Live()
        for question in questions:
            live.forget(set())  # lines behind an answer that is kept are run again
            watch(question, room.parent)
        questions = [q for q in questions if q.seconds < 1e9]
        said = f"{len(questions)} tests, watched in {time.monotonic() - began:.0f} s"
        print(said, file=sys.__stdout__, flush=True)
        ask_all(room, questions, asked_for)
        return True

    def question(self, item: Any) -> Question:
        """A collected test, which can run many times."""
        names = dict(item.dtest.globs) if hasattr(item, "dtest") else {}

        def run() -> bool:
            self.failed = False
            if names:  # an example is emptied when it has run
                item.dtest.globs.update(names)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
            return not self.failed

        return Question(item.nodeid, run)


def verdicts() -> list[Question]:
    """The frozen verdicts of the checker."""
    frozen: Any = import_module("test_verdicts")

    def question(name: str, asked: Any, said: str) -> Question:
        return Question(name, lambda: frozen.answer(asked) == said)

    return [question(*each) for each in frozen.questions()]


def watch(question: Question, package: Path) -> None:
    """Note the lines of the package that a question runs, and how long it takes meanwhile.

    A question that fails keeps no time, so that it is asked of no mutant.
    """
    folder = str(package)

    def line(frame: Any, event: str, _: Any) -> Any:
        question.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: Any, event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(folder) else None

    began = time.process_time()
    sys.settrace(call)
    try:
        passes = question.run()
    finally:
        sys.settrace(None)
    if passes:
        question.seconds = time.process_time() - began
    else:
        print("fails:", question.name, file=sys.__stdout__, flush=True)


class Live:
    """What a process has loaded of the package: plain functions, kernels, and what keeps answers.

    It is looked for once, before processes are forked: each look reads the whole memory.
    """

    def __init__(self) -> None:
        self.functions: dict[str, list[FunctionType]] = {}
        self.kernels: dict[str, list[Any]] = {}
        self.keeping: list[Any] = []
        self.later: list[Any] = []
        for x in gc.get_objects():
            kind = type(x)  # `isinstance` would ask a weak reference, whose object may be gone
            if kind is FunctionType:
                self.functions.setdefault(x.__code__.co_filename, []).append(x)
            elif issubclass(kind, Dispatcher) and x.py_func.__module__.startswith("workbench"):
                self.kernels.setdefault(x.py_func.__name__, []).append(x)
            elif kind is Kernel:
                self.later.append(x)
            elif kind is CACHE and str(x.__module__).split(".")[0] in OURS:
                self.keeping.append(x)

    def compiled_from(self, names: set[str]) -> set[str]:
        """The kernels whose code has one of these names, or that of a kernel that has."""
        uses = {name: _names_in(d[0].py_func.__code__) for name, d in self.kernels.items()}
        found = names & set(uses)
        while more := {k for k, used in uses.items() if used & (names | found)} - found:
            found |= more
        return found

    def forget(self, names: set[str]) -> None:
        """Forget answers, and the machine code of these kernels in memory and on disk."""
        for kept in self.keeping:
            kept.cache_clear()
        for kernel in (kernel for name in names for kernel in self.kernels[name]):
            kernel._cache = NullCache()
            kernel._reset_overloads()
        for later in self.later:
            if later.function.__name__ in names:  # Python runs what is small: sooner done
                later.is_known, later.patience = True, 1e9


def _names_in(code: CodeType) -> set[str]:
    inner = [_names_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*inner)


def code_objects(text: str, path: Path) -> Iterator[CodeType]:
    """All code of a file, outermost first, in the order of the text."""
    waiting = [compile(text, str(path), "exec", dont_inherit=True)]
    for code in waiting:
        yield code
        waiting += [x for x in code.co_consts if isinstance(x, CodeType)]


def put_in_place(mutant: Mutant, live: Live) -> set[str]:
    """Give the functions that differ their changed code. Returns the names of what differs.

    What runs once, when a module is imported, is run anew: its constants and the defaults of its
    functions and classes are put in their places.
    """
    old, new = (code_objects(text, mutant.path) for text in (mutant.path.read_text(), mutant.text))
    changed = dict(zip(old, new, strict=True))
    functions, names = live.functions.get(str(mutant.path), []), set[str]()
    for f in functions:
        code = changed.get(f.__code__)
        if code is not None and _told(code) != _told(f.__code__):
            f.__code__ = code
            names.add(f.__name__)
    return names or run_anew(mutant, functions)


def _told(code: CodeType) -> tuple[Any, ...]:
    """What a code does, wherever it stands."""
    consts = tuple(_told(x) if isinstance(x, CodeType) else repr(x) for x in code.co_consts)
    return code.co_code, code.co_names, consts


def run_anew(mutant: Mutant, functions: list[FunctionType]) -> set[str]:
    """Give constants and defaults the values that the changed module gives them."""
    dotted = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)
    here = import_module(dotted.removesuffix(".__init__"))
    made: dict[str, Any] = dict(vars(here))
    exec(compile(mutant.text, str(mutant.path), "exec", dont_inherit=True), made)
    by_name = {f.__qualname__: f for f in gc.get_objects() if type(f) is FunctionType
               and f.__globals__ is made}  # fmt: skip
    for f in functions:
        if other := by_name.get(f.__qualname__):
            f.__defaults__, f.__kwdefaults__ = other.__defaults__, other.__kwdefaults__
    names = set()
    for name, old in list(vars(here).items()):
        new = made.get(name)
        if isinstance(old, type) and old.__module__ == here.__name__:
            for key, value in vars(new).items():
                before = vars(old).get(key)
                if isinstance(value, FunctionType) and isinstance(before, FunctionType):
                    before.__defaults__ = value.__defaults__
                    before.__kwdefaults__ = value.__kwdefaults__
                elif _is_plain(value) and repr(value) != repr(before) and key[:2] != "__":
                    type.__setattr__(old, key, value)
        elif _is_plain(old) and repr(old) != repr(new) and name[:2] != "__":
            names.add(name)
            for module in list(sys.modules.values()):
                if vars(module).get(name) is old:
                    setattr(module, name, new)
    return names


def _is_plain(x: Any) -> bool:
    return isinstance(x, int | float | str | tuple | frozenset | list | dict | np.generic)


def questions_of(
    mutant: Mutant, questions: list[Question], live: Live
) -> tuple[list[Question], set[str]]:
    """The questions that run the statement of a mutant, quickest first, and the kernels that have
    its code. Python does not see the lines of kernels: those that call them are taken."""
    tree = ast.parse(mutant.path.read_text())
    around = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)
              and f.body[0].lineno <= mutant.line <= (f.end_lineno or 0)]  # fmt: skip
    called = set[str]()
    if mutant.path.stem.endswith("_kernels"):
        names = {f.name for f in around} or {
            x.id for x in ast.walk(tree) if isinstance(x, ast.Name)
        }
        called = live.compiled_from(names)
    if called:
        wanted = {
            (str(path), node.lineno)
            for path in (ROOT / "workbench").rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if (isinstance(node, ast.Name) and node.id in called)
            or (isinstance(node, ast.Attribute) and node.attr in called)
        }
    elif around:
        wanted = {(str(mutant.path), n) for n in statement(tree, mutant.line)}
    else:
        wanted = {(str(mutant.path), n) for n in range(10**4)}
    return sorted((q for q in questions if q.lines & wanted), key=lambda q: q.seconds), called


def statement(tree: ast.AST, line: int) -> range:
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


def ask(mutant: Mutant, chosen: list[Question], called: set[str], live: Live) -> str:
    """The question that notices a mutant, or nothing. It is called in a forked process."""
    live.forget(live.compiled_from(put_in_place(mutant, live)))
    for question in chosen:
        seconds = 3 + 6 * question.seconds + (KERNEL_SECONDS if called else 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # the signal ends the process
        if not question.run():
            return question.name
    return ""


def in_a_child(work: Callable[[], str], seconds: float) -> str:
    """What a forked process says, "time" if it is ended by a limit."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 9))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        said = "error"
        try:
            said = work()
        except BaseException as error:
            said = f"error {type(error).__name__}"
        finally:
            os.write(writing, said.encode()[:4000])
            os._exit(0)
    os.close(writing)
    ends = time.monotonic() + 20 * seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.003)
    with os.fdopen(reading) as out:
        said = out.read()
    return said if status == 0 else "time"


def drawn(room: Path, only: str, seed: int) -> list[Mutant]:
    """All mutants of a room, shuffled."""
    found = []
    for path in sorted(room.rglob("*.py")):
        if only and path.name not in only.split(","):
            continue
        text, seen = path.read_text(), Counter[tuple[str, str]]()
        for line, what, changed in mutants(text):
            shown = text.splitlines()[line - 1].strip()
            seen[shown, what] += 1
            key = (str(path.relative_to(room)), shown, what, seen[shown, what])
            found.append(Mutant(path, line, changed, key))
    random.Random(seed).shuffle(found)
    return found


def ask_all(room: Path, questions: list[Question], asked_for: argparse.Namespace) -> None:
    """Ask the mutants that have no result yet, and print the survivors of all that have."""
    into = asked_for.into
    results = [json.loads(x) for x in into.read_text().splitlines()] if into.exists() else []
    known = {(x["file"], x["text"], x["change"], x["copy"]): x for x in results}
    every = drawn(room, asked_for.only, asked_for.seed)
    chosen, began, live = every[: asked_for.most], time.monotonic(), Live()
    gc.freeze()
    for mutant in chosen:
        if time.monotonic() - began > asked_for.seconds:
            break
        if mutant.key in known and not (asked_for.again and not known[mutant.key]["by"]):
            continue
        ready, called = questions_of(mutant, questions, live)
        spent, few = 0.0, list[Question]()
        for question in ready:
            spent += question.seconds
            if spent > asked_for.each:
                break
            few.append(question)
        limit = 60 + 6 * asked_for.each + (KERNEL_SECONDS if called else 0)
        by = in_a_child(partial(ask, mutant, few, called, live), limit)
        known[mutant.key] = dict(zip(("file", "text", "change", "copy"), mutant.key, strict=True))
        known[mutant.key] |= {"line": mutant.line, "tests": [len(few), len(ready)], "by": by}
        with into.open("a") as out:
            out.write(json.dumps(known[mutant.key]) + "\n")
    asked = [known[m.key] for m in chosen if m.key in known]
    for x in sorted(asked, key=lambda x: (x["file"], x["line"])):
        if not x["by"]:
            print(f"{x['file']}:{x['line']} {x['change']} ({x['copy']}): {x['text']}", x["tests"])
    noticed = sum(bool(x["by"]) for x in asked)
    print(f"{asked_for.room}: {noticed} of {len(asked)} mutants noticed, {len(every)} in all")


def main() -> None:
    """Ask the mutants of a room."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("room", choices=sorted(TESTS))
    parser.add_argument("--seconds", type=float, default=1e9, help="start no mutant after these")
    parser.add_argument("--most", type=int, help="ask so many, the first ones drawn")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--only", default="", help="files of the room, with commas between")
    parser.add_argument("--into", type=Path, required=True, help="a file of results, one a line")
    parser.add_argument("--each", type=float, default=20, help="seconds of tests for a mutant")
    parser.add_argument("--again", action="store_true", help="ask survivors again as well")
    asked_for = parser.parse_args()
    asked_for.into = asked_for.into.resolve()
    os.chdir(ROOT)
    sys.path[:] = [str(ROOT), *(x for x in sys.path if Path(x).resolve() != Path(__file__).parent)]
    for folder in ("tests/checker", "tests/support"):
        sys.path.insert(0, str(ROOT / folder))
    tests = [str(ROOT / x) for x in TESTS[asked_for.room]]
    sys.exit(pytest.main([*OPTIONS, *tests], plugins=[Asking(asked_for)]))


if __name__ == "__main__":
    main()
