"""How kernels are compiled, and where what is compiled is kept: the one place that configures
numba.

A kernel is a function of a module `*_kernels.py` that is compiled at its first call, or once its
work has grown (`Kernel`). Compiled code is kept in a directory whose name is a digest of the
sources of all kernel modules,

    <base>/kernels-<digest>/        base: NUMBA_CACHE_DIR if it is set,
                                          the package's own __pycache__ if it can be written,
                                          the user's cache directory otherwise (a read-only install)

because a compiled kernel holds the code of the kernels that it calls. Numba itself looks only at
the file of the outermost one, and would run a callee as it was before it was edited. If no
directory can be written, kernels are compiled anew in each process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
from numba import config as _numba_config
from numba import njit
from numba.extending import register_jitable, typeof_impl

_config: Any = _numba_config

PACKAGE = Path(__file__).parent.parent
"""The folder of the package, in which kernel modules are looked for."""

_NO_WAY_IN: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options that numba's own type hints leave out."""

_LEAN: Any = {"nogil": True, "_nrt": False, "error_model": "numpy"}
"""Nobody counts who holds an array, which takes two locked additions for each one that is handed
over: more than it takes to compute with the numbers of a small task. Such a kernel can make no
arrays; the caller holds those that it is given. A division by zero gives inf or nan."""

_PLAIN: Any = {"nogil": True, "error_model": "numpy"}
"""A division by zero gives inf or nan, as in numpy."""

_SMALL = 4_000
"""Entries of arrays up to which Python itself may run a kernel."""

_PATIENCE = 0.2
"""Seconds of processor time that Python may take for a kernel before it is compiled. That takes
about as long."""

_KEPT = 4
"""How many directories of other sources are left when one is made for new sources."""


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call. It runs without the interpreter lock and is kept on
    disk."""
    return _keep(function, {"nogil": True})


class Kernel:
    """A function that Python runs while its work is small, and that is compiled from then on.

    To compile all that `workbench compare recall4` calls takes 13 seconds, to run it as it is half
    a second. The results are the same to the last bit, because such a function does one operation
    on two numbers after the other, and divides only numbers of numpy (`tests/test_kernels.py`).
    """

    def __init__(self, function: Callable[..., Any], compiled: Any, patience: float):
        self.function, self.compiled, self.patience = function, compiled, patience
        self.is_known = False  # before the first call nobody has looked at the disk

    def __call__(self, *arguments: Any) -> Any:
        """Run the function."""
        if not self.is_known:
            self.is_known = True
            if is_kept(self.function):
                self.patience = -1.0
        if self.patience < 0.0 or count_entries(arguments) > _SMALL:
            return self.compiled(*arguments)
        begin = time.thread_time()
        try:
            with np.errstate(all="ignore"):
                return run_in_python(self.function, arguments)
        finally:
            self.patience -= time.thread_time() - begin


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """What a compiled kernel calls is compiled too."""
    return typeof_impl(kernel.compiled, context)


def run_in_python(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a kernel as numba would. Numbers are numpy's on the way in, since Python refuses to
    divide by zero, and Python's on the way out."""
    found = function(*[np.float64(x) if type(x) is float else x for x in arguments])
    if isinstance(found, tuple):
        return tuple(x.item() if isinstance(x, np.generic) else x for x in found)
    return found.item() if isinstance(found, np.generic) else found


