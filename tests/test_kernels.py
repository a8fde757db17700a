"""Compiled code is never older than the sources, wherever it is kept."""

import ast
import math
import os
import random
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numba import config
from odd_models import draw_model

from pomdps import recall4, recall_variant, t_maze
from workbench import augment, best_memoryless, evaluate, improve, td_values, uniform
from workbench.core import kernels
from workbench.core.errors import WorkbenchError
from workbench.core.improve import start_loop

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "workbench"

KERNELS = sorted(PACKAGE.rglob("*_kernels.py"))

CALLER = '''
from workbench.core.kernels import compile_kernel
from workbench.learning.sampling_kernels import chance


@compile_kernel
def draw(word):
    """A kernel in a file that stays as it is, which calls one in a file that is edited."""
    return chance(word)
'''

DRAW = """
import numpy as np
from workbench.core.draw_kernels import draw
print(draw(np.uint64(1 << 20)))
"""

LEARN = """
from workbench.learning.learn import learn
from workbench.core.learners import QLearning
from workbench.core.pomdp import POMDP
from workbench.sweeps.cell import Cell, fingerprint, key_of

P = POMDP.from_functions(name="one step", A=[0, 1], p=lambda s, a: {("end", a): 1},
                         omega=lambda s: {"o": 1}, mu={"s": 1}, gamma=1, terminal={"end"})
learner = QLearning(epsilon=0.3)
cell = Cell("one step", "none", learner, "rewards", (0,), 1000, 100)
run = learn(P, learner, steps=1000, seeds=1, every=100)
print(key_of(cell.content(fingerprint(P))), run.rewards)
"""


def run(folder: Path, code: str) -> str:
    """What a fresh process prints that imports the package of a folder."""
    own = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**own, "PYTHONPATH": str(folder)},
    )
    return done.stdout


def edit_chance(package: Path) -> None:
    """Let `chance` be half as large, so that learners explore twice as often."""
    path = package / "learning" / "sampling_kernels.py"
    before = path.read_text()
    after = before.replace("return word >> uint64(11)", "return word >> uint64(12)")
    assert after != before
    path.write_text(after)
    # bytecode of a file of the same size is taken for new within the second of its making
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))


def test_a_kernel_is_compiled_again_when_a_kernel_that_it_calls_is_edited(tmp_path):
    package = tmp_path / "workbench"
    for room in (package / "core", package / "learning"):
        room.mkdir(parents=True)
        (room / "__init__.py").touch()
    (package / "__init__.py").touch()
    for name in ("core/kernels.py", "learning/sampling_kernels.py"):
        shutil.copy(PACKAGE / name, package / name)
    (package / "core" / "draw_kernels.py").write_text(CALLER)
    assert run(tmp_path, DRAW) == f"{1 << 9}\n"
    assert list(package.rglob("*.nbc")), "nothing was kept: the test would show nothing"
    edit_chance(package)
    assert run(tmp_path, DRAW) == f"{1 << 8}\n"


def made(function, patience=0.1):
    """A kernel that is kept nowhere."""
    return kernels.Kernel(function, kernels.njit(function), patience)


def is_compiled(kernel):
    return bool(kernel.compiled.signatures)


def test_python_runs_small_work_until_a_kernel_is_worth_compiling(monkeypatch):
    total = made(lambda x: x[0] + x[-1])
    assert (total(np.ones(2)), is_compiled(total)) == (2.0, False)
    monkeypatch.setattr(kernels.time, "thread_time", iter([0.0, 0.2]).__next__)
    assert (total(np.ones(2)), is_compiled(total)) == (2.0, False)
    assert (total(np.ones(2)), is_compiled(total)) == (2.0, True)


def test_large_arrays_are_left_to_compiled_code():
    first = made(lambda x, parts: x)
    first(1.0, (np.ones(kernels._SMALL), 2))
    assert not is_compiled(first)
    first(1.0, (np.ones(kernels._SMALL), (np.ones(1), 2)))
    assert is_compiled(first)


def next_one(x):
    return x + 1


def test_code_that_is_kept_is_used_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "cache_directory", lambda: tmp_path)
    first, second = made(next_one), kernels.compile_later(next_one)
    assert (first(2), is_compiled(first)) == (3, False)
    second.patience = -1.0
    assert second(2) == 3
    third = made(next_one)
    assert (third(2), is_compiled(third)) == (3, True)


