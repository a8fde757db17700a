"""How many files of the package a call enters: `python tests/benchmarks/entered.py`.

A file is entered where one of its functions is called from Python; a switch is a call into another
file than the one called before. Both calls are the first on a product of their own, after the same
calls on another one have loaded all modules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import workbench
from pomdps import recall4
from workbench import augment, evaluate, improve, uniform

PACKAGE = Path(workbench.__file__).parent


def files_entered(call: Callable[[], Any]) -> list[str]:
    """The file of each function of the package that a call runs, in the order of time."""
    found = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.append(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def main() -> None:
    for function in (evaluate, improve):
        used, fresh = (augment(recall4(), "B1") for _ in range(2))
        pi = uniform(used)
        function(used, pi)
        found = files_entered(partial(function, fresh, pi))
        switches = sum(one != other for one, other in pairwise(found))
        names = sorted(set(found))
        print(f"{function.__name__}: {len(names)} files, {switches} switches\n  {' '.join(names)}")


if __name__ == "__main__":
    main()
