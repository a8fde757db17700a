"""Checks of plain numbers as arguments. Each error names the argument and its value.

>>> whole_number("states", 3)
3
>>> whole_number("states", 2.5)
Traceback (most recent call last):
...
workbench.core.errors.WrongType: states is a whole number, not 2.5
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.progress import time_left


def whole_number(name: str, value: Any, least: int | None = 1) -> int:
    """The number, which is at least `least` (None: it may be negative) and fits into a word."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WrongType(f"{name} is a whole number, not {value!r}")
    if least is not None and value < least:
        raise WorkbenchError(f"{name} must be at least {least}, not {value}")
    if value > sys.maxsize:
        raise WorkbenchError(f"{name} must be at most {sys.maxsize:,}, not {value}")
    return int(value)


def positive_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise WrongType(f"{name} is a number, not {value!r}")
    if not 0 < value <= sys.float_info.max:
        raise WorkbenchError(f"{name} must be positive and finite, not {value}")
    return float(value)


LEAST_SECONDS = 0.01
"""For a search that comes when the time is up: it needs a first policy to say anything."""


def deadline(max_seconds: Any) -> float:
    """The reading of `time.monotonic` at which a search of so many seconds ends. It ends sooner if
    the time limit around it does. None: no limit of its own."""
    return time.monotonic() + min(seconds_of(max_seconds), time_left())


def seconds_of(max_seconds: Any) -> float:
    """The seconds that a search may take: infinitely many for None."""
    return math.inf if max_seconds is None else positive_number("max_seconds", max_seconds)


def share_of(until: float, searches: int) -> float | None:
    """The time limit, in seconds, of the first of several searches that share the time left. None:
    no end."""
    if until == math.inf:
        return None
    return max((until - time.monotonic()) / searches, LEAST_SECONDS)