def test_numbers_go_in_as_those_of_numpy_and_come_out_as_those_of_python():
    divide = made(lambda x, y: (x / y, x > y))
    found = divide(1.0, 0.0)
    assert found == (math.inf, True)
    assert list(map(type, found)) == [float, bool]


PATIENT = {
    value.function.__name__: value
    for path in KERNELS
    for value in vars(
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    ).values()
    if isinstance(value, kernels.Kernel)
}
"""The kernels that Python may run."""

ALIKE = {"arange", "bool_", "concatenate", "cumsum", "empty", "full", "inf", "isnan", "zeros"}
ALIKE |= {"int32", "int64", "nan", "ones", "uint64"}
"""What numpy and numba do alike. A sum of an array is not: numpy adds up pairs."""


def test_kernels_that_python_may_run_round_after_each_operation():
    """Libraries differ in the last bits of powers and logarithms."""
    kinds = {"compile_later", "lean_later", "inline_kernel"}
    for path in {Path(kernel.function.__code__.co_filename) for kernel in PATIENT.values()}:
        for function in ast.parse(path.read_text()).body:
            if kinds.isdisjoint(ast.unparse(x) for x in getattr(function, "decorator_list", ())):
                continue
            nodes = list(ast.walk(function))
            called = [x.func for x in nodes if isinstance(x, ast.Call)]
            of_numpy = {x.attr for x in nodes if ast.unparse(x).startswith(("np.", "math."))
                        and isinstance(x, ast.Attribute)}  # fmt: skip
            assert of_numpy <= ALIKE, (function.name, of_numpy - ALIKE)
            assert not {"sum", "dot", "mean", "prod"} & {getattr(x, "attr", "") for x in called}
            powers = [x for x in nodes if isinstance(getattr(x, "op", None), ast.Pow)]
            assert all(isinstance(getattr(x, "left", None), ast.Constant) for x in powers)


EXTREMES = [0.0, 5e-324, 1e-310, 1e-160, 0.1, 1.0, 1.0, 1.0, 1e160, 1e300, np.inf, np.nan]