def count_entries(arguments: tuple[Any, ...]) -> int:
    """How many numbers are in the arrays of arguments."""
    return sum(
        x.size if isinstance(x, np.ndarray) else count_entries(x) if isinstance(x, tuple) else 0
        for x in arguments
    )


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether compiled code of a function is on the disk."""
    directory = cache_directory()
    name = f"*/{function.__module__.rpartition('.')[2]}.{function.__qualname__}-*.nbi"
    return directory is not None and any(directory.glob(name))


def compile_later(function: Callable[..., Any]) -> Kernel:
    """Compile a function once its work has grown. `Kernel` says when."""
    return Kernel(function, _keep(function, _PLAIN), _PATIENCE)


def lean_later(function: Callable[..., Any]) -> Kernel:
    """Compile a lean function once its work has grown. Those of the oracle loop are large."""
    return Kernel(function, _keep(function, _LEAN), 10 * _PATIENCE)


def compile_reader(function: Callable[..., Any]) -> Any:
    """Compile a function that writes to no argument. It is compiled once for arrays that may be
    written and arrays that may not, and for every order of their entries."""
    kernel = compile_kernel(function)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return kernel(*read_only(*arguments))

    return call


def read_only(*arguments: Any) -> list[Any]:
    """Arguments as kernels take what they only read: arrays in C's order, and not to be written."""
    found = list(arguments)
    for i, x in enumerate(arguments):
        if isinstance(x, np.ndarray):
            found[i] = np.ascontiguousarray(x)[...]
            found[i].flags.writeable = False
    return found


def inline_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function into each kernel that calls it. Python may run it as it is."""
    return register_jitable(forceinline=True)(function)


def lean_inline_kernel(function: Callable[..., Any]) -> Any:
    """Compile a lean function into the kernel that calls it. A call with tuples of many arrays
    would copy hundreds of words."""
    return njit(forceinline=True, **_LEAN, **_NO_WAY_IN)(function)


def lean_entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls and that calls lean kernels. It is kept on disk."""
    return _keep(function, _LEAN)


def _keep(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function at its first call, and keep it on disk if that can be written."""
    directory = cache_directory()
    if directory is None:
        return njit(**options)(function)
    # Numba decides where a function is kept when it decorates it; other packages' functions are
    # none of our business, hence the setting is put back.
    before, _config.CACHE_DIR = _config.CACHE_DIR, str(directory)
    try:
        return njit(cache=True, **options)(function)
    finally:
        _config.CACHE_DIR = before


@cache
def cache_directory() -> Path | None:
    """The directory of this package's compiled kernels, made if needed, or None if none can be
    written."""
    return writable_directory(f"kernels-{digest_of_kernels(PACKAGE)}", _bases())


def digest_of_kernels(package: Path) -> str:
    """The digest of the names and sources of all kernel modules of a package, and of this
    module."""
    digest = hashlib.sha256()
    for path in sorted({*package.rglob("*_kernels.py"), package / "core" / Path(__file__).name}):
        source = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(source)} ".encode() + source)
    return digest.hexdigest()[:16]


def writable_directory(name: str, bases: Iterator[Path]) -> Path | None:
    """The directory of this name in the first base where a file can be written."""
    for base in bases:
        directory = base / name
        with suppress(OSError):
            if not directory.is_dir():
                directory.mkdir(parents=True)
                _forget_older(directory)
            if _is_shared(directory):
                continue
            tempfile.TemporaryFile(dir=directory).close()
            return directory
    return None


def _is_shared(directory: Path) -> bool:
    """Whether somebody else could put code there, which would be run."""
    if os.name != "posix":
        return False
    own, base = directory.stat(), directory.parent.stat()
    foreign = own.st_uid not in (0, os.getuid()) or own.st_mode & stat.S_IWOTH
    # a folder such as /tmp is everybody's, but nobody can rename what is not theirs
    return bool(foreign or (base.st_mode & stat.S_IWOTH and not base.st_mode & stat.S_ISVTX))


def _bases() -> Iterator[Path]:
    """Where compiled kernels may be kept, best first."""
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR)
    yield PACKAGE / "__pycache__"
    with suppress(RuntimeError):  # nobody's home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memory-workbench"


def _forget_older(new: Path) -> None:
    """Remove all but the latest few kernels whose source is gone. Another process may still run
    them, or a branch may come back."""
    with suppress(OSError):
        others = sorted(new.parent.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
        for path in [path for path in others if path != new][:-_KEPT]:
            shutil.rmtree(path, ignore_errors=True)