@pytest.fixture(scope="module")
def calls():
    """Arguments with which each of these kernels is called: the first few calls, and the last."""
    found = defaultdict(list)

    def call(kernel, *arguments):
        some = found[kernel.function.__name__]
        del some[20:]
        some.append(copied(arguments))
        return kernel.compiled(*arguments)

    drawn = filter(None, (draw_model(random.Random(seed)) for seed in range(20)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels.Kernel, "__call__", call)
        E = augment(recall4(), "B1")
        tasks = [E, augment(recall_variant(), "OA1"), augment(t_maze(2), "O1"), *drawn]
        for P in tasks:
            pi = uniform(P)
            for ask in (evaluate, td_values, improve, lambda P, _: best_memoryless(P)):
                with suppress(WorkbenchError):
                    ask(P, pi)
        loop = start_loop(E, uniform(E), 0.5)
        loop.advance(3)
        loop.leaving(loop.state.greedy)
    return found


def copied(x, numbers=lambda x: x):
    """Arguments with their own arrays, whose floats go through a function."""
    if isinstance(x, tuple):
        parts = [copied(y, numbers) for y in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if not isinstance(x, np.ndarray):
        return x
    own = np.array(numbers(x) if x.dtype == np.float64 else x, order="A")
    own.flags.writeable = x.flags.writeable
    return own


def bits(x):
    """What tells apart all that two runs may differ in. One NaN is as good as another."""
    if isinstance(x, tuple):
        return [bits(y) for y in x]
    if isinstance(x, np.ndarray):
        missing = x != x
        return x.shape, x.dtype, np.where(missing, 0, x).tobytes(), missing.tobytes()
    return type(x), repr(x)


@pytest.mark.parametrize("name", PATIENT)
def test_python_and_compiled_code_agree_to_the_last_bit(name, calls):
    """On what tasks ask, and on zeros, the smallest and the largest numbers, inf and NaN."""
    kernel, draw = PATIENT[name], np.random.default_rng(0)
    assert calls[name], "no call to compare"
    for turn in range(4):
        for arguments in calls[name]:

            def strain(x, few=turn / 10):
                hit = draw.random(x.shape) < few
                with np.errstate(all="ignore"):
                    return np.where(hit, x * draw.choice(EXTREMES, x.shape), x)

            mine = copied(arguments, strain)
            yours = copied(mine)
            with np.errstate(all="ignore"):
                found = kernels.run_in_python(kernel.function, mine)
            expected = kernel.compiled(*yours)
            assert bits(found) == bits(expected)
            assert bits(mine) == bits(yours)


@pytest.mark.slow
def test_a_fresh_key_never_holds_rewards_of_the_code_before_it(tmp_path):
    """Edited in place, after a run of what was there before, a learner does what it does in a fresh
    copy."""
    places = tmp_path / "in place", tmp_path / "fresh"
    for place in places:
        shutil.copytree(
            PACKAGE, place / "workbench", ignore=shutil.ignore_patterns("__pycache__", "kernels-*")
        )
    before = run(places[0], LEARN)
    for place in places:
        edit_chance(place / "workbench")
    after = run(places[0], LEARN)
    assert after == run(places[1], LEARN)
    assert after.split()[0] != before.split()[0]
    assert after.split()[1:] != before.split()[1:]


def test_the_digest_is_that_of_all_kernel_modules_and_of_how_they_are_compiled(tmp_path):
    copy = tmp_path / "workbench"
    for path in [*KERNELS, PACKAGE / "core" / "kernels.py"]:
        (target := copy / path.relative_to(PACKAGE)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    digest = kernels.digest_of_kernels(copy)
    assert digest == kernels.digest_of_kernels(PACKAGE)
    for path in list(copy.rglob("*.py")):
        source = path.read_text()
        path.write_text(source + "# edited\n")
        assert kernels.digest_of_kernels(copy) != digest
        path.write_text(source)
    (copy / "core" / "new_kernels.py").touch()
    assert kernels.digest_of_kernels(copy) != digest


def test_a_directory_that_cannot_be_written_is_passed_over(tmp_path):
    """A file stands where the first two bases should be; permissions would not stop root."""
    (tmp_path / "file").touch()
    bases = [tmp_path / "file", tmp_path / "file" / "below", tmp_path / "home"]
    assert kernels.writable_directory("kernels-1", iter(bases)) == tmp_path / "home" / "kernels-1"
    assert kernels.writable_directory("kernels-1", iter(bases[:2])) is None


def test_a_directory_that_everybody_can_write_to_is_not_used(tmp_path):
    """Compiled code is loaded and run."""
    for name, mode in (("open", 0o777), ("sticky", 0o1777), ("own", 0o755)):
        (tmp_path / name).mkdir()
        os.chmod(tmp_path / name, mode)
    bases = [tmp_path / "open", tmp_path / "own"]
    assert kernels.writable_directory("kernels-1", iter(bases)) == bases[1] / "kernels-1"
    kept = kernels.writable_directory("kernels-1", iter([tmp_path / "sticky"]))
    assert kept == tmp_path / "sticky" / "kernels-1"
    os.chmod(kept, 0o777)
    assert kernels.writable_directory("kernels-1", iter([tmp_path / "sticky"])) is None


def test_without_any_directory_kernels_are_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(kernels, "cache_directory", lambda: None)
    assert kernels.compile_kernel(lambda x: x + 1)(2) == 3


def test_of_older_sources_the_latest_few_are_left(tmp_path):
    for age in range(8):
        (old := tmp_path / f"kernels-{age}").mkdir()
        os.utime(old, (1000 - age, 1000 - age))
    kernels.writable_directory("kernels-new", iter([tmp_path]))
    assert {path.name for path in tmp_path.iterdir()} == {
        "kernels-new",
        *(f"kernels-{age}" for age in range(kernels._KEPT)),
    }


def test_other_packages_keep_their_compiled_code_where_they_did():
    before = config.CACHE_DIR
    kernels.compile_kernel(lambda x: x)
    assert before == config.CACHE_DIR


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_hold_no_code_from_elsewhere(path):
    """What is not in a kernel module is not in the digest."""
    own = {name for name in imports(path) if name.startswith("workbench")}
    assert all(name == "workbench.core.kernels" or name.endswith("_kernels") for name in own)


def test_numba_is_used_in_kernel_modules_only():
    users = {
        path
        for folder in ("workbench", "pomdps", "proofs")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"^\s*(from|import) numba\b", path.read_text(), re.M)
    }
    assert users <= {*KERNELS, PACKAGE / "core" / "kernels.py"}
